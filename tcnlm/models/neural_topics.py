"""The neural topic model of TCNLM (Wang et al. 2018, section 3.1), alone or as a part.

    theta ~ N(0, sigma_0^2), t = softmax(W theta + b), w ~ beta t      (eq. 4 to 6)

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

from preprocessing.errors import InputError
from preprocessing.vocabulary import Vocabulary
from tcnlm.data.batching import Batch, Rows
from tcnlm.data.dataset import Dataset
from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.neural_topics import (
    TopicDecoder,
    TopicEncoder,
    TopicProportions,
    diversity,
    log_likelihood,
)
from tcnlm.models.base import (
    Terms,
    TopicModel,
    TopicsAlone,
    language_terms,
    without,
)
from tcnlm.models.lstm import RecurrentConfig
from tcnlm.models.recurrent import RecurrentLanguageModel
from tcnlm.settings import Settings, setting
from tcnlm.training.optimization import GroupedAdam

HEAD_START_BATCH = 64  # contexts
HEAD_START_CLIP = 5.0


@dataclass(frozen=True)
class TopicConfig(Settings):
    """Settings of the neural topic model itself."""

    RETIRED = {"prior_mean": 0.0}  # of theta: it would only move b

    num_topics: int = setting(
        100, "paper, Tables 2 to 4: 50, 100 and 150 topics", least=1
    )
    latent_size: int = setting(
        0, "dimensions of theta, not stated; 0: as many as topics", least=0
    )
    log_variance: float = setting(
        0.0, "where the encoder's log sigma^2 starts; not stated"
    )
    mean_deviation: float = setting(
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
        "where beta starts: at the words' frequencies, or not",
        choices=("frequencies", "random"),
    )


@dataclass(frozen=True)
class Config(TopicConfig):
    """Settings of the neural topic model trained alone."""

    learning_rate: float = setting(2e-3, "Adam of the encoder and W", above=0)
    beta_rate: float = setting(1e-2, "Adam of beta", above=0)
    kl_warmup_steps: int = setting(
        1000, "steps in which the KL's weight rises to 1", least=0
    )


@dataclass(frozen=True)
class JointConfig(TopicConfig, RecurrentConfig):
    """Settings of a language model with the neural topic model."""

    RETIRED = {**TopicConfig.RETIRED, "kl_warmup_steps": 0}

    topic_weight: float = setting(
        1.0, "of the topic model's loss; 1 in the paper, eq. 17", least=0
    )
    topic_learning_rate: float = setting(
        1e-3, "Adam of encoder, W and beta, jointly", above=0
    )
    head_start: int = setting(
        1500, "steps of the topic model alone before the joint ones", least=0
    )
    head_start_rates: tuple[float, ...] = setting(
        (2e-3, 1e-2),
        "of Adam in these steps: of encoder and W, and of beta",
        least=0,
        length=2,
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

    def start_topics(self) -> None:
        """Start beta at the corpus's word frequencies, if asked."""
        if self.config.topic_start == "frequencies":
            frequencies = np.maximum(self.vocabulary.topic_counts, 1.0)
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

    def prepare(self, dataset: Dataset) -> None:
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
        loss = self.topic_loss(terms, self._kl_weight(training))
        return {"loss": loss, "bound": bound, **terms}

    def _kl_weight(self, training: bool) -> tf.Tensor:
        if not training or not self.config.kl_warmup_steps:
            return tf.constant(1.0)
        share = tf.cast(self.steps, tf.float32) / self.config.kl_warmup_steps
        return tf.minimum(share, 1.0)

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
        topic = self.topic_loss(terms)
        loss = language + self.config.topic_weight * topic
        return {"loss": loss, **nll, **terms}

    def prepare(self, dataset: Dataset) -> None:
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
        _, terms = self.infer_terms(self.bag(batch["context"]), training=False)
        if not np.isfinite(list(terms.values())).all():
            rates = ",".join(map(str, config.head_start_rates))
            raise InputError(
                f"head_start_rates={rates}: the topic model diverged; lower them"
            )

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
