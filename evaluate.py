"""Measure a RUN: perplexity, topics, coherence; evaluation.json and report.html."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from preprocessing.errors import InputError, errors_reported
from tcnlm.data.contexts import RULES
from tcnlm.process import keep_memory
from tcnlm.report.published import corpora

CHOSEN = ("corpus", "context", "split", "samples", "batch_size")


def main(options: argparse.Namespace, command: str) -> None:
    """Evaluate as the options say, write into every RUN and print a summary."""
    # Here, or each process that tokenizes the reference would load TensorFlow too.
    from tcnlm.evaluation.evaluate import Reference, evaluate_run, scored_words, summary
    from tcnlm.report.page import write_report
    from tcnlm.report.records import write_record

    keep_memory()
    if options.record and len(options.run) > 1:
        raise InputError("--record takes one RUN, a file each")
    files = tuple(options.reference)
    processes = os.cpu_count() or 1
    reference = Reference(files, options.field, processes, options.counts)
    if len(options.run) > 1:
        reference = reference.counted_for(scored_words(options.run))
    chosen = {name: getattr(options, name) for name in CHOSEN}
    measured = []
    for run in options.run:
        measured.append(
            evaluate_run(run, options.data, command, reference=reference, **chosen)
        )
        print(summary(measured[-1].evaluation))
        print(f"written to {run}/evaluation.json and {run}/report.html")
    if options.report:
        write_report(measured, options.report)
        print(f"written to {options.report}")
    if options.record:
        write_record(run, measured[-1].evaluation, options.record)
        print(f"written to {options.record}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    reference = "text to count coherence on: a document a line, or .jsonl; plain, .gz "
    reference += "or .xz (default: the training split of the run's own corpus)"
    counts = "in place of a reference: what python -m tcnlm.coherence --save-counts "
    counts += "counted on it"
    samples = "average likelihoods over S draws of the topics (default: use their mean)"
    record = "keep what was measured of the one RUN, and how: results/NAME.json"
    corpus = "the paper's name of the data, to show its figures beside these"
    context = "what topics are inferred from (default: as in training); see "
    context += "python -m preprocessing --help"
    parsed = argparse.ArgumentParser(description=__doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", nargs="+", type=Path, help="folder written by train.py")
    add("--split", choices=("test", "valid"), default="test")
    add("--data", metavar="DATA", type=Path, help="the run's data, if it was moved")
    text = parsed.add_mutually_exclusive_group()
    text.add_argument(
        "--reference", metavar="FILE", nargs="+", type=Path, default=[], help=reference
    )
    text.add_argument("--counts", metavar="FILE", type=Path, help=counts)
    add("--field", default="text", help="of .jsonl: the field with the text")
    add("--samples", metavar="S", type=int, default=0, help=samples)
    add("--context", choices=RULES, default="", help=context)
    add("--batch-size", type=int, default=64)
    add("--report", metavar="FILE", type=Path, help="one page about all RUNs")
    add("--record", metavar="FILE", type=Path, help=record)
    add("--corpus", choices=corpora(), help=corpus)
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args(), shlex.join(["python", *sys.argv]))
