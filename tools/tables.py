"""The tables of the README and of results/: recorded runs to rows of Markdown."""

import json
from collections.abc import Callable, Sequence
from csv import DictReader
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path

from tcnlm.evaluation.measures import BY_KEY
from tcnlm.models import model_class
from tcnlm.report.published import beside, figures
from tcnlm.training.settings import Training

RESULTS = Path(__file__).parents[1] / "results"
RATES = "rates.csv"  # written by python -m benchmarks.rates
MISSING = "–"
SHOWN_TOPICS = 5
PAIR = ("lstm", "tcnlm")
SPLITS = {
    "validation": lambda record: _best(record)["valid_perplexity"],
    "test": lambda record: record["evaluation"]["perplexity"],
}


def records(folder: Path = RESULTS) -> list[dict]:
    """Return all recorded runs in a folder, by file name."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def named(files: Sequence[str]) -> list[tuple[str, dict]]:
    """Return the runs in results/FILE.json with the names of their files."""
    return [(Path(file).name, record_of(file)) for file in files]


def record_of(file: str) -> dict:
    """Return what is kept in results/FILE.json."""
    return json.loads((RESULTS / f"{file}.json").read_text())


def _of_data(name: str) -> list[dict]:
    return [r for r in records() if r["data"]["name"] == name] or _runs_in(name)


def _runs_in(folder: str) -> list[dict]:
    return [r for r in records(RESULTS / folder) if "evaluation" in r]


def measured(key: str, title: str = "") -> tuple[str, str, Callable]:
    """Return the column of a measure; none of an older record that lacks it."""
    row = BY_KEY[key]
    return title or row.title, row.form, lambda r: row.value(r["evaluation"])


COLUMNS = (  # title, form, value of a record
    ("topics", "{}", lambda r: r["run"]["settings"].get("num_topics")),
    measured("parameters"),
    ("epochs", "{:.0f}", lambda r: r["history"][-1]["epoch"]),
    ("best epoch", "{:.0f}", lambda r: _best(r).get("epoch")),
    # LDA is fitted before the clock starts: no hours.
    ("training, hours", "{:.1f}", lambda r: r["history"][-1]["seconds"] / 3600 or None),
    ("validation perplexity", "{:.2f}", lambda r: _best(r).get("valid_perplexity")),
    measured("perplexity", "test perplexity"),
    measured("npmi"),
    measured("diversity"),
    measured("topics_in_use"),
)


def _best(record: dict) -> dict:
    """Return the epoch with the best perplexity; nothing where topics are all."""
    scored = [row for row in record["history"] if "valid_perplexity" in row]
    return min(scored, key=lambda row: row["valid_perplexity"], default={})


def runs_table(chosen: list[dict], columns: Sequence[tuple] = COLUMNS) -> str:
    """Return a row for every recorded run, the best perplexity last."""
    chosen = sorted(chosen, key=lambda r: -(r["evaluation"]["perplexity"] or 0))
    return named_table([(r["run"]["model"], r) for r in chosen], columns)


def named_table(
    chosen: list[tuple[str, dict]], columns: Sequence[tuple] = COLUMNS
) -> str:
    """Return a row for every recorded run, by the name that it is given."""
    rows = [["model", *(title for title, *_ in columns)]]
    for name, record in chosen:
        values = [(form, value(record)) for _, form, value in columns]
        cells = [MISSING if v is None else form.format(v) for form, v in values]
        rows.append([name, *cells])
    return _markdown(rows)


def paper(table: str, size: str, topics: str) -> Callable[[dict], str | None]:
    """Return what a table of the paper has for a recorded run's model on IMDB."""
    found = {
        figure.model: figure.value
        for figure in figures()
        if (figure.table, figure.corpus) == (table, "imdb")
        and figure.size in ("", size)
        and figure.topics in ("", topics)
    }
    return lambda record: found.get(record["run"]["model"])


