"""rGBN-RNN (Guo, Chen, Lu and Zhou, ICML 2020): GBN-RNN that moves with a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.sequences import Groups
from tcnlm.layers.gamma_belief import SMALLEST_SHAPE
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group, exclude
from tcnlm.models import gbn_rnn
from tcnlm.models.base import Model, Terms
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import Vocabulary

fold_in = tf.random.experimental.stateless_fold_in


@dataclass(frozen=True)
class Config(gbn_rnn.Config):
    """Settings of rGBN-RNN; units=600 num_topics=100 is its smallest, of one layer."""

    sentences: int = setting(
        8, "of a document in a row of a batch, theta starting anew; released code",
        least=2,
    )  # fmt: skip


class RGBNRNN(Model):
    """GBN-RNN whose topic weights go on from sentence to sentence (eq. 2).

        theta_j^L ~ Gamma(Pi^L theta_(j-1)^L, 1)
        theta_j^l ~ Gamma(Phi^(l+1) theta_j^(l+1) + Pi^l theta_(j-1)^l, 1)

    for the sentences j of a document; before the first one theta_0 is zero, and
    theta_1^L ~ Gamma(1, 1). The encoder is recurrent over j too, and q(theta_j^l) is
    Weibull(k_j^l, lambda_j^l). Pi^l is drawn as Phi is.

    A row of a batch is a group of `sentences` sequences; the paper's batch is 8 of
    them, batch_size=8. Padding has no part in any loss, nor in the counts.

    The context rule decides what theta_j knows of its own sentence. With "others", the
    paper's in training, d_(j-1) holds sentence j, and the recurrence hands it on: only
    with "preceding", the paper's for testing, is the perplexity one of words unseen. It
    is this model's default for both.

    What is written goes on from a theta by `moved`: a draw of eq. 2, each layer given
    the moving mean of its sums in training. By eq. 2 alone the sums of all layers but
    the highest grow with every sentence, beyond what the LSTM has seen.
    """

    draws_topics = layered = True
    why_not_shardable = gbn_rnn.GBNRNN.why_not_shardable
    Config = Config
    test_config = {**gbn_rnn.GBNRNN.test_config, "sentences": 2}
    training_defaults = {"context": "preceding"}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        gbn_rnn.make_layers(self, recurrent=True)
        self.batching = Groups(config.sentences)

    def topics(self, layer: int = 1) -> tf.Tensor:
        """Return columns of Phi^1 ... Phi^l, a topic of the layer a row: [K_l, D]."""
        return tf.transpose(self.network.word_topics(layer))

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return the proportions of the mean theta_1^1 [B, K]: each row a sentence."""
        return gbn_rnn.proportions(gbn_rnn.infer_theta(self, context)[0])

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return theta_j for every LSTM, [B, J, K_l] of groups; else as GBN-RNN."""
        if "topics" in batch:
            theta = gbn_rnn.usual_theta(self, batch["topics"])
        else:
            theta = gbn_rnn.infer_theta(self, batch["context"], noise)
        return gbn_rnn.as_seen(self, theta)

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_jt | y_j<t, theta_j), nats, [B, J, T] of groups (eq. 5)."""
        theta = self.context(batch) if context is None else context
        return gbn_rnn.predict_words(self, batch, theta, training)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return minus the bound and its terms, as GBN-RNN (eq. 12)."""
        return gbn_rnn.bound(self, batch, training)

    def train_step(self, batch: dict[str, tf.Tensor]) -> Terms:
        """Take a step up the bound, then one of the chains of every Phi and Pi."""
        terms = super().train_step(batch)
        gbn_rnn.draw_matrices(self, batch)
        return terms

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings; note how many groups an epoch has."""
        start_embeddings(self, dataset)
        self.rows.assign(len(self.batching.rows(dataset.split("train"))))

    def param_groups(self) -> list[Group]:
        """Return the language model's weights, and the encoder's."""
        encoder, rate = self.encoder.trainable_variables, self.config.learning_rate
        return [(exclude(self.trainable_variables, encoder), rate), (encoder, rate)]

    def initial_state(self, context: Any, rows: Any) -> tuple[Any, Any]:
        """Return every LSTM's zero state, and what it makes of its theta."""
        return gbn_rnn.before_words(self, context, rows)

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        """Return the next word's distribution after `token` [B], and the state."""
        return gbn_rnn.step_layers(self, token, state, constants)

    def moved(
        self, theta: Sequence[tf.Tensor], seed: tf.Tensor | None = None
    ) -> list[tf.Tensor]:
        """Return theta of the next sentence, [B, K_l] of every layer; see the class.

        It is drawn by the seed [2]; without one it is the mean of eq. 2.
        """
        after: list[tf.Tensor] = []
        for n in reversed(range(len(theta))):
            shape = tf.tensordot(theta[n], tf.transpose(self.network.Pi[n]), 1)
            if after:
                above = tf.transpose(self.network.Phi[n + 1])
                shape += tf.tensordot(after[0], above, 1)
            drawn = shape if seed is None else _gamma(shape, fold_in(seed, n))
            after.insert(0, self.sums[n] * gbn_rnn.proportions(drawn))
        return after


def _gamma(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw from Gamma(shape, 1); what a float32 cannot hold is next to nothing."""
    drawn = tf.random.stateless_gamma(tf.shape(shape), seed, shape + SMALLEST_SHAPE)
    return drawn + np.finfo("float32").tiny
