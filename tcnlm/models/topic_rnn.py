"""TopicRNN (Dieng, Wang, Gao and Paisley, ICLR 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.lstm import zero_states
from tcnlm.layers.mixed_precision import matmul
from tcnlm.layers.neural_topics import TopicEncoder, bag_of_words
from tcnlm.layers.noise import Noise
from tcnlm.layers.softmax import NextWord, cross_entropy, language_loss
from tcnlm.layers.words import word_embedding
from tcnlm.models import lstm
from tcnlm.models.base import Model, Terms
from tcnlm.models.settings import WordSettings
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary


@dataclass(frozen=True)
class Config(lstm.CellSettings, WordSettings):
    """Settings of TopicRNN; TCNLM's authors compare it at the sizes of their LSTM."""

    num_topics: int = setting(100, "TCNLM, Tables 2 to 4: 50, 100, 150 topics", least=1)
    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the inference network's layers; as TCNLM's", least=1
    )
    encoder_input: str = setting(
        "log",
        "the encoder's input of a count; the poster: counts",
        choices=("counts", "log", "frequencies"),
    )
    document_sequences: float = setting(
        0.0, "rows that share a document's KL; 0: as many as it has", least=0
    )
    kl_warmup_steps: int = setting(
        0, "steps until the KL's weight is 1; 0: poster", least=0
    )


