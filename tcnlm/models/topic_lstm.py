"""An LSTM language model given the topics of TCNLM's topic model beside its output."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from tcnlm.models import lstm
from tcnlm.models.guided import JointConfig, NeuralTopicLanguageModel
from tcnlm.models.neural_topics import NeuralTopicModel


@dataclass(frozen=True)
class Config(lstm.StartConfig, lstm.CarryConfig, JointConfig):
    """Settings of the LSTM; the topic model's are TCNLM's."""


class TopicLSTM(NeuralTopicLanguageModel, lstm.LSTM):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), h_m an LSTM's output.

    TCNLM's topic model and objective (Wang et al. 2018, eq. 17, 18) with t [B, K] in
    the place that `lda_lstm` has for LDA's proportions. A control of no paper: what
    the same topics are worth outside the LSTM's weights. With `carry=true` t is of a
    window's context, which is to hold what was read before only (`context=read`).
    """

    paper = "tcnlm"
    Config = Config
    TINY = {**lstm.LSTM.TINY, **NeuralTopicModel.TINY, "topic_pretrain_steps": 9}

    def fuse(self, hidden: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return [h; t], [N, H + K]."""
        return tf.concat([hidden, context], axis=1)

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the language model's weights, as the LSTM's, and the topic model's."""
        language, topic = super().parameter_groups()
        return [*self.layers_apart(language), topic]
