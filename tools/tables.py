"""The tables of the README and of results/: recorded runs to rows of Markdown.

results/columns.csv has the columns of every table, results/titles.csv what the runs of
a recipe are called where its name would not do, and what it is of use for. A column's
`form` with ± asks for mean and deviation over seeds, another for the figure of the
first seed. Its `figure` is one of `figure`, or a place in the record.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tcnlm.report import published
from tcnlm.report.records import Record, read_records

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS = pd.read_csv(RESULTS / "columns.csv")
TITLES = pd.read_csv(RESULTS / "titles.csv", index_col="recipe")
MISSING, DEVIATION = "–", re.compile(r" ± {.*?}")
TEST = "figures.perplexity"
LAYERS = ("600", "512", "256")  # units of the published hierarchies
BAGS = {
    "bag of topic words": "topic_vocabulary_size",
    "bag of words": "vocabulary_size",
}
Rows = Sequence[tuple[str, dict[int, Record]]]  # title, and records by their seeds
RUNS: dict[str, dict[int, Record]] = {}  # by recipe and seed
for _run in read_records(RESULTS / "records.jsonl"):
    RUNS.setdefault(_run["recipe"], {})[_run["seed"]] = _run


def table(kind: str, rows: Rows) -> str:
    """Return a table with the columns of its kind, a row for each or what MADE has."""
    rows = MADE.get(kind, list)(rows)
    runs, columns = series(rows), COLUMNS[COLUMNS["table"] == kind]
    cells = [
        [title, *(cell(form, values) for values in figure(runs, name).to_numpy())]
        for title, name, form in columns.iloc[:, 1:].to_numpy()
    ]
    return markdown([*zip(*cells)])


def series(rows: Rows) -> pd.Series:
    """Return the records of rows by row and seed, each with the title of its row."""
    places = [(row, seed) for row, (_, runs) in enumerate(rows) for seed in runs]
    records = [{**run, "title": title} for title, runs in rows for run in runs.values()]
    return pd.Series(records, pd.MultiIndex.from_tuples(places))


def cell(form: str, values: Iterable[Any]) -> str:
    """Return figures over seeds in the form of their column."""
    there = pd.Series(values).dropna()
    if there.empty:
        return MISSING
    if len(there) == 1 or "±" not in form:
        return DEVIATION.sub("", form).format(there.iloc[0])
    return form.format(there.astype(float).mean(), there.astype(float).std())


def figure(runs: pd.Series, name: str) -> pd.DataFrame:
    """Return a figure of runs by row and seed.

    "ratio" is that to the first row at the same seed, "seeds" their number, "A / B"
    what it says, all else a place for `at`.
    """
    if name == "ratio":
        test = figure(runs, TEST)
        return test / test.iloc[0]
    if name == "seeds":
        return runs.groupby(level=0).size().to_frame()
    if " / " in name:
        over, under = (figure(runs, part) for part in name.split(" / "))
        return over / under
    return runs.map(lambda run: at(run, name)).unstack()


def printed(**kept: Iterable[str]) -> dict[str, float]:
    """Return the published figures of such table, corpus, size, topics, by model."""
    rows = [f for f in published.figures() if f.measure in published.COMPARED]
    rows = [f for f in rows if all(getattr(f, name) in kept[name] for name in kept)]
    return {row.model: row.number for row in rows}


def at(record: Record, place: str) -> Any:
    """Return what is at "a.b" of a record, or is derived from it; None without it."""
    found: Any = record
    for part in place.split("."):
        derived = DERIVED.get(part, lambda entry, key=part: entry.get(key))
        found = derived(found) if found else None
    return found


def _best(run: Record) -> dict[str, float]:
    """Return the epoch with the best perplexity; nothing where topics are all."""
    columns = run["curve"]
    pairs = zip(columns["train_perplexity"], columns.get("valid_perplexity", ()))
    rows = [{"train": train, "valid": valid} for train, valid in pairs if valid]
    return min(rows, key=lambda row: row["valid"], default={})


def _layers(run: Record) -> list[float]:
    """Return how many topics of every layer are used, effectively."""
    return at(run, "figures.hierarchy.effective_topics") or []


def _with_context(run: Record, rule: str) -> float | None:
    """Return the test perplexity with contexts of a rule; None where not recorded.

    With the context that a run was not trained with it is that of RECIPE-at-RULE. An
    LSTM has the same with any; DATA's own rule, where none is named, is `others`.
    """
    preceding = at(run, "training.context") == "preceding"
    if run["model"] != "lstm" and preceding != (rule == "preceding"):
        run = RUNS.get(f"{run['recipe']}-at-{rule}", {}).get(run["seed"], {})
    return at(run, TEST)


def _published_ratio(run: Record) -> float | None:
    """Return the paper's on IMDB for as many layers, to its LSTM of one."""
    layers = len(_layers(run))
    sizes = "1x600", "-".join(LAYERS[:layers])
    found = printed(table=["Table 1", "Table 2"], corpus=["imdb"], size=sizes)
    ours = found.get(run["model"]) if layers else None
    return ours and ours / found["lstm"]


