"""What a model makes of texts of no DATA: topics, perplexity, unknown words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.data.dataset import Split, Tokens, split_of
from tcnlm.layers.tf_function import graph
from tcnlm.metrics.scores import DocumentScorer
from tcnlm.preprocessing.vocabulary import UNK

BATCH = 64  # documents whose units are computed at a time


class Reading(NamedTuple):
    """What a model makes of N documents; None where it says no such thing.

    A document without a topic word has no vector: NaN, not what an empty bag gives.
    """

    words: np.ndarray  # [N] tokens
    unknown: np.ndarray  # [N] of these that are not in the vocabulary
    topic_words: np.ndarray  # [N] of these that are in the topic vocabulary
    nats: np.ndarray | None  # [N] -ln p
    predicted: np.ndarray | None  # [N] words that the nats are a sum over
    vectors: np.ndarray | None  # [N, K] topic proportions or a document model's units

    @property
    def perplexity(self) -> np.ndarray:
        """The exponential of the nats a predicted word, [N]; NaN without a word."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.exp(self.nats / self.predicted)


class Reader:
    """Tokenized documents -> `Reading`.

    preprocessing: sequence_length, context and context_words, those of the training.
    """

    def __init__(self, model: Any, preprocessing: Mapping[str, Any]):
        self.model, self.preprocessing = model, preprocessing
        self.vectors_of = None  # what an entry of a vector is: "topic" or "unit"
        if model.offers("topics"):
            self.vectors_of, self._vectors = "topic", self._proportions
            contexts = tf.TensorSpec([None, None], tf.int32)
            self._infer = graph(model.infer, input_signature=[contexts])
        elif model.documental:
            self.vectors_of, self._vectors = "unit", self._units
        self.score = DocumentScorer(model) if model.offers("call") else None

    def __call__(self, documents: Sequence[Tokens]) -> Reading:
        """Read documents, one at least."""
        split = split_of(documents, self.model.vocabulary, self.preprocessing)
        bounds = split.sentences[split.documents]
        unknown = np.cumsum([0, *(split.tokens == UNK)])
        return Reading(
            np.diff(bounds),
            np.diff(unknown[bounds]),
            split.contexts.lengths(),
            *(self.score(split) if self.score else (None, None)),
            self._vectors(split) if self.vectors_of else None,
        )

    def _proportions(self, split: Split) -> np.ndarray:
        (contexts,) = split.document_contexts(split.num_documents)
        proportions = self._infer(contexts).numpy()
        proportions[split.contexts.lengths() == 0] = np.nan
        return proportions

    def _units(self, split: Split) -> np.ndarray:
        rows, features = self.model.batching.rows(split), self.model.features
        width = features(self.model.batching.empty(1)).shape[1]
        units = np.full([split.num_documents, width], np.nan)
        for chosen in rows.order(BATCH, None, 0):
            units[rows.documents[chosen]] = features(rows.batch(chosen))
        return units


def read_texts(
    reader: Reader, sentences: Callable[[str], Tokens], texts: Sequence[str]
) -> Reading:
    """Read raw documents, of which `sentences` makes tokens."""
    return reader([sentences(text) for text in texts])