class TopicRNN(Model):
    """An RNN whose content words, but not its stop words, lean to the topics of theta.

    theta ~ N(0, I) [K]; at every word, h_t [H] being the RNN's state,

        l_t ~ Bernoulli(sigmoid(Gamma . h_t))                     1: a stop word comes
        p(y_t = w | h_t, l_t, theta) ~ exp(v_w . h_t + (1 - l_t) b_w . theta)

    b_w is zero for stop words. Training goes up the bound on a document's words and
    labels, with one draw of theta ~ q(theta | X_c) = N(mu, sigma^2) a sequence:

        E_q sum_t [log p(y_t | h_t, l_t, theta) + log p(l_t | h_t)] - KL(q || N(0, I))

    Prediction does not know l_t and takes theta = mu:

        p(y_t | y_<t) = sum_l p(y_t | h_t, l, mu) p(l | h_t)

    From the poster; the paper's text could not be opened. A stop word, l = 1, is all
    that is not of the topic vocabulary, `<eos>` and `<unk>` among it. Each of the n
    rows of a document bears 1/n of the KL, or 1 / `document_sequences`. Proportions are
    taken as softmax(mu), and a topic's as the softmax of its row of B.
    """

    draws_topics = True
    Config = Config
    test_config = {
        "units": 6, "layers": 2, "embedding_size": 5, "num_topics": 3,
        "encoder_units": (7, 7),
    }  # fmt: skip

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = lstm.recurrent_layers(config)
        self.softmax = SwitchedSoftmax(
            len(vocabulary), vocabulary.ids(vocabulary.topic_words), config.num_topics
        )
        self.encoder = TopicEncoder(
            config.num_topics, config.encoder_units, config.encoder_input
        )
        self.is_stop_word = (vocabulary.topic_ids < 0).astype(np.int32)  # [V]
        self.feature_parts = {"topics": config.num_topics, "last state": config.units}
        lstm.carry_state(self, zero_states(self.recurrent, 1))
        if not config.document_sequences:
            self.batching = replace(self.batching, of_document=("siblings",))

    hidden, prepare = lstm.LSTM.hidden, start_embeddings

    def topics(self) -> tf.Tensor:
        """Return the softmax of the rows of B over the topic vocabulary, [K, D]."""
        return tf.nn.softmax(self.softmax.topic_logits)

    def posterior(self, context: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return mu and log sigma^2 [B, K] of q(theta | X_c), X_c [B, C]."""
        return self.encoder(bag_of_words(context, len(self.vocabulary.topic_words)))

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return softmax(mu) [B, K] of topic-word ids [B, C], -1 padding."""
        return tf.nn.softmax(self.posterior(context)[0])

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return theta [B, K]: of "topics", else mu, or a draw from q."""
        if "topics" in batch:
            return theta_of(batch["topics"])
        mu, log_variance = self.posterior(batch["context"])
        return noise.gaussian(mu, log_variance) if noise else mu

    def joint(
        self, batch: dict[str, tf.Tensor], theta: tf.Tensor, training: bool
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
        """Return the targets' places [N, 2], and log p(y_t, l_t | h_t, theta), nats.

        The latter for l_t as labelled and for l_t as not, [N] each.
        """
        h = self.hidden(batch, self.noise("words", batch, training))
        places = tf.where(batch["targets"] != PAD)
        words = tf.gather_nd(batch["targets"], places)
        outputs = tf.gather_nd(h, places), theta, places[:, 0]
        labels = tf.gather(self.is_stop_word, words)
        return places, self.softmax(outputs, words, labels)

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_t | y_<t), nats, [B, T], the switch summed out."""
        theta = self.context(batch) if context is None else context
        places, both = self.joint(batch, theta, training)
        log_p = tf.reduce_logsumexp(both, axis=0)
        return tf.scatter_nd(places, log_p, tf.shape(batch["targets"], tf.int64))

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return minus the bound, nats a sequence, "kl", and "nll", as predicted."""
        c, targets = self.config, batch["targets"]
        mu, log_variance = self.posterior(batch["context"])
        theta = self.noise("theta", batch, training).gaussian(mu, log_variance)
        _, both = self.joint(batch, theta, training)
        labelled, _ = language_loss(both[0], targets)
        _, nll = language_loss(tf.reduce_logsumexp(both, axis=0), targets)
        # A carried row may have run out of documents.
        kl = tf.where(targets[:, 0] != PAD, gaussian_kl(mu, log_variance), 0.0)
        rows = c.document_sequences or tf.cast(batch["siblings"], tf.float32)
        share = tf.reduce_mean(tf.math.divide_no_nan(kl, rows))
        loss = labelled + self.kl_anneal(c.kl_warmup_steps, training) * share
        return {"loss": loss, **nll, "kl": tf.reduce_mean(kl)}

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return mu of a document and the last state, the paper's features, [B, F]."""
        mu, _ = self.posterior(batch["words"])
        return tf.concat([mu, lstm.LSTM.features(self, batch)], axis=1)

    def initial_state(self, context: tf.Tensor, rows: Any) -> tuple[Any, Any]:
        """Return the zero state, and what theta adds to the words' logits [B, V]."""
        return zero_states(self.recurrent, rows), self.softmax.topic_bias(context)

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        h, state = lstm.step_layers(self, token, state)
        return NextWord(lambda: self.softmax.log_probs(h, constants)), state


def theta_of(topics: tf.Tensor) -> tf.Tensor:
    """Return the theta [B, K] whose softmax the topics are, of mean zero, the prior's.

    A topic without a share lies as far below the largest as of K draws from the prior.
    """
    spread = 2 * math.sqrt(2 * math.log(topics.shape[-1]))
    smallest = tf.reduce_max(topics, axis=-1, keepdims=True) * math.exp(-spread)
    theta = tf.math.log(tf.maximum(topics, smallest))
    return theta - tf.reduce_mean(theta, axis=-1, keepdims=True)


class SwitchedSoftmax(tf.keras.layers.Layer):
    """p(w, l | h, theta) over all words, and p(w | h, theta) with l summed out.

    Both normalisers are exact sums over the vocabulary. Weights: `words` [H, V], the
    v_w; `topic_logits` B [K, D]; `switch` Gamma [H].
    """

    def __init__(
        self,
        vocabulary_size: int,
        topic_words: Sequence[int],
        num_topics: int,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.topic_words = np.asarray(topic_words)[:, None]  # [D, 1] word ids
        self.num_topics = num_topics

    def build(self, input_shape: Any) -> None:
        units = int(input_shape[0][-1])
        shape = self.num_topics, len(self.topic_words)
        self.words = self.add_weight("words", [units, self.vocabulary_size])
        self.topic_logits = self.add_weight("topic_logits", shape)
        self.switch = self.add_weight("switch", [units, 1])
        self.built = True

    def call(
        self,
        outputs: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
        targets: tf.Tensor,
        labels: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return log p(target, l), nats, for l the label, and for the other one, [N].

        outputs: h [N, H], theta [B, K], and of which row of it each h is, [N]. Both are
        apart because the bound has the first alone, and half of the gradient.
        """
        hidden, theta, rows = outputs
        plain = matmul(hidden, self.words)
        bias = tf.pad(self.topic_bias(theta), [[0, 1], [0, 0]])
        none = tf.fill(tf.shape(rows), tf.shape(theta, rows.dtype)[0])
        switch, found = self._switch(hidden), []
        for is_stop in labels, 1 - labels:
            biases = tf.gather(bias, tf.where(is_stop == 1, none, rows))
            words = -cross_entropy(targets, plain + biases)
            found.append(words + tf.gather(switch, is_stop, batch_dims=1))
        return tuple(found)

    def log_probs(self, hidden: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """Return log p, nats, the switch summed out, [N, V] of [N, H] and [N, V]."""
        plain = hidden @ self.words
        words = [tf.nn.log_softmax(logits) for logits in (plain + bias, plain)]
        switch = self._switch(hidden)[:, :, None]
        return tf.reduce_logsumexp(tf.stack(words, axis=1) + switch, axis=1)

    def topic_bias(self, theta: tf.Tensor) -> tf.Tensor:
        """Return b_w . theta of all words [B, V], zero for stop words."""
        bias = tf.transpose(matmul(theta, self.topic_logits))
        shape = self.vocabulary_size, tf.shape(theta)[0]
        return tf.transpose(tf.scatter_nd(self.topic_words, bias, shape))

    def _switch(self, hidden: tf.Tensor) -> tf.Tensor:
        """Return log p(l | h) for l = 0 and 1, [N, 2]."""
        score = matmul(hidden, self.switch)
        return tf.math.log_sigmoid(tf.concat([-score, score], axis=1))
