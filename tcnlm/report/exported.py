"""What was measured as a paper takes it: .csv and .tex, .svg and .pdf, and a .bib."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Optional

from tcnlm.coherence.table import shown
from tcnlm.common.files import write_file
from tcnlm.drawing.figures import save
from tcnlm.measures.table import BY_KEY, Measure
from tcnlm.report.comparison import (
    COMPARED,
    OTHER_SEEDS,
    differing,
    documents,
    group_name,
    mean_text,
    of_ratios,
    run_name,
)
from tcnlm.report.groups import Group, Ratio, groups_of, ratios
from tcnlm.report.published import size
from tcnlm.report.sections import Measured

REFERENCES = Path(__file__).with_name("references.bib")
ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}\n", re.DOTALL | re.MULTILINE)
SAME_PAPER = {  # model: the name that its paper has in the file
    **dict.fromkeys(
        ("bag_lstm", "lda_lstm", "naive_moe", "neural_topics", "topic_lstm"), "tcnlm"
    ),
    "gbn_rnn": "rgbn_rnn",
}
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
    names = _names(runs)
    _write_table(folder / "comparison", _comparison(runs, names), _of_mark(runs))
    if len(runs) > 1:
        _write_seeds(folder / "seeds", groups_of(runs))
    models = [run.evaluation["model"] for run in runs]
    write_file(folder / "references.bib", references(models).encode())
    for name, run in zip(names, runs):
        if run.evaluation["topics"]:
            _write_table(folder / name / "topics", _topics(run.evaluation["topics"]))
        for title, figure in run.drawn.items():
            for ending in ("svg", "pdf"):
                save(figure, folder / name / f"{title}.{ending}")


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
    wanted = ["tcnlm", *(reference(model) for model in models)]
    entries = {found[1]: found[0] for found in ENTRY.finditer(REFERENCES.read_text())}
    return "\n".join(entries[name] for name in dict.fromkeys(wanted))


def reference(model: str) -> str:
    """Return the key of a model's paper."""
    return SAME_PAPER.get(model, model)


def _comparison(runs: Sequence[Measured], names: Sequence[str]) -> list[Row]:
    """Return a row for every run; columns that are empty in all are left out."""
    shown = [*COMPARED, BY_KEY["parameters"]]
    rows = [
        {**_described(run, name), **_measured(run, shown)}
        for name, run in zip(names, runs)
    ]
    return _filled(rows)


def _filled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without columns that are empty in all."""
    empty = {t for t in rows[0] if all(row[t][0] in (None, "") for row in rows)}
    return [{t: cell for t, cell in row.items() if t not in empty} for row in rows]


def _grouped(group: Group, ratio: Ratio | None, number: int | None) -> Row:
    """Return a group of seeds: means, deviations, and its ratio to the first.

    number: of documents that the ratio's interval comes of.
    """
    run = group.first
    row = {**_described(run, group_name(group)), "seeds": _plain(len(group.runs))}
    for measure in COMPARED:
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
        "model": (model, rf"{_latex(model)}~\cite{{{reference(model)}}}"),
        "layers x units": _plain(size(settings)),
        "topics": _plain(settings.get("num_topics")),
        "other data than published": (run.other_data, None),
    }


def _measured(run: Measured, measures: Sequence[Measure]) -> Row:
    """Return what was measured, each beside what is published of it."""
    row = {}
    for measure in measures:
        text = measure.text(run.evaluation)
        row[measure.title] = measure.value(run.evaluation), _latex(text)
        row[f"{measure.title}, published"] = _published(run, measure)
    return row


def _published(run: Measured, measure: Measure) -> Cell:
    found, mark = run.published(measure.key), OTHER_DATA if run.other_data else ""
    return (float(found.value), found.value + mark) if found else _plain(None)


def _topics(topics: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [
        {
            "topic": _plain(topic["topic"]),
            "words": (" ".join(topic["words"]), _latex(" ".join(topic["words"][:10]))),
            "NPMI": (topic["npmi"], shown(topic["npmi"], ".3f")),
            "documents": (topic["documents"], f"{topic['documents']:,}"),
            "mean share": (topic["proportion"], shown(topic["proportion"], ".3f")),
        }
        for topic in topics
    ]


def _plain(value: Any) -> Cell:
    return value, _latex(value)


def _latex(value: Any) -> str:
    """Return a value as LaTeX sets it, its special characters escaped."""
    text = "" if value is None else str(value)
    return "".join(ESCAPES.get(character, character) for character in text)


def _write_table(stem: Path, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Write rows as stem.csv and, with notes of LaTeX below, as stem.tex."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([rows[0], *([value for value, _ in r.values()] for r in rows)])
    write_file(stem.with_name(f"{stem.name}.csv"), lines.getvalue().encode())
    write_file(stem.with_name(f"{stem.name}.tex"), latex_table(rows, notes).encode())


def latex_table(rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """Return a tabular of rows, for the package booktabs; numbers to the right.

    notes: of LaTeX, set below it in lines.
    """
    titles = [title for title, (_, text) in rows[0].items() if text is not None]
    numbers = [any(isinstance(r[t][0], (int, float)) for r in rows) for t in titles]
    body = [[row[title][1] for title in titles] for row in rows]
    lines = [" & ".join(cells) + r" \\" for cells in (map(_latex, titles), *body)]
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numbers)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            *(_note(line, len(titles)) for text in notes for line in wrap(text, NOTE)),
            "\\end{tabular}\n",
        ]
    )


def _note(text: str, columns: int) -> str:
    return rf"\multicolumn{{{columns}}}{{l}}{{\footnotesize {text}}} \\"
