"""TopicRNN (Dieng, Wang, Gao and Paisley, ICLR 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.adaptive_softmax import cross_entropy
from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.mixed_precision import matmul
from tcnlm.layers.neural_topics import TopicEncoder
from tcnlm.layers.next_word import NextWord
from tcnlm.models.base import Terms, TopicModel, language_terms
from tcnlm.models.lstm import CarryConfig, CarryingLanguageModel, WordConfig
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary


@dataclass(frozen=True)
class Config(CarryConfig, WordConfig):
    """Settings of TopicRNN; TCNLM's authors compare it at the sizes of their LSTM."""

    num_topics: int = setting(
        100, "TCNLM, Tables 2 to 4: 50, 100 and 150 topics", least=1
    )
    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the inference network's layers; as TCNLM's", least=1
    )
    encoder_input: str = setting(
        "log",
        "what the encoder sees of a count; the poster: counts",
        choices=("counts", "log", "frequencies"),
    )
    document_sequences: float = setting(
        0.0,
        "rows of batches that share a document's KL; 0: as many as it has, sequences "
        "or, with carry, windows",
        least=0,
    )
    kl_warmup_steps: int = setting(
        0, "steps in which the KL's weight rises to its own; poster: none", least=0
    )


Outputs = tuple[tf.Tensor, tf.Tensor, tf.Tensor]  # h [N, H], theta [B, K], rows [N]


