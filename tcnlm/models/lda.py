"""Latent Dirichlet allocation (Blei et al. 2003): topics, and no sentences.

    t ~ Dir(alpha), z_n ~ Discrete(t), w_n ~ Discrete(beta_(z_n)), beta_k ~ Dir(eta)

Fitted by gensim or tomotopy, inferred in TensorFlow, with the variational posteriors
q(t | d) = Dir(gamma) and q(beta_k) = Dir(lambda_k) of Hoffman et al. (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Dataset, Split
from tcnlm.layers.distributions import dirichlet_kl, dirichlet_log_mean
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.models.base import Model, Terms
from tcnlm.preprocessing.vocabulary import Vocabulary

TOMOTOPY = "tomotopy==0.14.0"
EPSILON = 1e-10  # floor of a word's probability; gensim's is float32's epsilon


@dataclass(frozen=True)
class Config(Settings):
    """Settings of LDA."""

    num_topics: int = setting(100, "paper, Table 4: 50, 100 and 150 topics", least=1)
    alpha: float = setting(0.1, "prior on t; Lau et al. 2017's, not verified", above=0)
    eta: float = setting(0.01, "prior on a topic; likewise", above=0)
    fit: str = setting(
        "variational",
        "variational (gensim's) or gibbs (tomotopy's; that of the published figures)",
        choices=("variational", "gibbs"),
    )
    passes: int = setting(10, "passes of the variational fit over documents", least=1)
    chunk_size: int = setting(
        256, "documents per update of the variational fit", least=1
    )
    sweeps: int = setting(1000, "sweeps of Gibbs sampling over all words", least=1)
    iterations: int = setting(50, "iterations of the E-step; gensim's default", least=1)


class LDA(Model):
    """LDA, fitted before training by variational Bayes or Gibbs sampling.

    After either, the variational E-step infers what was not fitted; nothing is left for
    the optimizer, and the loss only tells how well it predicts.
    """

    Config = Config
    test_config = {"num_topics": 3, "passes": 2}
    reads_order, per_word = False, "loss"
    why_not_shardable = "it is fitted whole"

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        make_lda(self)

    def topics(self) -> tf.Tensor:
        return self.lda.topics()

    def infer(self, context: tf.Tensor, noise: Any = None) -> tf.Tensor:
        """Return E t under q(t | d) [B, K] of topic-word ids [B, C], -1 padding."""
        gamma = self.lda(bag_of_words(context, self.lda.num_words))
        return gamma / tf.reduce_sum(gamma, axis=1, keepdims=True)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": minus the bound on log p(d), nats a content word}."""
        bow = bag_of_words(batch["context"], self.lda.num_words)
        bound = tf.reduce_sum(self.lda.bound(bow))
        return {"loss": -tf.math.divide_no_nan(bound, tf.reduce_sum(bow))}

    def prepare(self, dataset: Dataset) -> None:
        fit_lda(self, dataset)


# --- What `lda_lstm` shares -----------------------------------------------------------


def make_lda(model: Model) -> None:
    """Make the layer that holds the topics."""
    c, words = model.config, len(model.vocabulary.topic_words)
    sizes = c.num_topics, words, c.alpha, c.iterations
    model.lda = LatentDirichletAllocation(*sizes, name="lda")
    model.fitted = (model.lda.topic_weights,)


def fit_lda(model: Model, dataset: Dataset) -> None:
    """Fit the topics to whole documents; InputError without the fit's package."""
    c, words = model.config, model.vocabulary.topic_words
    fit = gibbs if c.fit == "gibbs" else variational
    fitted = fit(dataset.split("train"), words, c, model.initial_seed)
    model.lda.topic_weights.assign(fitted)


