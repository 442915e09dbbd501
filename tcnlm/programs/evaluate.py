"""Measure a RUN: perplexity, topics, coherence; evaluation.json and report.html."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcnlm.common.errors import InputError, add_debug
from tcnlm.common.files import check_folder, check_writable
from tcnlm.common.outputs import check_outputs
from tcnlm.common.process import command_line, cores, keep_memory
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.data.dataset import RULES
from tcnlm.metrics.base import Contract, Metric
from tcnlm.metrics.registry import asked
from tcnlm.report.published import corpora, other_data
from tcnlm.runs.folders import runs_of

if TYPE_CHECKING:
    from tcnlm.coherence.reference import Reference
    from tcnlm.models.base import Model
    from tcnlm.report.measured import Measured
    from tcnlm.runs.run_folder import RunFolder

CHOSEN = ("corpus", "context", "features", "split", "samples", "batch_size")
CHOSEN += ("beginning",)


def main(arguments: Sequence[str], command: str = "") -> None:
    """Evaluate, write into every RUN, print a summary; command: told there."""
    options, command = parser().parse_args(arguments), command or command_line()
    # Here, or each process that tokenizes the reference would load TensorFlow too.
    from tcnlm.report.evaluate_run import evaluate_run, kept_as, summary
    from tcnlm.runs.run_folder import RunFolder

    keep_memory()
    options.run = [run for path in options.run for run in runs_of(path)]
    for name in ("record", "features"):
        if getattr(options, name) and len(options.run) > 1:
            raise InputError(f"--{name} takes one RUN")
    if options.baseline:
        first = runs_of(options.baseline)
        if not set(first) <= set(options.run):
            names = ", ".join(map(str, options.run))
            said = f"--baseline {options.baseline}: is none of the RUNs {names}"
            raise InputError(said)
        options.run = [*first, *(path for path in options.run if path not in first)]
    runs = [RunFolder(path) for path in options.run]
    _check_outputs(options)
    _check_asked(options, runs)
    for run in runs:
        said = other_data(options.corpus, run.config["data"])
        if said:
            text = f"the published figures of {options.corpus} are of other data"
            print(f"warning: {run.path}: {text} ({said})", file=sys.stderr)
    if options.field and not options.reference:
        raise InputError("--field is of a --reference; give that too")
    reference = _reference(options, runs)
    chosen = {name: getattr(options, name) for name in CHOSEN}
    chosen["ask"] = [metric.key for metric in _asked(options)]
    chosen["beside"] = _beside(options, runs)
    measured = []
    for run in runs:
        chosen["reference"] = replace(reference, sentences=run.vocabulary.reading())
        measured.append(evaluate_run(run, options.data, command, **chosen))
        print(summary(measured[-1].evaluation))
        for line in measured[-1].beside:
            print(f"  published: {line}")
        file, page, _ = kept_as(run.path, options.split)
        print(f"written to {file} and {page}")
    _write_asked(options, runs, measured)


def _reference(options: argparse.Namespace, runs: Sequence[RunFolder]) -> Reference:
    from tcnlm.coherence.reference import Reference
    from tcnlm.report.evaluate_run import scored_words

    field = options.field or "text"
    given = tuple(options.reference), field, cores(), options.counts
    first = runs[0].vocabulary
    reference = Reference(*given, sentences=first.reading())
    if len(runs) == 1:
        return reference
    for run in runs:  # before anything is counted for all of them
        dataset = run.data(options.data, options.context)
        for metric in _asked(options):
            metric.check(dataset, options.split)
    alike = all(first.reads_as(run.vocabulary) for run in runs)
    if not (options.reference and alike):
        return reference
    return replace(reference, counted=reference.window_counts(scored_words(runs)))


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse, before hours of measuring, what cannot be written."""
    from tcnlm.report.evaluate_run import kept_as, nats_file
    from tcnlm.report.records import read_records

    for run in options.run:
        *files, figures = kept_as(run, options.split)
        for path in (*files, nats_file(run, options.split)):
            check_writable(path)
        check_folder(figures)
    for path in filter(None, (options.features, options.record)):
        check_writable(path)
    if options.report:
        check_writable(options.report, parents=True)
    if options.export:
        check_folder(options.export)
    check_outputs(options, "features", "record", "report", "export")
    if options.record and options.record.exists():
        read_records(options.record)


def _write_asked(
    options: argparse.Namespace, runs: Sequence[RunFolder], measured: Sequence[Measured]
) -> None:
    from tcnlm.report.comparison import compared
    from tcnlm.report.exported import export
    from tcnlm.report.page import write_report
    from tcnlm.report.records import write_record

    if len(measured) > 1:
        print(compared(measured))
    if options.record:
        write_record(runs[0], measured[0].evaluation, options.record)
    if options.report:
        write_report(measured, options.report)
    if options.export:
        export(measured, options.export)
    for path in filter(None, (options.record, options.report, options.export)):
        print(f"written to {path}")


