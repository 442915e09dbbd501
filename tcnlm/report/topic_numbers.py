"""How many topics? Runs that differ by their number, in one table and one figure.

All is measured on the validation split; the test split stays unseen. Recommended is
the highest topic quality, coherence times diversity (Dieng, Ruiz and Blei, "Topic
Modeling in Embedding Spaces", TACL 2020). Of several seeds it is the fewest topics
whose mean quality is within one standard deviation of the highest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tcnlm.coherence.reference import Reference
from tcnlm.common.files import write_file
from tcnlm.common.process import cores
from tcnlm.drawing import figures as draw
from tcnlm.metrics.base import Evaluation, Figure
from tcnlm.metrics.registry import figure
from tcnlm.report.comparison import mean_text
from tcnlm.report.evaluate_run import evaluate_run
from tcnlm.report.measured import Group, Measured
from tcnlm.report.page import write_report
from tcnlm.runs.folders import runs_of, topics_folder
from tcnlm.runs.run_folder import RunFolder

TERMS = Figure("topic_terms", "minus the topics' bound", "{:.3f}", "min")
QUALITY = Figure("quality", "NPMI × diversity", "{:.3f}", "max")
KNOWN = ("perplexity", "bound", "loss")
FIGURES = (*map(figure, KNOWN), TERMS)
FIGURES += (*map(figure, ("npmi", "diversity", "topics_in_use")), QUALITY)
TABLE, PICTURE = "topic_numbers.csv", "topic_numbers.png"
SPLIT = "valid"
IN_A_ROW = 3


def compare(out: Path, numbers: Sequence[int], command: str = "") -> str:
    """Measure the runs of all numbers of topics; return what came of them as text.

    Writes the table, the figure and a page about all runs into their folder `out`.
    """
    reference = Reference(processes=cores())
    how = {"command": command, "reference": reference, "split": SPLIT}
    measured = {
        number: [
            evaluate_run(RunFolder(path), **how)
            for path in runs_of(topics_folder(out, number))
        ]
        for number in numbers
    }
    found, page = TopicNumbers(measured), out / f"report.{SPLIT}.html"
    write_report([run for runs in measured.values() for run in runs], page)
    number, reason = found.recommended()
    written = ", ".join(map(str, [*found.write(out), page]))
    lines = found.table(), f"recommended: {number} topics ({reason})"
    return "\n".join([*lines, f"written to {written}"])


def quality(evaluation: Evaluation) -> float:
    """Return NPMI times diversity; of an NPMI below 0 itself, lest repetition help."""
    npmi = evaluation["npmi"] or 0.0  # None: of one topic word
    return npmi * evaluation["diversity"] if npmi > 0 else npmi


def _with_more(run: Measured) -> Measured:
    """Add the quality, and the bound of topics beside a language model's sentences.

    That is reconstruction and KL of the held-out contexts, nats a sequence.
    """
    more, terms = {"quality": quality(run.evaluation)}, run.evaluation.get("elbo") or {}
    if {"reconstruction", "kl"} <= terms.keys() and run.evaluation.get("perplexity"):
        more["topic_terms"] = terms["reconstruction"] + terms["kl"]
    return replace(run, evaluation={**run.evaluation, **more})


class TopicNumbers:
    """Groups of runs, a group for each number of topics, of as many seeds each."""

    def __init__(self, runs: Mapping[int, Sequence[Measured]]):
        self.groups = {
            number: Group(tuple(map(_with_more, runs[number])))
            for number in sorted(runs)
        }
        self.columns = [
            each
            for each in FIGURES
            if all(group.values(each) for group in self.groups.values())
        ]

    def table(self) -> str:
        """Return lines of text: a row for each number, mean ± deviation over seeds."""
        rows = [["topics", *(figure.title for figure in self.columns)]]
        for number, group in self.groups.items():
            rows.append([str(number), *(mean_text(group, f) for f in self.columns)])
        widths = [max(map(len, column)) for column in zip(*rows)]
        padded = ([c.rjust(n) for c, n in zip(row, widths)] for row in rows)
        return "\n".join(map("  ".join, padded))

    def recommended(self) -> tuple[int, str]:
        """Return a number of topics, and why."""
        means = self._means(QUALITY)
        best = max(means, key=means.get)
        spread = self.groups[best].deviation(QUALITY) or 0.0
        chosen = min(n for n, mean in means.items() if mean >= means[best] - spread)
        reason = "highest coherence times diversity"
        if chosen != best:
            reason = "fewest topics within one standard deviation over seeds of the "
            reason += f"highest coherence times diversity, that of {best}"
        if not all(len(group.runs) > 1 for group in self.groups.values()):
            reason += "; of one seed, which chance may have put ahead"
        return chosen, reason + self._lowest(chosen)

    def _means(self, measure: Figure) -> dict[int, float]:
        return {number: group.mean(measure) for number, group in self.groups.items()}

    def _lowest(self, chosen: int) -> str:
        """Say which other number predicts held-out words best, if another does."""
        for measure in (each for each in self.columns if each.key in KNOWN):
            means = self._means(measure)
            lowest = min(means, key=means.get)
            if lowest != chosen:
                return f"; the lowest {measure.title} is that of {lowest}"
        return ""

    def write(self, folder: Path) -> list[Path]:
        """Write a table, a row for each run, and the figure; return their paths."""
        rows = [
            {
                "topics": number,
                "seed": run.config["seed"],
                **{each.key: each.value(run.evaluation) for each in self.columns},
            }
            for number, group in self.groups.items()
            for run in group.runs
        ]
        table = pd.DataFrame(rows).to_csv(index=False)
        write_file(folder / TABLE, table.encode())
        draw.save(self.drawn(), folder / PICTURE)
        return [folder / TABLE, folder / PICTURE]

    def drawn(self) -> draw.Figure:
        """Draw every figure by the number of topics, the recommended one in red."""
        rows = -(-len(self.columns) // IN_A_ROW)
        picture = draw.blank(9, 2.6 * rows)
        axes = picture.subplots(rows, IN_A_ROW, squeeze=False).ravel()
        for each, measure in zip(axes, self.columns):
            self._draw(draw.axes_of(each, measure.title, "topics"), measure)
        for unused in axes[len(self.columns) :]:
            unused.set_visible(False)
        return picture

    def _draw(self, axes: draw.Axes, measure: Figure) -> None:
        means = self._means(measure)
        axes.plot(list(means), list(means.values()), "-", color=draw.BLUE, lw=1.5)
        for number, group in self.groups.items():
            values = group.values(measure)
            axes.plot([number] * len(values), values, "o", color=draw.GREY, ms=3)
        chosen = self.recommended()[0]
        axes.plot(chosen, means[chosen], "o", color=draw.RED, ms=6)
        axes.set_xticks(list(means))
