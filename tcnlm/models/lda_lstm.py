"""An LSTM language model given its document's LDA topics (Wang et al. 2018, 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.data.dataset import Dataset
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group
from tcnlm.layers.softmax import AdaptiveSoftmax, language_loss, of_targets
from tcnlm.layers.words import word_embedding
from tcnlm.models import lda, lstm, tcnlm
from tcnlm.models.base import Model, Terms
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(
    lda.Config,
    lstm.StartSettings,
    lstm.CellSettings,
    tcnlm.SoftmaxSettings,
    tcnlm.WordSettings,
):
    """Settings of the LSTM and of LDA."""


class LDALSTM(Model):
    """p(y_m | y_<m, d) = softmax(V [h_m; q]), h_m an LSTM's output, q = E t of LDA.

    LDA is fitted before training and stays as it is; q is inferred from the context,
    the document without the sentence, in training as in evaluation. V has K more rows
    than the LSTM's. With `carry=true` q is of a window's context, which is to hold what
    was read before only (`context=read`); with `cell=rnn` too it is an RNN with LDA's
    features, as Mikolov and Zweig (2012) have it, but for their features at the input.

    Assumed: that the target sentence is left out of what q is inferred from (the paper
    does not say), and an output layer whose tails, too, see [h; q].
    """

    Config = Config
    test_config = {**lstm.LSTM.test_config, **lda.LDA.test_config}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        lda.make_lda(self)
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = lstm.recurrent_layers(config)
        self.softmax = AdaptiveSoftmax(
            len(vocabulary), config.cutoffs, config.div_value, name="softmax"
        )
        lstm.carry_state(self)

    def topics(self) -> tf.Tensor:
        """Return E beta, a topic a row: [K, D]."""
        return self.lda.topics()

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return q [B, K] of topic-word ids [B, C]."""
        return lda.infer_lda(self, context)

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return q [B, K]."""
        return batch["topics"] if "topics" in batch else self.infer(batch["context"])

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, d), nats, [B, T]."""
        q = self.context(batch) if context is None else context
        h = lstm.read(self, batch, self.noise("words", batch, training))

        def beside(h: tf.Tensor, words: tf.Tensor, q: tf.Tensor) -> tf.Tensor:
            return self.softmax(tf.concat([h, q], axis=1), words)

        return of_targets(beside, batch["targets"], h, q)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a row of the batch, "nll": nats a target}."""
        loss, nll = language_loss(self(batch, training=training), batch["targets"])
        return {"loss": loss, **nll}

    def prepare(self, dataset: Dataset) -> None:
        """Fit LDA; start embeddings and layers."""
        lda.fit_lda(self, dataset)  # first: it refuses a package that is not there
        start_embeddings(self, dataset)
        lstm.start_layers(self)

    def param_groups(self) -> list[Group]:
        """Return the layers' weights in a group of their own if their rate differs."""
        group = self.trainable_variables, self.config.learning_rate
        return lstm.lstm_param_groups(self, group)

    def initial_state(self, context: Any, rows: Any) -> tuple[Any, Any]:
        """Return the zero state, and q."""
        return lstm.zero_states(self, rows), context

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        """Return the next word's distribution after `token` [B], and the state."""
        h, state = lstm.step_layers(self, token, state)
        return self.softmax.next_word(tf.concat([h, constants], axis=1)), state
