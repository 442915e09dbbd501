"""The Topic Compositional Neural Language Model (Wang et al., AISTATS 2018).

A neural topic model infers the topic proportions t of a document d (section 3.1); they
compose every weight matrix of an LSTM that predicts a sentence y of it (section 3.2);
both are learned by one bound (section 3.3). Symbols and shapes: tcnlm/__init__.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.lstm import zero_states
from tcnlm.layers.neural_topics import (
    TopicDecoder,
    TopicEncoder,
    TopicProportions,
    bag_of_words,
    diversity,
    log_likelihood,
)
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group, exclude, split_param_group, weights_of
from tcnlm.layers.softmax import adaptive_softmax, language_loss, of_targets
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTM
from tcnlm.layers.words import word_embedding
from tcnlm.models.base import Model, Terms
from tcnlm.models.seeds import seed_loss, seed_weights
from tcnlm.models.settings import SMALL_TOPICS, SMALL_WORDS, JointSettings
from tcnlm.models.starts import pretrain_topics, start_embeddings, start_topics
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary


@dataclass(frozen=True)
class Config(JointSettings):
    """TCNLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    num_factors: int = setting(0, "n_f, not stated; 0: as many as units", least=0)
    candidate_activation: str = setting(
        "tanh", 'eq. 13: "sigmoid"; docs/deviations.md', choices=("tanh", "sigmoid")
    )
    use_bias: bool = setting(True, 'biases of the gates; "omitted for simplicity", 3.2')
    factor_lr_multiplier: float = setting(
        0.5, "factor on learning_rate for the factors; docs/deviations.md", above=0
    )


# --- Section 3.1: the neural topic model, which other systems here share --------------


def make_topic_model(model: Model) -> None:
    """Make q(theta | d), g and beta."""
    c, words = model.config, len(model.vocabulary.topic_words)
    model.encoder = TopicEncoder(
        latent_size=c.latent_size or c.num_topics,
        hidden=c.encoder_units,
        transform=c.encoder_input,
        log_variance=c.log_variance,
        mu_batchnorm_std=c.mu_batchnorm_std,
    )
    model.proportions = TopicProportions(c.num_topics)
    model.decoder = TopicDecoder(c.num_topics, words)
    model.seeds = seed_weights(c, model.vocabulary)
    if c.mu_batchnorm_std:
        model.why_not_shardable = "mu_batchnorm_std scales over a whole batch"
    if c.topic_rows == "document":
        model.batching = replace(model.batching, of_document=("vote",))


def topic_terms(model: Model, batch: dict, noise: Noise) -> tuple[tf.Tensor, Terms]:
    """Return t [B, K], drawn in training, and the topic model's terms of the bound.

    "reconstruction" is -E log p(d | t), "kl" the divergence, nats a bag; "diversity" R.
    Where rows have a "vote" [B], 1 on average, each counts by it.
    """
    c, D = model.config, len(model.vocabulary.topic_words)
    d, vote = bag_of_words(batch["context"], D), batch.get("vote", 1.0)
    if "fresh" in batch:  # carried: what has run out of documents is no bag
        vote *= tf.cast(batch["targets"][:, 0] != PAD, tf.float32)
    drop = partial(noise.dropout, rate=c.encoder_dropout)
    mu, log_variance = model.encoder(d, drop, noise.training)  # q(theta | d)
    t = model.proportions(noise.gaussian(mu, log_variance))  # eq. 4
    log_p_d = log_likelihood(d, model.decoder(t))  # eq. 5, 6
    terms = {
        "reconstruction": -tf.reduce_mean(vote * log_p_d),
        "kl": tf.reduce_mean(vote * gaussian_kl(mu, log_variance, c.prior_variance)),
        "diversity": diversity(model.topics()),
    }
    if model.seeds is not None:
        words = tf.reduce_mean(vote * tf.reduce_sum(d, axis=1))
        terms["seeds"] = seed_loss(model.seeds, model.topics(), words)
    return t, terms


def topic_loss(model: Model, terms: Terms, kl_weight: Any = 1.0) -> tf.Tensor:
    """Return minus the first two terms of eq. 17, and of eq. 18's R: nats a bag."""
    bound = terms["reconstruction"] + kl_weight * terms["kl"] + terms.get("seeds", 0.0)
    return bound - model.config.diversity_weight * terms["diversity"]


