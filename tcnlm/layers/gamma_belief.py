"""Gamma belief networks (Guo et al., ICML 2020, section 2.1, appendices A and B).

The rates tau_0 and c are 1. Phi^l [K_(l-1), K_l], K_0 topic words, and Pi^l [K_l, K_l]
of the layers l = 1, ..., L; lists of them start with l = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.layers.distributions import categorical, crt, owners_of, split
from tcnlm.layers.mixed_precision import MixedDense, matmul, tensordot
from tcnlm.layers.words import real_words, sum_rows


def random_columns(shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
    """Return uniform draws, each column divided by its sum."""
    drawn = tf.random.uniform(shape, dtype=dtype or tf.float32)
    return drawn / _column_sums(drawn)


class TopicMatrix(tf.keras.layers.Layer):
    """A chain of matrices [D, K] with columns phi ~ Dirichlet(prior) on the simplex.

    With E = rho A, the counts of a batch in proportion to all data, and M the moving
    mean of E's column sums, step i = 1, 2, ... is, for each column (eq. 17 and 18),

        phi + r [(E + prior) - sum(E + prior) phi] + sqrt(2 r phi) N(0, 1), r = eps_i/M

    moved back to sum 1 along phi, which gives the noise the covariance
    diag(phi) - phi phi^T, then clipped at 0. eps_i = step ((delay + i) / (delay + 1))
    ^-decay, and the newest E has weight i^-.9 in M: released code, as is the
    prior. Of fixed counts and a small constant step, Dirichlet(E + prior) is the law.

    start: a Keras initializer of the columns.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        prior: float = 0.1,
        start: Any = random_columns,
        step: float = 1.0,
        delay: float = 20.0,
        decay: float = 0.7,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.prior, self.step, self.delay, self.decay = prior, step, delay, decay
        self.value = self._state("value", [rows, columns], initializer=start)
        self.least_mass = rows * float(np.asarray(prior, self.dtype))
        self.mass = self._state("mass", [columns])
        self.steps = self._state("steps", [], dtype=tf.int64)
        self.built = True

    def _state(self, name: str, shape: list[int], **how: Any) -> tf.Variable:
        how = {"initializer": "zeros", **how}
        return self.add_weight(f"{self.name}/{name}", shape, trainable=False, **how)

    def update(self, counts: tf.Tensor, scale: tf.Tensor, seed: tf.Tensor) -> None:
        """Take a step for the counts A [D, K] of a batch; scale: rho, all data's share.

        A column that has never had a count stays as it is: its noise alone would clip
        nearly half of its entries to 0.
        """
        self.steps.assign_add(1)
        expected, i = scale * counts, tf.cast(self.steps, self.dtype)
        newest, sums = i**-MASS_DECAY, _column_sums(expected)
        self.mass.assign((1.0 - newest) * self.mass + newest * sums)
        eps = self.step * ((self.delay + i) / (self.delay + 1.0)) ** -self.decay
        weights, phi = expected + self.prior, self.value
        # With next to no counts 1 / M would make noise of 1e10: the prior's mass is the
        # least that the law of a column has.
        rate = eps / tf.maximum(self.mass, self.least_mass)
        drift = weights - _column_sums(weights) * phi
        noise = tf.random.stateless_normal(phi.shape, seed, dtype=phi.dtype)
        moved = phi + rate * drift + tf.sqrt(2.0 * rate * phi) * noise
        moved = tf.maximum(moved - (_column_sums(moved) - 1.0) * phi, 0.0)
        moved /= _column_sums(moved)
        self.value.assign(tf.where(self.mass > 0, moved, phi))


def _column_sums(values: tf.Tensor) -> tf.Tensor:
    """Return the sums [K] of values [D, K], to the last digit of their type."""
    # In float32 columns of 32,000 words would sum to 1 within 1e-4 only.
    sums = tf.reduce_sum(tf.cast(values, tf.float64), axis=0)
    return tf.cast(sums, values.dtype)


