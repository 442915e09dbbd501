"""The neural topic model of TCNLM (Wang et al. 2018, section 3.1), alone or as a part.

    theta ~ N(0, sigma_0^2), t = softmax(W theta + b), w ~ beta t      (eq. 4 to 6)

with q(theta | d) = N(mu(d), sigma^2(d)) by an encoder of the bag of words d, and the
bound E log p(d | t) - KL(q || prior) + lambda R (first terms of eq. 17, and eq. 18).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.word_clusters import similarities
from tcnlm.data.word_vectors import WordVectors, check_source, starting_vectors
from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.neural_topics import (
    TopicDecoder,
    TopicEncoder,
    TopicProportions,
    diversity,
    log_likelihood,
)
from tcnlm.models.base import Terms, TopicModel, TopicsAlone
from tcnlm.preprocessing.vocabulary import Vocabulary

CLUSTER_SCALE = 2.0  # logits a deviation of the similarity; 1 to 3 are much alike


@dataclass(frozen=True)
class TopicConfig(Settings):
    """Settings of the neural topic model itself."""

    num_topics: int = setting(
        100, "paper, Tables 2 to 4: 50, 100 and 150 topics", least=1
    )
    latent_size: int = setting(
        0, "dimensions of theta, not stated; 0: as many as topics", least=0
    )
    log_variance: float = setting(
        0.0, "where the encoder's log sigma^2 starts; not stated"
    )
    mu_batchnorm_std: float = setting(
        0.0, "standard deviation of mu, held over a batch; 0: as it comes", least=0
    )
    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the encoder's layers; paper, section 5", least=1
    )
    encoder_input: str = setting(
        "log",
        "what the encoder sees of a count; paper: counts",
        choices=("counts", "log", "frequencies"),
    )
    prior_variance: float = setting(1.0, "sigma_0^2 of eq. 4, not stated", above=0)
    diversity_weight: float = setting(
        0.1, "lambda of eq. 18; paper, section 5", least=0
    )
    encoder_dropout: float = setting(
        0.5, "share of the words hidden from the encoder in training", least=0, below=1
    )
    topic_start: str = setting(
        "frequencies",
        "where beta starts: at the words' frequencies, alone or with a cluster of "
        "word vectors a topic, or not",
        choices=("frequencies", "vectors", "random"),
    )


@dataclass(frozen=True)
class Config(TopicConfig):
    """Settings of the neural topic model trained alone."""

    learning_rate: float = setting(2e-3, "Adam of the encoder and W", above=0)
    beta_rate: float = setting(1e-2, "Adam of beta", above=0)
    kl_warmup_steps: int = setting(
        1000, "steps in which the KL's weight rises to 1", least=0
    )
    embedding_size: int = setting(
        100, "numbers of a word's vector, of topic_start=vectors", least=1
    )
    embeddings: str = setting(
        "train", 'these vectors: "train" (word2vec) or a word2vec file'
    )


class NeuralTopics(TopicModel):
    """The parts of a neural topic model and their terms of the bound.

    A subclass calls `make_topics` and comes before a `Method`. Outside training
    t = g(mu).
    """

    def make_topics(self) -> None:
        """Make encoder, proportions and decoder."""
        config, words = self.config, len(self.vocabulary.topic_words)
        self.encoder = TopicEncoder(
            config.latent_size or config.num_topics,
            config.encoder_units,
            config.encoder_input,
            config.log_variance,
            config.mu_batchnorm_std,
        )
        self.proportions = TopicProportions(config.num_topics)
        self.decoder = TopicDecoder(config.num_topics, words)

    def check(self) -> None:
        """Refuse more topics than words where each starts at a cluster of words."""
        super().check()
        topics, words = self.config.num_topics, len(self.vocabulary.topic_words)
        if self.config.topic_start == "vectors" and topics > words:
            raise InputError(
                f"num_topics={topics}: topic_start=vectors makes as many clusters of "
                f"the {words} topic words; lower it"
            )

    def undivided(self) -> str:
        """Return why batches are learned from whole: mu is scaled over their rows."""
        scaled = self.config.mu_batchnorm_std
        return (
            "mu_batchnorm_std scales over a whole batch"
            if scaled
            else super().undivided()
        )

    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return t = g(mu) [B, K] of bags [B, D]."""
        return self.proportions(self.encoder(bow)[0])

    def topics(self) -> tf.Tensor:
        """Return beta, a topic a row: [K, D]."""
        return self.decoder.topics()

    def infer_terms(self, bow: tf.Tensor, training: bool) -> tuple[tf.Tensor, Terms]:
        """Return t [B, K], drawn from q in training, and the topic model's terms.

        "reconstruction" is -E log p(d | t), "kl" the divergence, nats a bag, and
        "diversity" R.
        """
        rate = self.config.encoder_dropout
        mean, log_variance = self.encoder(
            bow, lambda words: self.dropout(words, rate, training), training
        )
        theta = self.draw(mean, log_variance) if training else mean
        topics = self.proportions(theta)
        likelihood = log_likelihood(bow, self.decoder(topics))
        variance = self.config.prior_variance
        kl = gaussian_kl(mean, log_variance, prior_variance=variance)
        return topics, {
            "reconstruction": -tf.reduce_mean(likelihood),
            "kl": tf.reduce_mean(kl),
            "diversity": diversity(self.topics()),
        }

    def topic_loss(self, terms: Terms, kl_weight: Any = 1.0) -> tf.Tensor:
        """Return minus the bound, nats a bag, of what `infer_terms` returned."""
        bound = terms["reconstruction"] + kl_weight * terms["kl"]
        return bound - self.config.diversity_weight * terms["diversity"]

    def start_topics(self, dataset: Dataset, made: WordVectors | None = None) -> None:
        """Start beta where `topic_start` says; made: the words' vectors, if any are."""
        start = self.config.topic_start
        frequencies = np.log(np.maximum(self.vocabulary.topic_counts, 1.0))
        if start == "frequencies":
            self.decoder.start_at(frequencies)
        elif start == "vectors":
            vectors = self.topic_word_vectors(made or self._vectors(dataset))
            near = similarities(vectors, self.config.num_topics, self.initial_seed)
            self.decoder.start_from(frequencies + CLUSTER_SCALE * near)

    def _vectors(self, dataset: Dataset) -> WordVectors:
        config = self.config
        source = "train" if config.embeddings == "random" else config.embeddings
        size = config.embedding_size
        return starting_vectors(source, dataset, size, self.initial_seed)

    def topic_word_vectors(self, vectors: WordVectors) -> np.ndarray:
        """Return the vectors [D, E] of the topic words; zeros where one has none."""
        none = np.zeros(self.config.embedding_size)
        ids = self.vocabulary.ids(self.vocabulary.topic_words)
        return np.stack([vectors.get(word, none) for word in ids])

    def topic_weights(self) -> tuple[list[tf.Variable], list[tf.Variable]]:
        """Return the weights of encoder and W, and beta's."""
        inference = (self.encoder, self.proportions)
        return (
            [weight for part in inference for weight in part.trainable_variables],
            self.decoder.trainable_variables,
        )


