"""Everything that is measured of a run, as the contents of RUN/evaluation.json.

What a model has is asked by its contracts: a language model has a perplexity, a topic
model has topics; a figure that does not apply is None.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, protocol
from tcnlm.coherence.reference import Reference
from tcnlm.data.dataset import Dataset
from tcnlm.generation import specimens
from tcnlm.measures import topics
from tcnlm.measures.bleu_protocol import check_sentences
from tcnlm.measures.hierarchy import hierarchy
from tcnlm.measures.subject import Subject
from tcnlm.measures.table import (
    LABELLED,
    MEASURES,
    any_model,
    both,
    check_labels,
    check_words,
    language,
)
from tcnlm.measures.units import unit_words
from tcnlm.models.base import DocumentModel, LanguageModel, TopicHierarchy, TopicModel

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
