"""How many topics? Runs that differ by their number, in one table and one figure.

All is measured on the validation split. Recommended is the highest topic quality,
coherence times diversity (Dieng, Ruiz and Blei, TACL 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tcnlm.coherence.reference import Reference
from tcnlm.common.files import write_file
from tcnlm.common.process import cores
from tcnlm.drawing import figures as draw
from tcnlm.metrics.base import Figure
from tcnlm.metrics.registry import figure
from tcnlm.report.evaluate_run import evaluate_run
from tcnlm.report.page import write_report
from tcnlm.runs.folders import runs_of, topics_folder
from tcnlm.runs.run_folder import RunFolder

QUALITY = "quality"
TERMS = Figure("topic_terms", "minus the topics' bound", "{:.3f}", "min")
KNOWN = [figure(name) for name in ("perplexity", "bound", "loss")]
OF_TOPICS = [figure(name) for name in ("npmi", "diversity", "topics_in_use")]
OF_TOPICS += [Figure(QUALITY, "NPMI × diversity", "{:.3f}", "max")]
FIGURES = {each.key: each for each in (*KNOWN, TERMS, *OF_TOPICS)}
TABLE, PICTURE = "topic_numbers.csv", "topic_numbers.png"
IN_A_ROW = 3


def compare(out: Path, numbers: Sequence[int], command: str = "") -> str:
    """Measure the runs of all numbers of topics; write and return what came of it."""
    reference = Reference(processes=cores())
    how = {"command": command, "reference": reference, "split": "valid"}
    runs, rows = [], []
    for number in sorted(numbers):
        for path in runs_of(topics_folder(out, number)):
            runs.append(evaluate_run(RunFolder(path), **how))
            rows.append((number, runs[-1].config["seed"], runs[-1].evaluation))
    file, picture, page = out / TABLE, out / PICTURE, out / "report.valid.html"
    write_report(runs, page)
    found = table(rows)
    write_file(file, found.to_csv(index=False).encode())
    draw.save(drawn(found), picture)
    number, reason = recommended(found)
    lines = as_text(found), f"recommended: {number} topics ({reason})"
    return "\n".join([*lines, f"written to {file}, {picture}, {page}"])


def quality(evaluation: Mapping[str, Any]) -> float:
    """Return NPMI times diversity; of an NPMI below 0 itself, lest repetition help."""
    npmi = evaluation["npmi"] or 0.0  # None: of one topic word
    return npmi * evaluation["diversity"] if npmi > 0 else npmi


def table(runs: Sequence[tuple[int, int, dict]]) -> pd.DataFrame:
    """Return a row for each run, of (number of topics, seed, evaluation).

    Beside a language model's perplexity stands the bound of its topics: reconstruction
    and KL of the held-out contexts, nats a sequence.
    """
    rows = []
    for number, seed, evaluation in runs:
        terms = evaluation.get("elbo") or {}
        more = {QUALITY: quality(evaluation)}
        if {"reconstruction", "kl"} <= terms.keys() and evaluation.get("perplexity"):
            more[TERMS.key] = terms["reconstruction"] + terms["kl"]
        values = {k: f.value({**evaluation, **more}) for k, f in FIGURES.items()}
        rows.append({"topics": number, "seed": seed, **values})
    return pd.DataFrame(rows).dropna(axis="columns")


def as_text(found: pd.DataFrame) -> str:
    """Return lines: a row for each number, mean ± deviation over its seeds."""
    by_number, shown = found.groupby("topics"), {}
    for key in found.columns[2:]:
        form, pairs = FIGURES[key].form, by_number[key].agg(["mean", "std"])
        if form == "{}":  # of whole numbers
            form = "{:.1f}" if by_number.size().max() > 1 else "{:.0f}"
        shown[FIGURES[key].title] = [
            form.format(mean) + (f" ± {form.format(std)}" if std == std else "")
            for mean, std in pairs.itertuples(index=False)
        ]
    numbers = list(map(str, by_number.groups))
    return pd.DataFrame({"topics": numbers, **shown}).to_string(index=False)


def recommended(found: pd.DataFrame) -> tuple[int, str]:
    """Return a number of topics, and why."""
    by_number = found.groupby("topics")
    means, spread = by_number[QUALITY].mean(), by_number[QUALITY].std().fillna(0.0)
    best = means.idxmax()
    chosen = means.index[means >= means[best] - spread[best]].min()
    reason = "highest coherence times diversity"
    if chosen != best:
        reason = "fewest topics within one standard deviation over seeds of the "
        reason += f"highest coherence times diversity, that of {best}"
    if by_number.size().min() == 1:
        reason += "; of one seed, which chance may have put ahead"
    for each in (each for each in KNOWN if each.key in found):
        lowest = by_number[each.key].mean().idxmin()
        if lowest != chosen:
            return chosen, f"{reason}; the lowest {each.title} is that of {lowest}"
    return chosen, reason


def drawn(found: pd.DataFrame) -> draw.Figure:
    """Draw every figure by the number of topics, the recommended one in red."""
    keys, chosen = found.columns[2:], recommended(found)[0]
    rows = -(-len(keys) // IN_A_ROW)
    picture = draw.blank(9, 2.6 * rows)
    panels = picture.subplots(rows, IN_A_ROW, squeeze=False).ravel()
    for panel, key in zip(panels, keys):
        axes = draw.axes_of(panel, FIGURES[key].title, "topics")
        means = found.groupby("topics")[key].mean()
        axes.plot(means.index, means, "-", color=draw.BLUE, lw=1.5)
        axes.plot(found["topics"], found[key], "o", color=draw.GREY, ms=3)
        axes.plot(chosen, means[chosen], "o", color=draw.RED, ms=6)
        axes.set_xticks(list(means.index))
    for unused in panels[len(keys) :]:
        unused.set_visible(False)
    return picture