class TopicRNN(CarryingLanguageModel, TopicModel):
    """An RNN whose content words, but not its stop words, lean to the topics of theta.

    theta ~ N(0, I) [K]; at every word, h_t [H] being the RNN's state,

        l_t ~ Bernoulli(sigmoid(Gamma . h_t))                     1: a stop word comes
        p(y_t = w | h_t, l_t, theta) ~ exp(v_w . h_t + (1 - l_t) b_w . theta)

    b_w is zero for stop words. Training goes up the bound on a document's words and
    labels, with one draw of theta ~ q(theta | X_c) = N(mu, sigma^2) a sequence:

        E_q sum_t [log p(y_t | h_t, l_t, theta) + log p(l_t | h_t)] - KL(q || N(0, I))

    Prediction does not know l_t and takes theta = mu:

        p(y_t | y_<t) = sum_l p(y_t | h_t, l, mu) p(l | h_t)

    From the poster, which numbers no equation and prints the bound with a minus before
    it; the paper's text could not be opened. Assumed: a stop word, l = 1, is whatever
    is not of the topic vocabulary, `<eos>` and `<unk>` among them; X_c is the context
    that every system sees here, not the sentence itself; theta belongs to a document,
    so that each of its n sequences, or windows where the state is carried, bears 1/n of
    the KL, or 1 / `document_sequences`.

    theta is no distribution. Its proportions are taken as softmax(mu), and a topic's as
    the softmax of its row of B, which ranks words as the paper does.
    """

    Config = Config
    TINY = {
        "units": 6,
        "layers": 2,
        "embedding_size": 5,
        "num_topics": 3,
        "encoder_units": (7, 7),
    }

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.encoder = TopicEncoder(
            config.num_topics, config.encoder_units, config.encoder_input
        )
        if not config.document_sequences:
            self.batching = replace(self.batching, siblings=True)
        self.is_stop_word = (vocabulary.topic_ids < 0).astype(np.int32)  # [V]

    def make_softmax(self) -> tf.keras.layers.Layer:
        """Return the softmax with the switch."""
        words = self.vocabulary
        return SwitchedSoftmax(
            len(words), words.ids(words.topic_words), self.config.num_topics
        )

    def softmax_inputs(
        self, positions: tf.Tensor, hidden: tf.Tensor, context: tf.Tensor
    ) -> Any:
        """Return h at positions [N, 2], theta [B, K], and whose theta is which [N]."""
        return tf.gather_nd(hidden, positions), context, positions[:, 0]

    def fuse(self, hidden: tf.Tensor, context: tf.Tensor) -> Any:
        """Return the same of one word a row."""
        return hidden, context, tf.range(tf.shape(hidden)[0], dtype=tf.int64)

    def topics(self) -> tf.Tensor:
        """Return the softmax of the rows of B over the topic vocabulary, [K, D]."""
        return tf.nn.softmax(self.softmax.topic_logits)

    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return softmax(mu) [B, K] of bags [B, D]."""
        return tf.nn.softmax(self.encoder(bow)[0])

    def feature_parts(self) -> dict[str, int]:
        """Return the sizes of the two parts of a document's vector."""
        return {"topics": self.config.num_topics, "last state": self.config.units}

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return mu of the whole document, and the state after its last word, [B, F].

        The paper's features: "the output of the inference network" and the last state.
        """
        mean, _ = self.encoder(self.bag(batch["words"]))
        return tf.concat([mean, super().features(batch)], axis=1)

    def context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return mu [B, K]."""
        return self.encoder(self.bag(batch["context"]))[0]

    def sample_context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return a draw of theta from q, [B, K]."""
        return self.draw(*self.encoder(self.bag(batch["context"])))

    def context_from_topics(self, topics: tf.Tensor) -> tf.Tensor:
        """Return the theta [B, K] whose softmax the topics are.

        A softmax forgets the mean of theta, which is set to the prior's, zero. A topic
        without a share lies as far below the largest as, of K draws from the prior, the
        smallest may be expected to.
        """
        spread = 2 * math.sqrt(2 * math.log(topics.shape[-1]))
        smallest = tf.reduce_max(topics, axis=-1, keepdims=True) * math.exp(-spread)
        theta = tf.math.log(tf.maximum(topics, smallest))
        return theta - tf.reduce_mean(theta, axis=-1, keepdims=True)

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return minus the bound, nats a sequence, its "kl", and "nll", nats a target.

        The bound is on words and labels; "nll" is of the words alone, as predicted.
        """
        targets = batch["targets"]
        mean, log_variance = self.encoder(self.bag(batch["context"]))
        theta = self.draw(mean, log_variance) if training else mean
        real = tf.where(targets != PAD)
        labelled, other = self._joint(
            real, self.read(batch, theta, training), targets, theta
        )
        language, _ = language_terms(labelled, targets)
        both = tf.reduce_logsumexp([labelled, other], axis=0)
        _, nll = language_terms(both, targets)
        kl = gaussian_kl(mean, log_variance)
        shares = tf.reduce_mean(tf.math.divide_no_nan(kl, self._sharing(batch)))
        risen = self.risen(self.config.kl_warmup_steps, training)
        return {"loss": language + risen * shares, **nll, "kl": tf.reduce_mean(kl)}

    def _sharing(self, batch: dict[str, tf.Tensor]) -> Any:
        """Return how many rows share the KL of each row's document; 0: an empty row."""
        given = self.config.document_sequences
        return given or tf.cast(batch["siblings"], tf.float32)

    def target_log_probs(
        self, hidden: tf.Tensor, targets: tf.Tensor, context: Any
    ) -> tf.Tensor:
        """Return log p(target), nats, [B, T], the switch summed out; 0 at padding."""
        real = tf.where(targets != PAD)
        both = self._joint(real, hidden, targets, context)
        log_prob = tf.reduce_logsumexp(both, axis=0)
        return tf.scatter_nd(real, log_prob, tf.shape(targets, tf.int64))

    def _joint(
        self,
        positions: tf.Tensor,
        hidden: tf.Tensor,
        targets: tf.Tensor,
        theta: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return log p(target, l) at positions [N, 2]: l as labelled, and not so."""
        words = tf.gather_nd(targets, positions)
        labels = tf.gather(self.is_stop_word, words)
        return self.softmax(
            self.softmax_inputs(positions, hidden, theta), words, labels
        )


class SwitchedSoftmax(tf.keras.layers.Layer):
    """p(w, l | h, theta) over all words, and p(w | h, theta) with l summed out.

    An adaptive softmax would not do: b_w . theta moves rare words one by one, and its
    head does not know what they come to. Both normalisers are exact sums over the
    vocabulary. Weights: `words` [H, V], the v_w; `topic_logits` B [K, D]; `switch`
    Gamma [H].
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
        """Make the weights for hidden states [N, H] and theta [B, K] of rows [N]."""
        units = int(input_shape[0][-1])
        shape = self.num_topics, len(self.topic_words)
        self.words = self.add_weight("words", [units, self.vocabulary_size])
        self.topic_logits = self.add_weight("topic_logits", shape)
        self.switch = self.add_weight("switch", [units, 1])
        self.built = True

    def call(
        self, outputs: Outputs, targets: tf.Tensor, labels: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return log p(target, l), nats, for l the label, and for the other one, [N].

        They are apart because the bound has the first alone, and half of the gradient.
        """
        hidden, theta, rows = outputs
        plain, leaning = matmul(hidden, self.words), self._leaning(theta)
        none = tf.fill(tf.shape(rows), tf.shape(theta, rows.dtype)[0])
        switch, found = self._switch(hidden), []
        for is_stop in labels, 1 - labels:
            leans = tf.gather(leaning, tf.where(is_stop == 1, none, rows))
            words = -cross_entropy(targets, plain + leans)
            found.append(words + tf.gather(switch, is_stop, batch_dims=1))
        return tuple(found)

    def log_probs(self, outputs: Outputs) -> tf.Tensor:
        """Return log p of every word, nats, with the switch summed out: [N, V]."""
        hidden, theta, rows = outputs
        plain = hidden @ self.words
        content = plain + tf.gather(self._leaning(theta), rows)
        words = [tf.nn.log_softmax(logits) for logits in (content, plain)]
        switch = self._switch(hidden)[:, :, None]
        return tf.reduce_logsumexp(tf.stack(words, axis=1) + switch, axis=1)

    def next_word(self, outputs: Outputs, forbidden: Sequence[int]) -> NextWord:
        """Return the distribution of the words after these outputs."""
        return NextWord(lambda: self.log_probs(outputs), forbidden)

    def _leaning(self, theta: tf.Tensor) -> tf.Tensor:
        """Return b_w . theta of all words [B, V], and below them a row of zeros."""
        words = tf.transpose(matmul(theta, self.topic_logits))
        shape = self.vocabulary_size, tf.shape(theta)[0] + 1
        return tf.transpose(
            tf.scatter_nd(self.topic_words, tf.pad(words, [[0, 0], [0, 1]]), shape)
        )

    def _switch(self, hidden: tf.Tensor) -> tf.Tensor:
        """Return log p(l | h) for l = 0 and 1, [N, 2]."""
        score = matmul(hidden, self.switch)
        return tf.math.log_sigmoid(tf.concat([-score, score], axis=1))