def systems_table(folder: Path) -> str:
    """Return a row for every system, with the paper's figures and measured rates."""
    with (folder / RATES).open(newline="") as file:
        rates = {r["model"]: float(r["tokens_per_second"]) for r in DictReader(file)}

    def minutes(record: dict) -> float | None:
        tokens = record["data"]["splits"]["train"]["targets"]
        rate = rates.get(record["run"]["model"])
        return rate and record["history"][-1]["epoch"] * tokens / rate / 60

    columns = (
        ("topics", "{}", lambda r: r["run"]["settings"].get("num_topics")),
        measured("perplexity", "test perplexity"),
        ("Table 2", "{}", paper("Table 2", "1x600", "50")),
        ("Table 6", "{}", paper("Table 6", "1x100", "30")),
        measured("npmi"),
        ("Table 4", "{}", paper("Table 4", "1x600", "50")),
        measured("topics_in_use"),
        measured("parameters"),
        ("tokens/s", "{:,.0f}", lambda r: rates.get(r["run"]["model"])),
        ("minutes at that rate", "{:.1f}", minutes),
    )
    return runs_table(records(folder), columns)


COHERENCE = (  # title, form, value of a record
    measured("npmi"),
    ("Table 4", "{}", paper("Table 4", "1x600", "50")),
    measured("diversity"),
    measured("topics_in_use"),
    ("documents of the rarest", "{}", lambda r: _rarest(r)),
    ("best joint epoch", "{:.0f}", lambda r: _best(r).get("epoch")),
)


def _rarest(record: dict) -> int:
    """Return how many documents the topic leads that leads the fewest."""
    return min(topic["documents"] for topic in record["evaluation"]["topics"])


def history_table(chosen: list[tuple[str, dict]]) -> str:
    """Return the validation perplexity of every language model after every epoch.

    In brackets its ratio to that of the LSTM, the first of them if it is there.
    """
    scored = [(title, record) for title, record in chosen if _best(record)]
    titles, runs = zip(*sorted(scored, key=lambda s: s[1]["run"]["model"] != PAIR[0]))
    histories = [[row["valid_perplexity"] for row in _epochs(r)] for r in runs]
    compared = runs[0]["run"]["model"] == PAIR[0]
    rows = [["epoch", *titles]]
    for epoch, (first, *others) in enumerate(zip_longest(*histories), 1):
        base = first if compared else None
        cells = (_with_ratio(value, base) for value in others)
        rows.append([str(epoch), _with_ratio(first, None), *cells])
    return _markdown(rows)


def _epochs(record: dict) -> list[dict]:
    """Return the evaluations after whole epochs; there may be others in between."""
    return [row for row in record["history"] if float(row["epoch"]).is_integer()]


