"""Non-negative matrix factorisation of tf-idf: topics, and no sentences.

    X ~ W H, of tf-idf rows X [N, D] of length one, W [N, K] and H [K, D] not negative

(Lee and Seung 1999; on tf-idf: Xu et al. 2003). A row of H over idf, summing to one, is
a topic; a row of W, its columns in shares of words, a document's proportions.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from scipy import sparse

from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Dataset
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.models.base import Model, Terms
from tcnlm.preprocessing.vocabulary import Vocabulary

SMALLEST = 1e-10  # so that nothing is divided by zero
FIT_ITERATIONS = 1000  # at most; scikit-learn stops at a change of 1e-4


@dataclass(frozen=True)
class Config(Settings):
    """Settings of NMF."""

    num_topics: int = setting(100, "number of topics, as LDA's", least=1)
    sweeps: int = setting(20, "of coordinate descent to infer proportions", least=1)


class NMF(Model):
    """NMF of tf-idf. All its learning is the fit before training, as LDA's."""

    Config = Config
    test_config = {"num_topics": 3}
    reads_order, per_word = False, "loss"
    why_not_shardable = "it is fitted whole"

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        K, D = config.num_topics, len(vocabulary.topic_words)
        draw = tf.random.stateless_uniform([K, D], [seed, 0], 0.5, 1.5)
        self.topic_weights = tf.Variable(draw, trainable=False, name="topics")
        self.idf = tf.Variable(tf.ones([D]), trainable=False, name="idf")
        self.fitted = self.topic_weights, self.idf

    def topics(self) -> tf.Tensor:
        total = tf.reduce_sum(self.topic_weights, axis=1, keepdims=True)
        return self.topic_weights / total

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        weights = self._weights(self._tf_idf(context)) + SMALLEST
        return weights / tf.reduce_sum(weights, axis=1, keepdims=True)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": |x - w H|^2 of rows of length one, a mean over words}."""
        context = batch["context"]
        x = self._tf_idf(context)
        rest = tf.reduce_sum((x - self._weights(x) @ self._basis()) ** 2, axis=1)
        words = tf.math.count_nonzero(context >= 0, axis=1, dtype=tf.float32)
        total = tf.reduce_sum(words * rest)
        return {"loss": tf.math.divide_no_nan(total, tf.reduce_sum(words))}

    def prepare(self, dataset: Dataset) -> None:
        contexts = dataset.split("train").contexts
        counts = contexts.counts(len(self.vocabulary.topic_words))
        topics, idf = nmf_topics(counts, self.config.num_topics, self.initial_seed)
        self.topic_weights.assign(topics)
        self.idf.assign(idf)

    def _basis(self) -> tf.Tensor:
        """Return H [K, D], scaled so that weights are shares of words."""
        return self.topics() * self.idf

    def _tf_idf(self, context: tf.Tensor) -> tf.Tensor:
        """Return rows X [B, D] of length one."""
        size = len(self.vocabulary.topic_words)
        return tf.math.l2_normalize(bag_of_words(context, size) * self.idf, axis=1)

    def _weights(self, x: tf.Tensor) -> tf.Tensor:
        """Return w [B, K] >= 0 with the least |x - w H|^2, by coordinate descent."""
        H, K = self._basis(), self.config.num_topics
        gram, projected = H @ tf.transpose(H), x @ tf.transpose(H)

        def step(i: tf.Tensor, w: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            k = i % K
            slope = projected[:, k] - tf.linalg.matvec(w, gram[k])
            better = tf.nn.relu(w[:, k] + slope / (gram[k, k] + SMALLEST))
            chosen = tf.one_hot(k, K)
            return i + 1, w * (1 - chosen) + better[:, None] * chosen

        loop = (0, tf.zeros_like(projected))
        steps = K * self.config.sweeps
        return tf.while_loop(lambda i, _: i < steps, step, loop)[1]


def nmf_topics(
    counts: sparse.csr_matrix, num_topics: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return topics [K, D] of NMF of the tf-idf of counts [N, D], and idf [D].

    Topics are rows of H over idf, which sum to one.
    """
    from sklearn.decomposition import NMF as Factorisation  # takes a second to import
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import TfidfTransformer

    weighting = TfidfTransformer()
    x = weighting.fit_transform(counts)
    fitted = Factorisation(num_topics, random_state=seed, max_iter=FIT_ITERATIONS)
    with warnings.catch_warnings():  # not quite settled is good enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(x)
    topics = fitted.components_ / weighting.idf_ + SMALLEST
    return topics / topics.sum(axis=1, keepdims=True), weighting.idf_
