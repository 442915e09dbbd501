"""Word embeddings as all models here start them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def word_embedding(
    words: int, config: Any, name: str = "embedding"
) -> tf.keras.layers.Embedding:
    """Return an embedding of so many words, from U(-scale, scale) by the settings."""
    scale = config.embedding_scale
    start = tf.keras.initializers.RandomUniform(-scale, scale)
    return tf.keras.layers.Embedding(
        words, config.embedding_size, embeddings_initializer=start, name=name
    )
