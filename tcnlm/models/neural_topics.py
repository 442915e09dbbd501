"""The neural topic model of TCNLM (Wang et al. 2018, section 3.1), alone or as a part.

    theta ~ N(mu_0, sigma_0^2), t = softmax(W theta + b), w ~ beta t      (eq. 4 to 6)

with q(theta | d) = N(mu(d), sigma^2(d)) by an encoder of the bag of words d, and the
bound E log p(d | t) - KL(q || prior) + lambda R (first terms of eq. 17, and eq. 18).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from preprocessing.vocabulary import Vocabulary
from tcnlm.data.batching import Batch, Rows
from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.neural_topics import (
    TopicDecoder,
    TopicEncoder,
    TopicProportions,
    diversity,
    log_likelihood,
)
from tcnlm.models.base import (
    RecurrentLanguageModel,
    Terms,
    TopicModel,
    TopicsAlone,
    language_terms,
    without,
)
from tcnlm.models.lstm import RecurrentConfig
from tcnlm.training.optimization import GroupedAdam

HEAD_START_BATCH = 64  # contexts
HEAD_START_CLIP = 5.0


@dataclass(frozen=True)
class TopicConfig:
    """Settings of the neural topic model itself."""

    num_topics: int = 100  # paper, Tables 2 to 4: 50, 100 and 150
    latent_size: int = 0  # dimensions of theta: not stated; 0 takes num_topics
    log_variance: float = 0.0  # open: where the encoder's log sigma^2 starts
    mean_deviation: float = 0.0  # open: of mu over a batch, held there; 0: as it comes
    encoder_units: tuple[int, ...] = (256, 256)  # paper, section 5
    encoder_input: str = "log"  # "counts" in the paper, section 3.1
    prior_mean: float = 0.0  # mu_0 of eq. 4: symbols only
    prior_variance: float = 1.0  # sigma_0^2 of eq. 4: symbols only
    diversity_weight: float = 0.1  # lambda, paper, section 5
    encoder_dropout: float = 0.5  # of the words that the encoder sees in training
    topic_start: str = "frequencies"  # of beta; "random" leaves the frequencies out


@dataclass(frozen=True)
class Config(TopicConfig):
    """Settings of the neural topic model trained alone."""

    learning_rate: float = 2e-3  # Adam of the encoder and W
    beta_rate: float = 1e-2  # Adam of beta
    kl_warmup_steps: int = 1000  # in which the KL's weight rises to 1


@dataclass(frozen=True)
class JointConfig(TopicConfig, RecurrentConfig):
    """Settings of a language model with the neural topic model."""

    topic_weight: float = 1.0  # of the topic model's loss; 1 in the paper, eq. 17
    kl_warmup_steps: int = 0  # joint steps in which the KL's weight rises to 1
    topic_learning_rate: float = 1e-3  # Adam of encoder, W and beta, jointly
    head_start: int = 1500  # steps of the topic model alone before the joint ones
    head_start_rates: tuple[float, ...] = (2e-3, 1e-2)  # of encoder and W, and of beta


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
            config.mean_deviation,
        )
        self.proportions = TopicProportions(config.num_topics)
        self.decoder = TopicDecoder(config.num_topics, words)

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
        prior = self.config.prior_mean, self.config.prior_variance
        likelihood = log_likelihood(bow, self.decoder(topics))
        return topics, {
            "reconstruction": -tf.reduce_mean(likelihood),
            "kl": tf.reduce_mean(gaussian_kl(mean, log_variance, *prior)),
            "diversity": diversity(self.topics()),
        }

    def topic_loss(self, terms: Terms, kl_weight: Any) -> tf.Tensor:
        """Return minus the bound, nats a bag, of what `infer_terms` returned."""
        bound = terms["reconstruction"] + kl_weight * terms["kl"]
        return bound - self.config.diversity_weight * terms["diversity"]

    def kl_weight(self, training: bool) -> tf.Tensor:
        """Return the KL's weight at this step."""
        if not training or not self.config.kl_warmup_steps:
            return tf.constant(1.0)
        share = tf.cast(self.steps, tf.float32) / self.config.kl_warmup_steps
        return tf.minimum(share, 1.0)

    def start_topics(self) -> None:
        """Start beta at the corpus's word frequencies, if asked."""
        if self.config.topic_start == "frequencies":
            frequencies = np.asarray(self.vocabulary.topic_counts, np.float64)
            self.decoder.start_at(np.log(frequencies).astype(np.float32))

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

    Config = Config
    TINY = {"num_topics": 3, "encoder_units": (7, 7)}
    per_word = "bound"

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_topics()

    def prepare(self, dataset: Any) -> None:
        """Start the topics."""
        super().prepare(dataset)
        self.start_topics()

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": minus the bound, nats a bag, and its terms}.

        "bound" is reconstruction and KL, nats a content word.
        """
        bow = self.bag(batch["context"])
        _, terms = self.infer_terms(bow, training)
        nats = (terms["reconstruction"] + terms["kl"]) * tf.cast(len(bow), tf.float32)
        bound = tf.math.divide_no_nan(nats, tf.reduce_sum(bow))
        loss = self.topic_loss(terms, self.kl_weight(training))
        return {"loss": loss, "bound": bound, **terms}

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the weights of encoder and W, and beta's."""
        rates = self.config.learning_rate, self.config.beta_rate
        return list(zip(self.topic_weights(), rates))


