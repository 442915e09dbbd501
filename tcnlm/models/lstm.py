"""A plain LSTM language model, the papers' "basic-LSTM" (Lau et al. 2017)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from preprocessing.vocabulary import Vocabulary
from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.windows import Windows
from tcnlm.layers import lstm
from tcnlm.layers.carried import CarriedState
from tcnlm.layers.recurrence import GATES, keras_order
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTMCell
from tcnlm.models.base import Terms, apart, language_terms
from tcnlm.models.recurrent import RecurrentLanguageModel

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
class CarryConfig(Settings):
    """Settings of a recurrent layer whose state can go on through a document."""

    cell: str = setting(
        "lstm", "of the recurrent layers", choices=("lstm", "gru", "rnn")
    )
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
class StartConfig(Settings):
    """Settings of how an LSTM's own weights start and learn."""

    recurrent_rate: float = setting(
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

    def context(self, batch: dict[str, tf.Tensor]) -> tuple:
        """Return the empty tuple."""
        return ()

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a row of the batch, "nll": nats a target}."""
        log_probs = self.batch_log_probs(batch, self.context(batch), training)
        loss, terms = language_terms(log_probs, batch["targets"])
        return {"loss": loss, **terms}


class StartedLikeTCNLM(LSTMLanguageModel):
    """A model of Keras's LSTM whose layers may start and learn as TCNLM's do.

    With `recurrent_start="product"` and `recurrent_rate=0.5` they have the start and
    the steps of TCNLM's cell with one topic: a control for what topics are worth.
    """

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings, and each layer at a fresh cell's product if asked."""
        super().prepare(dataset)
        if self.config.recurrent_start == "product":
            for layer in self.recurrent:
                cell = TopicCompositionalLSTMCell(self.config.units, 1)
                cell.build(tf.TensorShape([None, layer.cell.kernel.shape[0]]))
                multiply_out(cell, layer)

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the layers' weights in a group of their own if their rate differs."""
        (group,) = super().parameter_groups()
        return self.layers_apart(group)

    def layers_apart(
        self, group: tuple[list[tf.Variable], float]
    ) -> list[tuple[list[tf.Variable], float]]:
        """Return the same of a group that has the layers' weights among others."""
        share = self.config.recurrent_rate
        return [group] if share == 1 else apart(group, self.recurrent, share)


class CarryingLanguageModel(LSTMLanguageModel):
    """A recurrent model whose state may go on from sentence to sentence of a document.

    With `carry=true` a row of its batches is a window, and a word is predicted from all
    that precedes it in its document: what Zheng, Vafa and Blei (TMLR 2023) found no
    topic-guided model to beat. Gradients flow through a window.
    """

    def __init__(self, config: CarryConfig, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        if config.carry:
            self.batching = Windows(config.window, config.reset)
            self.carried = CarriedState(self.initial_state(1))

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

    def read(
        self, batch: dict[str, tf.Tensor], context: Any, training: bool = False
    ) -> tf.Tensor:
        """Return the last outputs [B, T, H] of a batch; keep a carried state."""
        if not self.config.carry:
            return super().read(batch, context, training)
        part = self.part
        start = self.carried.start(batch["fresh"], part.first if part else 0)
        outputs, after = self.carry_hidden(batch["inputs"], start, training)
        self.carried.keep(part.together(tf.nest.flatten(after)) if part else after)
        return outputs

    def state_apart(self) -> AbstractContextManager:
        """Return a context that leaves the carried state as it was."""
        return self.carried.apart() if self.config.carry else super().state_apart()


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
