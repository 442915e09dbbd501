"""Topics drawn by stochastic-gradient MCMC, TLASGR (Cong et al., ICML 2017)."""

from __future__ import annotations

from typing import Any, Callable, Union

import numpy as np
import tensorflow as tf


def random_columns(shape: tuple[int, int], dtype: Any = tf.float32) -> tf.Tensor:
    """Return uniform draws, each column divided by its sum."""
    drawn = tf.random.uniform(shape, dtype=dtype)
    return drawn / _column_sums(drawn)


class TopicMatrix(tf.keras.layers.Layer):
    """A chain of matrices [D, K] with columns phi ~ Dirichlet(prior) on the simplex.

    With E = rho A, the counts of a batch in proportion to all data, and M the moving
    mean of E's column sums, step i = 1, 2, ... is, for each column (eq. 17 and 18),

        phi + r [(E + prior) - sum(E + prior) phi] + sqrt(2 r phi) N(0, 1), r = eps_i/M

    moved back to sum 1 along phi, which gives the noise the covariance
    diag(phi) - phi phi^T, then clipped at 0. eps_i = step ((delay + i) / (delay + 1))
    ^-decay, and the newest E has weight i^-mass_decay in M: released code, as is the
    prior. Of fixed counts and a small constant step, Dirichlet(E + prior) is the law.

    prior: of every entry, or [D, K]. start: a Keras initializer of the columns.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        prior: Any = 0.1,
        start: Union[str, Callable] = random_columns,
        step: float = 1.0,
        delay: float = 20.0,
        decay: float = 0.7,
        mass_decay: float = 0.9,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.step, self.delay, self.decay = step, delay, decay
        self.mass_decay = mass_decay
        self.value = self._state("value", [rows, columns], initializer=start)
        self.prior = np.asarray(prior, self.dtype)
        every = np.broadcast_to(self.prior, [rows, columns])
        self.least_mass = every.sum(axis=0, dtype=float).astype(self.dtype)
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
        newest, sums = i**-self.mass_decay, _column_sums(expected)
        self.mass.assign((1.0 - newest) * self.mass + newest * sums)
        eps = self.step * ((self.delay + i) / (self.delay + 1.0)) ** -self.decay
        moved = self._moved(expected + self.prior, eps, seed)
        self.value.assign(tf.where(self.mass > 0, moved, self.value))

    def _moved(self, weights: tf.Tensor, eps: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the columns after a step eps towards Dirichlet(weights)."""
        phi = self.value
        # With next to no counts 1 / M would make noise of 1e10: the prior's mass is the
        # least that the law of a column has.
        rate = eps / tf.maximum(self.mass, self.least_mass)
        drift = weights - _column_sums(weights) * phi
        noise = tf.random.stateless_normal(phi.shape, seed, dtype=phi.dtype)
        moved = phi + rate * drift + tf.sqrt(2.0 * rate * phi) * noise
        moved -= (_column_sums(moved) - 1.0) * phi
        moved = tf.maximum(moved, 0.0)
        return moved / _column_sums(moved)


def _column_sums(values: tf.Tensor) -> tf.Tensor:
    """Return the sums [K] of values [D, K], to the last digit of their type."""
    # In float32 columns of 32,000 words would sum to 1 within 1e-4 only.
    sums = tf.reduce_sum(tf.cast(values, tf.float64), axis=0)
    return tf.cast(sums, values.dtype)
