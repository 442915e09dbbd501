"""Everything that is measured of a run, as the contents of RUN/evaluation.json.

What a model has is asked by its contracts: a language model has a perplexity, a topic
model has topics; a figure that does not apply is None.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, protocol
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.summary import scored_words as words_of_lists
from tcnlm.coherence.table import line, shown
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.data.dataset import Dataset
from tcnlm.evaluation import topics
from tcnlm.evaluation.bleu_protocol import Protocol, check_sentences
from tcnlm.evaluation.exploration import explore
from tcnlm.evaluation.features import document_vectors, write_features
from tcnlm.evaluation.hierarchy import hierarchy
from tcnlm.evaluation.measures import (
    LABELLED,
    MEASURES,
    any_model,
    both,
    check_labels,
    check_words,
    language,
    missing,
    predicting,
)
from tcnlm.evaluation.nats import DocumentScorer
from tcnlm.evaluation.subject import Subject
from tcnlm.evaluation.units import unit_words
from tcnlm.files import write_arrays, write_json, writing
from tcnlm.generation import specimens
from tcnlm.models.base import DocumentModel, LanguageModel, TopicHierarchy, TopicModel
from tcnlm.report.page import draw_run, write_report
from tcnlm.report.sections import Measured
from tcnlm.training import runs
from tcnlm.training.ownership import owned_file
from tcnlm.training.progress import progress, stated

SAMPLE_DOCUMENTS = 5
EXCERPT = 90  # words of a sample document
SECTIONS = ("coherence", "topics", "continuations", "documents")
SECTIONS += ("document_perplexity", "units", "hierarchy")
ASKED = {  # sections that take their time, and the models that they apply to
    "topic_worth": both,
    "topic_recovery": both,
    "bleu": language,
    "retrieval": any_model,
    "classification": any_model,
}


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
        TopicList("", topics.top_words(model, max(TOPS))) for model in models
    )


def evaluate(
    model: Any,
    dataset: Dataset,
    reference: Reference,
    split: str = "test",
    samples: int = 0,
    batch_size: int = 64,
    ask: Sequence[str] = (),
    beginning: str = "",
) -> dict[str, Any]:
    """Measure a model on a split of its data; every value is ready for JSON.

    samples: 0 scores with the posterior mean of the topics, S averages each sequence's
    likelihood over S draws; ask: which of `ASKED` to measure, where they apply;
    beginning: to be continued under different topics, by default the split's own.
    """
    check_words(model, dataset, split)
    if LABELLED.intersection(ask):
        check_labels(dataset, split)
    if "bleu" in ask and language(type(model)):
        check_sentences(dataset.split(split))
    rows = model.batching.rows(dataset.split(split))
    subject = Subject(model, dataset, rows, reference, samples, batch_size)
    # Topics first, where a reference may turn out to be unfit.
    topical = isinstance(model, TopicModel)
    sections = _topics(subject, beginning) if topical else {}
    if isinstance(model, TopicHierarchy):
        sections["hierarchy"] = hierarchy(model, dataset, subject.rows.split)
    if isinstance(model, DocumentModel):
        sections["document_perplexity"] = subject.document_perplexity
        sections["units"] = unit_words(model)
    return {
        "split": split,
        **{m.key: m.of(subject) for m in MEASURES if "." not in m.key},
        **_scoring(subject),
        "elbo": subject.elbo,
        **dict.fromkeys([*SECTIONS, *ASKED]),
        **sections,
        **{name: getattr(subject, name) for name in ask if ASKED[name](type(model))},
    }


def _scoring(subject: Subject) -> dict[str, Any]:
    model, split = subject.model, subject.rows.split
    if not isinstance(model, LanguageModel):
        return {"sequences": None, "samples": None, "context": None}
    reads = isinstance(model, TopicModel) or model.reads_document
    return {
        "sequences": subject.score.sequences,
        "samples": subject.samples or None,
        "context": split.contexts.rule if reads else None,
    }


def _topics(subject: Subject, beginning: str) -> dict[str, Any]:
    model, split, inferred = subject.model, subject.rows.split, subject.documents
    absent = subject.coherence["absent_words"]
    return {
        "coherence": {**protocol(subject.counts), "absent_words": absent},
        "topics": _topic_rows(subject),
        "continuations": specimens.continuations(
            model, split, inferred.shares, beginning
        ),
        "documents": _sample_documents(subject.dataset, split, inferred),
    }


def _topic_rows(subject: Subject) -> list[dict[str, Any]]:
    scored, inferred = subject.coherence["topics"], subject.documents
    documents = np.bincount(inferred.largest, minlength=len(scored))
    shares = inferred.shares.tolist() if inferred.any else [None] * len(scored)
    sentences = specimens.topic_sentences(subject.model) or [None] * len(scored)
    return [
        {
            "topic": i,
            "words": topic["words"][: max(TOPS)],
            "npmi": topic["npmi"],
            "documents": int(documents[i]),  # that have it as their largest
            "proportion": shares[i],  # mean over documents
            "sentence": sentences[i],
        }
        for i, topic in enumerate(scored)
    ]


def _sample_documents(
    dataset: Any, split: Any, inferred: topics.DocumentTopics
) -> list[dict[str, Any]]:
    """Return the first documents with words, as in the paper's Figures 2 and 3."""
    rows = np.flatnonzero(inferred.has_words)[:SAMPLE_DOCUMENTS]
    return [
        {
            "document": int(row),
            "text": _excerpt(dataset.vocabulary.words, split.document(row)),
            "proportions": [round(float(x), 5) for x in inferred.proportions[row]],
        }
        for row in rows
    ]


def _excerpt(words: Sequence[str], sentences: Iterable[Sequence[int]]) -> str:
    tokens = [
        words[i] for i in itertools.islice(itertools.chain(*sentences), EXCERPT + 1)
    ]
    return " ".join(tokens[:EXCERPT]) + (" ..." if len(tokens) > EXCERPT else "")


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