def _asked(options: argparse.Namespace) -> list[Metric]:
    return [metric for metric in asked() if getattr(options, metric.key)]


def _beside(options: argparse.Namespace, runs: Sequence[RunFolder]) -> dict[str, Model]:
    """Return the models of the RUNs that options take, by the measures' keys."""
    from tcnlm.models import model_class
    from tcnlm.runs.run_folder import RunFolder

    models = {}
    for metric in _asked(options):
        if not metric.takes:
            continue
        beside = RunFolder(getattr(options, metric.key))
        said = f"--{metric.option} {beside.path}"
        if not metric.accepts(model_class(beside.model_name)):
            of = _kind(metric.accepts)
            raise InputError(f"{said}: is a {beside.model_name}; wanted are {of}")
        for run in runs:
            if beside.fingerprint != run.fingerprint:
                raise InputError(f"{said}: not of the DATA that {run.path} is of")
        models[metric.key] = beside.load()
    return models


def _kind(contract: Contract) -> str:
    return (contract.__doc__ or "").rstrip(".").lower()


def _check_asked(options: argparse.Namespace, runs: Sequence[RunFolder]) -> None:
    """Refuse what none of the RUNs has."""
    from tcnlm.models import model_class

    kinds = {run.model_name: model_class(run.model_name) for run in runs}
    for metric in _asked(options):
        if not any(map(metric.applies, kinds.values())):
            said = f"--{metric.option} is of {_kind(metric.applies)}"
            raise InputError(f"{said}; {', '.join(sorted(kinds))} does not")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    of_seeds = "folder written by train.py; of several --seeds, all of them"
    parsed = argparse.ArgumentParser(description=__doc__)
    parsed.add_argument("run", metavar="RUN", nargs="+", type=Path, help=of_seeds)
    _add_data(parsed.add_argument_group("data and topics"))
    _add_coherence(parsed.add_argument_group("coherence"))
    _add_measures(parsed.add_argument_group("more to measure"))
    _add_outputs(parsed.add_argument_group("pages and files"))
    add_debug(parsed)
    return parsed


def _add_data(group: argparse._ArgumentGroup) -> None:
    context = "what topics are inferred from (default: as in training); read: all "
    context += "words before the row's own; others: see python -m preprocessing --help"
    samples = "average likelihoods over S draws of the topics (default: use their mean)"
    batch = "rows that are scored at once (default: 64)"
    natural, positive = whole_number(0, LARGEST), whole_number(1, LARGEST)
    add = group.add_argument
    add("--split", choices=("test", "valid"), default="test", help="default: test")
    add("--data", metavar="DATA", type=Path, help="the run's data, if it was moved")
    add("--context", choices=RULES, default="", help=context)
    add("--samples", metavar="S", type=natural, default=0, help=samples)
    add("--batch-size", metavar="N", type=positive, default=64, help=batch)


def _add_coherence(group: argparse._ArgumentGroup) -> None:
    reference = "text to count coherence on: a document a line, .jsonl or .csv; plain, "
    reference += ".gz or .xz (default: the training split of the run's own corpus)"
    counts = "in place of a reference: what python -m tcnlm coherence --save-counts "
    counts += "counted on it"
    field = "of .jsonl and .csv: the field with the text (default: text)"
    add = group.add_mutually_exclusive_group().add_argument
    add("--reference", metavar="FILE", nargs="+", type=Path, default=[], help=reference)
    add("--counts", metavar="FILE", type=Path, help=counts)
    group.add_argument("--field", metavar="NAME", help=field)


def _add_measures(group: argparse._ArgumentGroup) -> None:
    for metric in asked():
        takes: dict[str, Any] = {"action": "store_true"}
        if metric.takes:
            takes = {"metavar": metric.takes, "type": Path}
        described = {"dest": metric.key, "help": metric.purpose}
        group.add_argument(f"--{metric.option}", **described, **takes)


def _add_outputs(group: argparse._ArgumentGroup) -> None:
    record = "add what was measured of the one RUN, and how, as a line of JSON"
    exported = "for a paper: tables as .csv and .tex, figures as .svg and .pdf; "
    exported += "for judges of the topics: word intrusion, ProxAnn's input"
    features = "write vectors, labels and ids of the split's documents (.npz)"
    beginning = "continued under different topics (default: the split's own)"
    baseline = "of the RUNs, what the others are compared with (default: the first)"
    corpus = "the paper's name of the data, to show its figures beside these"
    add = group.add_argument
    add("--report", metavar="FILE", type=Path, help="one page about all RUNs")
    add("--baseline", metavar="RUN", type=Path, help=baseline)
    add("--corpus", choices=corpora(), help=corpus)
    add("--beginning", metavar="TEXT", default="", help=beginning)
    add("--features", metavar="FILE", type=Path, help=features)
    add("--export", metavar="FOLDER", type=Path, help=exported)
    add("--record", metavar="FILE", type=Path, help=record)
