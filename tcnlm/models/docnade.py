"""DocNADE (Larochelle and Lauly 2012), with a full softmax: a document's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import NO_WORD
from tcnlm.data.rows import Documents
from tcnlm.layers.noise import Noise
from tcnlm.layers.softmax import full_log_probs, full_logits, full_nats
from tcnlm.layers.words import in_order, lengths, log_counts
from tcnlm.models.base import Model, Terms
from tcnlm.preprocessing.vocabulary import Vocabulary

EVALUATION_ORDER = (0, 0)  # the seed of the orders by which an epoch is judged


@dataclass(frozen=True)
class Config(Settings):
    """Settings of DocNADE."""

    units: int = setting(50, "hidden units; Larochelle and Lauly 2012", least=1)
    activation: str = setting(
        "sigmoid", 'of h; theirs, "tanh" is AYLIEN\'s', choices=("sigmoid", "tanh")
    )
    log_counts: bool = setting(True, "read a word round(ln(1 + count)) times; theirs")
    sampled: int = setting(0, "words that estimate the softmax's sum; 0: all", least=0)
    objective: str = setting(
        "full", 'all words, or a "split" (Zheng et al. 2016)', choices=("full", "split")
    )
    output_start: str = setting(
        "normal",
        "initial V: N(0, 2/H), AYLIEN's, or \"uniform\", U[0, 1/DH), the authors'",
        choices=("uniform", "normal"),
    )
    word_dropout: float = setting(0.0, "share of words that h skips", least=0, below=1)
    learning_rate: float = setting(
        1e-2, "Adam's; the authors' .001 is SGD's, AYLIEN's 4e-4 Adam's", above=0
    )


class DocNADE(Model):
    """A document's words, each from the sum over those before it, in any order.

        log p(x) = sum_i log p(x_i | x_<i)                  see `DocumentNade`
        loss = - log p(x), nats a document, a mean over the documents

    The order is drawn anew at every visit; outside training a document's is always the
    same, and its own. All places of a document are one cumulative sum. With
    `objective=split` one place of each, drawn at random, stands for all: the same
    gradient in the mean, for one row of logits a document.

    It has units and no topics: neither h nor W's columns, of either sign, are shares.
    Departs from the paper: a full softmax for its tree of words, Adam for its SGD.
    """

    documental, reads_order, batching = True, False, Documents()
    Config = Config
    test_config = {"units": 6}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        if config.sampled and config.objective != "full":
            raise InputError(
                f"sampled={config.sampled}: is for objective=full only; set it to 0"
            )
        counts = np.maximum(np.asarray(vocabulary.topic_counts, np.float32), 1)
        frequencies = counts / counts.sum()
        start = config.activation, config.output_start, np.log(frequencies)
        self.nade = DocumentNade(len(counts), config.units, *start, name="nade")
        self.frequencies = tf.constant(frequencies)

    def read(self, words: tf.Tensor) -> tf.Tensor:
        """Return the words of documents that count, [B, N]; the rest is padding."""
        return log_counts(words) if self.config.log_counts else words

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return act(c + the sum over all words), [B, H]."""
        return self.nade.vector(self.read(batch["words"]))

    def word_vectors(self) -> np.ndarray:
        """Return W [D, H]."""
        return self.nade.W.numpy()

    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the number of words that count."""
        return int(np.count_nonzero(self.read(batch["words"]) != NO_WORD))

    def log_probs(
        self, batch: dict[str, tf.Tensor], seed: Any = EVALUATION_ORDER
    ) -> tf.Tensor:
        """Return log p of the words, nats, [B, N], in orders that the seed draws."""
        return self.nade.log_probs(self._one_order(batch["words"], seed))

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(x_i | x_<i), nats, [B, N]; zero where there is padding."""
        return self.log_probs(batch)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a document, "nll": nats a word}."""
        words = self.read(batch["words"])
        if training:
            total = self._training_nats(words, self.noise("orders", batch, training))
        else:
            total = -tf.reduce_sum(self(batch))
        number = tf.cast(tf.reduce_sum(lengths(words)), total.dtype)
        documents = tf.cast(tf.shape(words)[0], total.dtype)
        nll = tf.math.divide_no_nan(total, number)
        return {"loss": total / documents, "nll": nll}

    def _training_nats(self, words: tf.Tensor, noise: Noise) -> tf.Tensor:
        """Return - log p of documents in orders drawn anew, or an estimate of it."""
        words = in_order(words, noise.uniform(tf.shape(words)))
        c, length = self.config, lengths(words)
        ones = tf.ones(tf.shape(words), self.nade.W.dtype)
        weights = noise.dropout(ones, c.word_dropout)
        if c.objective == "split":  # after so many of each document's words, below D
            share = noise.uniform(tf.shape(length))
            seen = tf.cast(share * tf.cast(length, tf.float32), tf.int32)
            seen = tf.minimum(seen, tf.maximum(length - 1, 0))
            return tf.reduce_sum(self.nade.split_nats(words, seen, weights))
        if c.sampled:
            logits, seed = tf.math.log(self.frequencies)[None], noise.seed
            drawn = tf.random.stateless_categorical(logits, c.sampled, seed, tf.int32)
            return self.nade.sampled_nats(words, drawn[0], self.frequencies, weights)
        return self.nade.nats(words, weights)

    def _one_order(self, words: tf.Tensor, seed: Any) -> tf.Tensor:
        """Return the words in an order that each document's own and the seed set."""
        width, uniform = tf.shape(words)[1:], tf.random.stateless_uniform
        of_word = {"minval": None, "dtype": tf.int32, "alg": "philox"}
        numbers = uniform(self.frequencies.shape, seed, **of_word)
        found = tf.cast(tf.gather(numbers, tf.maximum(words, 0)), tf.int64)
        hashes = tf.reduce_sum(tf.where(words != NO_WORD, found, 0), axis=1)
        seeds = tf.stack([hashes, tf.zeros_like(hashes)], axis=1)
        keys = tf.map_fn(
            lambda own: uniform(width, own, alg="philox"),
            seeds,
            fn_output_signature=tf.float32,
        )
        return in_order(self.read(words), keys)


