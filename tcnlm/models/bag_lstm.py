"""An LSTM language model given a learned vector of its context's bag of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.layers.adaptive_softmax import AdaptiveSoftmax, language_loss, of_targets
from tcnlm.layers.embedding import word_embedding
from tcnlm.layers.mixed_precision import Dense
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group
from tcnlm.models import lstm, tcnlm
from tcnlm.models.base import Model, Terms
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config(lstm.StartSettings, tcnlm.SoftmaxSettings, tcnlm.WordSettings):
    """Settings of the LSTM and of what reads the bag."""

    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the encoder's layers; TCNLM's", least=1
    )
    context_units: int = setting(
        30, "numbers of q; as many as TCNLM's topics in Table 6", least=1
    )


class BagLSTM(Model):
    """p(y_m | y_<m, d) = softmax(V [h_m; q]), h_m an LSTM's output, q = f(d).

    f is the encoder of TCNLM's topic model (Wang et al. 2018, section 3.1) up to mu:
    log(1 + count) of the context's topic words, ReLU layers, a linear layer. The loss
    of the language model alone trains it: no simplex, no draw, no prior, nothing
    rebuilt. A control of no paper: what a document's bag of words is worth where
    nothing makes it topics.

    It is `lda_lstm` with q in the place of LDA's proportions. Where there is no
    document to write from, the bag is empty: q = f(0).
    """

    paper = "tcnlm"
    Config = Config
    test_config = {**lstm.LSTM.test_config, "encoder_units": (7, 7), "context_units": 3}
    reads_document = True

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.encoder = tf.keras.Sequential(
            [
                *(Dense(n, "relu") for n in config.encoder_units),
                Dense(config.context_units),
            ],
            name="encoder",
        )
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = lstm.recurrent_layers(config)
        self.softmax = AdaptiveSoftmax(
            len(vocabulary), config.cutoffs, config.div_value, name="softmax"
        )

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return q [B, C]."""
        bow = bag_of_words(batch["context"], len(self.vocabulary.topic_words))
        return self.encoder(tf.math.log1p(bow))

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, d), nats, [B, T]."""
        q = self.context(batch) if context is None else context
        h = lstm.read(self, batch, self.noise("words", batch, training))

        def beside(h: tf.Tensor, words: tf.Tensor, q: tf.Tensor) -> tf.Tensor:
            return self.softmax(tf.concat([h, q], axis=1), words)

        return of_targets(beside, batch["targets"], h, q)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a sequence, "nll": nats a target}."""
        loss, nll = language_loss(self(batch, training=training), batch["targets"])
        return {"loss": loss, **nll}

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the LSTM's state [B, H] after the last word of each document."""
        return lstm.last_output(self, batch)

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings and, if asked, the layers like TCNLM's."""
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