class NeuralTopicModel(NeuralTopics, TopicsAlone):
    """The neural topic model by itself: topics, and no sentences.

    It learns from the contexts of all sequences, as it does within TCNLM.
    """

    paper = "tcnlm"
    Config = Config
    TINY = {"num_topics": 3, "encoder_units": (7, 7)}
    per_word = "bound"

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_topics()

    def check(self) -> None:
        """Refuse a file of vectors that is not there or does not fit."""
        super().check()
        check_source(self.config.embeddings, self.config.embedding_size)

    def prepare(self, dataset: Dataset) -> None:
        """Start the topics."""
        super().prepare(dataset)
        self.start_topics(dataset)

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": minus the bound, nats a bag, and its terms}.

        "bound" is reconstruction and KL, nats a content word.
        """
        bow = self.bag(batch["context"])
        _, terms = self.infer_terms(bow, training)
        documents = tf.cast(tf.shape(bow)[0], tf.float32)
        nats = (terms["reconstruction"] + terms["kl"]) * documents
        bound = tf.math.divide_no_nan(nats, tf.reduce_sum(bow))
        loss = self.topic_loss(terms, self.risen(self.config.kl_warmup_steps, training))
        return {"loss": loss, "bound": bound, **terms}

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the weights of encoder and W, and beta's."""
        rates = self.config.learning_rate, self.config.beta_rate
        return list(zip(self.topic_weights(), rates))
