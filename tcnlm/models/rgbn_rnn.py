"""rGBN-RNN (Guo, Chen, Lu and Zhou, ICML 2020): GBN-RNN that moves with a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from preprocessing.vocabulary import PAD, Vocabulary
from tcnlm.data.groups import Groups
from tcnlm.models import gbn_rnn
from tcnlm.settings import setting


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
    with "preceding", the paper's for testing, is the perplexity one of words unseen. We
    recommend it for both.
    """

    over_sentences = True
    Config = Config
    TINY = {**gbn_rnn.GBNRNN.TINY, "sentences": 2}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.batching = Groups(config.sentences)

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
