"""The words of a model's topics, and their weights in a document's sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.data.dataset import Tokens, split_of
from tcnlm.preprocessing.vocabulary import PAD

if TYPE_CHECKING:
    import tensorflow as tf

    from tcnlm.models.base import Model


def top_words(model: Any, count: int = 20, layer: int = 0) -> list[list[str]]:
    """Return the most probable words of every topic, best first, K x count.

    The rows of beta are ranked as they are; ties go by frequency in the corpus. layer:
    of a hierarchy; without one, its lowest.
    """
    topics = model.topics(layer) if layer else model.topics()
    return best_words(np.asarray(topics), model.vocabulary.topic_words, count)


def best_words(topics: np.ndarray, words: Sequence[str], count: int) -> list[list[str]]:
    """Return the most probable words of distributions [K, D], best first, K x count."""
    order = np.argsort(-topics, axis=1, kind="stable")
    return [[words[i] for i in row[:count]] for row in order]


def theta_of_sentences(
    model: Model, document: Tokens, preprocessing: Mapping[str, Any]
) -> list[tf.Tensor]:
    """Return the mean theta of every layer, [J, K_l] for J sentences, as in training.

    Of a model with topics in layers. preprocessing: sequence_length, context and
    context_words, those of the training; but no sentence is cut up.
    """
    import tensorflow as tf

    from tcnlm.models.gbn_rnn import infer_theta

    longest = max(map(len, document)) + 1  # with <eos>
    made = {**preprocessing, "sequence_length": longest}
    rows = model.batching.rows(split_of([document], model.vocabulary, made))
    batch = rows.batch(np.arange(len(rows)))
    real = batch["targets"][..., 0] != PAD
    theta = infer_theta(model, batch["context"])
    return [tf.boolean_mask(each, real) for each in theta]