def _features(run: Record) -> int:
    """Return how long a document's vector is: topics, or units without any, or both."""
    settings = run["settings"]
    both = "cell" in settings or "num_topics" not in settings
    return settings.get("num_topics", 0) + (settings["units"] if both else 0)


DERIVED = {  # from a run's record
    "number of topics": lambda run: (
        published.layered(run["settings"].get("num_topics", "")) or None
    ),
    "best epoch": _best,
    "features": _features,
    "with preceding": lambda run: _with_context(run, "preceding"),
    "with others": lambda run: _with_context(run, "others"),
    "published ratio": _published_ratio,
    "by layer": lambda run: ", ".join(f"{n:.1f}" for n in _layers(run)) or None,
    "percent": lambda run: 0.01,
    "minutes": lambda run: run["curve"]["seconds"][-1] / 60,
    "use": lambda run: TITLES["use"].get(run["recipe"]),
}


def _ratios(rows: Rows) -> Rows:
    """Return the runs, the first of each model with its figure in Table 6."""
    theirs = printed(table=["Table 6"], corpus=["imdb"])
    base, found = theirs["lstm"], []
    for title, runs in rows:
        paper = {"own": theirs.pop(runs[1]["model"], None), "lstm": base}
        found.append((title, {s: {**run, "paper": paper} for s, run in runs.items()}))
    return found


def _leads(rows: Rows) -> Rows:
    """Return how far runs are below each other over the seeds that both have.

    Each below the one before, then the last below the first.
    """
    pairs = [*zip(rows, rows[1:])] + [(rows[0], rows[-1])] * (len(rows) > 2)
    return [
        (name, {s: _lead(base, theirs[s], ours[s]) for s in theirs if s in ours})
        for (base, theirs), (name, ours) in pairs
    ]


def _lead(base: str, theirs: Record, ours: Record) -> Record:
    """Return how far a run is below another in training, validation and test, in %.

    Training is compared at the last epoch of both: it falls with every epoch, so that a
    best epoch less of one of them would pass for a lead.
    """
    last = min(len(run["curve"]["train_perplexity"]) for run in (theirs, ours)) - 1
    figures = {
        "training lead": lambda run: run["curve"]["train_perplexity"][last],
        "validation lead": lambda run: at(run, "best epoch.valid"),
        "test lead": lambda run: at(run, TEST),
    }
    leads = {name: 100 * (1 - of(ours) / of(theirs)) for name, of in figures.items()}
    return {"base": base, **leads}


def _cells(rows: Rows) -> Rows:
    """Return PTB's runs of each size and cell, by model, and what is published of them.

    The published ratio is to the RNN without topics, the only such row there is.
    """
    found: dict[tuple[int, str], Record] = {}
    for _, runs in rows:
        settings = runs[1]["settings"]
        units, cell = settings["units"], settings["cell"]
        theirs = printed(corpus=["ptb"], size=[f"1x{units}"])
        theirs = {"rnn": theirs["lstm-rnn"], "topics": theirs[f"topic_rnn-{cell}"]}
        row = found.setdefault((units, cell), {"cell": cell, "published": theirs})
        row[runs[1]["model"]] = runs[1]
    return [(str(units), {1: row}) for (units, _), row in sorted(found.items())]


def _sentiment(rows: Rows) -> Rows:
    """Return what classifiers read: features of runs, words of the first's DATA."""
    found = []
    for title, runs in rows:
        settings, kinds = runs[1]["settings"], _classifiers(runs[1])
        sizes = {"vector": _features(runs[1]), "topics": settings.get("num_topics")}
        for part, size in {**sizes, "last state": settings.get("units")}.items():
            name = title if part == "vector" else f"its {part} alone"
            found += [(name, size, kinds[part])] if part in kinds else []
    first = rows[0][1][1]
    for name, size in BAGS.items():
        found.append((name, first["data"][size], _classifiers(first)[name]))
    return [(name, {1: {"number": size, **of}}) for name, size, of in found]


def _classifiers(run: Record) -> dict[str, Record]:
    return run["figures"]["classification"]["rows"]


def _bleu(rows: Rows) -> Rows:
    """Return the runs, and the real sentences that the last was set beside."""
    real = at(rows[-1][1][1], "figures.bleu.real")
    return [*rows, ("real text", {1: {"figures": {"bleu": real}}})]


MADE = {
    "ratios": _ratios,
    "leads": _leads,
    "cells": _cells,
    "sentiment": _sentiment,
    "bleu": _bleu,
}


def named(recipes: Sequence[str]) -> Rows:
    """Return the runs of recipes over their seeds, with their titles.

    RECIPE:SEED is the run of one seed alone.
    """
    return [(title_of(recipe), _runs(*recipe.split(":"))) for recipe in recipes]


def _runs(recipe: str, *seed: str) -> dict[int, Record]:
    return {s: RUNS[recipe][s] for s in map(int, seed)} or RUNS[recipe]


def title_of(recipe: str) -> str:
    """Return what the runs of a recipe are called."""
    return TITLES["title"].get(recipe, recipe)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, the first row its titles."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
