"""What a training leaves to read: TensorBoard, history.csv, a line an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import tensorflow as tf

from tcnlm.common.files import writing
from tcnlm.common.replacing import replacing
from tcnlm.metrics.base import Figure


class Log:
    """The log of a RUN, whose epochs are named by a measure and judged by one."""

    def __init__(self, run: Path, measure: str, judged: Figure):
        self.run, self.measure, self.judge = run, measure, judged
        self.writer = tf.summary.create_file_writer(str(run / "tensorboard"))

    def scalars(
        self, group: str, values: Mapping[str, Any], step: int, flush: bool = False
    ) -> None:
        """Add a step's values to TensorBoard; flush: write all now."""
        with writing(self.run / "tensorboard", tf.errors.OpError):
            with self.writer.as_default(step):
                for name, value in values.items():
                    tf.summary.scalar(f"{group}/{name}", value)
            if flush:
                self.writer.flush()

    def evaluation(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Write the history anew, and print its last row."""
        path, row = self.run / "history.csv", history[-1]
        with writing(path), replacing(path) as aside:
            pd.DataFrame(history).to_csv(aside, index=False)
        self.scalars("evaluation", row, row["step"], flush=True)
        print(self._line(row) + self._verdict(row), flush=True)

    def _line(self, row: Mapping[str, Any]) -> str:
        minutes = row["seconds"] / 60
        line = f"epoch {row['epoch']:g}: step {row['step']}, {minutes:.1f} min, "
        figures = ((s, row.get(f"{s}_{self.measure}")) for s in ("train", "valid"))
        known = [f" {s} {figure:.2f}" for s, figure in figures if figure is not None]
        line += self.measure + ("".join(known) or " not measured")
        if "topics_in_use" in row:
            line += f", {row['topics_in_use']} topics in use"
            line += f", largest proportion {row['largest_proportion']:.2f}"
        if "valid_kl" in row:
            line += f", KL {row['valid_kl']:.2f}"
        return line

    def _verdict(self, row: Mapping[str, Any]) -> str:
        key, title, form = self.judge.key, self.judge.title, self.judge.form
        if key == self.measure:
            return ""
        return f", {title} {form.format(row[f'valid_{key}'])}"
