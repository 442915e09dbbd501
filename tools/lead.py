"""What the results page shows of TCNLM's lead: runs over seeds, and its parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from csv import DictReader
from pathlib import Path
from statistics import mean, stdev

from matplotlib.figure import Figure

from tcnlm.report.figures import BLUE, GREY, INK, RED, axes_of
from tools.tables import (
    MISSING,
    RESULTS,
    best,
    effective,
    epochs,
    markdown,
    number_of_topics,
    paper,
    record_of,
    recorded,
    title_of,
)

SEEDS = range(2, 10)  # seed N is in FILE-seed-N.json
COLOURS = (GREY, RED, BLUE, "#4d8b57")


def seeds_table(files: Sequence[str]) -> str:
    """Return what runs have over their seeds, beside the first of them.

    A mean with its deviation; ratios are to the first row's run of the same seed.
    """
    rows = [["model", "topics", "parameters", "seeds", "training", "validation"]]
    rows[0] += ["test", "ratio", "mean topics", "NPMI"]
    base = _perplexities(_runs(files[0]))
    for file in files:
        runs = _runs(file)
        first, found = runs[1], _perplexities(runs)
        ratios = [test / base[seed][-1] for seed, (*_, test) in found.items()]
        cells = [title_of(file), number_of_topics(first["run"]["settings"]) or MISSING]
        cells += [f"{first['evaluation']['parameters']:,}", str(len(runs))]
        cells += [_spread(values, 2) for values in zip(*found.values())]
        cells += [_spread(ratios, 3)]
        cells += [_spread(_found(runs, "topic_worth"), 2)]
        cells += [_spread(_found(runs, "npmi"), 3)]
        rows.append(cells)
    return markdown(rows)


def leads_table(files: Sequence[str]) -> str:
    """Return how far runs are below each other over the seeds that both have, in %.

    Each below the one before, then the last below the first.
    """
    rows = [["model", "is below", "seeds", "training", "validation", "test"]]
    for base, file in [*zip(files, files[1:]), (files[0], files[-1])]:
        theirs, ours = (_perplexities(_runs(name)) for name in (base, file))
        seeds = sorted(theirs.keys() & ours.keys())
        leads = (
            [100 * (1 - ours[seed][i] / theirs[seed][i]) for seed in seeds]
            for i in range(3)
        )
        cells = [title_of(file), title_of(base), str(len(seeds))]
        rows.append(cells + [f"{_spread(values, 2)} %" for values in leads])
    return markdown(rows)


def _perplexities(runs: dict[int, dict]) -> dict[int, tuple[float, float, float]]:
    """Return each seed's perplexities of training, validation and test."""
    return {
        seed: (
            best(run)["train_perplexity"],
            best(run)["valid_perplexity"],
            run["evaluation"]["perplexity"],
        )
        for seed, run in runs.items()
    }


def _runs(file: str) -> dict[int, dict]:
    """Return the recorded runs by their seeds."""
    further = {seed: f"{file}-seed-{seed}" for seed in SEEDS}
    named = {1: file, **{s: name for s, name in further.items() if recorded(name)}}
    return {seed: record_of(name) for seed, name in named.items()}


def _found(runs: dict[int, dict], key: str) -> list[float]:
    """Return a figure of the runs that have it; of topics' worth that of the mean."""
    values = (run["evaluation"].get(key) for run in runs.values())
    plain = (v["mean"] if isinstance(v, dict) else v for v in values)
    return [value for value in plain if value is not None]


def _spread(values: Iterable[float], digits: int) -> str:
    values = list(values)
    if not values:
        return MISSING
    spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{spread}"


def topics_table(files: Sequence[str]) -> str:
    """Return the topics of runs over their seeds, a mean with its deviation each.

    Beside the paper's Table 4. "NPMI by use" weighs each topic by its mean proportion;
    the effective number of topics is exp(entropy of these proportions).
    """
    of_paper, columns = paper("Table 4", "1x600", "50"), list(TOPICS)
    rows = [["model", "seeds", "Table 4", *columns]]
    for file in files:
        runs = _runs(file)
        cells = [title_of(file), str(len(runs)), of_paper(runs[1]) or MISSING]
        for value, digits in TOPICS.values():
            found = [value(run["evaluation"]) for run in runs.values()]
            cells.append(_spread([v for v in found if v is not None], digits))
        rows.append(cells)
    return markdown(rows)


