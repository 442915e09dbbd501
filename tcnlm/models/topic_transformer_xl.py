"""Transformer-XL given the topics of TCNLM's topic model beside its output."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from tcnlm.models import transformer_xl
from tcnlm.models.guided import JointConfig, NeuralTopicLanguageModel
from tcnlm.models.neural_topics import NeuralTopicModel
from tcnlm.models.transformer_xl import TransformerXL


@dataclass(frozen=True)
class Config(transformer_xl.Config, JointConfig):
    """Settings of Transformer-XL; the topic model's are TCNLM's."""


class TopicTransformerXL(NeuralTopicLanguageModel, TransformerXL):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), h_m a Transformer-XL's output.

    As `topic_lstm` has it for an LSTM. A control of no paper: what topics are worth
    where attention sees the document. With `carry=true` t is of a window's context,
    which is to hold what was read before only (`context=read`).
    """

    paper = "tcnlm"
    Config = Config
    TINY = {**TransformerXL.TINY, **NeuralTopicModel.TINY, "topic_pretrain_steps": 9}

    def fuse(self, hidden: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return [h; t], [N, d + K]."""
        return tf.concat([hidden, context], axis=1)
