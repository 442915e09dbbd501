"""Latent Dirichlet allocation: fitted by gensim, inferred in TensorFlow.

    t ~ Dir(alpha), z_n ~ Discrete(t), w_n ~ Discrete(beta_(z_n)), beta_k ~ Dir(eta)

(Blei et al. 2003), with the variational posteriors q(t | d) = Dir(gamma) and
q(beta_k) = Dir(lambda_k) of Hoffman et al. (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from gensim.models import LdaModel
from tqdm import tqdm

from tcnlm.losses import dirichlet_kl, dirichlet_log_mean

TINY = 1e-10  # floor of a word's probability; gensim's is float32's epsilon


class LatentDirichletAllocation(tf.keras.layers.Layer):
    """Bags of words [B, D] -> gamma [B, K], the parameters of q(t | d).

    `topic_weights` [K, D] is lambda: set by a fit, never trained. The E-step of Hoffman
    et al. 2010 (algorithm 1) is repeated `iterations` times from an even start,

        phi_wk  ~  exp(E log t_k + E log beta_kw)
        gamma_k =  alpha + sum_w n_w phi_wk
    """

    def __init__(
        self,
        num_topics: int,
        num_words: int,
        alpha: float,
        iterations: int,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_topics = num_topics
        self.num_words = num_words
        self.alpha = alpha
        self.iterations = iterations

    def build(self, input_shape: Any) -> None:
        """Make lambda [K, D], before any fit a draw around one."""
        self.topic_weights = self.add_weight(
            "lambda",
            [self.num_topics, self.num_words],
            initializer=tf.keras.initializers.RandomUniform(0.5, 1.5),
            trainable=False,
        )
        self.built = True

    def topics(self) -> tf.Tensor:
        """Return E beta [K, D], rows on the simplex."""
        total = tf.reduce_sum(self.topic_weights, axis=1, keepdims=True)
        return self.topic_weights / total

    def call(self, bow: tf.Tensor) -> tf.Tensor:
        """Return gamma; see the class."""
        return self._posterior(*self._words(bow))

    def bound(self, bow: tf.Tensor) -> tf.Tensor:
        """Return the bound on log p(d), nats, [B], lambda given (Hoffman, eq. 1)."""
        words, counts = self._words(bow)
        gamma = self._posterior(words, counts)
        likelihood = tf.math.log(_word_probabilities(words, gamma))
        total = tf.reduce_sum(counts * likelihood, axis=1)
        return total - dirichlet_kl(gamma, self.alpha)

    def _words(self, bow: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return exp(E log beta) [B, N, K] and counts [B, N] of the words there are."""
        ids, counts = _distinct(bow)
        factors = tf.exp(dirichlet_log_mean(tf.convert_to_tensor(self.topic_weights)))
        return tf.gather(tf.transpose(factors), ids), counts

    def _posterior(self, words: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
        """Return gamma [B, K] of words [B, N, K] with counts [B, N]."""

        def step(i: tf.Tensor, gamma: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            shares = counts / _word_probabilities(words, gamma)
            expected = tf.einsum("bnk,bn->bk", words, shares)
            return i + 1, self.alpha + tf.exp(dirichlet_log_mean(gamma)) * expected

        length = tf.reduce_sum(counts, axis=1, keepdims=True)
        start = self.alpha + tf.tile(length / self.num_topics, [1, self.num_topics])
        return tf.while_loop(lambda i, _: i < self.iterations, step, (0, start))[1]


def _word_probabilities(words: tf.Tensor, gamma: tf.Tensor) -> tf.Tensor:
    """Return sum_k exp(E log t_k + E log beta_kw), [B, N]."""
    shares = tf.exp(dirichlet_log_mean(gamma))
    return tf.einsum("bnk,bk->bn", words, shares) + TINY


def _distinct(bow: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the words of each row of [B, D] and their counts, [B, N], count 0 padding.

    A document has far fewer words than the vocabulary.
    """
    most = tf.reduce_max(tf.math.count_nonzero(bow, axis=1, dtype=tf.int32))
    counts, ids = tf.math.top_k(bow, most)
    return ids, counts


class Bags:
    """The documents of a split, again and again, as gensim's (id, count) pairs."""

    def __init__(self, split: Any):
        self.split = split

    def __len__(self) -> int:
        return self.split.num_documents

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for row in tqdm(range(len(self)), "LDA, a pass", disable=None, leave=False):
            ids, counts = np.unique(self.split.content(row), return_counts=True)
            yield list(zip(ids.tolist(), counts.tolist()))


def fit(split: Any, topic_words: list[str], config: Any, seed: int) -> np.ndarray:
    """Return lambda [K, D] of gensim's online variational Bayes on a split's documents.

    config: num_topics, alpha, eta, passes, chunk_size and iterations.
    """
    fitted = LdaModel(
        Bags(split),
        num_topics=config.num_topics,
        id2word=dict(enumerate(topic_words)),
        alpha=config.alpha,
        eta=config.eta,
        passes=config.passes,
        chunksize=config.chunk_size,
        iterations=config.iterations,
        eval_every=None,
        random_state=seed,
    )
    return fitted.state.get_lambda()
