"""What was measured as a paper takes it: .csv and .tex, .svg and .pdf, and a .bib."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, Optional

import pandas as pd

from tcnlm.common.files import write_file
from tcnlm.common.rows import quoted
from tcnlm.drawing.figures import save
from tcnlm.metrics.base import Figure
from tcnlm.metrics.registry import METRICS, figure
from tcnlm.models import model_class
from tcnlm.report.comparison import (
    OTHER_SEEDS,
    compared_figures,
    differing,
    documents,
    group_name,
    mean_text,
    of_ratios,
    run_name,
)
from tcnlm.report.measured import Group, Measured, Ratio, groups_of, ratios
from tcnlm.report.published import size

REFERENCES = Path(__file__).with_name("references.bib")
ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}\n", re.DOTALL | re.MULTILINE)
NOTE = 72  # characters of a line below a table, so as not to widen it
OTHER_DATA = r"$^{\neq}$"  # marks a published figure
ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}

Cell = tuple[Any, Optional[str]]  # a value as it is, and as LaTeX; None: not there
Row = dict[str, Cell]


def export(runs: Sequence[Measured], folder: Path) -> None:
    """Write tables, figures and references of runs into a folder, a folder a run."""
    names, rows = _names(runs), []
    for name, run in zip(names, runs):
        rows.append(_described(run, name))
        for measure in (*compared_figures(), figure("parameters")):
            value, text = measure.value(run.evaluation), measure.text(run.evaluation)
            rows[-1][measure.title] = value, _latex(text)
            rows[-1][f"{measure.title}, published"] = _published(run, measure)
    _write_table(folder / "comparison", _filled(rows), _of_mark(runs))
    if len(runs) > 1:
        _write_seeds(folder / "seeds", groups_of(runs))
    models = [run.evaluation["model"] for run in runs]
    write_file(folder / "references.bib", references(models).encode())
    for name, run in zip(names, runs):
        for measure in METRICS:
            for title, rows in measure.tables(run.evaluation).items():
                _write_table(folder / name / title, list(map(as_latex, rows)))
            unsaved = run.unsaved.get(measure.key)
            measure.write(folder / name, run.evaluation, unsaved)
        for title, drawn in run.drawn.items():
            write_file(folder / name / f"{title}.svg", run.figures[title])
            save(drawn, folder / name / f"{title}.pdf")


def _write_seeds(stem: Path, groups: Sequence[Group]) -> None:
    found = ratios(groups)
    number = documents(groups) if any(found) else None
    rows = [_grouped(*each, number) for each in zip(groups, found)]
    notes = _of_mark([group.first for group in groups])
    if number:
        notes += [_latex(f"{of_ratios(groups)}."), _latex(OTHER_SEEDS)]
    _write_table(stem, _filled(rows), notes)


def _of_mark(runs: Sequence[Measured]) -> list[str]:
    """Explain the mark of published figures, where there is one."""
    said = differing(runs)
    return [f"{OTHER_DATA} Published on other data: {_latex(said)}."] if said else []


def _names(runs: Sequence[Measured]) -> list[str]:
    """Return the folders' names; of those that are the same, with a number."""
    names = [run_name(run).replace(os.sep, "-") for run in runs]
    times = Counter(names)
    return [
        f"{name}-{number}" if times[name] > 1 else name
        for number, name in enumerate(names, 1)
    ]


def references(models: Sequence[str]) -> str:
    """Return the BibTeX entries of models, each once; TCNLM's is the first."""
    wanted = ["tcnlm", *map(reference, models)]
    return "\n".join(_entries()[name] for name in dict.fromkeys(filter(None, wanted)))


def reference(model: str) -> str:
    """Return the key of a model's paper; "" of one without an entry."""
    key = model_class(model).paper or model
    return key if key in _entries() else ""


@cache
def _entries() -> dict[str, str]:
    return {
        found[1]: found[0]
        for found in ENTRY.finditer(REFERENCES.read_text(encoding="utf-8"))
    }


