"""The Topic Compositional Neural Language Model (Wang et al., AISTATS 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTM
from tcnlm.models.base import apart
from tcnlm.models.guided import JointConfig, NeuralTopicLanguageModel
from tcnlm.models.lstm import LSTM
from tcnlm.models.neural_topics import NeuralTopicModel


@dataclass(frozen=True)
class Config(JointConfig):
    """Settings of TCNLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    num_factors: int = setting(0, "n_f, not stated; 0: as many as units", least=0)
    candidate_activation: str = setting(
        "tanh",
        'eq. 13 prints "sigmoid"; docs/deviations.md',
        choices=("tanh", "sigmoid"),
    )
    use_bias: bool = setting(
        True, 'of the gates; "omitted for simplicity", section 3.2'
    )
    factor_lr_multiplier: float = setting(
        0.5, "share of learning_rate of the factors; docs/deviations.md", above=0
    )


class TCNLM(NeuralTopicLanguageModel):
    """A neural topic model and an LSTM whose weights it composes.

    W(t) = Wa diag(Wb t) Wc, U(t) = Ua diag(Ub t) Uc (eq. 12).
    """

    Config = Config
    TINY = {
        **LSTM.TINY,
        **NeuralTopicModel.TINY,
        "topic_pretrain_steps": 9,
        "num_factors": 4,
    }

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a topic compositional LSTM; every layer has factors of its own."""
        config = self.config
        return TopicCompositionalLSTM(
            config.units,
            config.num_topics,
            num_factors=config.num_factors or None,
            candidate_activation=config.candidate_activation,
            use_bias=config.use_bias,
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
        language, topic = super().parameter_groups()
        return [
            *apart(language, self.recurrent, self.config.factor_lr_multiplier),
            topic,
        ]
