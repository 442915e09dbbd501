"""The neural topic model of TCNLM alone: topics, and no sentences (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.rows import DocumentContexts
from tcnlm.layers.optimization import Group, weights_of
from tcnlm.models import tcnlm
from tcnlm.models.base import Model, Terms
from tcnlm.models.settings import TopicSettings
from tcnlm.models.starts import start_topics
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(TopicSettings):
    """Settings of the neural topic model trained alone."""

    learning_rate: float = setting(2e-3, "Adam's of the encoder and W", above=0)
    beta_rate: float = setting(1e-2, "Adam's of beta", above=0)
    kl_warmup_steps: int = setting(1000, "steps until the KL's weight is 1", least=0)
    embedding_size: int = setting(
        100, "size of word vectors for topic_start=vectors", least=1
    )
    embeddings: str = setting(
        "train", 'word vectors: "train" (word2vec) or a word2vec file'
    )


class NeuralTopicModel(Model):
    """theta ~ N(0, sigma_0^2), t = softmax(W theta + b), w ~ beta t      (eq. 4 to 6)

    learned by the bound E log p(d | t) - KL(q || prior) + lambda R, the first terms of
    eq. 17 with eq. 18's: of the contexts of all sequences, or with
    `topic_rows=document` of whole documents, each a row.
    """

    Config = Config
    test_config = {"num_topics": 3, "encoder_units": (7, 7)}
    reads_order = False
    per_word = "bound"

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        tcnlm.make_topic_model(self)
        if config.topic_rows == "document":
            self.batching = DocumentContexts()

    topics, infer = tcnlm.TCNLM.topics, tcnlm.TCNLM.infer

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return minus the bound, nats a bag, its terms, and "bound", nats a word."""
        noise = self.noise("topics", batch, training)
        _, terms = tcnlm.topic_terms(self, batch, noise)
        context = batch["context"]
        documents = tf.cast(tf.shape(context)[0], tf.float32)
        words = tf.math.count_nonzero(context >= 0, dtype=tf.float32)
        nats = (terms["reconstruction"] + terms["kl"]) * documents
        rising = self.kl_anneal(self.config.kl_warmup_steps, training)
        loss = tcnlm.topic_loss(self, terms, rising)
        return {"loss": loss, "bound": tf.math.divide_no_nan(nats, words), **terms}

    def prepare(self, dataset: Dataset) -> None:
        start_topics(self, dataset, {})

    def param_groups(self) -> list[Group]:
        inference, beta = weights_of(self.encoder, self.proportions), self.decoder
        rates = self.config.learning_rate, self.config.beta_rate
        return list(zip([inference, beta.trainable_variables], rates))