def _with_ratio(value: float | None, base: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" + (f" ({value / base:.3f})" if base else "")


def _title(record: dict) -> str:
    topics = record["run"].get("settings", {}).get("num_topics")
    noun = "topic" if topics == 1 else "topics"
    return record["run"]["model"] + (f", {topics} {noun}" if topics else "")


def topics_table(record: dict) -> str:
    """Return the topics that documents use most, with a sentence from each."""
    rows = [["topic", "share", "NPMI", "ten most probable words", "a sentence"]]
    used = sorted(record["evaluation"]["topics"], key=lambda t: -t["proportion"])
    for topic in used[:SHOWN_TOPICS]:
        figures = f"{topic['proportion']:.3f}", f"{topic['npmi']:.3f}"
        words = " ".join(topic["words"][:10])
        rows.append([str(topic["topic"]), *figures, words, topic["sentence"] or ""])
    return _markdown(rows)


def words_table(record: dict, *numbers: str) -> str:
    """Return the words of these topics, or of all, the most used first."""
    rows = [["topic", "documents that it leads", "NPMI", "ten most probable words"]]
    topics = {str(topic["topic"]): topic for topic in record["evaluation"]["topics"]}
    kept = [topics[number] for number in numbers or topics]
    for topic in sorted(kept, key=lambda t: -t["documents"]):
        figures = str(topic["documents"]), f"{topic['npmi']:.3f}"
        rows.append([str(topic["topic"]), *figures, " ".join(topic["words"][:10])])
    return _markdown(rows)


def changes_table(folders: Sequence[Path]) -> str:
    """Return what a change of settings or data does to LSTM, TCNLM and their ratio."""
    pairs = [[_read(f / f"{model}.json") for model in PAIR] for f in folders]
    titles = [f"{name}, {split}" for split in SPLITS for name in (*PAIR, "ratio")]
    rows = [["change", "epochs", *titles]]
    first, base = pairs[0][0], _varied(pairs[0][1])
    return _markdown(
        rows + [_change(lstm or first, tcnlm, base) for lstm, tcnlm in pairs]
    )


def _varied(record: dict) -> dict:
    """Return all that two runs of one model may differ in, the data's name among it."""
    run = record["run"]
    # An older record lacks what could be set only later, and went by the default.
    settings = {**asdict(model_class(run["model"]).Config()), **run["settings"]}
    training = {**asdict(Training()), **run["training"]}
    return {**settings, **training, "data": record["data"]["name"]}


def _change(lstm: dict, tcnlm: dict, base: dict) -> list[str]:
    varied = _varied(tcnlm)
    changed = [f"`{k}={_plain(v)}`" for k, v in varied.items() if v != base[k]]
    row = [" ".join(changed) or "as they were", f"{tcnlm['history'][-1]['epoch']:.0f}"]
    for figure in SPLITS.values():
        ratio = figure(tcnlm) / figure(lstm)
        row += [f"{figure(lstm):.2f}", f"{figure(tcnlm):.2f}", f"{ratio:.3f}"]
    return row


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else f"{value}"


def _read(path: Path) -> dict | None:
    return json.loads(path.read_text()) if path.exists() else None


ALONE = (  # title, form, figure
    ("perplexity with KL", "{:,.0f}", "perplexity"),
    ("of the words at mean t", "{:,.0f}", "words_perplexity"),
    ("KL", "{:.1f}", "kl"),
    ("in use", "{}", "topics_in_use"),
    ("mean largest t", "{:.2f}", "largest_proportion"),
    ("diversity", "{:.2f}", "diversity"),
    ("NPMI", "{:.3f}", "npmi"),
)


def alone_table(kept: list[dict]) -> str:
    """Return a row for every topic model that was trained alone, best bound last."""
    rows = [["settings", *(title for title, *_ in ALONE)]]
    for record in sorted(kept, key=lambda r: -r["figures"]["perplexity"]):
        values = [form.format(record["figures"][name]) for _, form, name in ALONE]
        rows.append([f"`{' '.join(record['settings'])}`", *values])
    return _markdown(rows)


def sentences_table(record: dict, *names: str) -> str:
    """Return a row for these topics and mixtures, or for all, with what each wrote."""
    rows = [["topic", "its words", "greedy", "sampled"]]
    written = {row["name"]: row for row in record["sentences"]}
    for row in (written[name] for name in names or written):
        words = " ".join(record["words"][str(row["topics"][0])])
        lists = row["greedy"], row["sampled"]
        cells = ["<br>".join(listed).replace("|", "/") for listed in lists]
        rows.append([row["name"], MISSING if row["topics"][1:] else words, *cells])
    return _markdown(rows)


def published_table(corpus: str, table: str) -> str:
    """Return the paper's rows for a corpus, and ours where a run can stand beside."""
    ours = {}
    for record in records():
        evaluation, settings = record["evaluation"], record["run"]["settings"]
        for measure in ("perplexity", "npmi"):
            model = record["run"]["model"]
            figure = beside(evaluation.get("corpus"), model, settings, measure)
            text = BY_KEY[measure].text(evaluation)
            ours[figure] = text, _best(record).get("epoch")
    title = ["model", "layers x units", "topics", "measure", "published", "ours"]
    rows = [[*title, "our epochs"]]
    for figure in figures():
        if (figure.corpus, figure.table) == (corpus, table):
            value, epochs = ours.get(figure, (None, None))
            cells = [figure.model, figure.size, figure.topics, figure.measure]
            cells += [figure.value, value or MISSING]
            cells += [f"{epochs:.0f}" if epochs else MISSING]
            rows.append([cell or MISSING for cell in cells])
    return _markdown(rows)


def _of_record(table: Callable[..., str], file: str, *names: str) -> str:
    return table(record_of(file), *names)


TABLES: dict[str, Callable[[str], str]] = {
    "runs": lambda data: runs_table(_of_data(data)),
    "named": lambda files: named_table(named(files.split())),
    "systems": lambda folder: systems_table(RESULTS / folder),
    "history": lambda data: history_table([(_title(r), r) for r in _of_data(data)]),
    "beside": lambda files: history_table(named(files.split())),
    "changes": lambda folders: changes_table([RESULTS / f for f in folders.split()]),
    "topics": lambda file: topics_table(record_of(file)),
    "coherence": lambda files: named_table(named(files.split()), COHERENCE),
    "words": lambda rest: _of_record(words_table, *rest.split()),
    "alone": lambda folder: alone_table(records(RESULTS / folder)),
    "sentences": lambda rest: _of_record(sentences_table, *rest.split()),
    "published": lambda rest: published_table(*rest.split(" ", 1)),
}


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
