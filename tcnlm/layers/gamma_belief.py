"""Gamma belief networks, recurrent over sentences or not, and their Gibbs counts.

Guo et al. (ICML 2020): section 2.1, appendix B. The rates tau_0 and c are 1. For the
layers l = 1, ..., L Phi^l is [K_(l-1), K_l], K_0 being the number of topic words, and
Pi^l is [K_l, K_l]; lists of them start with l = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from tcnlm.layers.bags import real_words
from tcnlm.layers.counts import categorical, crt, owners_of, split
from tcnlm.layers.topic_matrix import TopicMatrix

SMALLEST_SHAPE = 1e-6  # of a gamma distribution: its log density ends at 0
TRANSITION_PRIOR = 1.0  # of every entry of Pi; released code


class Counts(NamedTuple):
    """What each matrix used, summed over sentences and documents."""

    A: list[tf.Tensor]  # of Phi^l, [K_(l-1), K_l]
    Z: list[tf.Tensor] | None  # of Pi^l, [K_l, K_l]


@tf.keras.utils.register_keras_serializable("tcnlm")
class GammaBeliefNetwork(tf.keras.layers.Layer):
    """The matrices of a gamma belief network of bags of `vocabulary` words.

        theta_j^L ~ Gamma(Pi^L theta_(j-1)^L, 1)                         (eq. 2)
        theta_j^l ~ Gamma(Phi^(l+1) theta_j^(l+1) + Pi^l theta_(j-1)^l, 1)

    and d_j ~ Poisson(Phi^1 theta_j^1) for the sentences j of a document. Before the
    first there is no theta, and theta_1^L ~ Gamma(1, 1). Without recurrence there is
    no Pi, and every sentence is a first one (eq. 10, with r = 1).

    step, delay: of the chains of all matrices, see `TopicMatrix`.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        vocabulary: int,
        recurrent: bool,
        step: float = 1.0,
        delay: float = 20.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.arguments = {
            "sizes": tuple(sizes),
            "vocabulary": vocabulary,
            "recurrent": recurrent,
            "step": step,
            "delay": delay,
        }
        layers = enumerate(zip([vocabulary, *sizes], sizes), 1)
        chain = partial(TopicMatrix, step=step, delay=delay)
        self.topics = [chain(*shape, name=f"Phi_{n}") for n, shape in layers]
        self.transitions = []
        if recurrent:
            self.transitions = [
                chain(size, size, TRANSITION_PRIOR, "identity", name=f"Pi_{n}")
                for n, size in enumerate(sizes, 1)
            ]

    @property
    def Phi(self) -> list[tf.Variable]:
        """Phi^1, ..., Phi^L."""
        return [each.value for each in self.topics]

    @property
    def Pi(self) -> list[tf.Variable]:
        """Pi^1, ..., Pi^L, or nothing."""
        return [each.value for each in self.transitions]

    @property
    def matrices(self) -> list[tf.Variable]:
        """All of Phi and Pi."""
        return [*self.Phi, *self.Pi]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), **self.arguments}

    def update(
        self,
        words: tf.Tensor,
        thetas: Sequence[tf.Tensor],
        scale: tf.Tensor,
        seed: tf.Tensor,
    ) -> None:
        """Draw counts of a batch as `augment` does, then every matrix (algorithm 1).

        scale: rho, the number of batches in an epoch.
        """
        chains = [*self.topics, *self.transitions]
        first, *seeds = _seeds(seed, 1 + len(chains))
        A, Z = augment(words, thetas, self.Phi, self.Pi or None, first)
        for chain, counts, each in zip(chains, [*A, *(Z or [])], seeds):
            chain.update(counts, scale, each)

    def word_topics(self, layer: int) -> tf.Tensor:
        """Return the words of a layer's topics, Phi^1 ... Phi^l [D, K_l], l from 1."""
        product, *others = self.Phi[:layer]
        for Phi in others:
            product = product @ Phi
        return tf.convert_to_tensor(product)

    def prior_shapes(self, thetas: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Return the shape of every theta's gamma law; both [B, J, K_l].

        Without recurrence [..., K_l].
        """
        shapes = [_apply(Phi, theta) for Phi, theta in zip(self.Phi[1:], thetas[1:])]
        top = tf.zeros_like if self.Pi else tf.ones_like
        shapes.append(top(thetas[-1]))
        for n, Pi in enumerate(self.Pi):
            before = _apply(Pi, thetas[n][:, :-1])
            first = 1.0 if n + 1 == len(thetas) else 0.0
            padding = [[0, 0], [1, 0], [0, 0]]
            shapes[n] += tf.pad(before, padding, constant_values=first)
        return [tf.maximum(each, SMALLEST_SHAPE) for each in shapes]


def augment(
    words: tf.Tensor,
    thetas: Sequence[tf.Tensor],
    Phis: Sequence[tf.Tensor],
    Pis: Sequence[tf.Tensor] | None,
    seed: tf.Tensor,
) -> Counts:
    """Draw the counts of a batch, upward through layers, backward through sentences.

    words [B, J, C], topic-word ids with -1 as padding; thetas [B, J, K_l]. Eq. 13 to
    16, one categorical draw for every word and every table. A sentence without words
    adds nothing, but hands on what later ones left it. Without Pis every sentence is
    taken for a first one, and they may be of any shape [..., C].
    """
    A, Z, layers = [], [], len(thetas)
    items, rows = real_words(words)
    for n, each in enumerate(_seeds(seed, layers)):
        for_A, for_tables = _seeds(each, 2)
        theta, top = thetas[n], n + 1 == layers
        used, counts = _assign(rows, items, theta, Phis[n], for_A)
        A.append(used)
        above = tf.zeros_like(theta) if top else _apply(Phis[n + 1], thetas[n + 1])
        if Pis is None:
            tables = crt(counts, above, for_tables)
        else:
            tables, used = _through_time(counts, above, theta, Pis[n], for_tables)
            Z.append(used)
        rows, items = _customers(tables)
    return Counts(A, None if Pis is None else Z)


def _through_time(
    counts: tf.Tensor,
    above: tf.Tensor,
    theta: tf.Tensor,
    Pi: tf.Tensor,
    seed: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the counts of the layer above [B, J, K], and Z of Pi (eq. 14 to 16).

    counts [B, J, K]: what every topic took of this layer's; above [B, J, K]: Phi theta
    of the layer above, 0 at the top, whose first sentence has no part in anything.
    """
    first, *others = _seeds(seed, counts.shape[1])
    upward, Z, passed = [], tf.zeros_like(Pi), tf.zeros_like(counts[:, 0])
    for j, each in reversed(list(enumerate(others, 1))):
        for_tables, for_parts, for_Z = _seeds(each, 3)
        before = theta[:, j - 1]
        weights = tf.stack([above[:, j], _apply(Pi, before)], axis=-1)
        shape = tf.reduce_sum(weights, axis=-1)
        tables = crt(counts[:, j] + passed, shape, for_tables)
        parts = split(tf.reshape(tables, [-1]), tf.reshape(weights, [-1, 2]), for_parts)
        up, back = tf.unstack(tf.reshape(parts, tf.shape(weights)), axis=-1)
        used, passed = _assign(*_customers(back), before, Pi, for_Z)
        upward, Z = [up, *upward], Z + used
    up = crt(counts[:, 0] + passed, above[:, 0], first)
    return tf.stack([up, *upward], axis=1), Z


def _assign(
    rows: tf.Tensor, items: tf.Tensor, theta: tf.Tensor, matrix: tf.Tensor, seed: Any
) -> tuple[tf.Tensor, tf.Tensor]:
    """Give every customer a topic, in proportion to matrix[item] * theta of its row.

    rows, items [N]; theta [..., K], its rows numbered in order. Return the customers of
    every item and topic, as matrix [D, K], and of every row and topic, int32 [..., K].
    """
    flat = tf.reshape(theta, [-1, tf.shape(theta)[-1]])
    weights = tf.gather(matrix, items) * tf.gather(flat, rows)
    topics = categorical(weights, seed)
    used = _tally(items, topics, tf.shape(matrix))
    counts = tf.reshape(_tally(rows, topics, tf.shape(flat)), tf.shape(theta))
    return tf.cast(used, theta.dtype), tf.ensure_shape(counts, theta.shape)


def _tally(rows: tf.Tensor, columns: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    places = tf.stack([rows, columns], axis=1)
    return tf.scatter_nd(places, tf.ones_like(columns), shape)


def _customers(tables: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the row and the item of each of the counts [..., K], K items a row."""
    owners, items = owners_of(tf.reshape(tables, [-1])), tf.shape(tables)[-1]
    return owners // items, owners % items


def _apply(matrix: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """Return matrix theta [..., D] of theta [..., K]."""
    return tf.einsum("dk,...k->...d", matrix, theta)


def _seeds(seed: tf.Tensor, number: int) -> list[tf.Tensor]:
    return tf.unstack(tf.random.experimental.stateless_split(seed, number))
