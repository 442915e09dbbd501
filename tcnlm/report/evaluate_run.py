"""A RUN measured: its evaluation.json, figures and report.html, and a summary."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tcnlm.coherence import TOPS
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.summary import scored_words as words_of_lists
from tcnlm.coherence.table import line, shown
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.common.files import write_arrays, write_json, writing
from tcnlm.measures import topics
from tcnlm.measures.bleu_protocol import Protocol
from tcnlm.measures.evaluate import evaluate
from tcnlm.measures.exploration import explore
from tcnlm.measures.features import document_vectors, write_features
from tcnlm.measures.nats import DocumentScorer
from tcnlm.measures.table import (
    MEASURES,
    missing,
    predicting,
)
from tcnlm.models.base import TopicModel
from tcnlm.models.topics import top_words
from tcnlm.report.page import draw_run, write_report
from tcnlm.report.progress import progress, stated
from tcnlm.report.sections import Measured
from tcnlm.training import runs
from tcnlm.training.ownership import owned_file


def evaluate_run(
    run: Path,
    data: Path | None = None,
    command: str = "",
    corpus: str | None = None,
    reference: Reference | None = None,
    context: str = "",
    split: str = "test",
    features: Path | None = None,
    **options: Any,
) -> Measured:
    """Measure a run, write its evaluation.json, then figures and report.html.

    data: where the run's data is, if it was moved; corpus: the paper's name of it, to
    find the published figures; context: the rule of the contexts, by default the one of
    the training; split: see `kept_as`; features: a file for the documents' vectors;
    options: see `evaluate`.
    """
    started = time.monotonic()
    config = runs.read_config(run)
    dataset = runs.open_data(config, data, context)
    model = runs.load(run, dataset)
    reference = reference or Reference()
    figures = evaluate(model, dataset, reference, split, **options)
    result = {
        "run": str(run),
        "model": config["model"],
        "data": {"path": str(dataset.path), "fingerprint": dataset.meta["fingerprint"]},
        "corpus": corpus,
        **progress(config, runs.read_history(run)),
        **figures,
        "command": command,
        "versions": {name: version(name) for name in runs.PACKAGES},
        "seconds": round(time.monotonic() - started, 1),
    }
    file, page, folder = kept_as(run, split)
    with owned_file(file), writing(file):
        write_json(file, result)
    documents, nats = dataset.split(split), None
    if features:
        vectors = document_vectors(model, documents)
        write_features(features, vectors, documents, dataset)
    if predicting(type(model)):
        nats = DocumentScorer(model, options.get("batch_size", 64))(documents)
    angles = explored = None
    if result["topics"]:
        angles = topics.angles(model)
        explored = explore(model, dataset, documents)
    with owned_file(file, page, folder, nats_file(run, split)):
        if nats:
            write_arrays(nats_file(run, split), nats._asdict())
        measured = draw_run(folder, run, result, config, angles, nats, explored)
        write_report([measured], page)
    return measured


def kept_as(run: Path, split: str) -> tuple[Path, Path, Path]:
    """Return the paths of figures, page and drawings: the test split's, or another's.

    RUN/evaluation.json, report.html and figures; RUN/evaluation.valid.json and so on.
    """
    name = "" if split == "test" else f".{split}"
    return (
        run / f"evaluation{name}.json",
        run / f"report{name}.html",
        run / f"figures{name}",
    )


def nats_file(run: Path, split: str) -> Path:
    """Return the path of what each document of a split costs, its nats and targets.

    The topics are at their posterior mean.
    """
    return kept_as(run, split)[0].with_suffix(".nats.npz")


def scored_words(paths: Iterable[Path]) -> list[str]:
    """Return the words that the coherence of all these runs' topics rests on."""
    models = filter(lambda model: isinstance(model, TopicModel), map(runs.load, paths))
    return words_of_lists(
        TopicList("", top_words(model, max(TOPS))) for model in models
    )


def summary(result: Mapping[str, Any]) -> str:
    """Return the measurements as lines to read."""
    run = f"{result['run']}: {result['model']}, {result['split']} split"
    title = run, stated(result)
    lines = ["; ".join(filter(None, title))]
    figures = {measure.title: measure.text(result) for measure in MEASURES}
    lines += [f"  {name:<40}{text}" for name, text in figures.items() if text]
    lines += [f"  {text}" for text in missing(result)]
    if result.get("bleu"):
        lines.append(f"  {Protocol.of(result['bleu'])}")
    if result["topics"]:
        lines.append(line("topic", ["NPMI"], "words"))
    for topic in result["topics"] or ():
        words = " ".join(topic["words"][:10])
        lines.append(line(topic["topic"], [shown(topic["npmi"], ".3f")], words))
    return "\n".join(lines)
