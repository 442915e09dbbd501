"""A dummy language model small enough to enumerate all its sentences."""

import itertools

import numpy as np
import tensorflow as tf
from scipy.special import log_softmax

from tcnlm.layers.softmax import NextWord
from tcnlm.preprocessing.vocabulary import EOS, GO, Vocabulary

WORDS = ["<pad>", "<go>", "<eos>", "<unk>", "a", "b", "c"]
SIZE = len(WORDS)


class SecondOrderModel:
    """p(next | the two words before), shifted by a context of scores [B, V]."""

    def __init__(self, scores, words=WORDS):
        self.scores = np.asarray(scores, np.float32)
        self.vocabulary = Vocabulary(words, [0] * len(words), [])

    def initial_state(self, context, rows):
        return [tf.zeros([rows, 1])], context

    def step(self, token, state, context):
        before = tf.cast(state[0][:, 0], tf.int32)
        scores = tf.gather_nd(self.scores, tf.stack([before, token], axis=1))
        new_state = [tf.cast(token[:, None], tf.float32)]
        return NextWord(lambda: tf.nn.log_softmax(scores + context)), new_state

    def log_prob(self, ids, context):
        """Return log p of `ids`, which may end with <eos>, by a plain loop."""
        total, before, token = 0.0, 0, GO
        for word in ids:
            total += log_softmax(self.scores[before, token] + context)[word]
            before, token = token, word
        return total

    def sentences(self, max_length, forbidden):
        """Yield all sentences as ids: ended, or of the full length."""
        allowed = [w for w in range(SIZE) if w not in (*forbidden, EOS)]
        for length in range(max_length + 1):
            for ids in itertools.product(allowed, repeat=length):
                yield ids if length == max_length else (*ids, EOS)
