"""Latent Dirichlet allocation (Blei et al. 2003): topics, and no sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from preprocessing.vocabulary import Vocabulary
from tcnlm.lda import LatentDirichletAllocation, fit
from tcnlm.models.base import Terms, TopicModel, TopicsAlone


@dataclass(frozen=True)
class Config:
    """Settings of LDA."""

    num_topics: int = 100  # paper, Table 4: 50, 100 and 150
    alpha: float = 0.1  # of the prior on t; said to be Lau et al. 2017's, not verified
    eta: float = 0.01  # of the prior on a topic; likewise
    passes: int = 10  # open: of the fit over the training documents
    chunk_size: int = 256  # open: documents in an update of the fit
    iterations: int = 50  # of the E-step; gensim's


class DirichletTopics(TopicModel):
    """A topic model whose topics are those of LDA, fitted before any training.

    A subclass sets `lda`, with `make_lda`, and comes before a `Method`.
    """

    def make_lda(self) -> LatentDirichletAllocation:
        """Return the layer that holds the topics."""
        config, size = self.config, len(self.vocabulary.topic_words)
        return LatentDirichletAllocation(
            config.num_topics, size, config.alpha, config.iterations, name="lda"
        )

    def prepare(self, dataset: Any) -> None:
        """Fit the topics to the bags of the whole training documents."""
        super().prepare(dataset)
        words, split = self.vocabulary.topic_words, dataset.split("train")
        fitted = fit(split, words, self.config, self.initial_seed)
        self.lda.topic_weights.assign(fitted)

    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return E t under q(t | d) [B, K] of bags [B, D]."""
        gamma = self.lda(bow)
        return gamma / tf.reduce_sum(gamma, axis=1, keepdims=True)

    def topics(self) -> tf.Tensor:
        """Return E beta, a topic a row: [K, D]."""
        return self.lda.topics()


class LDA(DirichletTopics, TopicsAlone):
    """LDA by online variational Bayes (Hoffman et al. 2010); see `tcnlm.lda`.

    All its learning is the fit before training: nothing is left for the optimizer, and
    the objective only tells how well it predicts.

    Assumed: a variational fit, where the published figures come from Gibbs sampling.
    """

    Config = Config

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.lda = self.make_lda()

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return no group."""
        return []

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": minus the bound on log p(d), nats a content word}."""
        bow = self.bag(batch["context"])
        bound = tf.reduce_sum(self.lda.bound(bow))
        return {"loss": -tf.math.divide_no_nan(bound, tf.reduce_sum(bow))}
