"""The neural topic model's layers, and losses in nats a row (Wang et al. 2018, 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tcnlm.layers.mixed_precision import MixedDense, matmul

INPUT_TRANSFORMS = {
    "counts": tf.identity,
    "log": tf.math.log1p,
    "frequencies": lambda bow: tf.math.divide_no_nan(
        bow, tf.reduce_sum(bow, axis=-1, keepdims=True)
    ),
}

EPSILON = 1e-10  # floor of a word's probability, keeps the logarithm finite


def bag_of_words(context: tf.Tensor, size: int) -> tf.Tensor:
    """Return the counts d [B, D] of topic-word ids [B, C], where -1 is padding."""
    real = context >= 0
    rows = tf.where(real)[:, 0]
    entries = tf.stack([rows, tf.cast(context[real], tf.int64)], axis=1)
    shape = tf.cast([tf.shape(context)[0], size], tf.int64)
    return tf.scatter_nd(entries, tf.ones_like(rows, tf.float32), shape)


@tf.keras.utils.register_keras_serializable("tcnlm")
class TopicEncoder(tf.keras.layers.Layer):
    """q(theta | d) = N(mu, sigma^2): a bag of words [B, D] -> mu, log sigma^2 [B, L].

    Two ReLU layers of 256 units (section 5), then a linear layer each. The paper feeds
    counts; `transform` "log" feeds log(1 + count), "frequencies" shares. The variance
    starts at the constant exp(`log_variance`). In training `drop` may remove words from
    what the encoder sees, never from what is rebuilt.

    `mu_batchnorm_std` above 0 holds each dimension of mu to this standard deviation
    over the documents, by a batch normalisation without a learned scale (as Srivastava
    and Sutton 2017; Zhu et al. 2020): no dimension can then fall to the prior. Outside
    training the moving averages stand for the batch's mean and variance.

    >>> mu, log_variance = TopicEncoder(20)(tf.ones([3, 1000]))
    >>> mu.shape, log_variance.shape
    (TensorShape([3, 20]), TensorShape([3, 20]))
    """

    def __init__(
        self,
        latent_size: int,
        hidden: tuple[int, ...] = (256, 256),
        transform: str = "counts",
        log_variance: float = 0.0,
        mu_batchnorm_std: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        arguments = {"latent_size": latent_size, "hidden": tuple(hidden)}
        arguments |= {"transform": transform, "log_variance": log_variance}
        self.arguments = {**arguments, "mu_batchnorm_std": mu_batchnorm_std}
        self.mu_batchnorm_std = mu_batchnorm_std
        self.transform = INPUT_TRANSFORMS[transform]
        kind = {"dtype": self.dtype_policy}
        self.hidden = [MixedDense(size, "relu", **kind) for size in hidden]
        self.mean = MixedDense(latent_size, name="mean", **kind)
        start = tf.keras.initializers.Constant(log_variance)
        constant = {"kernel_initializer": "zeros", "bias_initializer": start, **kind}
        self.log_variance = MixedDense(latent_size, name="log_variance", **constant)
        if mu_batchnorm_std:
            self.normalise = tf.keras.layers.BatchNormalization(scale=False, **kind)

    def call(
        self,
        bow: tf.Tensor,
        drop: Callable[[tf.Tensor], tf.Tensor] = tf.identity,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        hidden = drop(self.transform(bow))
        for layer in self.hidden:
            hidden = layer(hidden)
        mean = self.mean(hidden)
        if self.mu_batchnorm_std:
            mean = self.mu_batchnorm_std * self.normalise(mean, training=training)
        return mean, self.log_variance(hidden)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.arguments}


@tf.keras.utils.register_keras_serializable("tcnlm")
class TopicProportions(tf.keras.layers.Layer):
    """t = g(theta) = softmax(W theta + b), [B, L] -> [B, K] on the simplex (eq. 4).

    Where L = K, W starts as the identity: each topic has a Gaussian of its own. Where
    theta has fewer dimensions than there are topics, W starts N(0, 1).

    >>> t = TopicProportions(20)(tf.zeros([3, 20]))
    >>> float(t[0, 0])  # of 20
    0.05000000074505806
    """

    def __init__(self, num_topics: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_topics = num_topics
        options = {"kernel_initializer": ProportionsStart(), "dtype": self.dtype_policy}
        self.linear = MixedDense(num_topics, **options)

    def call(self, theta: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(self.linear(theta))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_topics": self.num_topics}


@tf.keras.utils.register_keras_serializable("tcnlm")
class ProportionsStart(tf.keras.initializers.Initializer):
    """W's start: the identity if it is square, else a draw from N(0, 1)."""

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
        """Return W's kernel [L, K]."""
        if shape[0] == shape[1]:
            return tf.eye(shape[0], dtype=dtype)
        return tf.keras.initializers.RandomNormal(stddev=1.0)(shape, dtype)


@tf.keras.utils.register_keras_serializable("tcnlm")
class TopicDecoder(tf.keras.layers.Layer):
    """p(w | t) = beta t (eq. 6): proportions [B, K] -> word probabilities [B, D].

    beta's K rows are softmax distributions over the topic vocabulary.

    >>> TopicDecoder(20, 1000)(tf.fill([3, 20], 1 / 20)).shape
    TensorShape([3, 1000])
    """

    def __init__(self, num_topics: int, num_words: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_topics, self.num_words = num_topics, num_words

    def build(self, input_shape: Any) -> None:
        shape, start = [self.num_topics, self.num_words], tf.keras.initializers
        self.logits = self.add_weight(
            "beta_logits", shape, initializer=start.RandomNormal(stddev=1.0)
        )
        self.built = True

    def start_from(self, logits: Any) -> None:
        """Put these logits [K, D] in place of those that there are."""
        self.logits.assign(tf.cast(logits, self.logits.dtype))

    def topics(self) -> tf.Tensor:
        """Return beta, a topic a row: [K, D], rows on the simplex."""
        return tf.nn.softmax(self.logits)

    def call(self, proportions: tf.Tensor) -> tf.Tensor:
        return matmul(proportions, self.topics())

    def get_config(self) -> dict[str, Any]:
        sizes = {"num_topics": self.num_topics, "num_words": self.num_words}
        return {**super().get_config(), **sizes}


def log_likelihood(bow: tf.Tensor, word_probabilities: tf.Tensor) -> tf.Tensor:
    """Return log p(d | beta, t) = sum_w d_w log (beta t)_w of [B, D], [B] (eq. 6)."""
    return tf.reduce_sum(bow * tf.math.log(word_probabilities + EPSILON), axis=-1)


def topic_angles(topics: tf.Tensor) -> tf.Tensor:
    """Return the angles of topics [K, D] with each other, radians, [K, K] (3.1)."""
    unit = tf.math.l2_normalize(topics, axis=-1)
    cosine = tf.clip_by_value(tf.abs(unit @ tf.transpose(unit)), 0.0, 1.0 - 1e-6)
    angles = tf.acos(cosine)
    # Of a topic with itself a constant: the arc cosine's slope is infinite there.
    return tf.linalg.set_diag(angles, tf.zeros_like(angles[0]))


def diversity(topics: tf.Tensor) -> tf.Tensor:
    """Return R = phi - nu, mean less variance of all T^2 angles (section 3.1)."""
    angles = topic_angles(topics)
    return tf.reduce_mean(angles) - tf.math.reduce_variance(angles)