TOPICS: dict[str, tuple[Callable[[dict], float | None], int]] = {
    "NPMI": (lambda e: e["npmi"], 3),
    "NPMI by use": (lambda e: by_use(e["topics"]), 3),
    "diversity": (lambda e: e["diversity"], 2),
    "topics in use": (lambda e: e["topics_in_use"], 0),
    "effective topics": (
        lambda e: effective([t["proportion"] for t in e["topics"]]),
        1,
    ),
    "KL, nats a review": (lambda e: (e.get("elbo") or {}).get("kl"), 1),
}


def by_use(topics: Sequence[dict]) -> float:
    """Return the mean NPMI of topics, each weighted by its mean proportion."""
    use = [topic["proportion"] for topic in topics]
    return sum(t["npmi"] * u for t, u in zip(topics, use)) / sum(use)


def lead_by_epoch(base: str, files: Sequence[str]) -> Figure:
    """Draw how far below the first run others are, in training and validation."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, split, title in zip(
        figure.subplots(1, 2, sharey=True),
        ("train", "valid"),
        ("On training batches", "On the validation split"),
    ):
        axes_of(axes, title, "epoch", f"% below the {title_of(base)}")
        theirs = _by_epoch(base, split)
        for file, colour in zip(files, COLOURS):
            ours = _by_epoch(file, split)
            lead = [100 * (1 - ours[e] / theirs[e]) for e in ours]
            axes.plot(list(ours), lead, "o-", ms=3, color=colour, label=title_of(file))
        axes.axhline(0, color=GREY, lw=0.8)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure


def _by_epoch(file: str, split: str) -> dict[int, float]:
    rows = epochs(record_of(file))
    return {int(row["epoch"]): row[f"{split}_perplexity"] for row in rows}


def gains_by_class(splits: Mapping[str, Path]) -> Figure:
    """Draw the gain of each class of words, nats a target, from tcnlm.gains's tables.

    splits: a table a split, by what the legend is to call it.
    """
    figure = Figure(figsize=(9, 5.4), layout="constrained")
    axes = axes_of(figure.subplots(), "", "gain, nats a target (± standard error)")
    height = 0.8 / len(splits)
    for i, (title, colour) in enumerate(zip(splits, (BLUE, GREY))):
        rows = _classes(splits[title])
        gains, errors = ([float(row[key]) for row in rows] for key in ("gain", "error"))
        places = [row + i * height for row in range(len(rows))]
        axes.barh(
            places, gains, height, xerr=errors, color=colour, ecolor=INK, label=title
        )
    labels = [f"{row['classes']}: {row['name']}" for row in rows]
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(rows))], labels)
    axes.axvline(0, color=INK, lw=0.8)
    axes.invert_yaxis()
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure


def _classes(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in DictReader(file) if row["classes"] != "all"]


def written_table(file: str, number: int = 2) -> str:
    """Return what topics write: words of each, and sampled sentences."""
    found = record_of(file)
    rows = [["topic", "ten most probable words", "sampled"]]
    for one in found["sentences"]:
        if len(one["topics"]) == 1:
            words = " ".join(found["words"][str(one["topics"][0])])
            rows.append([one["name"], words, "<br>".join(one["sampled"][:number])])
    return markdown(rows)


LEAD: dict[str, Callable[[str], str]] = {
    "seeds": lambda files: seeds_table(files.split()),
    "leads": lambda files: leads_table(files.split()),
    "topics": lambda files: topics_table(files.split()),
    "written": lambda file: written_table(file),
}
FIFTH = RESULTS / "imdb-fifth-decay"
GAINS = {
    "test": FIFTH / "gains-seed-3.csv",
    "training": FIFTH / "gains-training-seed-3.csv",
}
