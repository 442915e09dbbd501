"""An LSTM language model given a learned vector of its context's bag of words."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.mixed_precision import Dense
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.models import lstm
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(lstm.StartConfig, lstm.RecurrentConfig):
    """Settings of the LSTM and of what reads the bag."""

    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the encoder's layers; TCNLM's", least=1
    )
    context_units: int = setting(
        30, "numbers of q; as many as TCNLM's topics in Table 6", least=1
    )


class BagLSTM(lstm.StartedLikeTCNLM):
    """p(y_m | y_<m, d) = softmax(V [h_m; q]), h_m an LSTM's output, q = f(d).

    f is the encoder of TCNLM's topic model (Wang et al. 2018, section 3.1) up to mu:
    log(1 + count) of the context's topic words, ReLU layers, a linear layer. The loss
    of the language model alone trains it: no simplex, no draw, no prior, nothing
    rebuilt. A control of no paper: what a document's bag of words is worth where
    nothing makes it topics.

    It is `lda_lstm` with q in the place of LDA's proportions. Where there is no
    document to write from, the bag is empty: q = f(0).
    """

    paper = "tcnlm"
    Config = Config
    TINY = {**lstm.LSTM.TINY, "encoder_units": (7, 7), "context_units": 3}
    reads_document = True

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.encoder = tf.keras.Sequential(
            [
                *(Dense(n, "relu") for n in config.encoder_units),
                Dense(config.context_units),
            ],
            name="encoder",
        )

    def context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return q [B, C]."""
        bow = bag_of_words(batch["context"], len(self.vocabulary.topic_words))
        return self.encoder(tf.math.log1p(bow))

    def fuse(self, hidden: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return [h; q], [N, H + C]."""
        return tf.concat([hidden, context], axis=1)
