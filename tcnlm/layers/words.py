"""Words: their embeddings, and documents [B, N] as bags; -1 is padding."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.data.dataset import NO_WORD


def word_embedding(
    words: int, config: Any, name: str = "embedding"
) -> tf.keras.layers.Embedding:
    """Return an embedding of so many words, from U(-scale, scale) by the settings."""
    scale = config.embedding_scale
    start = tf.keras.initializers.RandomUniform(-scale, scale)
    return tf.keras.layers.Embedding(
        words, config.embedding_size, embeddings_initializer=start, name=name
    )


def log_counts(words: tf.Tensor) -> tf.Tensor:
    """Return documents in which a word stands round(ln(1 + n)) times instead of n.

    Salakhutdinov and Hinton 2009. The word's later places become padding.
    """
    order = tf.argsort(words, axis=1, stable=True)
    alike = tf.gather(words, order, batch_dims=1)
    first = tf.searchsorted(alike, alike, side="left")
    count = tf.searchsorted(alike, alike, side="right") - first
    kept = tf.cast(tf.round(tf.math.log1p(tf.cast(count, tf.float32))), tf.int32)
    nth = tf.range(tf.shape(words)[1]) - first  # of a word's places, from 0
    alike = tf.where(nth < kept, alike, NO_WORD)
    return tf.gather(alike, tf.argsort(order, axis=1), batch_dims=1)


def in_order(words: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
    """Return words [B, N] by rising keys, which are below 1; padding is cut."""
    real = words != NO_WORD
    order = tf.argsort(tf.where(real, keys, 1.0), axis=1, stable=True)
    longest = tf.reduce_max(lengths(words))
    return tf.gather(words, order, batch_dims=1)[:, :longest]


def lengths(words: tf.Tensor) -> tf.Tensor:
    """Return the number of words of each document, [B]."""
    return tf.math.count_nonzero(words != NO_WORD, axis=1, dtype=tf.int32)


def sum_rows(table: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
    """Return W^T d [..., K] of the counts d of word ids [..., C]; table: W [D, K]."""
    ids, bag = real_words(words)
    sizes = tf.shape(words)[:-1]
    sums = tf.math.unsorted_segment_sum(
        tf.gather(table, ids), bag, tf.reduce_prod(sizes)
    )
    summed = tf.reshape(sums, tf.concat([sizes, [table.shape[-1]]], axis=0))
    return tf.ensure_shape(summed, [*words.shape[:-1], table.shape[-1]])


def real_words(words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the real ids [N] of [..., C], and the number of each one's bag [C]."""
    bags = tf.reshape(words, [-1, tf.shape(words)[-1]])
    places = tf.where(bags != NO_WORD)
    return tf.gather_nd(bags, places), tf.cast(places[:, 0], tf.int32)
