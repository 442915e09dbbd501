"""The Topic Compositional Neural Language Model (Wang et al., AISTATS 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from preprocessing.vocabulary import Vocabulary
from tcnlm import losses
from tcnlm.cells import TopicCompositionalLSTM
from tcnlm.layers import TopicDecoder, TopicEncoder, TopicProportions
from tcnlm.models import lstm
from tcnlm.models.base import (
    RecurrentLanguageModel,
    Terms,
    TopicModel,
    language_terms,
    without,
)
from tcnlm.optimization import GroupedAdam

HEAD_START_BATCH = 64  # contexts
HEAD_START_CLIP = 5.0


@dataclass(frozen=True)
class TopicConfig(lstm.RecurrentConfig):
    """Settings of a language model with the neural topic model of section 3.1."""

    num_topics: int = 100  # paper, Tables 2 to 4: 50, 100 and 150
    latent_size: int = 0  # dimensions of theta: not stated; 0 takes num_topics
    log_variance: float = 0.0  # open: where the encoder's log sigma^2 starts
    mean_deviation: float = 0.0  # open: of mu over a batch, held there; 0: as it comes
    encoder_units: tuple[int, ...] = (256, 256)  # paper, section 5
    encoder_input: str = "log"  # "counts" in the paper, section 3.1
    prior_mean: float = 0.0  # mu_0 of eq. 4: symbols only
    prior_variance: float = 1.0  # sigma_0^2 of eq. 4: symbols only
    diversity_weight: float = 0.1  # lambda, paper, section 5
    kl_warmup_steps: int = 0  # joint steps in which the KL's weight rises to 1
    encoder_dropout: float = 0.5  # of the words that the encoder sees in training
    topic_learning_rate: float = 1e-3  # Adam of encoder, W and beta, jointly
    topic_start: str = "frequencies"  # of beta; "random" leaves the frequencies out
    head_start: int = 1500  # steps of the topic model alone before the joint ones
    head_start_rates: tuple[float, ...] = (2e-3, 1e-2)  # of encoder and W, and of beta


@dataclass(frozen=True)
class Config(TopicConfig):
    """Settings of TCNLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    num_factors: int = 0  # n_f is not stated; 0 takes as many as units
    candidate_activation: str = "tanh"  # eq. 13 prints "sigmoid"; see README
    use_bias: bool = True  # "omitted for simplicity", section 3.2
    forget_bias: float = 1.0  # open; Lau et al. 2017
    factor_initializer: str = "orthogonal"  # open: of Wa, Wc, Ua, Uc
    recurrent_gain: float = 0.5  # open: U(t) starts at this times Ua Uc
    factor_rate: float = 0.5  # open: share of learning_rate of the factors, see README
    topic_stddev: float = 0.5  # open: Wb and Ub start N(1, topic_stddev)


