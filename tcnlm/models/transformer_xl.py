"""Transformer-XL (Dai, Yang, Yang, Carbonell, Le and Salakhutdinov, ACL 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.noise import Noise
from tcnlm.layers.relative_attention import TransformerXLLayer, remembered, sinusoids
from tcnlm.layers.softmax import adaptive_softmax
from tcnlm.layers.words import word_embedding
from tcnlm.models import lstm, settings, tcnlm
from tcnlm.models.base import Model
from tcnlm.models.lstm import WindowSettings
from tcnlm.models.settings import JointSettings, SoftmaxSettings, WordSettings
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary


@dataclass(frozen=True)
class Config(WindowSettings, SoftmaxSettings, WordSettings):
    """Settings of Transformer-XL; d is `embedding_size`, and `units` are W1's.

    The paper's base model of WikiText-103 has 16 layers, d of 410, 10 heads, 2,100
    units, and windows and a memory of 150 words.
    """

    embedding_size: int = setting(256, "d; paper: 410, base", least=1)
    embedding_scale: float = setting(
        0.035, "embeddings start in U(-scale, scale); released: N(0, .02^2)", above=0
    )
    units: int = setting(1024, "units of W1; paper: 2,100, base", least=1)
    layers: int = setting(4, "layers; paper: 16, base", least=1, most=100)
    dropout: float = setting(0.1, "in and before all layers; paper", least=0, below=1)
    learning_rate: float = setting(2.5e-4, "Adam's; paper", above=0)
    window: int = setting(60, "with carry: targets of a window", least=1)
    heads: int = setting(4, "attention heads; paper: 10, base", least=1)
    memory: int = setting(60, "preceding words attended to; paper: 150, base", least=1)


class TransformerXL(Model):
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
    test_config = {**settings.SMALL_WORDS, "embedding_size": 6, "units": 7, "heads": 2}
    test_config |= {"memory": 4, "embedding_scale": 1.0}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_context()
        self.embedding = word_embedding(len(vocabulary), config)
        sizes = config.heads, config.units, config.memory, config.dropout
        self.recurrent = [
            TransformerXLLayer(*sizes, name=f"layer_{layer}")
            for layer in range(config.layers)
        ]
        lstm.carry_state(self, empty_memories(self, 1, config.memory))
        self.softmax = adaptive_softmax(len(vocabulary), config)

    make_context, call = lstm.LSTM.make_context, lstm.LSTM.call
    prepare = start_embeddings

    def hidden(self, batch: dict[str, tf.Tensor], noise: Noise) -> tf.Tensor:
        """Return h^N [B, T, d]; go on from carried memories, and keep them."""
        inputs, carried = batch["inputs"], self.carried
        if carried is None or "fresh" not in batch:
            nothing = empty_memories(self, tf.shape(inputs)[0], 0)
            return attend(self, inputs, nothing, noise)[0]
        h, after = attend(self, inputs, carried.start(batch), noise)
        carried.keep(after)
        return h

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the output [B, d] at the last word of each document [B, T]."""
        # In stretches, since the scores of a whole one are T^2 numbers a head.
        inputs, stretch = batch["inputs"], self.config.memory
        rows, length = tf.unstack(tf.shape(inputs))
        noise = self.noise("words", batch, training=False)

        def read_on(start: tf.Tensor, memories: Any, last: tf.Tensor) -> tuple:
            words = inputs[:, start : start + stretch]
            h, memories = attend(self, words, memories, noise)
            count = tf.math.count_nonzero(words != PAD, axis=1, dtype=tf.int32)
            found = tf.gather(h, tf.maximum(count - 1, 0), batch_dims=1)
            return start + stretch, memories, tf.where(count[:, None] > 0, found, last)

        nothing = tf.zeros([rows, self.config.embedding_size])
        start = tf.constant(0), empty_memories(self, rows, stretch), nothing
        return tf.while_loop(lambda start, *_: start < length, read_on, start)[-1]

    def initial_state(self, context: Any, rows: Any) -> tuple[Any, Any]:
        return empty_memories(self, rows, self.config.memory), context

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        noise = self.noise("words", {}, training=False)
        h, state = attend(self, token[:, None], state, noise)
        seen = tf.concat([h[:, 0], *tf.nest.flatten(constants)], axis=1)
        return self.softmax.next_word(seen), state


@dataclass(frozen=True)
class TopicConfig(Config, JointSettings):
    """Settings of Transformer-XL; the topic model's are TCNLM's."""


class TopicTransformerXL(TransformerXL):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), h_m a Transformer-XL's output.

    A control of no paper, as `topic_lstm`: what topics are worth where attention sees
    the document.
    """

    draws_topics = True
    Config = TopicConfig
    test_config = {**TransformerXL.test_config, **settings.SMALL_TOPICS}

    features = Model.features
    make_context = tcnlm.make_topic_model
    topics, infer = tcnlm.TCNLM.topics, tcnlm.TCNLM.infer
    context, compute_loss = tcnlm.TCNLM.context, tcnlm.TCNLM.compute_loss
    prepare, param_groups = tcnlm.TCNLM.prepare, tcnlm.joint_param_groups


def empty_memories(model: Model, rows: Any, slots: int) -> list[list[tf.Tensor]]:
    """Return of every layer a memory [B, M, d] and how much of it is real, [B, 1]."""
    shapes = [rows, slots, model.config.embedding_size], [rows, 1]
    return [[*map(tf.zeros, shapes)] for _ in model.recurrent]


def attend(
    model: Model, inputs: tf.Tensor, memories: Any, noise: Noise
) -> tuple[tf.Tensor, list[Any]]:
    """Return h^N [B, T, d] of word ids [B, T], and the memories after each row."""
    rate, size = model.config.dropout, model.config.embedding_size
    h, after = noise.dropout(size**0.5 * model.embedding(inputs), rate), []
    keys = tf.shape(memories[0][0])[1] + tf.shape(inputs)[1]
    R = noise.dropout(sinusoids(keys, size), rate, shared=True)
    counts = tf.math.count_nonzero(inputs != PAD, axis=1, dtype=tf.int32)
    for layer, memory in zip(model.recurrent, memories):
        after.append(remembered(memory, h, counts))
        h = layer(h, *memory, R, noise.dropout)
    return noise.dropout(h, rate), after
