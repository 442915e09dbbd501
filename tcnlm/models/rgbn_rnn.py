"""rGBN-RNN (Guo, Chen, Lu and Zhou, ICML 2020): GBN-RNN that moves with a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.groups import Groups
from tcnlm.layers.gamma_belief import SMALLEST_SHAPE
from tcnlm.models import gbn_rnn
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary

fold_in = tf.random.experimental.stateless_fold_in


@dataclass(frozen=True)
class Config(gbn_rnn.Config):
    """Settings of rGBN-RNN; units=600 num_topics=100 is its smallest, of one layer."""

    sentences: int = setting(
        8, "of a document in a row of a batch, theta starting anew; released code",
        least=2,
    )  # fmt: skip


class RGBNRNN(gbn_rnn.GBNRNN):
    """GBN-RNN whose topic weights go on from sentence to sentence (eq. 2).

        theta_j^L ~ Gamma(Pi^L theta_(j-1)^L, 1)
        theta_j^l ~ Gamma(Phi^(l+1) theta_j^(l+1) + Pi^l theta_(j-1)^l, 1)

    for the sentences j of a document; before the first one theta_0 is zero, and
    theta_1^L ~ Gamma(1, 1). The encoder is recurrent over j too, and q(theta_j^l) is
    Weibull(k_j^l, lambda_j^l). Pi^l is drawn as Phi is.

    A row of a batch is a group of `sentences` sequences; the paper's batch is 8 of
    them, batch_size=8. Padding has no part in any loss, nor in the counts.

    The context rule decides what theta_j knows of its own sentence. With "others", the
    paper's in training, d_(j-1) holds sentence j, and the recurrence hands it on: only
    with "preceding", the paper's for testing, is the perplexity one of words unseen. It
    is this model's default for both.

    What is written goes on from a theta by `moved`: a draw of eq. 2, each layer given
    the moving mean of its sums in training. By eq. 2 alone the sums of all layers but
    the highest grow with every sentence, beyond what the LSTM has seen.
    """

    over_sentences = True
    Config = Config
    TINY = {**gbn_rnn.GBNRNN.TINY, "sentences": 2}
    LOOP = {"context": "preceding"}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.batching = Groups(config.sentences)

    def moved(
        self, theta: Sequence[tf.Tensor], seed: tf.Tensor | None = None
    ) -> list[tf.Tensor]:
        """Return theta of the next sentence, [B, K_l] of every layer; see the class.

        It is drawn by the seed [2]; without one it is the mean of eq. 2.
        """
        after: list[tf.Tensor] = []
        for n in reversed(range(len(theta))):
            shape = tf.tensordot(theta[n], tf.transpose(self.network.Pi[n]), 1)
            if after:
                above = tf.transpose(self.network.Phi[n + 1])
                shape += tf.tensordot(after[0], above, 1)
            drawn = shape if seed is None else _gamma(shape, fold_in(seed, n))
            total = tf.reduce_sum(drawn, axis=-1, keepdims=True)
            after.insert(0, self.sums[n] * drawn / total)
        return after

    def hidden(self, inputs: tf.Tensor, context: Any, training: bool) -> tf.Tensor:
        """Return [a^1; ...; a^L] [..., T, sum H] for word ids [..., T].

        Of groups [B, J, T], only real sentences are read; those of padding are zero.
        """
        if len(inputs.shape) == 2:
            return super().hidden(inputs, context, training)
        real = tf.where(inputs[:, :, 0] != PAD)
        sentences, theta = tf.nest.map_structure(
            lambda each: tf.gather_nd(each, real), (inputs, context)
        )
        read = super().hidden(sentences, theta, training)
        shape = tf.concat([tf.shape(inputs), tf.shape(read)[-1:]], axis=0)
        return tf.scatter_nd(real, read, tf.cast(shape, real.dtype))


def _gamma(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw from Gamma(shape, 1); what a float32 cannot hold is next to nothing."""
    drawn = tf.random.stateless_gamma(tf.shape(shape), seed, shape + SMALLEST_SHAPE)
    return drawn + np.finfo("float32").tiny
