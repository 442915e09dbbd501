"""The Topic Compositional Neural Language Model (Wang et al., AISTATS 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.layers.topic_lstm import TopicCompositionalLSTM
from tcnlm.models.base import without
from tcnlm.models.neural_topics import JointConfig, NeuralTopicLanguageModel


@dataclass(frozen=True)
class Config(JointConfig):
    """Settings of TCNLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    num_factors: int = 0  # n_f is not stated; 0 takes as many as units
    candidate_activation: str = "tanh"  # eq. 13 prints "sigmoid"; see README
    use_bias: bool = True  # "omitted for simplicity", section 3.2
    forget_bias: float = 1.0  # open; Lau et al. 2017
    factor_initializer: str = "orthogonal"  # open: of Wa, Wc, Ua, Uc
    recurrent_gain: float = 0.5  # open: U(t) starts at this times Ua Uc
    factor_rate: float = 0.5  # open: share of learning_rate of the factors, see README
    topic_stddev: float = 0.5  # open: Wb and Ub start N(1, topic_stddev)


class TCNLM(NeuralTopicLanguageModel):
    """A neural topic model and an LSTM whose weights it composes.

    W(t) = Wa diag(Wb t) Wc, U(t) = Ua diag(Ub t) Uc (eq. 12).
    """

    Config = Config

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a topic compositional LSTM; every layer has factors of its own."""
        config = self.config
        return TopicCompositionalLSTM(
            config.units,
            config.num_topics,
            num_factors=config.num_factors or None,
            candidate_activation=config.candidate_activation,
            use_bias=config.use_bias,
            forget_bias=config.forget_bias,
            factor_initializer=config.factor_initializer,
            recurrent_gain=config.recurrent_gain,
            topic_stddev=config.topic_stddev,
            name=f"topic_compositional_lstm_{index}",
        )

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the layer under the topic proportions."""
        return layer(inputs, context)[0]

    def for_steps(self, context: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """Return what every layer makes of the topic proportions."""
        return [layer.cell.topic_factors(context) for layer in self.recurrent]

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run the cell under its own topic factors."""
        return layer.cell.step(inputs, state, context[self.recurrent.index(layer)])

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the others' group, with the LSTM's factors in one of their own.

        W(t) is a product of three: where each takes a full step it takes three.
        """
        (language, rate), topic = super().parameter_groups()
        factors = [w for layer in self.recurrent for w in layer.trainable_variables]
        return [
            (without(language, factors), rate),
            (factors, self.config.factor_rate * rate),
            topic,
        ]
