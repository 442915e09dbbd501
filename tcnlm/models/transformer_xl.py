"""Transformer-XL (Dai, Yang, Yang, Carbonell, Le and Salakhutdinov, ACL 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.windows import Windows
from tcnlm.layers.lstm import CarriedState
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group
from tcnlm.layers.relative_attention import TransformerXLLayer, remembered, sinusoids
from tcnlm.layers.softmax import AdaptiveSoftmax, language_loss, of_targets
from tcnlm.layers.words import word_embedding
from tcnlm.models import tcnlm
from tcnlm.models.base import Model, Terms
from tcnlm.models.lstm import WindowSettings
from tcnlm.models.starts import pretrain_topics, start_embeddings, start_topics
from tcnlm.models.tcnlm import SoftmaxSettings, WordSettings
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
    test_config = {
        "embedding_size": 6,
        "units": 7,
        "layers": 2,
        "heads": 2,
        "memory": 4,
        "attention_dropout": 0.1,
        "cutoffs": (12,),
        "embedding_scale": 1.0,
    }

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_context()
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = [
            TransformerXLLayer(
                config.heads,
                config.units,
                config.memory,
                config.dropout,
                config.attention_dropout,
                name=f"layer_{layer}",
            )
            for layer in range(config.layers)
        ]
        if config.carry:
            asked = self.batching.of_document
            self.batching = Windows(config.window, config.reset, asked)
            self.carried = CarriedState(empty_memories(self, 1, config.memory))
        self.softmax = AdaptiveSoftmax(
            len(vocabulary), config.cutoffs, config.div_value, name="softmax"
        )

    def make_context(self) -> None:
        """Make what reads the context q [B, C] beside h; there is none."""

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m), nats, [B, T], by softmax(V [h_m; q])."""
        q = tf.nest.flatten(self.context(batch) if context is None else context)
        h = read(self, batch, self.noise("words", batch, training))

        def beside(h: tf.Tensor, words: tf.Tensor, *q: tf.Tensor) -> tf.Tensor:
            return self.softmax(tf.concat([h, *q], axis=1), words)

        return of_targets(beside, batch["targets"], h, *q)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a row of the batch, "nll": nats a target}."""
        log_probs = self(batch, training=training)
        loss, terms = language_loss(log_probs, batch["targets"])
        return {"loss": loss, **terms}

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the output [B, d] at the last word of each document [B, T].

        Read in stretches, since the scores of a whole one are T^2 numbers a head.
        """
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

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings."""
        start_embeddings(self, dataset)

    def initial_state(self, context: Any, rows: Any) -> tuple[Any, Any]:
        """Return an empty memory of every layer, and q."""
        return empty_memories(self, rows, self.config.memory), context

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        """Return the next word's distribution after `token` [B], and the memories."""
        noise = self.noise("words", {}, training=False)
        h, state = attend(self, token[:, None], state, noise)
        seen = tf.concat([h[:, 0], *tf.nest.flatten(constants)], axis=1)
        return self.softmax.next_word(seen), state


@dataclass(frozen=True)
class TopicConfig(Config, tcnlm.JointSettings):
    """Settings of Transformer-XL; the topic model's are TCNLM's."""


class TopicTransformerXL(TransformerXL):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), h_m a Transformer-XL's output.

    As `topic_lstm` has it for an LSTM. A control of no paper: what topics are worth
    where attention sees the document. With `carry=true` t is of a window's context,
    which is to hold what was read before only (`context=read`).
    """

    draws_topics = True
    Config = TopicConfig
    test_config = {
        **TransformerXL.test_config,
        "num_topics": 3,
        "encoder_units": (7, 7),
        "topic_pretrain_steps": 9,
    }

    features = Model.features
    # The topic model is TCNLM's, and so is the loss.
    make_context = tcnlm.make_topic_model
    topics, infer = tcnlm.TCNLM.topics, tcnlm.TCNLM.infer
    context, compute_loss = tcnlm.TCNLM.context, tcnlm.TCNLM.compute_loss

    def prepare(self, dataset: Dataset) -> None:
        """Start embeddings and topics; let the topic model learn by itself first."""
        start_topics(self, dataset, start_embeddings(self, dataset))
        pretrain_topics(self, dataset, tcnlm.topic_terms, tcnlm.topic_loss)

    def param_groups(self) -> list[Group]:
        """Return the language model's weights, and the topic model's."""
        return tcnlm.joint_param_groups(self)


def empty_memories(model: Model, rows: Any, slots: int) -> list[list[tf.Tensor]]:
    """Return of every layer a memory [B, M, d] and how much of it is real, [B, 1]."""
    shapes = [rows, slots, model.config.embedding_size], [rows, 1]
    return [[*map(tf.zeros, shapes)] for _ in model.recurrent]


def attend(
    model: Model, inputs: tf.Tensor, memories: Any, noise: Noise
) -> tuple[tf.Tensor, list[Any]]:
    """Return h^N [B, T, d] of word ids [B, T], and the memories after each row's last.

    As in `TransformerXLLayer`; padding is at the right, and is not remembered.
    """
    rate, size = model.config.dropout, model.config.embedding_size
    h, after = noise.dropout(size**0.5 * model.embedding(inputs), rate), []
    keys = tf.shape(memories[0][0])[1] + tf.shape(inputs)[1]
    R = noise.dropout(sinusoids(keys, size), rate, shared=True)
    counts = tf.math.count_nonzero(inputs != PAD, axis=1, dtype=tf.int32)
    for layer, memory in zip(model.recurrent, memories):
        after.append(remembered(memory, h, counts))
        h = layer(h, *memory, R, noise.dropout)
    return noise.dropout(h, rate), after


def read(model: Model, batch: dict[str, tf.Tensor], noise: Noise) -> tf.Tensor:
    """Return h^N [B, T, d] of a batch; go on from carried memories, keep them."""
    inputs = batch["inputs"]
    if model.carried is None or "fresh" not in batch:
        nothing = empty_memories(model, tf.shape(inputs)[0], 0)
        return attend(model, inputs, nothing, noise)[0]
    h, after = attend(model, inputs, model.carried.start(batch), noise)
    model.carried.keep(after)
    return h
