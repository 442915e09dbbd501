"""Where a run's language model predicts better than another's, on the same data.

Targets by kind (topic words: those of the topic model), rank of the word, place in the
sentence, and content words of the document. `gain` is in nats a target, with its
standard error over documents; `ratio` that of the perplexities.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tcnlm.coherence.table import shown
from tcnlm.common.errors import InputError, add_debug, errors_reported
from tcnlm.common.outputs import check_outputs
from tcnlm.common.process import keep_memory
from tcnlm.common.rows import check_writable, row_writer

if TYPE_CHECKING:
    from tcnlm.data.dataset import Dataset
    from tcnlm.metrics.gains import Gain
    from tcnlm.runs.run_folder import RunFolder


def main(options: argparse.Namespace) -> None:
    """Score both runs, print the table and write it if asked."""
    # Here, as below: to say how it is used takes no TensorFlow.
    from tcnlm.metrics.gains import gains
    from tcnlm.runs.run_folder import RunFolder

    keep_memory()
    if options.out:
        check_writable(options.out)
        check_outputs(options, "out")
    if options.baseline.resolve() == options.run.resolve():
        raise InputError(f"{options.run}: is the baseline too; give two runs")
    runs = [RunFolder(run) for run in (options.baseline, options.run)]
    datasets = [run.data(options.data) for run in runs]
    if len({dataset.meta["fingerprint"] for dataset in datasets}) > 1:
        raise InputError(
            f"{options.baseline}, {options.run}: were trained on different DATA; "
            "their targets differ"
        )
    split = datasets[0].split(options.split)
    nats = [_nats(*each, options.split) for each in zip(runs, datasets)]
    found = gains(*nats, split, datasets[0].vocabulary)
    print(table(found))
    if options.out:
        with row_writer(options.out) as write:
            for gain in found:
                write({**dataclasses.asdict(gain), "ratio": gain.ratio})
        print(f"written to {options.out}")


def _nats(run: RunFolder, dataset: Dataset, split: str) -> np.ndarray:
    from tcnlm.metrics.gains import target_nats

    model = run.load()
    if not model.offers("step"):
        raise InputError(
            f"{run.path}: predicts no sentences; give a language model's run"
        )
    return target_nats(model, dataset.split(split))


def table(found: Sequence[Gain]) -> str:
    """Return the gains as lines of text."""
    form = "{:30} {:>6} {:>9} {:>9} {:>9} {:>16} {:>7} {:>10}"
    titles = ("targets", "share", "documents", "baseline", "model", "gain")
    titles += ("ratio", "of gain")
    lines, classes = [form.format(*titles)], "all"
    for gain in found:
        if gain.classes != classes:
            classes = gain.classes
            lines += ["", f"by {classes}"]
        lines.append(
            form.format(
                gain.name,
                f"{gain.share:.1%}",
                f"{gain.documents:,}",
                f"{gain.baseline_nats:.3f}",
                f"{gain.model_nats:.3f}",
                f"{gain.gain:.4f} +- {shown(gain.error, '.4f'):>6}",
                f"{gain.ratio:.3f}",
                shown(gain.share_of_gain, ".1%"),
            )
        )
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(
        "python -m tcnlm gains",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parsed.add_argument
    add("baseline", metavar="BASELINE", type=Path, help="run to compare with")
    add("run", metavar="RUN", type=Path, help="run that may gain")
    add("--split", choices=("test", "valid", "train"), default="test")
    add("--data", metavar="DATA", type=Path, help="the runs' data, if it was moved")
    add("--out", metavar="FILE", type=Path, help="the table, .csv or .jsonl, too")
    add_debug(parsed)
    return parsed


def run() -> None:
    """Run the program on the command line's arguments."""
    with errors_reported():
        main(parser().parse_args())
