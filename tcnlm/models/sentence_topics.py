"""Topic weights of the sentences of a document, one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from preprocessing.vocabulary import PAD
from tcnlm.data.texts import Tokens, split_of
from tcnlm.models.base import TopicHierarchy


def theta_of_sentences(
    model: TopicHierarchy, document: Tokens, settings: Mapping[str, Any]
) -> list[tf.Tensor]:
    """Return the mean theta of every layer, [J, K_l] for J sentences, as in training.

    settings: sequence_length, context and context_words, those of the training; but no
    sentence is cut up.
    """
    longest = max(map(len, document)) + 1  # with <eos>
    made = {**settings, "sequence_length": longest}
    rows = model.batching.rows(split_of([document], model.vocabulary, made))
    batch = rows.batch(np.arange(len(rows)))
    real = batch["targets"][..., 0] != PAD
    return [tf.boolean_mask(each, real) for each in model.theta(batch["context"])]
