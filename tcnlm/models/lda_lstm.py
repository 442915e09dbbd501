"""An LSTM language model given its document's LDA topics (Wang et al. 2018, 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from tcnlm.models import lda, lstm
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(lda.Config, lstm.StartConfig, lstm.CarryConfig, lstm.RecurrentConfig):
    """Settings of the LSTM and of LDA."""


class LDALSTM(lda.DirichletTopics, lstm.LSTM):
    """p(y_m | y_<m, d) = softmax(V [h_m; q]), h_m an LSTM's output, q = E t of LDA.

    LDA is fitted before training and stays as it is; q is inferred from the context,
    the document without the sentence, in training as in evaluation. V has K more rows
    than the LSTM's. With `carry=true` q is of a window's context, which is to hold what
    was read before only (`context=read`); with `cell=rnn` too it is an RNN with LDA's
    features, as Mikolov and Zweig (2012) have it, but for their features at the input.

    Assumed: that the target sentence is left out of what q is inferred from (the paper
    does not say), and an output layer whose tails, too, see [h; q].
    """

    paper = "tcnlm"
    Config = Config
    TINY = {**lstm.LSTM.TINY, **lda.LDA.TINY}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.lda = self.make_lda()

    def context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return q [B, K]."""
        return self.infer_context(batch["context"])

    def context_from_topics(self, topics: tf.Tensor) -> tf.Tensor:
        """Return given proportions [B, K] as a context."""
        return topics

    def fuse(self, hidden: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return [h; q], [N, H + K]."""
        return tf.concat([hidden, context], axis=1)
