"""Models of documents as bags of words: perplexity, the unigram model's, and units.

Larochelle and Lauly, "A Neural Autoregressive Topic Model" (NIPS 2012).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import NO_WORD, Split
from tcnlm.metrics.base import EvaluationContext, Figure, Metric, documental
from tcnlm.metrics.features import Vectors, count_vectors

ORDERS = 5  # of the words, each drawn by a seed of its own
BATCH = 64


def perplexity(nats: np.ndarray, lengths: np.ndarray) -> tuple[float, float]:
    """Return exp of the mean of documents' nats a word, and of all nats over all words.

    nats [D]: -ln p(document); lengths [D]: words; documents without one are left out.
    """
    scored = lengths > 0
    if not scored.any():
        raise InputError(f"none of the {len(lengths)} documents has a word")
    nats, lengths = nats[scored], lengths[scored]
    corpus = float(np.exp(nats.sum() / lengths.sum()))
    return float(np.exp(np.mean(nats / lengths))), corpus


def unigram(train: Vectors, test: Vectors) -> tuple[float, float, int]:
    """Return both perplexities of the unigram model, and how many words it never saw.

    Counts [D, V]. p(w) = n_w / N of training; with words unseen, (n_w + 1) / (N + V).
    """
    counts, scored = (np.asarray(c.sum(axis=0), float).ravel() for c in (train, test))
    unseen = np.count_nonzero((scored > 0) & (counts == 0))
    counts += bool(unseen)
    # A word that nowhere occurs is multiplied by zero: any number does.
    log_p = np.log(np.where(counts, counts, 1) / counts.sum())
    lengths = np.asarray(test.sum(axis=1), float).ravel()
    return (*perplexity(-(test @ log_p), lengths), unseen)


def perplexity_over_orders(model: Any, train: Split, test: Split) -> dict[str, Any]:
    """Return both perplexities of documents, mean and deviation over orders."""
    counts = [_counted(model, split) for split in (train, test)]
    lengths, nats = np.asarray(counts[1].sum(axis=1)).ravel(), _nats(model, test)
    orders = np.array([perplexity(order, lengths) for order in nats])
    mean, deviation = orders.mean(axis=0), orders.std(axis=0, ddof=1)
    beside, beside_corpus, unseen = unigram(*counts)
    return {
        "orders": ORDERS,
        "documents": int(np.count_nonzero(lengths)),
        "without_words": int(np.count_nonzero(lengths == 0)),
        "published": float(mean[0]),
        "published_deviation": float(deviation[0]),
        "corpus": float(mean[1]),
        "corpus_deviation": float(deviation[1]),
        "unigram": beside,
        "unigram_corpus": beside_corpus,
        "unseen_words": unseen,
        "ratio": float(mean[0]) / beside,
    }


def _counted(model: Any, split: Split) -> sparse.csr_matrix:
    rows = model.batching.rows(split)
    documents = [np.zeros(0, int)] * split.num_documents
    for chosen in rows.order(BATCH, None, 0):
        read = np.asarray(model.read(rows.batch(chosen)["words"]))
        for document, words in zip(rows.documents[chosen], read):
            documents[document] = words[words != NO_WORD]
    return count_vectors(documents, split.num_topic_words)


def _nats(model: Any, split: Split) -> np.ndarray:
    import tensorflow as tf

    from tcnlm.layers.tf_function import graph

    rows = model.batching.rows(split)
    seeds = tf.TensorSpec([2], tf.int32)

    @partial(graph, input_signature=[model.batching.signature(), seeds])
    def score(batch, seed):
        return -tf.reduce_sum(model.log_probs(batch, seed), axis=1)

    nats = np.zeros([ORDERS, split.num_documents])
    for chosen in rows.order(BATCH, None, 0):
        documents, batch = rows.documents[chosen], rows.batch(chosen)
        for order in range(ORDERS):
            nats[order, documents] = score(batch, [1, order])
    return nats


class DocumentPerplexity(Metric):
    """The perplexities of documents over orders of their words; the unigram's."""

    key = "document_perplexity"
    applies = staticmethod(documental)
    figures = tuple(
        Figure(f"document_perplexity.{name}", title, form, better, among="targets")
        for name, title, form, better in (
            ("published", "perplexity, mean over documents", "{:.1f}", "min"),
            ("unigram", "the same of the unigram model", "{:.1f}", ""),
            ("ratio", "ratio to the unigram model", "{:.3f}", "min"),
        )
    )
    entries = ("document_perplexity",)
    template = """
<h2>Documents</h2>
{{ table(("perplexity", "model", "deviation", "unigram model", "ratio"), ("",), rows) }}
{{ note(over) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        splits = subject.train, subject.split
        return {self.key: perplexity_over_orders(subject.model, *splits)}

    def section(self, entry: Any) -> dict[str, Any]:
        over = f"Over {entry['orders']} orders of the words of {entry['documents']:,} "
        over += f"documents; {entry['without_words']} without a word are left out."
        if entry.get("unseen_words", True):  # it always was before this was told
            over += " One is added to each of the unigram model's counts."
        rows = []
        for title, key, unigram in (
            ("mean over documents (as published)", "published", "unigram"),
            ("over all words", "corpus", "unigram_corpus"),
        ):
            numbers = entry[key], entry[f"{key}_deviation"], entry[unigram]
            ratio = f"{entry[key] / entry[unigram]:.3f}"
            rows.append((title, *(f"{x:.1f}" for x in numbers), ratio))
        return {"rows": rows, "over": over}


def nearest_words(model: Any, word: str, count: int = 10) -> list[str]:
    """Return the words whose rows of W have the largest cosine with a word's."""
    words = model.vocabulary.topic_words
    if word not in words:
        raise InputError(f"{word!r} is not a topic word of this model")
    rows = model.word_vectors()
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    own = words.index(word)
    order = np.argsort(-(rows @ rows[own]), kind="stable")
    return [words[i] for i in order if i != own][:count]


class Units(Metric):
    """The ten words of largest weight in W [D, F] of every unit, best first."""

    key = "units"
    applies = staticmethod(documental)
    entries = ("units",)
    unrecorded = entries
    template = """
<h2>Units</h2>
{{ table(("unit", "words of largest weight"), ("number", ""), rows) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        weights = subject.model.word_vectors()
        words = subject.model.vocabulary.topic_words
        order = np.argsort(-weights, axis=0, kind="stable")[:10].T
        return {"units": [[words[i] for i in row] for row in order]}

    def section(self, entry: Any) -> dict[str, Any]:
        return {"rows": [(i, " ".join(words)) for i, words in enumerate(entry)]}
