"""GBN-RNN and rGBN-RNN (Guo, Chen, Lu and Zhou, ICML 2020): topics in a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import as_text, setting
from tcnlm.data.dataset import Dataset, Tokens, split_of
from tcnlm.data.rows import Groups
from tcnlm.layers.distributions import weibull, weibull_gamma_kl, weibull_mean
from tcnlm.layers.gamma_belief import (
    SMALLEST_SHAPE,
    GammaBeliefNetwork,
    GammaEncoder,
    Weibull,
    from_the_top,
    poisson_log_likelihood,
)
from tcnlm.layers.lstm import CoupledLSTM, zero_states
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group, exclude
from tcnlm.layers.softmax import adaptive_softmax, language_loss, of_targets
from tcnlm.layers.words import word_embedding
from tcnlm.models.base import Model, Terms
from tcnlm.models.settings import EmbeddingSettings, SoftmaxSettings
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary

fold_in = tf.random.experimental.stateless_fold_in
MOMENTUM = 0.99  # of the moving means of topic weights
NO_TOPIC = 1e-30  # beside any entry of Phi that is not 0


@dataclass(frozen=True)
class Config(SoftmaxSettings, EmbeddingSettings):
    """Settings of GBN-RNN; units=600 num_topics=100 is its smallest, of one layer."""

    units: tuple[int, ...] = setting(
        (600, 512, 256), "hidden units of each LSTM layer; Guo et al. 2020", least=1
    )
    num_topics: tuple[int, ...] = setting(
        (100, 80, 50),
        "topics of each layer, as many layers as units has; Guo et al. 2020",
        least=1,
    )
    flipped: bool = setting(
        False, "couple the lowest LSTM with the highest topics; a variant"
    )
    theta_scale: str = setting(
        "none",
        "divisor of theta: none, or its largest (released code)",
        choices=("none", "max"),
    )
    topic_weight: float = setting(
        1.0, "weight of the topic model's loss; released code: .001", least=0
    )
    kl_weights: tuple[float, ...] = setting(
        (1.0,),
        "weight of each layer's KL, or one for all; released code: .1,.01,.001",
        least=0,
    )
    kl_warmup_steps: int = setting(
        0, "steps until the KL has its full weight; paper: 0", least=0
    )
    chain_step: float = setting(
        1.0, "first step of the chains of Phi and Pi; docs/deviations.md", above=0
    )
    chain_delay: float = setting(
        20.0, "steps before chain_step falls as ((delay + i)/(delay + 1))^-.7", least=0
    )


class GBNRNN(Model):
    """A gamma belief network of sentence contexts, coupled with a stacked LSTM.

    theta^L ~ Gamma(1, 1), theta^l ~ Gamma(Phi^(l+1) theta^(l+1), 1),
    d ~ Poisson(Phi^1 theta^1) are the counts of a context's words, columns of Phi on
    the simplex, and a^l_t, theta^l coupled with the l-th LSTM, see `CoupledLSTM`;

        p(y_t | y_<t, theta) = softmax(W_o [a_t^1; ...; a_t^L])         (eq. 5)

    Training goes up the bound of a sequence and its context, one draw of theta for both

        E_q [log p(d | theta^1) + sum_t log p(y_t | y_<t, theta)] - sum_l KL(q^l || p^l)

    (eq. 12; log p(d) without ln d!) by the gradients of LSTM and encoder, and after
    every step draws Phi by stochastic-gradient MCMC, with theta drawn anew (algorithm
    1). q(theta^l) is Weibull(k^l + Phi^(l+1) theta^(l+1), lambda^l).

    Evaluation takes the mean of each Weibull for theta, from the top down. Dropout is
    on the input of every LSTM, never on what the softmax sees (section 3).

    theta is no distribution: its proportions are those of theta^1, a topic is a column
    of Phi^1. From proportions alone, theta^l is given the moving mean of its sums in
    training. From those of one layer, the layers above are shared out among topics as
    the columns of Phi hold the layer below, those below are Phi theta.
    """

    draws_topics = layered = True
    why_not_shardable = "its chains draw from the counts of whole batches"
    recurrent_topics = False  # over a document's sentences
    Config = Config
    test_config = {
        "embedding_size": 5,
        "cutoffs": (12,),
        "units": (6, 5),
        "num_topics": (3, 2),
    }

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        c, words, over = config, len(vocabulary.topic_words), self.recurrent_topics
        layers = len(c.units)
        if not layers:
            raise InputError("units=: give one number per layer")
        for name, lengths in (("num_topics", {layers}), ("kl_weights", {1, layers})):
            if len(getattr(c, name)) not in lengths:
                raise InputError(
                    f"{name}={as_text(getattr(c, name))}: must have a number for every "
                    f"layer of units={as_text(c.units)}"
                )
        self.sizes = c.num_topics
        self.encoder, chain = GammaEncoder(words, self.sizes, over), c.chain_step
        self.network = GammaBeliefNetwork(self.sizes, words, over, chain, c.chain_delay)
        self.fitted = (*self.network.Phi, *self.network.Pi)
        self.embedding = word_embedding(len(vocabulary), c)
        self.recurrent = [
            CoupledLSTM(units, name=f"coupled_lstm_{layer}")
            for layer, units in enumerate(c.units)
        ]
        self.softmax = adaptive_softmax(len(vocabulary), c)
        self.rows = tf.Variable(1.0, trainable=False, name="training_rows")
        self.sums = tf.Variable(tf.ones(layers), trainable=False, name="sums_of_theta")

    def topics(self, layer: int = 1) -> tf.Tensor:
        """Return columns of Phi^1 ... Phi^l, a topic of the layer a row: [K_l, D]."""
        return tf.transpose(self.network.word_topics(layer))

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return the mean theta^1 by its sum, [B, K], of topic-word ids [B, C]."""
        return proportions(infer_theta(self, context)[0])

    def posterior(
        self, context: tf.Tensor, noise: Noise | None = None
    ) -> list[Weibull]:
        """Return q(theta | d) of every layer, with a draw or its mean (eq. 8, 9)."""

        def draw(k: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
            if noise is None or not noise.training:
                return weibull_mean(k, scale)
            return weibull(k, scale, noise.uniform(tf.shape(scale)))

        Phis = () if self.recurrent_topics else self.network.Phi  # appendix A
        return from_the_top(self.encoder(context), draw, Phis)

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return theta for every LSTM, [..., K_l]; "topics": of layer 1, or of each."""
        if "topics" in batch:
            return as_seen(self, usual_theta(self, batch["topics"]))
        return as_seen(self, infer_theta(self, batch["context"], noise))

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_t | y_<t, theta), nats, [..., T] (eq. 5)."""
        theta, real = self.context(batch) if context is None else context, places(batch)
        inputs, targets, theta = at(real, (batch["inputs"], batch["targets"], theta))
        noise, rate = self.noise("words", batch, training), self.config.dropout
        x, a = self.embedding(inputs), []
        for layer, each in zip(self.recurrent, theta):
            x = layer((noise.dropout(x, rate), each))
            a.append(x)
        log_probs = of_targets(self.softmax, targets, tf.concat(a, axis=-1))
        return tf.scatter_nd(real, log_probs, tf.shape(batch["targets"], tf.int64))

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return minus the bound and its terms, nats a sequence; "nll", nats a target.

        "reconstruction" is -E log p(d | theta^1), "kl_1" the lowest layer's divergence
        and so on, "kl" their sum.
        """
        c = self.config
        q = self.posterior(batch["context"], self.noise("theta", batch, training))
        theta = [each.theta for each in q]
        log_p_y = self(batch, training=training, context=as_seen(self, theta))
        shapes = self.network.prior_shapes(theta)
        values = log_p_y, batch["targets"], batch["context"], q, shapes
        log_p_y, targets, words, q, shapes = at(places(batch), values)
        language, nll = language_loss(log_p_y, targets)
        log_p_d = poisson_log_likelihood(words, q[0].theta, self.network.Phi[0])
        kls = [
            tf.reduce_mean(tf.reduce_sum(weibull_gamma_kl(k, scale, shape), axis=-1))
            for (k, scale, _), shape in zip(q, shapes)
        ]
        weights = c.kl_weights * (len(kls) // len(c.kl_weights))
        kl = sum(weight * kl for weight, kl in zip(weights, kls))
        reconstruction = -tf.reduce_mean(log_p_d)
        topic = reconstruction + self.kl_anneal(c.kl_warmup_steps, training) * kl
        return {
            "loss": language + c.topic_weight * topic,
            **nll,
            "reconstruction": reconstruction,
            "kl": sum(kls),
            **{f"kl_{n}": kl for n, kl in enumerate(kls, 1)},
        }

    def train_step(self, batch: dict[str, tf.Tensor]) -> Terms:
        """Take a step up the bound, then one of every matrix's chain (algorithm 1)."""
        terms, words = super().train_step(batch), batch["context"]
        noise = self.noise("counts", batch, training=True)
        theta = infer_theta(self, words, noise)
        share = self.rows / tf.cast(tf.shape(words)[0], tf.float32)
        batches = tf.maximum(share, 1.0)  # in an epoch
        self.network.update(words, theta, batches, fold_in(noise.seed, 0))
        real = at(places(batch), theta)
        means = [tf.reduce_mean(tf.reduce_sum(each, axis=1)) for each in real]
        self.sums.assign_add((1.0 - MOMENTUM) * (tf.stack(means) - self.sums))
        return terms

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings; note how many rows an epoch has."""
        start_embeddings(self, dataset)
        self.rows.assign(len(self.batching.rows(dataset.split("train"))))

    def param_groups(self) -> list[Group]:
        encoder, rate = self.encoder.trainable_variables, self.config.learning_rate
        return [(exclude(self.trainable_variables, encoder), rate), (encoder, rate)]

    def initial_state(self, context: list[tf.Tensor], rows: Any) -> tuple[Any, Any]:
        read = [layer.from_topics(each) for layer, each in zip(self.recurrent, context)]
        return zero_states(self.recurrent, rows), read

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        x, a, after = self.embedding(token), [], []
        for layer, before, each in zip(self.recurrent, state, constants):
            x, now = layer.step(x, before, each)
            a.append(x)
            after.append(now)
        return self.softmax.next_word(tf.concat(a, axis=-1)), after


@dataclass(frozen=True)
class RecurrentConfig(Config):
    """Settings of rGBN-RNN; units=600 num_topics=100 is its smallest, of one layer."""

    sentences: int = setting(
        8, "sentences in a row, then theta starts anew; released code", least=2
    )


class RGBNRNN(GBNRNN):
    """GBN-RNN whose topic weights go on from sentence to sentence (eq. 2).

        theta_j^L ~ Gamma(Pi^L theta_(j-1)^L, 1)
        theta_j^l ~ Gamma(Phi^(l+1) theta_j^(l+1) + Pi^l theta_(j-1)^l, 1)

    for the sentences j of a document; before the first one theta_0 is zero, and
    theta_1^L ~ Gamma(1, 1). The encoder is recurrent over j too, and q(theta_j^l) is
    Weibull(k_j^l, lambda_j^l). Pi^l is drawn as Phi is.

    A row of a batch is a group of `sentences` sequences; the paper's batch is 8 of
    them. With the context rule "others", the paper's in training, d_(j-1) holds
    sentence j, and the recurrence hands it on: only with "preceding", the paper's for
    testing and here the default for both, is the perplexity one of words unseen.

    What is written goes on from a theta by `moved`: a draw of eq. 2, each layer given
    the moving mean of its sums in training. By eq. 2 alone the sums of all layers but
    the highest grow with every sentence, beyond what the LSTM has seen.
    """

    recurrent_topics = True
    Config = RecurrentConfig
    test_config = {**GBNRNN.test_config, "sentences": 2}
    training_defaults = {"context": "preceding"}

    def __init__(self, config: RecurrentConfig, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.batching = Groups(config.sentences)

    def moved(
        self, theta: Sequence[tf.Tensor], seed: tf.Tensor | None = None
    ) -> list[tf.Tensor]:
        """Return theta of the next sentence, [B, K_l]; without a seed [2], the mean."""
        after: list[tf.Tensor] = []
        for n in reversed(range(len(theta))):
            shape = tf.tensordot(theta[n], tf.transpose(self.network.Pi[n]), 1)
            if after:
                above = tf.transpose(self.network.Phi[n + 1])
                shape += tf.tensordot(after[0], above, 1)
            if seed is not None:  # what a float32 cannot hold is next to nothing
                size, own = tf.shape(shape), fold_in(seed, n)
                shape = tf.random.stateless_gamma(size, own, shape + SMALLEST_SHAPE)
                shape += np.finfo("float32").tiny
            after.insert(0, self.sums[n] * proportions(shape))
        return after


# --- theta [..., K_l], of sentences [B] or groups [B, J] ------------------------------


def infer_theta(
    model: Model, context: tf.Tensor, noise: Noise | None = None
) -> list[tf.Tensor]:
    """Return the mean theta of every layer, or a draw, of contexts [..., C]."""
    return [q.theta for q in model.posterior(context, noise)]


def theta_of_sentences(
    model: Model, document: Tokens, preprocessing: Mapping[str, Any]
) -> list[tf.Tensor]:
    """Return the mean theta of every layer, [J, K_l] for J sentences, none cut up."""
    longest = max(map(len, document)) + 1  # with <eos>
    made = {**preprocessing, "sequence_length": longest}
    rows = model.batching.rows(split_of([document], model.vocabulary, made))
    batch = rows.batch(np.arange(len(rows)))
    real = batch["targets"][..., 0] != PAD
    theta = infer_theta(model, batch["context"])
    return [tf.boolean_mask(each, real) for each in theta]


def usual_theta(model: Model, topics: Any) -> list[tf.Tensor]:
    """Return theta of usual sums, of proportions [..., K_1] or of every layer's."""
    layers = topics if isinstance(topics, (list, tuple)) else spread(model, topics)
    return [model.sums[n] * each for n, each in enumerate(layers)]


def spread(model: Model, topics: tf.Tensor, layer: int = 1) -> list[tf.Tensor]:
    """Return all layers' proportions of one's; what no topic above has, evenly."""
    layers = [topics]
    for Phi in reversed(model.network.Phi[1:layer]):
        layers.insert(0, tf.tensordot(layers[0], tf.transpose(Phi), 1))
    for Phi in model.network.Phi[layer:]:
        shares = proportions(Phi + NO_TOPIC)
        layers.append(tf.tensordot(layers[-1], shares, 1))
    return layers


def proportions(theta: tf.Tensor) -> tf.Tensor:
    """Return theta by its sum."""
    return theta / tf.reduce_sum(theta, axis=-1, keepdims=True)


def as_seen(model: Model, theta: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return theta as the LSTM of each layer, the lowest first, is to see it."""
    if model.config.theta_scale == "max":
        theta = [each / tf.reduce_max(each, -1, keepdims=True) for each in theta]
    return theta[::-1] if model.config.flipped else theta


def places(batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Return the places of the sentences of a batch that are no padding."""
    return tf.where(batch["targets"][..., 0] != PAD)


def at(chosen: tf.Tensor, values: Any) -> Any:
    """Return a nest of values [..., X] at places of sentences, [N, X]."""
    return tf.nest.map_structure(lambda each: tf.gather_nd(each, chosen), values)