SMALLEST_SHAPE = 1e-6  # of a gamma distribution: its log density ends at 0
MASS_DECAY = 0.9  # of the moving mean of what topics have; released code
TRANSITION_PRIOR = 1.0  # of every entry of Pi; released code


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
        layers = enumerate(zip([vocabulary, *sizes], sizes), 1)
        chain = partial(TopicMatrix, step=step, delay=delay)
        self.topics = [chain(*shape, name=f"Phi_{n}") for n, shape in layers]
        square = partial(chain, prior=TRANSITION_PRIOR, start="identity")
        layers = enumerate(sizes if recurrent else (), 1)
        self.transitions = [square(K, K, name=f"Pi_{n}") for n, K in layers]

    @property
    def Phi(self) -> list[tf.Variable]:
        """Phi^1, ..., Phi^L."""
        return [each.value for each in self.topics]

    @property
    def Pi(self) -> list[tf.Variable]:
        """Pi^1, ..., Pi^L, or nothing."""
        return [each.value for each in self.transitions]

    def update(
        self,
        words: tf.Tensor,
        thetas: Sequence[tf.Tensor],
        scale: tf.Tensor,
        seed: tf.Tensor,
    ) -> None:
        """Draw counts of a batch, then every matrix (algorithm 1); scale: rho."""
        chains = [*self.topics, *self.transitions]
        first, *seeds = _seeds(seed, 1 + len(chains))
        A, Z = augment(words, thetas, self.Phi, self.Pi, first)
        for chain, counts, each in zip(chains, [*A, *Z], seeds):
            chain.update(counts, scale, each)

    def word_topics(self, layer: int) -> tf.Tensor:
        """Return the words of a layer's topics, Phi^1 ... Phi^l [D, K_l], l from 1."""
        return tf.convert_to_tensor(reduce(tf.matmul, self.Phi[:layer]))

    def prior_shapes(self, thetas: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Return the shape of every theta's gamma law, [B, J, K_l] as theta is."""
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
    Pis: Sequence[tf.Tensor],
    seed: tf.Tensor,
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Draw the counts A of every Phi^l and Z of every Pi^l, summed over a batch.

    words [B, J, C], topic-word ids with -1 as padding; thetas [B, J, K_l]. Eq. 13 to
    16, one categorical draw for every word and every table, upward through layers,
    backward through sentences. A sentence without words hands on what later ones left
    it. Without Pis every sentence is a first one, of any shape [..., C].
    """
    A, Z, layers = [], [], len(thetas)
    items, rows = real_words(words)
    for n, each in enumerate(_seeds(seed, layers)):
        for_A, for_tables = _seeds(each, 2)
        theta, top = thetas[n], n + 1 == layers
        used, counts = _assign(rows, items, theta, Phis[n], for_A)
        A.append(used)
        above = tf.zeros_like(theta) if top else _apply(Phis[n + 1], thetas[n + 1])
        if Pis:
            tables, used = _through_time(counts, above, theta, Pis[n], for_tables)
            Z.append(used)
        else:
            tables = crt(counts, above, for_tables)
        rows, items = _customers(tables)
    return A, Z


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
    return tf.einsum("dk,...k->...d", matrix, theta)


def _seeds(seed: tf.Tensor, number: int) -> list[tf.Tensor]:
    return tf.unstack(tf.random.experimental.stateless_split(seed, number))


K_BOUNDS = 0.1, 10.0  # of the heads' k: below .03 a float32 overflows
SMALLEST = 1e-10  # lambda, and a word's rate: keeps logarithms finite
WORD_STDDEV = 0.01  # of W^1, which multiplies counts; released code


class Weibull(NamedTuple):
    """q of a layer's topic weights, each a Weibull, and a draw from it or its mean."""

    k: tf.Tensor  # [..., 1]; [..., K] where Phi theta is added
    scale: tf.Tensor  # lambda [..., K]
    theta: tf.Tensor  # [..., K]


class GammaEncoder(tf.keras.layers.Layer):
    """Contexts d_j of J sentences in order -> k_j^l and lambda_j^l of every layer l.

        h_j^l = tanh(W^l h_j^(l-1) + U^l h_(j-1)^l + b^l)     h_j^0 = d_j; h_0^l = 0
        k_j^l = softplus(w^l . h_j^l + b), one number         (eq. 9)
        lambda_j^l = softplus(V^l h_j^l + c^l) [K_l]

    words [B, J, C], topic-word ids with -1 as padding, of which d_j are the counts
    -> (k [B, J, 1], lambda [B, J, K_l]) from the lowest layer up. Sentences by
    themselves, [B, C], are first ones.

    h^l has K_l units. Without recurrence there is no U, and every sentence is read by
    itself. k is held within `K_BOUNDS`. As in Table 3 the weights are, without biases,
    (K_(l-1) + K_l) K_l, K_l and K_l^2 a layer, K_0 being the number of topic words. U
    starts as the identity, as the released code's (which does not use it).
    """

    def __init__(
        self, num_words: int, sizes: Sequence[int], recurrent: bool, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.num_words, self.sizes, self.recurrent = num_words, sizes, recurrent
        layers = list(enumerate(sizes, 1))
        self.k = [MixedDense(1, "softplus", name=f"k_{n}") for n, _ in layers]
        self.scale = [MixedDense(K, "softplus", name=f"lambda_{n}") for n, K in layers]

    def build(self, input_shape: Any) -> None:
        words = tf.keras.initializers.TruncatedNormal(stddev=WORD_STDDEV)
        starts = [words, *["glorot_uniform"] * (len(self.sizes) - 1)]
        self.W, self.U, self.b, below = [], [], [], self.num_words
        for n, (size, start) in enumerate(zip(self.sizes, starts), 1):
            self.W.append(self.add_weight(f"W_{n}", [below, size], initializer=start))
            self.b.append(self.add_weight(f"b_{n}", [size], initializer="zeros"))
            if self.recurrent:
                shape = [size, size]
                self.U.append(self.add_weight(f"U_{n}", shape, initializer="identity"))
            below = size
        self.built = True

    def call(self, words: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        inputs, found = sum_rows(self.W[0], words), []
        for n, above in enumerate([*self.W[1:], None]):
            hidden = self._over_sentences(inputs + self.b[n], n)
            scale = tf.maximum(self.scale[n](hidden), SMALLEST)
            found.append((tf.clip_by_value(self.k[n](hidden), *K_BOUNDS), scale))
            if above is not None:
                inputs = tensordot(hidden, above)
        return found

    def _over_sentences(self, inputs: tf.Tensor, n: int) -> tf.Tensor:
        """Return h [B, J, K] of layer n; inputs: W h + b."""
        if not self.recurrent or inputs.shape.rank == 2:
            return tf.tanh(inputs)
        first, *others = tf.unstack(inputs, axis=1)
        states = [tf.tanh(first)]
        for each in others:
            states.append(tf.tanh(each + matmul(states[-1], self.U[n])))
        return tf.stack(states, axis=1)


def from_the_top(
    encoded: Sequence[tuple[tf.Tensor, tf.Tensor]],
    draw: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    Phis: Sequence[tf.Tensor] = (),
) -> list[Weibull]:
    """Return q of every layer, from the lowest up, with what `draw(k, lambda)` makes.

    With Phis q(theta^l) is Weibull(k^l + Phi^(l+1) theta^(l+1), lambda^l) (appendix A).
    """
    found: list[Weibull] = []
    for n in reversed(range(len(encoded))):
        k, scale = encoded[n]
        if found and Phis:
            k += tf.tensordot(found[-1].theta, tf.transpose(Phis[n + 1]), 1)
        found.append(Weibull(k, scale, draw(k, scale)))
    return found[::-1]


def poisson_log_likelihood(
    words: tf.Tensor, theta: tf.Tensor, Phi: tf.Tensor
) -> tf.Tensor:
    """Return log p(d) of d ~ Poisson(Phi theta), nats, without ln d!: [B].

    words [B, C], topic-word ids with -1 as padding; theta [B, K]; Phi [D, K].
    """
    ids, bag = real_words(words)
    rates = tf.reduce_sum(tf.gather(Phi, ids) * tf.gather(theta, bag), axis=1)
    logs = tf.math.log(rates + SMALLEST)
    total = tf.math.unsorted_segment_sum(logs, bag, tf.shape(words)[0])
    return total - tf.reduce_sum(theta, axis=1)
