"""The neural topic model's layers and the terms of its bound, against the paper."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close, eager_and_graph, every_way, randomise

from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.neural_topics import TopicEncoder, diversity, topic_angles

B, D, K = 4, 9, 5
TRANSFORMS = {
    "counts": lambda d: d,
    "log": np.log1p,
    "frequencies": lambda d: d / max(1, d.sum()),
}


def draw_bags(rng):
    """Counts [B, D], one document among them without a word."""
    bags = rng.poisson(1.5, size=[B, D]).astype("float32")
    bags[1] = 0
    return bags


def make(layer, rng, *shape):
    layer(tf.zeros(shape, layer.dtype))
    randomise(layer, rng)
    return layer


def dense(layer):
    return layer.kernel.numpy().astype(float), layer.bias.numpy().astype(float)


# --- Encoder ------------------------------------------------------------------------


@eager_and_graph
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_encoder_is_two_relu_layers_and_two_linear_ones(rng, wrap, transform):
    encoder = make(TopicEncoder(K, hidden=(7, 6), transform=transform), rng, 1, D)
    bags = draw_bags(rng)
    hidden = [dense(layer) for layer in encoder.hidden]
    heads = dense(encoder.mean), dense(encoder.log_variance)
    expected = [
        oracle.encoder(TRANSFORMS[transform](d.astype(float)), hidden, *heads)
        for d in bags
    ]
    mu, log_var = zip(*expected)
    assert_close(wrap(encoder)(tf.constant(bags)), (np.array(mu), np.array(log_var)))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_empty_document_has_a_finite_posterior_and_gradient(rng, transform):
    encoder = make(TopicEncoder(K, transform=transform), rng, 1, D)
    with tf.GradientTape() as tape:
        mu, log_var = encoder(tf.zeros([2, D]))
        loss = tf.reduce_sum(mu) + tf.reduce_sum(log_var)
    for value in [mu, log_var, *tape.gradient(loss, encoder.trainable_weights)]:
        assert np.isfinite(value).all()


def test_mean_deviation_is_that_of_mu_over_a_training_batch(rng):
    encoder = make(TopicEncoder(K, hidden=(7, 6), mu_batchnorm_std=0.5), rng, 1, D)
    bags = tf.constant(rng.poisson(3.0, size=[50, D]), tf.float32)
    mu, _ = encoder(bags, training=True)
    shift = encoder.normalise.beta
    assert_close(tf.reduce_mean(mu, axis=0), 0.5 * shift)
    np.testing.assert_allclose(np.std(mu, axis=0), 0.5, rtol=0.01)


# --- KL -----------------------------------------------------------------------------


def log_normal(x, mean, variance):
    return -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance).sum(-1)


@pytest.mark.parametrize("variance", [1.0, 2.5, 0.3])
def test_kl_is_its_monte_carlo_estimate(rng, variance):
    mu, log_var = rng.normal(size=K), rng.normal(scale=0.8, size=K)
    epsilon = rng.normal(size=[200_000, K])
    theta = oracle.reparameterise(mu, log_var, epsilon)
    ratios = log_normal(theta, mu, np.exp(log_var)) - log_normal(theta, 0.0, variance)
    error = ratios.std() / np.sqrt(len(ratios))
    assert abs(float(gaussian_kl(mu, log_var, variance)) - ratios.mean()) < 4 * error


# --- Diversity ----------------------------------------------------------------------


@pytest.mark.parametrize("signed", [False, True])
def test_angles_are_those_of_every_pair(rng, signed):
    """The paper's formula holds for any vectors: |cos|, so opposites are equals."""
    beta = rng.normal(size=[K, D]) if signed else rng.dirichlet(np.ones(D), size=K)
    expected = [
        [0 if i == j else oracle.angle(beta[i], beta[j]) for j in range(K)]
        for i in range(K)
    ]
    assert_close(topic_angles(tf.constant(beta)), np.array(expected, float))


@every_way
@pytest.mark.parametrize("spread", [0.0, 1e-8, 1e-4, 1e-2])
def test_equal_and_almost_equal_topics_give_finite_values_and_gradients(
    rng, wrap, dtype, spread
):
    logits = np.tile(rng.normal(size=D), [K, 1]) + spread * rng.normal(size=[K, D])

    def value_and_gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = diversity(tf.nn.softmax(logits))
        return value, tape.gradient(value, logits)

    value, gradient = wrap(value_and_gradient)(tf.constant(logits, dtype))
    assert abs(value) < 2e-2
    assert np.isfinite(gradient).all()
