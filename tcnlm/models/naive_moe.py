"""The naive mixture-of-experts language model (Wang et al., AISTATS 2018, eq. 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.experts import ExpertLSTM, MixtureSoftmax
from tcnlm.models.tcnlm import NeuralTopicLanguageModel, TopicConfig


@dataclass(frozen=True)
class Config(TopicConfig):
    """Settings of the naive MoE; the topic model's are TCNLM's."""

    units: int = 100  # paper, section 5.4: of each expert
    num_topics: int = 30  # paper, section 5.4; as many experts


class NaiveMoE(NeuralTopicLanguageModel):
    """One LSTM a topic, whose predictions the document's topics mix.

    With x_m the embedding of y_(m-1), which all experts share, as they do V,

        h_m^(k) = LSTM_k(x_m, h_(m-1)^(k))                        (eq. 8, for the LSTM)
        p(y_m | y_<m, t) = sum_k t_k softmax(V h_m^(k))           (eq. 7)

    under TCNLM's topic model and objective (eq. 17, 18). K (4 H (E + H)) recurrent
    weights and as many biases as gates.

    Assumed: biases, an adaptive softmax for V and dropout as in TCNLM; with more than
    one layer, which the paper does not try, an expert stacks LSTMs of its own.
    """

    Config = Config

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a layer of all experts' LSTMs."""
        config = self.config
        return ExpertLSTM(config.units, config.num_topics, name=f"expert_lstm_{index}")

    def make_softmax(self) -> tf.keras.layers.Layer:
        """Return the output layer of all experts, with their mixture."""
        config, size = self.config, len(self.vocabulary.words)
        return MixtureSoftmax(size, config.cutoffs, config.div_value, name="softmax")

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the experts, which the topics do not reach."""
        return layer(inputs)

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run the experts' cells."""
        return layer.cell(inputs, state)

    def fuse(
        self, hidden: tf.Tensor, context: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the experts' states [N, K, H] with the topics [N, K] to mix them."""
        return hidden, context
