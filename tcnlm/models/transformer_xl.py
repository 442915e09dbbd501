"""Transformer-XL (Dai, Yang, Yang, Carbonell, Le and Salakhutdinov, ACL 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.relative_attention import (
    TransformerXLLayer,
    remembered,
    sinusoids,
)
from tcnlm.models.lstm import RecurrentConfig, WindowConfig
from tcnlm.models.recurrent import StateCarryingModel
from tcnlm.preprocessing.vocabulary import PAD


@dataclass(frozen=True)
class Config(WindowConfig, RecurrentConfig):
    """Settings of Transformer-XL; d is `embedding_size`, and `units` are W1's.

    The paper's base model of WikiText-103 has 16 layers, d of 410, 10 heads, 2,100
    units, and windows and a memory of 150 words.
    """

    embedding_size: int = setting(256, "d; paper: 410, base", least=1)
    embedding_scale: float = setting(
        0.035, "embeddings start in U(-scale, scale); released: N(0, .02^2)", above=0
    )
    units: int = setting(1024, "of W1; paper: 2,100, base", least=1)
    layers: int = setting(4, "paper: 16, base", least=1, most=100)
    dropout: float = setting(
        0.1, "share dropped in and before all layers; paper", least=0, below=1
    )
    learning_rate: float = setting(2.5e-4, "of Adam; paper", above=0)
    window: int = setting(60, "with carry: targets of a window", least=1)
    heads: int = setting(4, "attention heads; paper: 10, base", least=1)
    memory: int = setting(
        60, "words before it that a word attends to; paper: 150, base", least=1
    )
    attention_dropout: float = setting(
        0.0, "share dropped of the attention; paper: 0, base", least=0, below=1
    )


class TransformerXL(StateCarryingModel):
    """p(y_m | y_<m) by attention to the words before and to what layers made of them.

    h^0 = sqrt(d) E[y]; layers 1 .. N are `TransformerXLLayer`, each with the inputs of
    its own to the `memory` words before as its memory; softmax(V h^N_m). With
    `carry=true` they go back beyond the window, to the document's first word; else a
    sentence begins without any.

    Every word attends to itself and to exactly `memory` words before it, in training
    too (the released code's `same_length`, which it has in evaluation alone), so that
    a document's probability is the same however it is cut into windows.
    """

    Config = Config
    TINY = {
        "embedding_size": 6,
        "units": 7,
        "layers": 2,
        "heads": 2,
        "memory": 4,
        "attention_dropout": 0.1,
        "cutoffs": (12,),
        "embedding_scale": 1.0,
    }

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return layer `index`."""
        config = self.config
        rates = config.dropout, config.attention_dropout
        sizes = config.heads, config.units, config.memory
        return TransformerXLLayer(*sizes, rates, name=f"layer_{index}")

    def initial_state(self, batch_size: Any) -> list[list[tf.Tensor]]:
        """Return an empty memory for every layer."""
        return self._empty(batch_size, self.config.memory)

    def _empty(self, rows: Any, slots: int) -> list[list[tf.Tensor]]:
        config = self.config
        shapes = [rows, slots, config.embedding_size], [rows, 1]
        return [[*map(tf.zeros, shapes)] for _ in range(config.layers)]

    def hidden(self, inputs: tf.Tensor, context: Any, training: bool) -> tf.Tensor:
        """Return the last layer's outputs [B, T, d] for word ids [B, T]."""
        return self._attend(inputs, self._empty(tf.shape(inputs)[0], 0), training)[0]

    def carry_hidden(
        self, inputs: tf.Tensor, states: list[Any], training: bool
    ) -> tuple[tf.Tensor, list[Any]]:
        """Return the same from given memories, and those after each row's last word."""
        outputs, entered = self._attend(inputs, states, training)
        counts = tf.math.count_nonzero(inputs != PAD, axis=1, dtype=tf.int32)
        after = [remembered(*pair, counts) for pair in zip(states, entered)]
        return outputs, after

    def _attend(
        self, inputs: tf.Tensor, states: list[Any], training: bool
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the last layer's outputs, and what entered each layer."""
        drop = partial(self.dropout, training=training)
        rate, size = self.config.dropout, self.config.embedding_size
        outputs, entered = drop(size**0.5 * self.embedding(inputs), rate), []
        keys = tf.shape(states[0][0])[1] + tf.shape(inputs)[1]
        R = drop(sinusoids(keys, size), rate, shared=True)
        for layer, state in zip(self.recurrent, states):
            entered.append(outputs)
            outputs = layer(outputs, *state, R, drop)
        return drop(outputs, rate), entered

    def advance(
        self, token: tf.Tensor, state: list[Any], context: Any
    ) -> tuple[Any, list[Any]]:
        """Return what the output layer sees, and the memories, after `token` [B]."""
        hidden, state = self.carry_hidden(token[:, None], state, training=False)
        return self.fuse(hidden[:, 0], context), state

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the output [B, d] at the last word of each document [B, T].

        Read in stretches, since the scores of a whole one are T^2 numbers a head.
        """
        inputs, stretch = batch["inputs"], self.config.memory
        rows, length = tf.unstack(tf.shape(inputs))

        def read(start: tf.Tensor, state: Any, last: tf.Tensor) -> tuple:
            words = inputs[:, start : start + stretch]
            outputs, state = self.carry_hidden(words, state, training=False)
            count = tf.math.count_nonzero(words != PAD, axis=1, dtype=tf.int32)
            found = tf.gather(outputs, tf.maximum(count - 1, 0), batch_dims=1)
            return start + stretch, state, tf.where(count[:, None] > 0, found, last)

        start = self.initial_state(rows), tf.zeros([rows, self.config.embedding_size])
        return tf.while_loop(
            lambda start, *_: start < length, read, (tf.constant(0), *start)
        )[-1]
