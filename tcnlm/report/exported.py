"""What was measured as a paper takes it: .csv and .tex, .svg and .pdf, and a .bib."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from tcnlm.coherence.table import shown
from tcnlm.evaluation.comparison import Group, Ratio, groups_of, ratios
from tcnlm.evaluation.measures import BY_KEY, MEASURES, Measure
from tcnlm.files import write_file
from tcnlm.report.comparison import group_name, mean_text, run_name
from tcnlm.report.figures import save
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
    _write_table(folder / "comparison", _comparison(runs, names))
    groups = groups_of(runs)
    if len(runs) > 1:
        rows = [_grouped(*each) for each in zip(groups, ratios(groups))]
        _write_table(folder / "seeds", _filled(rows))
    models = [run.evaluation["model"] for run in runs]
    write_file(folder / "references.bib", references(models).encode())
    for name, run in zip(names, runs):
        if run.evaluation["topics"]:
            _write_table(folder / name / "topics", _topics(run.evaluation["topics"]))
        for title, figure in run.drawn.items():
            for ending in ("svg", "pdf"):
                save(figure, folder / name / f"{title}.{ending}")


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
    shown = [m for m in MEASURES if m.headline and m.better] + [BY_KEY["parameters"]]
    rows = [
        {**_described(run, name), **_measured(run, shown)}
        for name, run in zip(names, runs)
    ]
    return _filled(rows)


def _filled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without columns that are empty in all."""
    empty = {t for t in rows[0] if all(row[t][0] in (None, "") for row in rows)}
    return [{t: cell for t, cell in row.items() if t not in empty} for row in rows]


def _grouped(group: Group, ratio: Ratio | None) -> Row:
    """Return a group of seeds: means, deviations, and its ratio to the first."""
    run = group.first
    row = {**_described(run, group_name(group)), "seeds": _plain(len(group.runs))}
    for measure in (m for m in MEASURES if m.headline and m.better):
        deviation = group.deviation(measure)
        text = mean_text(group, measure).replace("±", r"$\pm$")
        row[measure.title] = group.mean(measure), text
        row[f"{measure.title}, deviation"] = deviation, None
    low, value, high = (ratio.low, ratio.value, ratio.high) if ratio else [None] * 3
    row["ratio"] = value, f"{value:.3f} [{low:.3f}, {high:.3f}]" if ratio else ""
    return {**row, "ratio, low": (low, None), "ratio, high": (high, None)}


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
    row, mark = {}, r"$^{\neq}$" if run.other_data else ""
    for measure in measures:
        text = measure.text(run.evaluation)
        row[measure.title] = measure.value(run.evaluation), _latex(text)
        found = run.published(measure.key)
        printed = (float(found.value), found.value + mark) if found else _plain(None)
        row[f"{measure.title}, published"] = printed
    return row


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


def _write_table(stem: Path, rows: Sequence[Row]) -> None:
    """Write rows as stem.csv and stem.tex."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([rows[0], *([value for value, _ in r.values()] for r in rows)])
    write_file(stem.with_name(f"{stem.name}.csv"), lines.getvalue().encode())
    write_file(stem.with_name(f"{stem.name}.tex"), latex_table(rows).encode())


def latex_table(rows: Sequence[Row]) -> str:
    """Return a tabular of rows, for the package booktabs; numbers to the right."""
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
            "\\end{tabular}\n",
        ]
    )
