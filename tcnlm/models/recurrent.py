"""Embedding, recurrent layers and a softmax: what the language models here share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import Settings
from tcnlm.data.dataset import Dataset
from tcnlm.data.windows import Windows
from tcnlm.data.word_vectors import WordVectors, check_source, fill, starting_vectors
from tcnlm.layers.adaptive_softmax import AdaptiveSoftmax
from tcnlm.layers.next_word import NextWord
from tcnlm.layers.stateful import CarriedState
from tcnlm.models.base import LanguageModel, Terms, language_terms
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary


class RecurrentLanguageModel(LanguageModel):
    """Embedding, recurrent layers and adaptive softmax; what differs is the layer.

    Dropout falls on the embeddings and on each layer's output, never on the recurrent
    state (the placement of Lau et al. 2017).
    """

    def __init__(self, config: Settings, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        scale = config.embedding_scale
        self.embedding = tf.keras.layers.Embedding(
            len(vocabulary.words),
            config.embedding_size,
            embeddings_initializer=tf.keras.initializers.RandomUniform(-scale, scale),
            name="embedding",
        )
        self.recurrent = [self.make_layer(i) for i in range(config.layers)]
        self.softmax = self.make_softmax()

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return recurrent layer `index`, which has a `.cell`."""
        raise NotImplementedError

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run a recurrent layer over [B, T, E] from a zero state -> [B, T, H]."""
        raise NotImplementedError

    def carry_layer(
        self, layer: Any, inputs: tf.Tensor, state: Any, mask: tf.Tensor
    ) -> tuple[tf.Tensor, Any]:
        """Run a layer from a state -> [B, T, H] and the state after the last real step.

        mask [B, T]: the real steps. Only for models whose batching is `Windows`.
        """
        raise NotImplementedError

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run a recurrent layer's cell over one step -> ([B, H], state)."""
        raise NotImplementedError

    def make_softmax(self) -> tf.keras.layers.Layer:
        """Return the output layer, by default an adaptive softmax."""
        config, size = self.config, len(self.vocabulary.words)
        return AdaptiveSoftmax(size, config.cutoffs, config.div_value, name="softmax")

    def fuse(self, hidden: tf.Tensor, context: Any) -> Any:
        """Return what the output layer sees of hidden states [N, H], here just these.

        context: a nest of [N, ...], that of each state.
        """
        return hidden

    def context(self, batch: dict[str, tf.Tensor]) -> Any:
        """Return the empty tuple; a subclass may bring a context."""
        return ()

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a row of the batch, "nll": nats a target}."""
        log_probs = self.batch_log_probs(batch, self.context(batch), training)
        loss, terms = language_terms(log_probs, batch["targets"])
        return {"loss": loss, **terms}

    def check(self) -> None:
        """Refuse a file of embeddings that is not there or does not fit."""
        check_source(self.config.embeddings, self.config.embedding_size)

    def prepare(self, dataset: Dataset) -> None:
        """Start the word embeddings."""
        self.start_weights(dataset)

    def start_weights(self, dataset: Dataset) -> WordVectors:
        """Put in the vectors to start from and return them; none: random ones stay."""
        source, size = self.config.embeddings, self.config.embedding_size
        if source == "random":
            return {}
        vectors = starting_vectors(source, dataset, size, self.initial_seed)
        table = self.embedding.embeddings
        table.assign(fill(table.numpy(), vectors))
        return vectors

    def build_weights(self) -> None:
        """Make every weight by one pass over a sentence of one word."""
        batch = self.batching.empty(1)
        batch["inputs"] = batch["targets"] = tf.ones_like(batch["targets"])
        self.objective(batch, training=False)
        self.built = True

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the state [B, H] after the last word of each document [B, T]."""
        rows = tf.shape(batch["inputs"])[0]
        context = self.context({**self.batching.empty(rows), **batch})
        hidden = self.hidden(batch["inputs"], context, training=False)
        return _last(hidden, batch["targets"])

    def last_state(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the state [B, F] after the last word that each row of a batch reads.

        Here the last layer's output; of an empty row it says nothing.
        """
        return _last(self.read(batch, self.context(batch)), batch["targets"])

    def hidden(self, inputs: tf.Tensor, context: Any, training: bool) -> tf.Tensor:
        """Return the last layer's outputs [B, T, H] for word ids [B, T]."""

        def run(layer: Any, outputs: tf.Tensor) -> tf.Tensor:
            return self.run_layer(layer, outputs, context)

        return self._through_layers(inputs, training, run)

    def read(
        self, batch: dict[str, tf.Tensor], context: Any, training: bool = False
    ) -> tf.Tensor:
        """Return the last layer's outputs [B, T, H] of a batch."""
        return self.hidden(batch["inputs"], context, training)

    def carry_hidden(
        self, inputs: tf.Tensor, states: list[Any], training: bool
    ) -> tuple[tf.Tensor, list[Any]]:
        """Return the same from given states, and those after each row's last word."""
        mask, after = inputs != PAD, []

        def run(layer: Any, outputs: tf.Tensor) -> tf.Tensor:
            outputs, state = self.carry_layer(layer, outputs, states[len(after)], mask)
            after.append(state)
            return outputs

        return self._through_layers(inputs, training, run), after

    def _through_layers(
        self, inputs: tf.Tensor, training: bool, run: Callable[..., tf.Tensor]
    ) -> tf.Tensor:
        rate = self.config.dropout
        outputs = self.dropout(self.embedding(inputs), rate, training)
        for layer in self.recurrent:
            outputs = self.dropout(run(layer, outputs), rate, training)
        return outputs

    def batch_log_probs(
        self, batch: dict[str, tf.Tensor], context: Any, training: bool = False
    ) -> tf.Tensor:
        """Return `log_probs` of a batch as `read` reads it: from a carried state."""
        hidden = self.read(batch, context, training)
        return self.target_log_probs(hidden, batch["targets"], context)

    def log_probs(
        self,
        inputs: tf.Tensor,
        targets: tf.Tensor,
        context: Any,
        training: bool = False,
    ) -> tf.Tensor:
        """Return log p(target), nats, [B, T]; zero where the target is padding."""
        hidden = self.hidden(inputs, context, training)
        return self.target_log_probs(hidden, targets, context)

    def target_log_probs(
        self, hidden: tf.Tensor, targets: tf.Tensor, context: Any
    ) -> tf.Tensor:
        """Return the same of hidden states [B, T, H]."""
        real = tf.where(targets != PAD)
        outputs = self.softmax_inputs(real, hidden, context)
        log_prob = self.softmax(outputs, tf.gather_nd(targets, real))
        return tf.scatter_nd(real, log_prob, tf.shape(targets, tf.int64))

    def softmax_inputs(
        self, positions: tf.Tensor, hidden: tf.Tensor, context: Any
    ) -> Any:
        """Return what the output layer sees at positions [N, 2] of [B, T, H]."""
        rows = positions[:, 0]
        each = tf.nest.map_structure(lambda values: tf.gather(values, rows), context)
        return self.fuse(tf.gather_nd(hidden, positions), each)

    def initial_state(self, batch_size: Any) -> list[Any]:
        """Return the zero state of every layer."""
        return [
            layer.cell.get_initial_state(batch_size=batch_size, dtype=tf.float32)
            for layer in self.recurrent
        ]

    def step(
        self, token: tf.Tensor, state: list[Any], context: Any
    ) -> tuple[tf.Tensor, list[Any]]:
        """Return log p of every next word [B, V], and the state after `token` [B]."""
        outputs, state = self.advance(token, state, context)
        return self.softmax.log_probs(outputs), state

    def next_word(
        self, token: tf.Tensor, state: list[Any], context: Any, forbidden: Sequence[int]
    ) -> tuple[NextWord, list[Any]]:
        """Return the next word's distribution, and the state after `token` [B]."""
        outputs, state = self.advance(token, state, context)
        return self.softmax.next_word(outputs, forbidden), state

    def advance(
        self, token: tf.Tensor, state: list[Any], context: Any
    ) -> tuple[Any, list[Any]]:
        """Return what the output layer sees, and the state, after `token` [B]."""
        outputs, new_state = self.embedding(token), []
        for layer, layer_state in zip(self.recurrent, state):
            outputs, layer_state = self.step_layer(layer, outputs, layer_state, context)
            new_state.append(layer_state)
        return self.fuse(outputs, context), new_state


def _last(hidden: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return hidden states [B, T, H] at each row's last target, [B, H]."""
    last = tf.math.count_nonzero(targets, axis=1) - 1
    return tf.gather(hidden, tf.maximum(last, 0), batch_dims=1)


class StateCarryingModel(RecurrentLanguageModel):
    """A model whose state may go on from sentence to sentence of a document.

    With `carry=true` a row of its batches is a window, and a word is predicted from all
    that precedes it in its document: what Zheng, Vafa and Blei (TMLR 2023) found no
    topic-guided model to beat. Gradients flow through a window.
    """

    def __init__(self, config: Settings, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        if config.carry:
            self.batching = Windows(config.window, config.reset)
            self.carried = CarriedState(self.initial_state(1))

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
