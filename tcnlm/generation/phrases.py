"""The phrases of preprocessing, joined in the graph of a SavedModel."""

from __future__ import annotations

from unicodedata import normalize

import tensorflow as tf

from tcnlm.preprocessing.phrases import JOINT, Phrases


class JoinedPhrases:
    """Sentences of words to the same with phrases as one word, as `Phrases.join`."""

    def __init__(self, phrases: Phrases):
        self.lengths = sorted(phrases.lengths)
        apart = (normalize("NFD", phrase) for phrase in phrases.scores)
        names = list(dict.fromkeys([*phrases.scores, *apart]))
        pairs = tf.lookup.KeyValueTensorInitializer(names, tf.ones(len(names), tf.bool))
        self.table = tf.lookup.StaticHashTable(pairs, False)

    def __call__(self, sentences: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return sentences [N, (words)] with their phrases joined."""
        words, rows = sentences.values, sentences.value_rowids()
        left = tf.gather(sentences.row_splits[1:], rows)
        left -= tf.range(tf.size(words, tf.int64))  # of the sentence, from here on
        joined, sizes = words, tf.ones_like(left)
        for length in self.lengths:
            is_one = self.table.lookup(_following(words, length, " ")) & (
                length <= left
            )
            joined = tf.where(is_one, _following(words, length, JOINT), joined)
            sizes = tf.where(is_one, tf.constant(length, tf.int64), sizes)
        first = _reached(sizes)
        kept, rows = tf.boolean_mask(joined, first), tf.boolean_mask(rows, first)
        return tf.RaggedTensor.from_value_rowids(kept, rows, sentences.nrows())


def _following(words: tf.Tensor, number: int, joint: str) -> tf.Tensor:
    """Return every word with those that follow it, as one text: [T]."""
    padded = tf.concat([words, tf.fill([number - 1], "")], 0)
    size = tf.size(words)
    return tf.strings.join([padded[i : i + size] for i in range(number)], joint)


def _reached(sizes: tf.Tensor) -> tf.Tensor:
    """Return which places are reached from the first by steps of these sizes: [T].

    Steps are doubled, so that there are as many rounds as T has binary digits.
    """
    end = tf.size(sizes)
    steps = tf.range(end) + tf.cast(sizes, tf.int32)
    steps = tf.concat([tf.minimum(steps, end), [end]], 0)  # the end leads to itself
    reached = tf.one_hot(0, end + 1, dtype=tf.int32)

    def double(steps: tf.Tensor, reached: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        after = tf.tensor_scatter_nd_max(reached, steps[:, None], reached)
        return tf.gather(steps, steps), after

    _, reached = tf.while_loop(
        lambda steps, _: steps[0] < end, double, (steps, reached)
    )
    return reached[:end] > 0
