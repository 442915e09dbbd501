"""How well a model predicts each document: the nats and the words of every one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from preprocessing.vocabulary import PAD
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Split
from tcnlm.layers.graphs import graph
from tcnlm.models.base import DocumentModel

Pair = tuple[tf.Tensor, tf.Tensor]


class DocumentNats(NamedTuple):
    """Of every document of a split [N]; zero where a document has no target."""

    nats: np.ndarray  # minus log p of its targets
    targets: np.ndarray


class DocumentScorer:
    """A split -> -ln p of every document [N], and how many words that is a sum over.

    A language model predicts every word and `<eos>`, with its topics at their posterior
    mean, as `perplexity.score` does; a model of documents the content words that it
    counts, in one order for all. The batch size is of no account.
    """

    def __init__(self, model: Any, batch_size: int = 64):
        self.model, self.batch_size = model, batch_size
        own = isinstance(model, DocumentModel)
        self._score = graph(
            self._of_bags if own else self._of_sentences,
            input_signature=[model.batching.signature()],
        )

    def __call__(self, split: Split) -> DocumentNats:
        """Return nats and words; both are zero for a document without a word."""
        rows = self.model.batching.rows(split)
        nats, words = np.zeros([2, split.num_documents])
        order = rows.order(self.batch_size, None, 0)
        with self.model.state_apart():
            for chosen, batch in zip(order, rows.batches(self.batch_size)):
                documents = rows.documents_of(chosen)
                for sums, found in zip((nats, words), self._score(batch)):
                    np.add.at(sums, documents, found.numpy())
        return DocumentNats(nats, words.astype(int))

    def _of_bags(self, batch: dict[str, tf.Tensor]) -> Pair:
        read = self.model.read(batch["words"]) != NO_WORD
        return _of_rows(self.model.log_probs(batch), read)

    def _of_sentences(self, batch: dict[str, tf.Tensor]) -> Pair:
        log_probs = self.model.batch_log_probs(batch, self.model.context(batch))
        return _of_rows(log_probs, batch["targets"] != PAD)


def _of_rows(log_probs: tf.Tensor, predicted: tf.Tensor) -> Pair:
    """Return the nats and the words of every row, whatever a row's shape: [B], [B]."""
    rows = [tf.shape(log_probs)[0], -1]
    nats = -tf.reduce_sum(tf.reshape(tf.cast(log_probs, tf.float64), rows), axis=1)
    return nats, tf.math.count_nonzero(tf.reshape(predicted, rows), axis=1)