class NeuralTopicLanguageModel(NeuralTopics, RecurrentLanguageModel):
    """A neural topic model and a language model that it guides, trained as one.

    Training maximises (eq. 17, 18)

        J = E log p(d | t) - KL(q || prior) + E sum_m log p(y_m | y_<m, t) + lambda R

    with one sample of theta a sequence, used by both. What t does to the language model
    is the subclass's matter.
    """

    def __init__(self, config: JointConfig, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_topics()

    def context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return t = g(mu) [B, K]."""
        return self.infer_context(batch["context"])

    def sample_context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return t = g(theta) [B, K] of one draw of theta from q."""
        return self.proportions(self.draw(*self.encoder(self.bag(batch["context"]))))

    def context_from_topics(self, topics: tf.Tensor) -> tf.Tensor:
        """Return given proportions [B, K] as a context."""
        return topics

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return -J and its terms, nats a sequence; "nll" is nats a target.

        "reconstruction" is -E log p(d | t), "kl" the divergence, "diversity" R.
        """
        bow = self.bag(batch["context"])
        topics, terms = self.infer_terms(bow, training)
        log_probs = self.log_probs(batch["inputs"], batch["targets"], topics, training)
        language, nll = language_terms(log_probs, batch["targets"])
        topic = self.topic_loss(terms, self.kl_weight(training))
        loss = language + self.config.topic_weight * topic
        return {"loss": loss, **nll, **terms}

    def prepare(self, dataset: Any) -> None:
        """Start the embeddings and the topics, then give the topic model its lead."""
        super().prepare(dataset)
        self.start_topics()
        if self.config.head_start:
            self._train_topics_alone(self.batching.rows(dataset.split("train")))

    def _train_topics_alone(self, rows: Rows) -> None:
        """Take steps up the topic model's own bound, eq. 17's first two terms.

        So that the proportions mean something when the language model first sees them.
        """
        config, contexts = self.config, tf.TensorSpec([None, None], tf.int32)
        groups = list(zip(self.topic_weights(), config.head_start_rates))
        optimizer = GroupedAdam(groups, HEAD_START_CLIP)

        @tf.function(input_signature=[contexts, tf.TensorSpec([])])
        def step(context, kl_weight):
            with tf.GradientTape() as tape:
                _, terms = self.infer_terms(self.bag(context), training=True)
                loss = self.topic_loss(terms, kl_weight)
            optimizer.minimize(loss, tape)

        steps = tqdm(range(config.head_start), "topics alone", disable=None)
        for number, batch in zip(steps, self._endless(rows)):
            kl_weight = min(1.0, 1.5 * number / config.head_start)
            step(batch["context"], tf.constant(kl_weight, tf.float32))

    def _endless(self, rows: Rows) -> Iterator[Batch]:
        for epoch in count():
            yield from rows.batches(HEAD_START_BATCH, self.initial_seed, epoch)

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the language model's weights, and the topic model's."""
        topic = sum(self.topic_weights(), [])
        return [
            (without(self.trainable_variables, topic), self.config.learning_rate),
            (topic, self.config.topic_learning_rate),
        ]