class LatentDirichletAllocation(tf.keras.layers.Layer):
    """Bags of words [B, D] -> gamma [B, K], the parameters of q(t | d).

    `topic_weights` [K, D] is lambda: set by a fit, never trained. The E-step of Hoffman
    et al. 2010 (algorithm 1) is repeated `iterations` times from an even start,

        phi_wk  ~  exp(E log t_k + E log beta_kw)
        gamma_k =  alpha + sum_w n_w phi_wk
    """

    def __init__(
        self, num_topics: int, num_words: int, alpha: float, iterations: int, **kwargs
    ):
        super().__init__(**kwargs)
        self.num_topics, self.num_words = num_topics, num_words
        self.alpha, self.iterations = alpha, iterations
        shape, start = [num_topics, num_words], tf.keras.initializers.RandomUniform
        self.topic_weights = self.add_weight(
            "lambda", shape, initializer=start(0.5, 1.5), trainable=False
        )

    def topics(self) -> tf.Tensor:
        """Return E beta [K, D], rows on the simplex."""
        total = tf.reduce_sum(self.topic_weights, axis=1, keepdims=True)
        return self.topic_weights / total

    def call(self, bow: tf.Tensor) -> tf.Tensor:
        return self._posterior(*self._words(bow))

    def bound(self, bow: tf.Tensor) -> tf.Tensor:
        """Return the bound on log p(d), nats, [B], lambda given (Hoffman, eq. 1)."""
        words, counts = self._words(bow)
        gamma = self._posterior(words, counts)
        likelihood = tf.math.log(_word_probabilities(words, gamma))
        total = tf.reduce_sum(counts * likelihood, axis=1)
        return total - dirichlet_kl(gamma, self.alpha)

    def _words(self, bow: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return exp(E log beta) [B, N, K] and counts [B, N] of the words."""
        most = tf.reduce_max(tf.math.count_nonzero(bow, axis=1, dtype=tf.int32))
        counts, ids = tf.math.top_k(bow, most)  # few of D; 0: padding
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
    return tf.einsum("bnk,bk->bn", words, shares) + EPSILON


# --- The two fits -------------------------------------------------------------------


class Bags:
    """The documents of a split, again and again, as gensim's (id, count) pairs."""

    def __init__(self, split: Split):
        self.split = split

    def __len__(self) -> int:
        return self.split.num_documents

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for row in progress_bar(range(len(self)), "LDA, a pass", leave=False):
            ids, counts = np.unique(self.split.content(row), return_counts=True)
            yield list(zip(ids.tolist(), counts.tolist()))


def variational(
    split: Split, topic_words: list[str], config: Any, seed: int
) -> np.ndarray:
    """Return lambda [K, D] by online variational Bayes (Hoffman et al. 2010)."""
    from gensim.models import LdaModel  # takes seconds to import

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


def gibbs(split: Split, topic_words: list[str], config: Any, seed: int) -> np.ndarray:
    """Return lambda [K, D] by collapsed Gibbs sampling (Griffiths and Steyvers 2004).

    lambda_kw is eta and the words w that the last sweep left in topic k: what that
    draw of all z makes of the prior. The counts of one draw, not a mean of several.
    """
    model = tomotopy("fit=gibbs").LDAModel(
        k=config.num_topics, alpha=config.alpha, eta=config.eta, seed=seed
    )
    model.optim_interval = 0  # or alpha would not stay what the E-step takes
    for row in range(split.num_documents):
        if len(ids := split.content(row)):
            model.add_doc([str(i) for i in ids])
    for _ in progress_bar(range(config.sweeps), "LDA, sweeps"):
        model.train(1, workers=1)
    seen = [int(word) for word in model.used_vocabs]
    weights = np.full([config.num_topics, len(topic_words)], config.eta)
    for topic, row in enumerate(weights):
        row[seen] = model.get_topic_word_dist(topic, normalize=False)
    return weights


def tomotopy(asked: str) -> Any:
    """Return the package; InputError, naming what asked for it, where there is none."""
    try:
        import tomotopy
    except ImportError:
        wanted = f"tomotopy, which is not installed; pip install {TOMOTOPY}"
        raise InputError(f"{asked}: needs {wanted}") from None
    return tomotopy
