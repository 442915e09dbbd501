"""What was measured, for a paper: tables as .csv and .tex, figures as .svg and .pdf."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tcnlm.common.files import write_file
from tcnlm.common.outputs import quoted
from tcnlm.drawing.figures import save
from tcnlm.metrics.registry import METRICS, figure
from tcnlm.report.comparison import compared_figures, group_name, mean_text, run_name
from tcnlm.report.measured import Group, Measured, Ratio, groups_of, ratios
from tcnlm.report.published import size


def export(runs: Sequence[Measured], folder: Path) -> None:
    """Write comparison and seeds, and each run's tables and figures in a folder."""
    names, rows = [run_name(run).replace(os.sep, "-") for run in runs], []
    for number, (run, name) in enumerate(zip(runs, names), 1):
        own = f"{name}-{number}" if names.count(name) > 1 else name
        rows.append(_described(run, own))
        for each in (*compared_figures(), figure("parameters")):
            rows[-1][each.title] = each.value(run.evaluation), each.text(run.evaluation)
        for measure in METRICS:
            for title, table in measure.tables(run.evaluation).items():
                _write_table(folder / own / title, table)
            unsaved = run.unsaved.get(measure.key)
            measure.write(folder / own, run.evaluation, unsaved)
        for title, drawn in run.drawn.items():
            write_file(folder / own / f"{title}.svg", run.figures[title])
            save(drawn, folder / own / f"{title}.pdf")
    _write_table(folder / "comparison", rows)
    if len(runs) > 1:
        groups = groups_of(runs)
        _write_table(folder / "seeds", list(map(_grouped, groups, ratios(groups))))


def _grouped(group: Group, ratio: Ratio | None) -> dict[str, tuple[Any, Any]]:
    """Return a row; in LaTeX mean ± deviation and ratio [low, high] are a cell each."""
    row = _described(group.first, group_name(group))
    row["seeds"] = (len(group.runs),) * 2
    for each in compared_figures():
        row[each.title] = group.mean(each), mean_text(group, each)
        row[f"{each.title}, deviation"] = group.deviation(each), None
    if ratio:
        row["ratio"] = ratio.value, str(ratio)
        row["ratio, low"], row["ratio, high"] = (ratio.low, None), (ratio.high, None)
    return row


def _described(run: Measured, name: str) -> dict[str, tuple[Any, Any]]:
    settings = run.config["settings"]
    told = {"run": name, "model": run.evaluation["model"]}
    told |= {"layers x units": size(settings) or None}
    told |= {"topics": settings.get("num_topics")}
    return {title: (value, value) for title, value in told.items()}


def _write_table(stem: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of (value, text) as stem.csv and stem.tex, without empty columns."""
    if not rows:
        return
    values = [{title: quoted(value) for title, (value, _) in r.items()} for r in rows]
    texts = [{title: text for title, (_, text) in r.items()} for r in rows]
    values, texts = (
        pd.DataFrame(each, dtype=object).dropna(axis="columns", how="all")
        for each in (values, texts)
    )
    csv = values.to_csv(index=False, lineterminator="\n")
    tex = texts.to_latex(index=False, escape=True, na_rep="")
    tex = tex.replace("<", r"\textless{}").replace(">", r"\textgreater{}")
    for kind, table in ("csv", csv), ("tex", tex):
        write_file(stem.with_name(f"{stem.name}.{kind}"), table.encode())