class NeuralTopicLanguageModel(RecurrentLanguageModel, TopicModel):
    """A neural topic model and a language model that it guides, trained as one.

    q(theta | d) = N(mu(d), sigma^2(d)), t = softmax(W theta + b), p(w | t) = beta t,
    and the objective that training maximises (eq. 17, 18)

        J = E log p(d | t) - KL(q || prior) + E sum_m log p(y_m | y_<m, t) + lambda R

    with one sample of theta a sequence, used by both. Outside training t = g(mu). What
    t does to the language model is the subclass's matter.
    """

    def __init__(self, config: TopicConfig, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        topics = config.num_topics
        self.num_topic_words = len(vocabulary.topic_words)
        self.encoder = TopicEncoder(
            config.latent_size or topics,
            config.encoder_units,
            config.encoder_input,
            config.log_variance,
            config.mean_deviation,
        )
        self.proportions = TopicProportions(topics)
        self.decoder = TopicDecoder(topics, self.num_topic_words)

    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return t = g(mu) [B, K] of bags [B, D]."""
        return self.proportions(self.encoder(bow)[0])

    def topics(self) -> tf.Tensor:
        """Return beta, a topic a row: [K, D]."""
        return self.decoder.topics()

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
        topics, terms = self._infer_terms(bow, training)
        log_probs = self.log_probs(batch["inputs"], batch["targets"], topics, training)
        language, nll = language_terms(log_probs, batch["targets"])
        loss = language + self._topic_loss(terms, self._kl_weight(training))
        return {"loss": loss, **nll, **terms}

    def _infer_terms(self, bow: tf.Tensor, training: bool) -> tuple[tf.Tensor, Terms]:
        """Return t [B, K], drawn from q in training, and the topic model's terms."""
        rate = self.config.encoder_dropout
        mean, log_variance = self.encoder(
            bow, lambda words: self.dropout(words, rate, training), training
        )
        theta = self.draw(mean, log_variance) if training else mean
        topics = self.proportions(theta)
        return topics, self._topic_terms(bow, topics, mean, log_variance)

    def _topic_terms(self, bow, topics, mean, log_variance) -> Terms:
        prior = self.config.prior_mean, self.config.prior_variance
        likelihood = losses.log_likelihood(bow, self.decoder(topics))
        kl = losses.gaussian_kl(mean, log_variance, *prior)
        return {
            "reconstruction": -tf.reduce_mean(likelihood),
            "kl": tf.reduce_mean(kl),
            "diversity": losses.diversity(self.topics()),
        }

    def _topic_loss(self, terms: Terms, kl_weight: tf.Tensor) -> tf.Tensor:
        bound = terms["reconstruction"] + kl_weight * terms["kl"]
        return bound - self.config.diversity_weight * terms["diversity"]

    def _kl_weight(self, training: bool) -> tf.Tensor:
        if not training or not self.config.kl_warmup_steps:
            return tf.constant(1.0)
        share = tf.cast(self.steps, tf.float32) / self.config.kl_warmup_steps
        return tf.minimum(share, 1.0)

    def prepare(self, dataset: Any) -> None:
        """Start the embeddings and the topics, then give the topic model its lead."""
        super().prepare(dataset)
        if self.config.topic_start == "frequencies":
            frequencies = np.asarray(self.vocabulary.topic_counts, np.float64)
            self.decoder.start_at(np.log(frequencies).astype(np.float32))
        if self.config.head_start:
            self._train_topics_alone(dataset.split("train"))

    def _train_topics_alone(self, split: Any) -> None:
        """Take steps up the topic model's own bound, eq. 17's first two terms.

        So that the proportions mean something when the language model first sees them.
        """
        config, contexts = self.config, tf.TensorSpec([None, None], tf.int32)
        groups = list(zip(self._topic_groups(), config.head_start_rates))
        optimizer = GroupedAdam(groups, HEAD_START_CLIP)

        @tf.function(input_signature=[contexts, tf.TensorSpec([])])
        def step(context, kl_weight):
            with tf.GradientTape() as tape:
                _, terms = self._infer_terms(self.bag(context), training=True)
                loss = self._topic_loss(terms, kl_weight)
            optimizer.minimize(loss, tape)

        steps = tqdm(range(config.head_start), "topics alone", disable=None)
        for number, batch in zip(steps, self._endless(split)):
            kl_weight = min(1.0, 1.5 * number / config.head_start)
            step(batch["context"], tf.constant(kl_weight, tf.float32))

    def _endless(self, split: Any) -> Iterator[dict[str, np.ndarray]]:
        for epoch in count():
            yield from split.batches(HEAD_START_BATCH, self.initial_seed, epoch)

    def _topic_groups(self) -> tuple[list[tf.Variable], list[tf.Variable]]:
        """Return the weights of encoder and W, and beta's."""
        inference = (self.encoder, self.proportions)
        return (
            [weight for part in inference for weight in part.trainable_variables],
            self.decoder.trainable_variables,
        )

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the language model's weights, and the topic model's."""
        topic = sum(self._topic_groups(), [])
        return [
            (without(self.trainable_variables, topic), self.config.learning_rate),
            (topic, self.config.topic_learning_rate),
        ]


class TCNLM(NeuralTopicLanguageModel):
    """A neural topic model and an LSTM whose weights it composes.

    W(t) = Wa diag(Wb t) Wc, U(t) = Ua diag(Ub t) Uc (eq. 12).
    """

    Config = Config

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a topic compositional LSTM; every layer has factors of its own."""
        config = self.config
        return TopicCompositionalLSTM(
            config.units,
            config.num_topics,
            num_factors=config.num_factors or None,
            candidate_activation=config.candidate_activation,
            use_bias=config.use_bias,
            forget_bias=config.forget_bias,
            factor_initializer=config.factor_initializer,
            recurrent_gain=config.recurrent_gain,
            topic_stddev=config.topic_stddev,
            name=f"topic_compositional_lstm_{index}",
        )

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the layer under the topic proportions."""
        return layer(inputs, context)[0]

    def for_steps(self, context: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """Return what every layer makes of the topic proportions."""
        return [layer.cell.topic_factors(context) for layer in self.recurrent]

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run the cell under its own topic factors."""
        return layer.cell.step(inputs, state, context[self.recurrent.index(layer)])

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the others' group, with the LSTM's factors in one of their own.

        W(t) is a product of three: where each takes a full step it takes three.
        """
        (language, rate), topic = super().parameter_groups()
        factors = [w for layer in self.recurrent for w in layer.trainable_variables]
        return [
            (without(language, factors), rate),
            (factors, self.config.factor_rate * rate),
            topic,
        ]
