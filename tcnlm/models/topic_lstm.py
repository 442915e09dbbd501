"""An LSTM language model given the topics of TCNLM's topic model beside its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.data.dataset import Dataset
from tcnlm.layers.adaptive_softmax import AdaptiveSoftmax, of_targets
from tcnlm.layers.embedding import word_embedding
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group
from tcnlm.models import lstm, tcnlm
from tcnlm.models.base import Model, Terms
from tcnlm.models.starts import pretrain_topics, start_embeddings, start_topics
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(lstm.StartSettings, lstm.CellSettings, tcnlm.JointSettings):
    """Settings of the LSTM; the topic model's are TCNLM's."""


class TopicLSTM(Model):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), h_m an LSTM's output.

    TCNLM's topic model and objective (Wang et al. 2018, eq. 17, 18) with t [B, K] in
    the place that `lda_lstm` has for LDA's proportions. A control of no paper: what
    the same topics are worth outside the LSTM's weights. With `carry=true` t is of a
    window's context, which is to hold what was read before only (`context=read`).
    """

    paper = "tcnlm"
    draws_topics = True
    Config = Config
    test_config = {
        **lstm.LSTM.test_config,
        "num_topics": 3,
        "encoder_units": (7, 7),
        "topic_pretrain_steps": 9,
    }

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        tcnlm.make_topic_model(self)
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = lstm.recurrent_layers(config)
        self.softmax = AdaptiveSoftmax(
            len(vocabulary), config.cutoffs, config.div_value, name="softmax"
        )
        lstm.carry_state(self)

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
        h = lstm.read(self, batch, self.noise("words", batch, training))

        def beside(h: tf.Tensor, words: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
            return self.softmax(tf.concat([h, t], axis=1), words)

        return of_targets(beside, batch["targets"], h, t)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return -J and its terms, nats a sequence; "nll" is nats a target."""
        return tcnlm.joint_loss(self, batch, training)

    def prepare(self, dataset: Dataset) -> None:
        """Start embeddings, topics and layers; let the topic model learn first."""
        start_topics(self, dataset, start_embeddings(self, dataset))
        lstm.start_layers(self)
        pretrain_topics(self, dataset, tcnlm.topic_terms, tcnlm.topic_loss)

    def param_groups(self) -> list[Group]:
        """Return the language model's weights, as the LSTM's, and the topic model's."""
        language, topic = tcnlm.joint_param_groups(self)
        return [*lstm.lstm_param_groups(self, language), topic]

    def initial_state(self, context: tf.Tensor, rows: Any) -> tuple[Any, Any]:
        """Return the zero state, and t."""
        return lstm.zero_states(self, rows), context

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        """Return the next word's distribution after `token` [B], and the state."""
        h, state = lstm.step_layers(self, token, state)
        return self.softmax.next_word(tf.concat([h, constants], axis=1)), state
