"""GBN-RNN (Guo, Chen, Lu and Zhou, ICML 2020): a hierarchy of topics guides an LSTM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.layers.coupled_lstm import CoupledLSTM
from tcnlm.layers.distributions import weibull, weibull_gamma_kl, weibull_mean
from tcnlm.layers.gamma_belief import GammaBeliefNetwork
from tcnlm.layers.gamma_encoder import (
    GammaEncoder,
    Weibull,
    from_the_top,
    poisson_log_likelihood,
)
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.models.base import Terms, TopicHierarchy, language_terms, without
from tcnlm.models.lstm import LSTM, EmbeddingConfig, SoftmaxConfig
from tcnlm.models.recurrent import RecurrentLanguageModel
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary

MOMENTUM = 0.99  # of the moving means of topic weights
NO_TOPIC = 1e-30  # beside any entry of Phi that is not 0
Draw = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


@dataclass(frozen=True)
class Config(SoftmaxConfig, EmbeddingConfig):
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
        False, "couple the lowest LSTM with the highest topics and so on; a variant"
    )
    theta_scale: str = setting(
        "none",
        "what divides theta for the LSTM: nothing, or its largest, as released code",
        choices=("none", "max"),
    )
    topic_weight: float = setting(
        1.0, "of the topic model's loss; released code: .001", least=0
    )
    kl_weights: tuple[float, ...] = setting(
        (1.0,),
        "of each layer's KL, or one for all; released: .1,.01,.001",
        least=0,
    )
    kl_warmup_steps: int = setting(
        0, "steps in which the KL's weight rises to its own; paper: none", least=0
    )

    chain_step: float = setting(
        1.0,
        "first step of the chains of Phi and Pi; released code. From batches of eight "
        "documents topics come with .008 and chain_delay=1024",
        above=0,
    )
    chain_delay: float = setting(
        20.0,
        "steps before they fall: the i-th is chain_step ((delay + i)/(delay + 1))^-.7",
        least=0,
    )

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self.units)


class GBNRNN(TopicHierarchy, RecurrentLanguageModel):
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

    Evaluation takes the mean of each Weibull for theta, from the top down; the released
    code draws. Dropout falls on the input of every LSTM, never on what the softmax sees
    (section 3). Assumed: the adaptive softmax and an Adam, clipped apart, for the
    encoder and for the rest, as for all systems here.

    theta is no distribution: its proportions are those of theta^1, a topic is a column
    of Phi^1. From proportions alone, theta^l is given the moving mean of its sums in
    training. From those of one layer, the layers above are shared out among topics as
    the columns of Phi hold the layer below, those below are Phi theta.
    """

    over_sentences = False  # whether theta moves from sentence to sentence
    paper = "rgbn_rnn"
    Config = Config
    TINY = {
        **{name: LSTM.TINY[name] for name in ("embedding_size", "cutoffs")},
        "units": (6, 5),
        "num_topics": (3, 2),
    }

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        _check_layers(config)
        super().__init__(config, vocabulary, seed)
        sizes, words = config.num_topics, len(vocabulary.topic_words)
        self.sizes = sizes
        self.encoder = GammaEncoder(words, sizes, self.over_sentences)
        schedule = {"step": config.chain_step, "delay": config.chain_delay}
        self.network = GammaBeliefNetwork(sizes, words, self.over_sentences, **schedule)
        self.rows = tf.Variable(1.0, trainable=False, name="training_rows")
        self.sums = tf.Variable(
            tf.ones([config.layers]), trainable=False, name="sums_of_theta"
        )

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return an LSTM coupled with topic weights."""
        return CoupledLSTM(self.config.units[index], name=f"coupled_lstm_{index}")

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings; note how many rows an epoch has."""
        super().prepare(dataset)
        self.rows.assign(len(self.batching.rows(dataset.split("train"))))

    def hidden(self, inputs: tf.Tensor, context: Any, training: bool) -> tf.Tensor:
        """Return [a^1; ...; a^L] [B, T, sum H] for word ids [B, T]."""
        rate, outputs, coupled = self.config.dropout, self.embedding(inputs), []
        for layer, theta in zip(self.recurrent, context):
            outputs = layer((self.dropout(outputs, rate, training), theta))
            coupled.append(outputs)
        return tf.concat(coupled, axis=-1)

    def softmax_inputs(
        self, positions: tf.Tensor, hidden: tf.Tensor, context: Any
    ) -> tf.Tensor:
        """Return the hidden states at positions, which hold theta already."""
        return tf.gather_nd(hidden, positions)

    def for_steps(self, context: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return what every layer makes of its topic weights."""
        pairs = zip(self.recurrent, context)
        return [layer.from_topics(theta) for layer, theta in pairs]

    def advance(
        self, token: tf.Tensor, state: list[Any], context: list[tf.Tensor]
    ) -> tuple[tf.Tensor, list[Any]]:
        """Return all layers' outputs side by side, and the state, after `token` [B]."""
        outputs, coupled, after = self.embedding(token), [], []
        for layer, each, topics in zip(self.recurrent, state, context):
            outputs, each = layer.step(outputs, each, topics)
            coupled.append(outputs)
            after.append(each)
        return tf.concat(coupled, axis=-1), after

    def topics(self, layer: int = 1) -> tf.Tensor:
        """Return columns of Phi^1 ... Phi^l, a topic of the layer a row: [K_l, D]."""
        return tf.transpose(self.network.word_topics(layer))

    def links(self, layer: int) -> np.ndarray:
        """Return Phi [K_(l-1), K_l] of a layer above the first."""
        return self.network.Phi[layer - 1].numpy()

    def transitions(self, layer: int) -> np.ndarray | None:
        """Return Pi [K_l, K_l] of a layer; None where theta does not move."""
        return self.network.Pi[layer - 1].numpy() if self.over_sentences else None

    def states(self, inputs: tf.Tensor, theta: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return h of eq. 3, before it is coupled, [B, T, H_l] of every layer."""
        outputs, found = self.embedding(inputs), []
        for layer, weights in zip(self.recurrent, self.context_of_theta(theta)):
            found.append(layer.lstm(outputs))
            outputs = layer((outputs, weights))
        return found

    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return the proportions of the mean theta^1 [B, K] of bags [B, D]."""
        encoded = self.encoder.of_bags(bow[:, None])
        return _proportions(self.posterior(encoded, weibull_mean)[0].theta[:, 0])

    def infer_context(self, context: tf.Tensor) -> tf.Tensor:
        """Return the same of topic-word ids [B, C], -1 padding: each row a sentence."""
        return _proportions(self.theta(context)[0])

    def theta(self, context: tf.Tensor) -> list[tf.Tensor]:
        """Return the mean theta of every layer [..., K_l] of contexts [..., C]."""
        return self._theta(context, weibull_mean)

    def posterior(
        self, encoded: Sequence[tuple[tf.Tensor, tf.Tensor]], draw: Draw
    ) -> list[Weibull]:
        """Return q of every layer, the lowest first, of what the encoder returned."""
        Phis = () if self.over_sentences else self.network.Phi
        return from_the_top(encoded, draw, Phis)

    def context(self, batch: dict[str, tf.Tensor]) -> list[tf.Tensor]:
        """Return the mean theta for every LSTM, [..., K] of contexts [..., C]."""
        return self.context_of_theta(self.theta(batch["context"]))

    def sample_context(self, batch: dict[str, tf.Tensor]) -> list[tf.Tensor]:
        """Return a draw of theta for every LSTM."""
        return self.context_of_theta(self._theta(batch["context"], self._draw))

    def context_from_topics(self, topics: tf.Tensor) -> list[tf.Tensor]:
        """Return theta for every LSTM of proportions [..., K]; see the class."""
        return self.context_from_layers(self.spread(topics))

    def context_from_layers(self, proportions: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return theta for every LSTM of the proportions of every layer [..., K_l]."""
        return self.context_of_theta(self.weighted(proportions))

    def spread(self, topics: tf.Tensor, layer: int = 1) -> list[tf.Tensor]:
        """Return the proportions of all layers [..., K_l] of those of one; the class.

        It is linear. A topic that no topic above has is shared out evenly.
        """
        layers = [topics]
        for Phi in reversed(self.network.Phi[1:layer]):
            layers.insert(0, tf.tensordot(layers[0], tf.transpose(Phi), 1))
        for Phi in self.network.Phi[layer:]:
            shares = _proportions(Phi + NO_TOPIC)
            layers.append(tf.tensordot(layers[-1], shares, 1))
        return layers

    def weighted(self, proportions: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return theta [..., K_l], of the sums that are usual, of proportions."""
        return [self.sums[n] * each for n, each in enumerate(proportions)]

    def _theta(self, context: tf.Tensor, draw: Draw) -> list[tf.Tensor]:
        """Return theta of every layer, [B, J, K] or [B, K], of contexts [..., C]."""
        weights = [q.theta for q in self.posterior(self._encode(context), draw)]
        return weights if len(context.shape) == 3 else [each[:, 0] for each in weights]

    def _encode(self, context: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        return self.encoder(_in_groups(context))

    def _draw(self, k: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
        """Draw from Weibulls by the generator that checkpoints restore."""
        uniform = tf.random.stateless_uniform(tf.shape(scale), self.seed())
        return weibull(k, scale, uniform)

    def context_of_theta(self, theta: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return theta as the LSTM of each layer, the lowest first, is to see it."""
        if self.config.theta_scale == "max":
            theta = [each / tf.reduce_max(each, -1, keepdims=True) for each in theta]
        return theta[::-1] if self.config.flipped else theta

    def undivided(self) -> str:
        """Return why its batches are learned from whole."""
        return "its chains draw from the counts of whole batches"

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return minus the bound and its terms, nats a sequence; "nll", nats a target.

        "reconstruction" is -E log p(d | theta^1), "kl_1" the lowest layer's divergence
        and so on, "kl" their sum.
        """
        groups = {name: _in_groups(ids) for name, ids in batch.items()}
        draw = self._draw if training else weibull_mean
        q = self.posterior(self._encode(groups["context"]), draw)
        shapes = self.network.prior_shapes([each.theta for each in q])
        real = tf.where(groups["targets"][:, :, 0] != PAD)  # places of sentences
        inputs, targets, context, q, shapes = tf.nest.map_structure(
            lambda each: tf.gather_nd(each, real),
            (groups["inputs"], groups["targets"], groups["context"], q, shapes),
        )
        theta = [each.theta for each in q]
        log_probs = self.log_probs(
            inputs, targets, self.context_of_theta(theta), training
        )
        language, nll = language_terms(log_probs, targets)
        rebuilt = poisson_log_likelihood(context, theta[0], self.network.Phi[0])
        reconstruction, kls = -tf.reduce_mean(rebuilt), self._divergences(q, shapes)
        weighted = sum(w * kl for w, kl in zip(self._kl_weights(training), kls))
        loss = language + self.config.topic_weight * (reconstruction + weighted)
        named = {f"kl_{n}": kl for n, kl in enumerate(kls, 1)}
        terms = {"reconstruction": reconstruction, "kl": sum(kls), **named}
        return {"loss": loss, **nll, **terms}

    def _divergences(self, q: list[Weibull], shapes: list[tf.Tensor]) -> list:
        """Return KL(q || Gamma(shape, 1)) of every layer, nats a sequence."""
        each = (weibull_gamma_kl(k, scale, e) for (k, scale, _), e in zip(q, shapes))
        return [tf.reduce_mean(tf.reduce_sum(nats, axis=-1)) for nats in each]

    def _kl_weights(self, training: bool) -> list[Any]:
        """Return the weight of every layer's KL, which may still be rising."""
        config = self.config
        risen = self.risen(config.kl_warmup_steps, training)
        each = config.kl_weights * (config.layers // len(config.kl_weights))
        return [risen * weight for weight in each]

    def train_step(self, batch: dict[str, tf.Tensor], optimizer: GroupedAdam) -> Terms:
        """Take a step up the bound, then one of every Phi's chain (algorithm 1)."""
        terms = super().train_step(batch, optimizer)
        context = _in_groups(batch["context"])
        theta = self._theta(context, self._draw)
        share = self.rows / tf.cast(tf.shape(context)[0], tf.float32)
        scale = tf.maximum(share, 1.0)  # batches in an epoch
        self.network.update(context, theta, scale, self.seed())
        self._keep_sums(theta, _in_groups(batch["targets"]))
        return terms

    def _keep_sums(self, theta: list[tf.Tensor], targets: tf.Tensor) -> None:
        """Let the moving means of theta's sums follow those of these sentences."""
        real = tf.where(targets[:, :, 0] != PAD)
        sums = [tf.reduce_sum(tf.gather_nd(each, real), axis=1) for each in theta]
        change = tf.stack([tf.reduce_mean(each) for each in sums]) - self.sums
        self.sums.assign_add((1.0 - MOMENTUM) * change)

    def parameters(self) -> list[tf.Variable]:
        """Return the trained weights and the matrices of the belief network."""
        return [*super().parameters(), *self.network.matrices]

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the language model's weights, and the encoder's."""
        encoder, rate = self.encoder.trainable_variables, self.config.learning_rate
        return [(without(self.trainable_variables, encoder), rate), (encoder, rate)]


def _in_groups(ids: tf.Tensor) -> tf.Tensor:
    """Return [B, J, N] as it is, and [B, N] as groups of one sentence."""
    return ids if len(ids.shape) == 3 else ids[:, None]


def _proportions(theta: tf.Tensor) -> tf.Tensor:
    return theta / tf.reduce_sum(theta, axis=-1, keepdims=True)


def _check_layers(config: Config) -> None:
    """Refuse settings that do not have a number for every layer."""
    units, layers = ",".join(map(str, config.units)), config.layers
    if not layers:
        raise InputError("units=: needs a number for every layer")
    for name, lengths in (("num_topics", {layers}), ("kl_weights", {1, layers})):
        values = getattr(config, name)
        if len(values) not in lengths:
            shown = ",".join(map(str, values))
            raise InputError(
                f"{name}={shown}: must have a number for every layer of units={units}"
            )
