"""Transformer-XL given the topics of TCNLM's topic model beside its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.data.dataset import Dataset
from tcnlm.layers.adaptive_softmax import AdaptiveSoftmax, of_targets
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group
from tcnlm.models import tcnlm, transformer_xl
from tcnlm.models.base import Model, Terms
from tcnlm.models.starts import pretrain_topics, start_embeddings, start_topics
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(transformer_xl.Config, tcnlm.JointSettings):
    """Settings of Transformer-XL; the topic model's are TCNLM's."""


class TopicTransformerXL(Model):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), h_m a Transformer-XL's output.

    As `topic_lstm` has it for an LSTM. A control of no paper: what topics are worth
    where attention sees the document. With `carry=true` t is of a window's context,
    which is to hold what was read before only (`context=read`).
    """

    paper = "tcnlm"
    draws_topics = True
    Config = Config
    test_config = {
        **transformer_xl.TransformerXL.test_config,
        "num_topics": 3,
        "encoder_units": (7, 7),
        "topic_pretrain_steps": 9,
    }

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        tcnlm.make_topic_model(self)
        transformer_xl.make_attention(self)
        self.softmax = AdaptiveSoftmax(
            len(vocabulary), config.cutoffs, config.div_value, name="softmax"
        )

    def topics(self) -> tf.Tensor:
        """Return beta, a topic a row: [K, D]."""
        return self.decoder.topics()

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return t = g(mu) [B, K] of topic-word ids [B, C]."""
        return tcnlm.infer_topics(self, context)

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return t [B, K]."""
        if "topics" in batch:
            return batch["topics"]
        return tcnlm.infer_topics(self, batch["context"], noise)

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, t), nats, [B, T]."""
        t = self.context(batch) if context is None else context
        noise = self.noise("words", batch, training)
        h = transformer_xl.read(self, batch, noise)

        def beside(h: tf.Tensor, words: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
            return self.softmax(tf.concat([h, t], axis=1), words)

        return of_targets(beside, batch["targets"], h, t)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return -J and its terms, nats a sequence; "nll" is nats a target."""
        return tcnlm.joint_loss(self, batch, training)

    def prepare(self, dataset: Dataset) -> None:
        """Start embeddings and topics; let the topic model learn by itself first."""
        start_topics(self, dataset, start_embeddings(self, dataset))
        pretrain_topics(self, dataset, tcnlm.topic_terms, tcnlm.topic_loss)

    def param_groups(self) -> list[Group]:
        """Return the language model's weights, and the topic model's."""
        return tcnlm.joint_param_groups(self)

    def initial_state(self, context: tf.Tensor, rows: Any) -> tuple[Any, Any]:
        """Return an empty memory of every layer, and t."""
        slots = self.config.memory
        return transformer_xl.empty_memories(self, rows, slots), context

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        """Return the next word's distribution after `token` [B], and the memories."""
        h, state = transformer_xl.attend_to_word(self, token, state)
        return self.softmax.next_word(tf.concat([h, constants], axis=1)), state
