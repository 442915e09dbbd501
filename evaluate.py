"""Measure a RUN: perplexity, topics, coherence; evaluation.json and report.html."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from preprocessing.errors import InputError


def main(options: argparse.Namespace, command: str) -> None:
    """Evaluate as the options say, write into RUN and print a summary."""
    # Here, or each process that tokenizes the reference would load TensorFlow too.
    from tcnlm.evaluation import Reference, evaluate_run, summary

    files = tuple(options.reference)
    result = evaluate_run(
        options.run,
        options.data,
        command,
        reference=Reference(files, options.field, os.cpu_count() or 1),
        split=options.split,
        samples=options.samples,
        batch_size=options.batch_size,
    )
    print(summary(result))
    print(f"written to {options.run}/evaluation.json and {options.run}/report.html")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    reference = "text to count coherence on: a document a line, or .jsonl; plain, .gz "
    reference += "or .xz (default: the training split of the run's own corpus)"
    samples = "average likelihoods over S draws of the topics (default: use their mean)"
    parsed = argparse.ArgumentParser(description=__doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="folder written by train.py")
    add("--split", choices=("test", "valid"), default="test")
    add("--data", metavar="DATA", type=Path, help="the run's data, if it was moved")
    add("--reference", metavar="FILE", nargs="+", type=Path, default=[], help=reference)
    add("--field", default="text", help="of .jsonl: the field with the text")
    add("--samples", metavar="S", type=int, default=0, help=samples)
    add("--batch-size", type=int, default=64)
    return parsed


if __name__ == "__main__":
    try:
        main(parser().parse_args(), shlex.join(["python", *sys.argv]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
