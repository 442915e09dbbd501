"""The tables of runs over their seeds: each figure's mean with its deviation."""

from collections.abc import Callable, Iterable, Sequence
from statistics import mean, stdev

from tools.tables import (
    BASELINE,
    MISSING,
    best,
    effective,
    markdown,
    number_of_topics,
    paper,
    record_of,
    recorded,
    title_of,
)

SEEDS = range(2, 10)  # seed N is in FILE-seed-N.json
Runs = dict[int, dict]  # recorded runs by their seeds
Cell = Callable[[Runs, Runs], str]  # of a row's runs and the first row's


def seeds_table(files: Sequence[str], columns: Sequence[str]) -> str:
    """Return what runs have over their seeds, beside the first of them.

    columns: of CELLS. The paper's figures stand beside the first run of each method.
    """
    base = runs_of(files[0])
    rows, known = [["model", *columns]], set()
    for file in files:
        runs = runs_of(file)
        again = PUBLISHED if runs[1]["run"]["model"] in known else ()
        known.add(runs[1]["run"]["model"])
        cells = (MISSING if n in again else CELLS[n](runs, base) for n in columns)
        rows.append([title_of(file), *cells])
    return markdown(rows)


def leads_table(files: Sequence[str]) -> str:
    """Return how far runs are below each other over the seeds that both have, in %.

    Each below the one before, then the last below the first. Training is compared at
    the last epoch of both: it falls with every epoch, so that a best epoch less of one
    of them would pass for a lead.
    """
    rows = [["model", "is below", "seeds", "training", "validation", "test"]]
    pairs = dict.fromkeys([*zip(files, files[1:]), (files[0], files[-1])])
    for base, file in pairs:
        theirs, ours = runs_of(base), runs_of(file)
        leads = [_leads(theirs[s], ours[s]) for s in sorted(theirs.keys() & ours)]
        cells = [title_of(file), title_of(base), str(len(leads))]
        rows.append(cells + [f"{_spread(values, 2)} %" for values in zip(*leads)])
    return markdown(rows)


def _leads(base: dict, run: dict) -> list[float]:
    """Return how far a run is below another in training, validation and test, in %."""
    last = min(len(base["history"]), len(run["history"])) - 1
    theirs, ours = (
        (one["history"][last]["train_perplexity"], *_perplexities(one)[1:])
        for one in (base, run)
    )
    return [100 * (1 - x / y) for x, y in zip(ours, theirs)]


def runs_of(file: str) -> Runs:
    """Return the recorded runs by their seeds."""
    further = {seed: f"{file}-seed-{seed}" for seed in SEEDS}
    named = {1: file, **{s: name for s, name in further.items() if recorded(name)}}
    return {seed: record_of(name) for seed, name in named.items()}


def _perplexities(run: dict) -> tuple[float, float, float]:
    """Return a run's perplexities of training, validation and test."""
    epoch = best(run)
    test = run["evaluation"]["perplexity"]
    return epoch["train_perplexity"], epoch["valid_perplexity"], test


def _spread(values: Iterable[float | None], digits: int) -> str:
    """Return the mean of what there is, with its deviation if there are several."""
    there = [value for value in values if value is not None]
    if not there:
        return MISSING
    spread = f" ± {stdev(there):.{digits}f}" if len(there) > 1 else ""
    return f"{mean(there):.{digits}f}{spread}"


def _perplexity(part: int) -> Cell:
    return lambda runs, _: _spread(
        (_perplexities(run)[part] for run in runs.values()), 2
    )


def _ratio(runs: Runs, base: Runs) -> str:
    """Return the ratio to the first row's run of the same seed, where it has one."""
    pairs = [(run, base[seed]) for seed, run in runs.items() if seed in base]
    return _spread((_perplexities(x)[2] / _perplexities(y)[2] for x, y in pairs), 3)


def _measure(value: Callable[[dict], float | None], digits: int) -> Cell:
    """Return the cell of a figure of evaluations."""
    return lambda runs, _: _spread(
        (value(run["evaluation"]) for run in runs.values()), digits
    )


def _printed(table: str, size: str, topics: str) -> Cell:
    """Return the cell of what the paper has on IMDB."""
    of_paper = paper(table, size, topics)
    return lambda runs, _: of_paper(runs[1]) or MISSING


def _printed_ratio(table: str, size: str, topics: str) -> Cell:
    """Return the cell of the paper's perplexity on IMDB over that of its LSTM."""
    of_paper = paper(table, size, topics)
    lstm = float(of_paper({"run": {"model": BASELINE}}))

    def cell(runs: Runs, _: Runs) -> str:
        theirs = of_paper(runs[1])
        return f"{float(theirs) / lstm:.3f}" if theirs else MISSING

    return cell


def _by_use(found: dict) -> float:
    """Return the mean NPMI of topics, each weighted by its mean proportion."""
    return sum(t["npmi"] * t["proportion"] for t in found["topics"]) / sum(_use(found))


def _bound(found: dict) -> float | None:
    """Return the topic model's, without what pushes topics apart."""
    elbo = found.get("elbo")
    return elbo and elbo["reconstruction"] + elbo["kl"]


def _use(found: dict) -> list[float]:
    return [topic["proportion"] for topic in found["topics"]]


CELLS: dict[str, Cell] = {
    "topics": lambda runs, _: (number_of_topics(runs[1]["run"]["settings"]) or MISSING),
    "parameters": lambda runs, _: f"{runs[1]['evaluation']['parameters']:,}",
    "seeds": lambda runs, _: str(len(runs)),
    "training": _perplexity(0),
    "validation": _perplexity(1),
    "test": _perplexity(2),
    "ratio": _ratio,
    "Table 2": _printed_ratio("Table 2", "1x600", "50"),
    "Table 4": _printed("Table 4", "1x600", "50"),
    "Table 6": _printed_ratio("Table 6", "1x100", "30"),
    "mean topics": _measure(lambda e: (e.get("topic_worth") or {}).get("mean"), 2),
    "NPMI": _measure(lambda e: e["npmi"], 3),
    "NPMI by use": _measure(_by_use, 3),
    "diversity": _measure(lambda e: e["diversity"], 2),
    "topics in use": _measure(lambda e: e["topics_in_use"], 0),
    "effective topics": _measure(lambda e: effective(_use(e)), 1),
    "bound, nats a review": _measure(_bound, 1),
    "KL": _measure(lambda e: (e.get("elbo") or {}).get("kl"), 1),
}
PUBLISHED = ("Table 2", "Table 4", "Table 6")
PERPLEXITIES = ("parameters", "seeds", "training", "validation", "test", "ratio")
TOPICS = ("diversity", "topics in use")
COLUMNS = {  # of the tables of that name
    "seeds": ("topics", *PERPLEXITIES, "mean topics", "NPMI"),
    "systems": (*PERPLEXITIES, "Table 2", "Table 6", "mean topics", "NPMI", *TOPICS),
    "topics": (
        *("seeds", "Table 4", "NPMI", "NPMI by use", *TOPICS),
        *("effective topics", "bound, nats a review", "KL"),
    ),
}
OVER_SEEDS: dict[str, Callable[[str], str]] = {
    **{
        name: lambda files, columns=columns: seeds_table(files.split(), columns)
        for name, columns in COLUMNS.items()
    },
    "leads": lambda files: leads_table(files.split()),
}
