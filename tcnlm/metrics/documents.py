"""The perplexity of documents as bags of words, and of the unigram model beside it.

Larochelle and Lauly, "A Neural Autoregressive Topic Model" (NIPS 2012).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import NO_WORD, Split
from tcnlm.metrics.base import Figure, Metric, Shown, documental
from tcnlm.metrics.features import Vectors, count_vectors

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext

ORDERS = 5  # of the words, each drawn by a seed of its own
BATCH = 64


def perplexity(nats: np.ndarray, lengths: np.ndarray) -> tuple[float, float]:
    """Return the perplexities of documents: as published, and of the corpus.

    nats [D]: -ln p(document), the sum over its words; lengths [D]: how many words. The
    first is exp of the mean over documents of their mean nats a word, the second exp of
    all nats over all words; documents without a word are in neither.
    """
    if nats.shape != lengths.shape:
        raise InputError(f"nats of {nats.shape} documents, lengths of {lengths.shape}")
    scored = lengths > 0
    if not scored.any():
        raise InputError(f"none of the {len(lengths)} documents has a word")
    nats, lengths = nats[scored], lengths[scored]
    corpus = float(np.exp(nats.sum() / lengths.sum()))
    return float(np.exp(np.mean(nats / lengths))), corpus


class Unigram:
    """One distribution over words for all documents, which any model has to beat.

    p(w) = n_w / N with the n_w of the training documents and N their sum. Where some
    word that is scored has no n_w it is (n_w + 1) / (N + V) of V words, for all words.
    Counts [D, V], dense or sparse: `count_vectors` or `log_count_vectors` of
    `tcnlm.metrics.features`, the same for training and test.
    """

    def __init__(self, counts: Vectors):
        self.counts = np.asarray(counts.sum(axis=0), float).ravel()

    def unseen(self, counts: Vectors) -> int:
        """Return how many of the words of documents [D, V] have no count of their own.

        With any, one is added to every word's.
        """
        scored = np.asarray(counts.sum(axis=0)).ravel() > 0
        return int(np.count_nonzero(scored & (self.counts == 0)))

    def perplexity(self, counts: Vectors) -> tuple[float, float]:
        """Return the perplexities of documents [D, V]; a count of n is n words."""
        known = self.counts + bool(self.unseen(counts))
        # A word that nowhere occurs is multiplied by zero: any number does.
        log_p = np.log(np.where(known, known, 1) / known.sum())
        lengths = np.asarray(counts.sum(axis=1), float).ravel()
        return perplexity(-(counts @ log_p), lengths)


def perplexity_over_orders(model: Any, train: Split, test: Split) -> dict[str, Any]:
    """Return both perplexities of documents, mean and deviation over orders.

    And those of the unigram model on the very words that the model counts.
    """
    lengths, nats = _nats(model, test)
    orders = np.array([perplexity(order, lengths) for order in nats])
    mean, deviation = orders.mean(axis=0), orders.std(axis=0, ddof=1)
    counts = [_counted(model, split) for split in (train, test)]
    of_train = Unigram(counts[0])
    unigram, unigram_corpus = of_train.perplexity(counts[1])
    return {
        "orders": ORDERS,
        "documents": int(np.count_nonzero(lengths)),
        "without_words": int(np.count_nonzero(lengths == 0)),
        "published": float(mean[0]),
        "published_deviation": float(deviation[0]),
        "corpus": float(mean[1]),
        "corpus_deviation": float(deviation[1]),
        "unigram": unigram,
        "unigram_corpus": unigram_corpus,
        "unseen_words": of_train.unseen(counts[1]),
        "ratio": float(mean[0]) / unigram,
    }


def _counted(model: Any, split: Split) -> sparse.csr_matrix:
    """Return how often each topic word counts in every document, [N, D]."""
    rows = model.batching.rows(split)
    documents = [np.zeros(0, int)] * split.num_documents
    for chosen in rows.order(BATCH, None, 0):
        read = np.asarray(model.read(rows.batch(chosen)["words"]))
        for document, words in zip(rows.documents[chosen], read):
            documents[document] = words[words != NO_WORD]
    return count_vectors(documents, split.num_topic_words)


def _nats(model: Any, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the words that count of every document [N], and its nats [orders, N]."""
    import tensorflow as tf

    from tcnlm.layers.tf_function import graph

    rows = model.batching.rows(split)
    seeds = tf.TensorSpec([2], tf.int32)

    @partial(graph, input_signature=[model.batching.signature(), seeds])
    def score(batch, seed):
        read = model.read(batch["words"]) != NO_WORD
        total = tf.reduce_sum(model.log_probs(batch, seed), axis=1)
        return tf.math.count_nonzero(read, axis=1), -total

    lengths = np.zeros(split.num_documents)
    nats = np.zeros([ORDERS, split.num_documents])
    for chosen in rows.order(BATCH, None, 0):
        documents, batch = rows.documents[chosen], rows.batch(chosen)
        for order in range(ORDERS):
            lengths[documents], nats[order, documents] = score(batch, [1, order])
    return lengths, nats


class DocumentPerplexity(Metric):
    """The perplexities of documents over orders of their words; the unigram's."""

    key = "document_perplexity"
    applies = staticmethod(documental)
    figures = (
        Figure(
            "document_perplexity.published",
            "perplexity, mean over documents",
            "{:.1f}",
            "min",
            among="targets",
        ),
        Figure(
            "document_perplexity.unigram", "the same of the unigram model", "{:.1f}"
        ),
        Figure(
            "document_perplexity.ratio",
            "ratio to the unigram model",
            "{:.3f}",
            "min",
            among="targets",
        ),
    )
    entries = ("document_perplexity",)
    template = """
<h2>Documents</h2>
{{ table(("perplexity", "model", "deviation", "unigram model", "ratio"),
         ("", "number", "number", "number", "number"), rows) }}
{{ note(over) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return both perplexities, the model's and the unigram's."""
        parts = subject.model, subject.train, subject.split
        return {"document_perplexity": perplexity_over_orders(*parts)}

    def section(self, entry: Any) -> Shown:
        """Return a row for each of the two perplexities."""
        over = f"Over {entry['orders']} orders of the words of {entry['documents']:,} "
        over += f"documents; {entry['without_words']} without a word are left out."
        if entry.get("unseen_words", True):  # it always was before this was told
            over += " One is added to each of the unigram model's counts."
        rows = [
            (
                title,
                f"{entry[key]:.1f}",
                f"{entry[f'{key}_deviation']:.1f}",
                f"{entry[unigram]:.1f}",
                f"{entry[key] / entry[unigram]:.3f}",
            )
            for title, key, unigram in (
                ("mean over documents (as published)", "published", "unigram"),
                ("over all words", "corpus", "unigram_corpus"),
            )
        ]
        return {"rows": rows, "over": over}
