"""A RUN measured: its evaluation.json, figures and report.html, and a summary."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tcnlm.coherence import TOPS
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.summary import scored_words as words_of_lists
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.common.files import owned_file, write_arrays, write_json, writing
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.base import predicting
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.metrics.features import document_vectors, write_features
from tcnlm.metrics.registry import METRICS, check_words, chosen, figures
from tcnlm.metrics.scores import DocumentScorer
from tcnlm.models.topics import PROBABILITY, RELEVANCE, top_words
from tcnlm.report.measured import Measured, progress, stated
from tcnlm.report.page import draw_run, write_report
from tcnlm.runs.new_run import versions
from tcnlm.runs.run_folder import RunFolder


def evaluate(
    model: Any,
    dataset: Dataset,
    reference: Reference | None = None,
    split: str = "test",
    ask: Sequence[str] = (),
    **options: Any,
) -> tuple[EvaluationContext, dict[str, Any]]:
    """Return a model on a split of its data, and all its figures, ready for JSON.

    ask: keys of the measures that take an option; options: of `EvaluationContext`. What
    does not apply is None. Raises InputError where the data cannot be measured.
    """
    check_words(model, dataset, split)
    applying = chosen(type(model), ask)
    for metric in applying:
        metric.check(dataset, split)
    rows = model.batching.rows(dataset.split(split))
    subject = EvaluationContext(model, dataset, rows, reference, **options)
    for metric in sorted(applying, key=lambda metric: not metric.early):
        subject.entries(metric)
    result = {
        "split": split,
        **{f.key: None for f in figures() if "." not in f.key},
        **{name: None for metric in METRICS for name in metric.entries},
    }
    for metric in applying:
        single = (f for f in metric.figures if f.compute)  # that no entry holds
        result.update({f.key: metric.figure(f, subject) for f in single})
        result.update(subject.entries(metric))
    return subject, result


def evaluate_run(
    run: RunFolder,
    data: Path | None = None,
    command: str = "",
    corpus: str | None = None,
    context: str = "",
    features: Path | None = None,
    ask: Sequence[str] = (),
    split: str = "test",
    **options: Any,
) -> Measured:
    """Measure a run, write its evaluation.json, then figures and report.html.

    data: where the run's data is, if it was moved; corpus: the paper's name of it, to
    find the published figures; context: the rule of the contexts, by default the one of
    the training; features: a file for the documents' vectors; others: see `evaluate`.
    """
    started = time.monotonic()
    dataset, model = run.data(data, context), run.load()
    options |= {"ask": ask, "split": split, "names": run.names(model)}
    subject, found = evaluate(model, dataset, **options)
    result = {
        "run": str(run.path),
        "model": run.model_name,
        "data": {"path": str(dataset.path), "fingerprint": dataset.meta["fingerprint"]},
        "corpus": corpus,
        **progress(run.config, run.history()),
        **found,
        "command": command,
        "versions": versions(),
        "seconds": round(time.monotonic() - started, 1),
    }
    file, page, folder = kept_as(run.path, split)
    with owned_file(file), writing(file):
        write_json(file, result)
    nats = None
    if features:
        vectors = document_vectors(model, subject.split)
        write_features(features, vectors, subject.split, dataset)
    if predicting(type(model)):
        nats = DocumentScorer(model, subject.batch_size)(subject.split)
    unsaved = {m.key: m.unsaved(subject) for m in chosen(type(model), ask)}
    with owned_file(file, page, folder, nats_file(run.path, split)):
        if nats:
            write_arrays(nats_file(run.path, split), nats._asdict())
        shown = draw_run(folder, run, result, nats, unsaved)
        write_report([shown], page)
    return shown


def kept_as(run: Path, split: str) -> tuple[Path, Path, Path]:
    """Return the paths of evaluation.json, report.html and figures, by the split."""
    name = "" if split == "test" else f".{split}"
    names = f"evaluation{name}.json", f"report{name}.html", f"figures{name}"
    return tuple(run / each for each in names)


def nats_file(run: Path, split: str) -> Path:
    """Return the path of documents' nats and targets, at the topics' posterior mean."""
    return kept_as(run, split)[0].with_suffix(".nats.npz")


def scored_words(runs: Iterable[RunFolder]) -> list[str]:
    """Return the words that the coherence of all these runs' topics rests on."""
    models = (run.load() for run in runs)
    return words_of_lists(
        TopicList("", top_words(model, max(TOPS), weight=weight))
        for model in models
        if model.offers("topics")
        for weight in (PROBABILITY, RELEVANCE)
    )


def summary(result: Mapping[str, Any]) -> str:
    """Return the measurements as lines to read."""
    run = f"{result['run']}: {result['model']}, {result['split']} split"
    texts = {figure.title: figure.text(result) for figure in figures()}
    lines = [
        "; ".join(filter(None, (run, stated(result)))),
        *(f"  {name:<40}{text}" for name, text in texts.items() if text),
        *(line for measure in METRICS for line in measure.lines(result)),
    ]
    return "\n".join(lines)