def _filled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without columns that are empty in all."""
    told = [t for t in rows[0] if any(row[t][0] not in (None, "") for row in rows)]
    return [{title: row[title] for title in told} for row in rows]


def _grouped(group: Group, ratio: Ratio | None, number: int | None) -> Row:
    """Return a group of seeds: means, deviations, and its ratio to the first.

    number: of documents that the ratio's interval comes of.
    """
    run = group.first
    row = {**_described(run, group_name(group)), "seeds": _plain(len(group.runs))}
    for measure in compared_figures():
        deviation = group.deviation(measure)
        text = _latex(mean_text(group, measure)).replace("±", r"$\pm$")
        row[measure.title] = group.mean(measure), text
        row[f"{measure.title}, deviation"] = deviation, None
        row[f"{measure.title}, published"] = _published(run, measure)
    low, value, high = (ratio.low, ratio.value, ratio.high) if ratio else [None] * 3
    row["ratio"] = value, f"{value:.3f} [{low:.3f}, {high:.3f}]" if ratio else ""
    ends = {"ratio, low": (low, None), "ratio, high": (high, None)}
    return {**row, **ends, "ratio, documents": (number if ratio else None, None)}


def _described(run: Measured, name: str) -> Row:
    settings, model = run.config["settings"], run.evaluation["model"]
    return {
        "run": _plain(name),
        "model": (model, _cited(model)),
        "layers x units": _plain(size(settings)),
        "topics": _plain(settings.get("num_topics")),
        "other data than published": (run.other_data, None),
    }


def _cited(model: str) -> str:
    key = reference(model)
    return _latex(model) + (rf"~\cite{{{key}}}" if key else "")


def _published(run: Measured, measure: Figure) -> Cell:
    found, mark = run.published(measure.key), OTHER_DATA if run.other_data else ""
    return (found.number, found.value + mark) if found else _plain(None)


def as_latex(row: Mapping[str, tuple[Any, str]]) -> Row:
    """Return a measure's row with its texts as LaTeX sets them."""
    return {title: (value, _latex(text)) for title, (value, text) in row.items()}


def _plain(value: Any) -> Cell:
    return value, _latex(value)


def _latex(value: Any) -> str:
    """Return a value as LaTeX sets it, its special characters escaped."""
    text = "" if value is None else str(value)
    return "".join(ESCAPES.get(character, character) for character in text)


def _write_table(stem: Path, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Write rows as stem.csv and, with notes of LaTeX below, as stem.tex."""
    if not rows:
        return
    values = [{title: quoted(v) for title, (v, _) in row.items()} for row in rows]
    lines = pd.DataFrame(values, dtype=object).to_csv(index=False, lineterminator="\n")
    write_file(stem.with_name(f"{stem.name}.csv"), lines.encode())
    write_file(stem.with_name(f"{stem.name}.tex"), latex_table(rows, notes).encode())


def latex_table(rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """Return a tabular of rows, for the package booktabs; numbers to the right.

    notes: of LaTeX, set below it in lines.
    """
    titles = [title for title, (_, text) in rows[0].items() if text is not None]
    numbers = [any(isinstance(r[t][0], (int, float)) for r in rows) for t in titles]
    texts = [[row[title][1] for title in titles] for row in rows]
    frame = pd.DataFrame(texts, columns=list(map(_latex, titles)), dtype=object)
    columns = "".join("r" if number else "l" for number in numbers)
    made = frame.to_latex(index=False, escape=False, column_format=columns)
    below = "".join(
        rf"\multicolumn{{{len(titles)}}}{{l}}{{\footnotesize {line}}} \\" + "\n"
        for note in notes
        for line in wrap(note, NOTE)
    )
    body, end = made.split("\\end{tabular}")
    return f"% \\usepackage{{booktabs}}\n{body}{below}\\end{{tabular}}{end}"