class DocumentNade(tf.keras.layers.Layer):
    """h_i = act(c + sum_{k<i} W[x_k]) and p(x_i | x_<i) = softmax(V h_i + b)[x_i].

    Documents are words [B, N] with -1 only after their end. Weights W, V [D, H], c [H],
    b [D], all of them in the words' rows. At first W is U[0, 1/DH), c is 0, and b the
    log of the words' frequencies, as the authors' tree starts at theirs.
    """

    def __init__(
        self,
        num_words: int,
        units: int,
        activation: str = "sigmoid",
        output_start: str = "uniform",
        log_frequencies: Any = 0.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.activation = tf.keras.activations.get(activation)
        draw, shape = tf.keras.initializers, [num_words, units]
        uniform = {"minval": 0.0, "maxval": 1 / (num_words * units)}
        W, V = draw.RandomUniform(**uniform), draw.RandomUniform(**uniform)
        if output_start == "normal":
            V = draw.RandomNormal(stddev=(2 / units) ** 0.5)
        b = draw.Constant(np.asarray(log_frequencies, np.float32))
        self.W = self.add_weight("W", shape, initializer=W)
        self.c = self.add_weight("c", [units], initializer="zeros")
        self.V = self.add_weight("V", shape, initializer=V)
        self.b = self.add_weight("b", [num_words], initializer=b)

    def vector(self, words: tf.Tensor, weights: Any = 1.0) -> tf.Tensor:
        """Return act(c + the sum over all words, by weights [B, N]), [B, H]."""
        total = tf.reduce_sum(self._rows(words, weights), axis=1)
        return self.activation(self.c + total)

    def hidden(self, words: tf.Tensor, weights: Any = 1.0) -> tf.Tensor:
        """Return every h_i, [B, N, H]."""
        before = tf.cumsum(self._rows(words, weights), axis=1, exclusive=True)
        return self.activation(self.c + before)

    def _rows(self, words: tf.Tensor, weights: Any) -> tf.Tensor:
        real = tf.cast(words != NO_WORD, self.W.dtype) * weights
        return tf.gather(self.W, tf.maximum(words, 0)) * real[:, :, None]

    def log_probs(self, words: tf.Tensor) -> tf.Tensor:
        """Return log p(x_i | x_<i), nats, [B, N]; zero where there is padding."""
        real = tf.where(words != NO_WORD)
        hidden, targets = self._predictions(words)
        found = full_log_probs(hidden, targets, *self._softmax())
        return tf.scatter_nd(real, found, tf.shape(words, tf.int64))

    def nats(self, words: tf.Tensor, weights: Any = 1.0) -> tf.Tensor:
        """Return - log p of all documents together."""
        return full_nats(*self._predictions(words, weights), *self._softmax())

    def sampled_nats(
        self, words: tf.Tensor, samples: tf.Tensor, q: tf.Tensor, weights: Any = 1.0
    ) -> tf.Tensor:
        """Return an estimate of it, the softmax's sum being one over sampled words [S].

        Sum: exp of the target's logit, and for the other words 1/S sum_s exp(logit_s) /
        q_s (Bengio and Senecal 2003); q [D]: the frequencies by which the words were
        drawn, with replacement.
        """
        hidden, targets = self._predictions(words, weights)
        V, b = self._softmax()
        own = tf.reduce_sum(hidden * tf.gather(V, targets), axis=1, keepdims=True)
        own += tf.gather(b, targets)[:, None]
        others = full_logits(hidden, tf.gather(V, samples), tf.gather(b, samples))
        number = tf.cast(tf.size(samples), b.dtype)
        others -= tf.math.log(number * tf.gather(q, samples))
        others = tf.where(samples == targets[:, None], others.dtype.min, others)
        scores = tf.concat([own, others], axis=1)
        return tf.reduce_sum(tf.reduce_logsumexp(scores, axis=1) - own[:, 0])

    def split_nats(
        self, words: tf.Tensor, seen: tf.Tensor, weights: Any = 1.0
    ) -> tf.Tensor:
        """Return D / (D - i) sum_{k>=i} - log p(x_k | x_<i) of each document, [B].

        seen: i [B], below the length D. Over all orders and i = 0 .. D-1 its mean is
        - log p of the document, itself a mean over orders (Zheng et al. 2016).
        """
        places = tf.range(tf.shape(words)[1])[None]
        before = places < seen[:, None]
        after = ~before & (words != NO_WORD)
        hidden = self.vector(tf.where(before, words, NO_WORD), weights)
        log_p = tf.nn.log_softmax(full_logits(hidden, *self._softmax()))
        found = tf.gather(log_p, tf.maximum(words, 0), batch_dims=1)
        total = -tf.reduce_sum(tf.where(after, found, tf.zeros_like(found)), axis=1)
        length = tf.cast(lengths(words), total.dtype)
        left = length - tf.cast(seen, total.dtype)
        return tf.math.divide_no_nan(length, left) * total

    def _predictions(
        self, words: tf.Tensor, weights: Any = 1.0
    ) -> tuple[tf.Tensor, tf.Tensor]:
        real, hidden = words != NO_WORD, self.hidden(words, weights)
        return tf.boolean_mask(hidden, real), tf.boolean_mask(words, real)

    def _softmax(self) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.convert_to_tensor(self.V), tf.convert_to_tensor(self.b)
