"""q(theta | d) of a gamma belief network: Weibulls, by an encoder of contexts.

Guo et al. (ICML 2020), eq. 8 and 9; without recurrence their appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tcnlm.layers.bags import real_words, sum_rows
from tcnlm.layers.mixed_precision import Dense, matmul, tensordot

K_BOUNDS = 0.1, 10.0  # of the heads' k: below .03 a float32 overflows
SMALLEST = 1e-10  # lambda, and a word's rate: keeps logarithms finite
WORD_STDDEV = 0.01  # of W^1, which multiplies counts; released code


class Weibull(NamedTuple):
    """q of a layer's topic weights, each a Weibull, and a draw from it or its mean."""

    k: tf.Tensor  # [..., 1]; [..., K] where Phi theta is added
    scale: tf.Tensor  # lambda [..., K]
    theta: tf.Tensor  # [..., K]


@tf.keras.utils.register_keras_serializable("tcnlm")
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
        self.k = [Dense(1, "softplus", name=f"k_{n}") for n, _ in enumerate(sizes, 1)]
        self.scale = [
            Dense(size, "softplus", name=f"lambda_{n}")
            for n, size in enumerate(sizes, 1)
        ]

    def build(self, input_shape: Any) -> None:
        """Make W, U and b of every layer."""
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
        """Return k and lambda of every layer; see the class."""
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

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = "num_words sizes recurrent".split()
        return {**super().get_config(), **{n: getattr(self, n) for n in names}}


def from_the_top(
    encoded: Sequence[tuple[tf.Tensor, tf.Tensor]],
    draw: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    Phis: Sequence[tf.Tensor] = (),
) -> list[Weibull]:
    """Return q of every layer, from the lowest up, with what `draw(k, lambda)` makes.

    Phis: the topics of every layer, [K_(l-1), K_l], where q(theta^l) is
    Weibull(k^l + Phi^(l+1) theta^(l+1), lambda^l) (appendix A).
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
    """Return log p(d | Phi theta) of counts d, nats, without ln d!: [B].

    d ~ Poisson(Phi theta), columns of Phi on the simplex; words [B, C] are topic-word
    ids with -1 as padding, theta [B, K], Phi [D, K].
    """
    ids, bag = real_words(words)
    rates = tf.reduce_sum(tf.gather(Phi, ids) * tf.gather(theta, bag), axis=1)
    logs = tf.math.log(rates + SMALLEST)
    total = tf.math.unsorted_segment_sum(logs, bag, tf.shape(words)[0])
    return total - tf.reduce_sum(theta, axis=1)
