"""A plain LSTM language model, the papers' "basic-LSTM" (Lau et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.word_vectors import WordVectors
from tcnlm.layers import lstm
from tcnlm.layers.recurrence import GATES, keras_order
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTMCell
from tcnlm.models.base import apart
from tcnlm.models.recurrent import RecurrentLanguageModel, StateCarryingModel

CELLS = {
    "lstm": lstm.LSTM,
    "gru": tf.keras.layers.GRU,
    "rnn": tf.keras.layers.SimpleRNN,
}


@dataclass(frozen=True)
class EmbeddingConfig(Settings):
    """Settings of what every model that reads words has."""

    embedding_size: int = setting(
        300,
        "numbers of a word's vector; Lau et al. 2017, TCNLM's is not stated",
        least=1,
    )
    embedding_scale: float = setting(
        1.0, "embeddings start in U(-scale, scale); docs/deviations.md", above=0
    )
    embeddings: str = setting(
        "random", 'where they start: "random", "train" (word2vec) or a word2vec file'
    )
    dropout: float = setting(
        0.4,
        "share dropped of the embeddings and of each layer's output; paper",
        least=0,
        below=1,
    )
    learning_rate: float = setting(1e-3, "of Adam; Lau et al. 2017", above=0)


@dataclass(frozen=True)
class WordConfig(EmbeddingConfig):
    """The same, and the layers; "small" has units=600 layers=1, "large" 900, 2."""

    units: int = setting(
        600, "hidden units of a layer; paper: 600 small, 900 large", least=1
    )
    layers: int = setting(
        1, "recurrent layers; paper: 1 small, 2 large", least=1, most=100
    )


@dataclass(frozen=True)
class SoftmaxConfig(Settings):
    """Settings of the adaptive softmax."""

    cutoffs: tuple[int, ...] = setting(
        (2000, 10000),
        "ranks where the tails of the softmax begin; Grave et al. 2016",
        least=1,
        rising=True,
    )
    div_value: float = setting(
        4.0,
        "each tail has this many times fewer dimensions; Grave et al. 2016",
        least=1,
    )


@dataclass(frozen=True)
class RecurrentConfig(SoftmaxConfig, WordConfig):
    """Settings of recurrent layers and an adaptive softmax."""


@dataclass(frozen=True)
class WindowConfig(Settings):
    """Settings of a model whose state can go on through a document."""

    carry: bool = setting(
        False, "carry the state from sentence to sentence of a document"
    )
    window: int = setting(
        30, "with carry: targets of a window, through which gradients flow", least=1
    )
    reset: str = setting(
        "document",
        "with carry: where the state begins anew",
        choices=("document", "never"),
    )


@dataclass(frozen=True)
class CarryConfig(WindowConfig):
    """The same of recurrent layers."""

    cell: str = setting(
        "lstm", "of the recurrent layers", choices=("lstm", "gru", "rnn")
    )


@dataclass(frozen=True)
class StartConfig(Settings):
    """Settings of how an LSTM's own weights start and learn."""

    recurrent_lr_multiplier: float = setting(
        1.0, "share of learning_rate of the LSTM's own weights", above=0
    )
    recurrent_start: str = setting(
        "keras",
        "of those weights; product: TCNLM's factors multiplied out",
        choices=("keras", "product"),
    )


@dataclass(frozen=True)
class Config(StartConfig, CarryConfig, RecurrentConfig):
    """Settings of the LSTM."""


class LSTMLanguageModel(RecurrentLanguageModel):
    """What all models with Keras's LSTM share; a subclass may bring a context."""

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a Keras LSTM; its forget bias starts at one."""
        return lstm.LSTM(self.config.units, return_sequences=True, name=f"lstm_{index}")

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the layer; there is no context."""
        return layer(inputs)

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run the cell; there is no context."""
        return layer.cell(inputs, state)


class StartedLikeTCNLM(LSTMLanguageModel):
    """A model of Keras's LSTM whose layers may start and learn as TCNLM's do.

    With `recurrent_start="product"` and `recurrent_lr_multiplier=0.5` they have the
    start and the steps of TCNLM's cell with one topic: a control for what topics are
    worth.
    """

    def start_weights(self, dataset: Dataset) -> WordVectors:
        """Start the embeddings, and each layer at a fresh cell's product if asked."""
        vectors = super().start_weights(dataset)
        if self.config.recurrent_start == "product":
            for layer in self.recurrent:
                cell = TopicCompositionalLSTMCell(self.config.units, 1)
                cell.build(tf.TensorShape([None, layer.cell.kernel.shape[0]]))
                multiply_out(cell, layer)
        return vectors

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the layers' weights in a group of their own if their rate differs."""
        (group,) = super().parameter_groups()
        return self.layers_apart(group)

    def layers_apart(
        self, group: tuple[list[tf.Variable], float]
    ) -> list[tuple[list[tf.Variable], float]]:
        """Return the same of a group that has the layers' weights among others."""
        share = self.config.recurrent_lr_multiplier
        return [group] if share == 1 else apart(group, self.recurrent, share)


class CarryingLanguageModel(StateCarryingModel, LSTMLanguageModel):
    """An LSTM, GRU or RNN whose state may go on through a document."""

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a Keras layer, which tells its last state if that is carried."""
        config = self.config
        return CELLS[config.cell](
            config.units,
            return_sequences=True,
            return_state=config.carry,
            name=f"{config.cell}_{index}",
        )

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the layer from a zero state."""
        outputs = layer(inputs)
        return outputs[0] if self.config.carry else outputs

    def carry_layer(
        self, layer: Any, inputs: tf.Tensor, state: Any, mask: tf.Tensor
    ) -> tuple[tf.Tensor, Any]:
        """Run the layer from a state."""
        outputs, *after = layer(inputs, initial_state=state, mask=mask)
        return outputs, after

    def last_state(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the same; with `carry`, all that goes on: h and c of every layer."""
        last = super().last_state(batch)
        if not self.config.carry:
            return last
        return tf.concat(tf.nest.flatten(self.carried.nest), axis=1)


class LSTM(StartedLikeTCNLM, CarryingLanguageModel):
    """p(y_m | y_<m) by an LSTM (eq. 2 and 3) that sees its own sentence only."""

    Config = Config
    TINY = {"units": 6, "layers": 2, "embedding_size": 5, "cutoffs": (12,)}

    def check(self) -> None:
        """Refuse embeddings that are not there, and a product for another cell."""
        super().check()
        if self.config.recurrent_start == "product" and self.config.cell != "lstm":
            raise InputError(
                f"recurrent_start=product: goes with cell=lstm alone, not with "
                f"cell={self.config.cell}"
            )


def multiply_out(cell: TopicCompositionalLSTMCell, layer: Any) -> None:
    """Give a Keras LSTM the W, U (eq. 12) and bias of a cell with one topic."""
    kernels = [tf.unstack(k[0]) for k in cell.effective_kernels(tf.ones([1, 1]))]
    gates = [*kernels, tf.split(cell.bias, GATES)]
    layer.set_weights([tf.concat(keras_order(each), axis=-1) for each in gates])
