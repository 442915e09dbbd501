"""What a training leaves to read: TensorBoard, history.csv, a line an evaluation."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import tensorflow as tf

from tcnlm.common.files import replacing, writing
from tcnlm.metrics.base import Figure

STEPS = 100  # until it is said


class Forecast:
    """Measures the pace of the first steps, without the first call, which traces."""

    def __init__(self, left: Callable[[], int]):
        self.left = left  # how many steps there are still
        self.taken, self.said = 0, False
        self.begun: float | None = None

    def after(self, steps: int) -> str:
        """Count steps that were just taken; return what to say now, or nothing."""
        now = time.monotonic()
        if self.begun is None:
            self.begun = now
            return ""
        self.taken += steps
        if self.said or self.taken < STEPS:
            return ""
        self.said = True
        seconds = self.left() * (now - self.begun) / self.taken
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kilobytes = most / 1024 if sys.platform == "darwin" else most
        epochs = f"about {_duration(seconds)} of epochs at most"
        return f"{epochs}, then the SavedModel; memory {kilobytes / 1e6:.1f} GB"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


class Log:
    """The log of a RUN, if any, of epochs named by a measure and judged by one."""

    def __init__(self, run: Path | None, measure: str, judged: Figure):
        self.run, self.measure, self.judge = run, measure, judged
        if run:
            self.writer = tf.summary.create_file_writer(str(run / "tensorboard"))

    def scalars(
        self, group: str, values: Mapping[str, Any], step: int, flush: bool = False
    ) -> None:
        """Add a step's values to TensorBoard; flush: write all now."""
        if not self.run:
            return
        with writing(self.run / "tensorboard", tf.errors.OpError):
            with self.writer.as_default(step):
                for name, value in values.items():
                    tf.summary.scalar(f"{group}/{name}", value)
            if flush:
                self.writer.flush()

    def evaluation(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Write the history anew, and print its last row."""
        if not self.run:
            return
        path, row = self.run / "history.csv", history[-1]
        with writing(path), replacing(path) as aside:
            pd.DataFrame(history).to_csv(aside, index=False)
        self.scalars("evaluation", row, row["step"], flush=True)
        print(self._line(row), flush=True)

    def _line(self, row: Mapping[str, Any]) -> str:
        minutes, judge = row["seconds"] / 60, self.judge
        line = f"epoch {row['epoch']:g}: step {row['step']}, {minutes:.1f} min, "
        figures = ((s, row.get(f"{s}_{self.measure}")) for s in ("train", "valid"))
        known = [f" {s} {figure:.2f}" for s, figure in figures if figure is not None]
        line += self.measure + ("".join(known) or " not measured")
        if "topics_in_use" in row:
            line += f", {row['topics_in_use']} topics in use"
            line += f", largest proportion {row['largest_proportion']:.2f}"
        if "valid_kl" in row:
            line += f", KL {row['valid_kl']:.2f}"
        if judge.key != self.measure:
            value = judge.form.format(row[f"valid_{judge.key}"])
            line += f", {judge.title} {value}"
        return line
