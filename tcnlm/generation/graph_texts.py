"""Texts to word ids in the graph of a SavedModel, as preprocessing makes them."""

from __future__ import annotations

from unicodedata import normalize

import tensorflow as tf

from tcnlm.data.dataset import NO_WORD
from tcnlm.preprocessing.phrases import JOINT, Phrases
from tcnlm.preprocessing.text import rules, spellings
from tcnlm.preprocessing.vocabulary import UNK, Vocabulary


class Texts:
    """Texts to word ids in the graph, by the rules and words that trained the model."""

    def __init__(self, vocabulary: Vocabulary, context_words: int):
        self.context_words = context_words
        # A graph has no NFC, in which the words are.
        apart = {normalize("NFD", word): i for word, i in vocabulary.index.items()}
        words = apart | vocabulary.index
        ids = tf.constant(list(words.values()), tf.int32)
        pairs = tf.lookup.KeyValueTensorInitializer(list(words), ids)
        self.table = tf.lookup.StaticHashTable(pairs, UNK)
        self.topic_ids, self.language = vocabulary.topic_ids, vocabulary.language
        phrases = vocabulary.phrases
        self.joined = JoinedPhrases(phrases) if phrases else None

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the tokens [N, (tokens)] of texts [N]."""
        # lower() stops at a zero byte.
        for pattern, letters in ((r"\x00", " "), *spellings(self.language)):
            texts = tf.strings.regex_replace(texts, pattern, letters)
        texts = tf.strings.lower(texts, "utf-8")
        for pattern, letters in rules(self.language):
            texts = tf.strings.regex_replace(texts, pattern, letters)
        words = tf.strings.split(texts)
        return self.joined(words) if self.joined else words

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the word ids [N, (tokens)] of texts [N]."""
        return tf.ragged.map_flat_values(self.table.lookup, self.tokens(texts))

    def content(self, texts: tf.Tensor) -> tf.Tensor:
        """Return the first topic-word ids of texts [N], padded with -1."""
        ids = self.ids(texts)
        ids = ids.with_values(tf.gather(self.topic_ids, ids.values))
        content = tf.ragged.boolean_mask(ids, ids >= 0)
        return content[:, : self.context_words].to_tensor(NO_WORD)

    def last_sentences(self, texts: tf.Tensor, number: int) -> tf.Tensor:
        """Return the word ids [N, number, W] of the last lines with words, padded."""
        lines = tf.strings.split(texts, "\n")
        has_words = tf.ragged.map_flat_values(tf.strings.strip, lines) != ""
        last = tf.ragged.boolean_mask(lines, has_words)[:, -number:]
        each = tf.reshape(last.to_tensor(shape=[None, number]), [-1])
        ids = self.ids(each).to_tensor(NO_WORD)
        return tf.reshape(ids, [tf.shape(texts)[0], number, tf.shape(ids)[1]])


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
            known = self.table.lookup(_following(words, length, " "))
            is_one = known & (length <= left)
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
    """Return which places are reached from the first by steps of these sizes, [T].

    Steps double from round to round: of these there are as many as T has binary digits.
    """
    end = tf.size(sizes)
    steps = tf.range(end) + tf.cast(sizes, tf.int32)
    steps = tf.concat([tf.minimum(steps, end), [end]], 0)  # the end leads to itself
    reached = tf.one_hot(0, end + 1, dtype=tf.int32)

    def double(steps: tf.Tensor, reached: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        after = tf.tensor_scatter_nd_max(reached, steps[:, None], reached)
        return tf.gather(steps, steps), after

    start = steps, reached
    _, reached = tf.while_loop(lambda steps, _: steps[0] < end, double, start)
    return reached[:end] > 0