# --- Section 3.2: the language model --------------------------------------------------


class TCNLM(Model):
    """A neural topic model and an LSTM whose weights it composes.

    Training goes up J = E log p(d | t) - KL(q || prior) + E sum_m log p(y_m | y_<m, t)
    + lambda R (eq. 17, 18), with one draw of theta a sequence, used by both.
    """

    draws_topics = True
    Config = Config
    test_config = {**SMALL_WORDS, **SMALL_TOPICS, "num_factors": 4}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        c, V = config, len(vocabulary)
        make_topic_model(self)
        self.embedding = word_embedding(V, c)
        cell = c.units, c.num_topics, c.num_factors, c.candidate_activation, c.use_bias
        name = "topic_compositional_lstm"
        self.recurrent = [
            TopicCompositionalLSTM(*cell, return_sequences=True, name=f"{name}_{layer}")
            for layer in range(c.layers)
        ]
        self.softmax = adaptive_softmax(V, c)

    def topics(self) -> tf.Tensor:
        """Return beta, a topic a row: [K, D] (eq. 5)."""
        return self.decoder.topics()

    def infer(self, context: tf.Tensor, noise: Noise | None = None) -> tf.Tensor:
        """Return t = g(theta) [B, K] of topic-word ids [B, C], -1 padding (eq. 4).

        theta: mu, or with noise a draw from q(theta | d).
        """
        d = bag_of_words(context, len(self.vocabulary.topic_words))
        mu, log_variance = self.encoder(d)
        return self.proportions(noise.gaussian(mu, log_variance) if noise else mu)

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return t [B, K]: the batch's "topics", or g(theta) of q(theta | d)."""
        given = batch.get("topics")
        return self.infer(batch["context"], noise) if given is None else given

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, t), nats, [B, T] (eq. 11)."""
        t = self.context(batch) if context is None else context
        noise, rate = self.noise("words", batch, training), self.config.dropout
        x = noise.dropout(self.embedding(batch["inputs"]), rate)
        for lstm in self.recurrent:  # under W(t) and U(t), eq. 12 to 15
            x = noise.dropout(lstm(x, t), rate)
        return of_targets(self.softmax, batch["targets"], x)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": -J, ...} (eq. 17, 18), nats a sequence; "nll", a target."""
        c = self.config
        t, terms = topic_terms(self, batch, self.noise("topics", batch, training))
        if training and c.language_topics == "mean":
            t = self.infer(batch["context"])
        log_p_y = self(batch, training=training, context=t)
        language, nll = language_loss(log_p_y, batch["targets"])
        J = -language - c.topic_weight * topic_loss(self, terms)
        return {"loss": -J, **nll, **terms}

    def prepare(self, dataset: Dataset) -> None:
        """Start embeddings and topics; let the topic model learn by itself first."""
        start_topics(self, dataset, start_embeddings(self, dataset))
        pretrain_topics(self, dataset, topic_terms, topic_loss)

    def param_groups(self) -> list[Group]:
        """Return three, W(t)'s factors by themselves: each moves their product."""
        language, topic = joint_param_groups(self)
        share = self.config.factor_lr_multiplier
        return [*split_param_group(language, self.recurrent, share), topic]

    def initial_state(self, context: tf.Tensor, rows: Any) -> tuple[Any, Any]:
        factors = [lstm.cell.topic_factors(context) for lstm in self.recurrent]
        return zero_states(self.recurrent, rows), factors

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        x, after = self.embedding(token), []
        for lstm, before, factors in zip(self.recurrent, state, constants):
            x, now = lstm.cell.step(x, before, factors)
            after.append(now)
        return self.softmax.next_word(x), after


def joint_param_groups(model: Model) -> list[Group]:
    """Return the language model's weights, and the topic model's, with their rates."""
    topic = weights_of(model.encoder, model.proportions, model.decoder)
    c, language = model.config, exclude(model.trainable_variables, topic)
    return [(language, c.learning_rate), (topic, c.topic_learning_rate)]
