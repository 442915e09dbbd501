"""The records of runs as a table, and tables of the README and of results/ made of it.

RUNS has a row for each recipe and seed; a column is a place in the record
("figures.perplexity"), or derived below. results/columns.csv has the columns of every
kind of table, results/titles.csv what a recipe's runs are called, and of what use. A
column's `form` with ± asks for mean and deviation over seeds, another for the first
seed's figure; "ratio" is test perplexity over that of the first row at the same seed.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcnlm.report.published import layered, size
from tcnlm.report.records import Record, read_records

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS = pd.read_csv(RESULTS / "columns.csv")
TITLES = pd.read_csv(RESULTS / "titles.csv", index_col="recipe")
MISSING, TEST = "–", "figures.perplexity"


def derived(run: Record) -> Record:
    """Return what tables show of a record beside what is in it."""
    settings, curve = run.get("settings", {}), run["curve"]
    command = run.get("evaluation", {}).get("command", "")
    wikipedia = any(option in command for option in ("--counts", "--reference"))
    valid = np.array(curve.get("valid_perplexity", []), float)
    best = int(np.nanargmin(valid)) if np.isfinite(valid).any() else None
    found = {
        "run": run,
        "digest": hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest(),
        "hours": curve["seconds"][-1] / 3600,
        "minutes": curve["seconds"][-1] / 60,
        "size": size(settings),
        "topics": layered(settings.get("num_topics", "")) or None,
        "all documents": sum(s["documents"] for s in run["data"]["splits"].values()),
        "npmi on Wikipedia": run.get("figures", {}).get("npmi") if wikipedia else None,
    }
    if best is None:
        return found
    at_best = {"validation": valid[best], "training": curve["train_perplexity"][best]}
    return {**found, "best epoch": best + 1, **at_best}


def table_of(records: Iterable[Record]) -> pd.DataFrame:
    """Return records as RUNS has them."""
    records = list(records)
    made = pd.DataFrame(map(derived, records))
    return pd.json_normalize(records).join(made).set_index(["recipe", "seed"])


FILES = RESULTS / "records.jsonl", RESULTS / "corpora.jsonl"  # of runs, of DATA alone
RUNS = table_of([record for file in FILES for record in read_records(file)])


def values(recipe: str, column: str) -> pd.Series:
    """Return a figure of a recipe's runs by seed."""
    there = recipe in RUNS.index and column in RUNS
    return RUNS.loc[recipe, column].dropna() if there else pd.Series(dtype=float)


def title_of(recipe: str) -> str:
    """Return what the runs of a recipe are called."""
    return TITLES["title"].get(recipe, recipe)


def table(kind: str, recipes: Sequence[str]) -> str:
    """Return a table with the columns of its kind, a row for each recipe's runs."""
    columns = COLUMNS[COLUMNS["table"] == kind]
    forms = [*columns[["form", "figure"]].itertuples(index=False)]
    rows = [
        [cell(f, figure(r, name, recipes[0])) for f, name in forms] for r in recipes
    ]
    return markdown(" | ".join(columns["title"]), rows)


def figure(recipe: str, name: str, first: str) -> pd.Series:
    """Return the figures of a cell, by seed."""
    alone = {"title": title_of(recipe), "use": TITLES["use"].get(recipe)}
    alone["seeds"] = len(values(recipe, "run"))
    if name in alone:
        return pd.Series([alone[name]])
    if name == "ratio":
        return (values(recipe, TEST) / values(first, TEST)).dropna()
    return values(recipe, name)


def cell(form: str, found: pd.Series) -> str:
    """Return figures over seeds in the form of their column."""
    found = found.dropna()
    if found.empty:
        return MISSING
    first: Any = found.iloc[0]
    if isinstance(first, list):
        return ", ".join(map(form.format, first))
    if "±" not in form or len(found) == 1:
        return form.partition(" ±")[0].format(first) + " %" * form.endswith("} %")
    return form.format(found.astype(float).mean(), found.astype(float).std())


def leads(pairs: Sequence[str]) -> str:
    """Return how far runs are below others in %; training at the last epoch of both."""
    rows = []
    for ours, theirs in (pair.split("/") for pair in pairs):
        curves = [values(name, "curve.train_perplexity") for name in (ours, theirs)]
        both = curves[0].index.intersection(curves[1].index)
        # A best epoch less of one of them would pass for a lead.
        last = min(len(curve[seed]) for curve in curves for seed in both) - 1
        pair = [[curve.str[last].astype(float) for curve in curves]]
        pair += [[values(n, c) for n in (ours, theirs)] for c in ("validation", TEST)]
        shown = [cell("{:.2f} ± {:.2f} %", 100 * (1 - a / b)) for a, b in pair]
        rows.append((title_of(ours), title_of(theirs), str(len(both)), *shown))
    return markdown("model | is below | seeds | training | validation | test", rows)


def markdown(titles: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a table; titles: of its columns, with | between them."""
    lines = [f"| {titles} |", "|---" * (titles.count("|") + 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
