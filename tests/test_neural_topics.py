"""The neural topic model's layers and the terms of its bound, against the paper."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import (
    assert_close,
    both_precisions,
    eager_and_graph,
    every_way,
    randomise,
)

from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.neural_topics import (
    TopicDecoder,
    TopicEncoder,
    TopicProportions,
    bag_of_words,
    diversity,
    log_likelihood,
    topic_angles,
)

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


# --- Bag of words -------------------------------------------------------------------


@eager_and_graph
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_bag_of_words_counts_every_word_and_no_padding(rng, wrap, dtype):
    context = rng.integers(-1, D, size=[B, 20]).astype(dtype)
    context[1], context[2] = -1, 3
    bags = wrap(lambda ids: bag_of_words(ids, D))(tf.constant(context))
    expected = [oracle.bag_of_words(row, D) for row in context]
    assert_close(bags, np.array(expected))


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


def test_encoder_has_the_published_layers():
    encoder = TopicEncoder(K)
    encoder(tf.zeros([1, D]))
    weights = D * 256 + 256 + 256 * 256 + 256 + 2 * (256 * K + K)
    assert encoder.count_params() == weights


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


def test_mean_deviation_outside_training_goes_by_the_averages_so_far(rng):
    encoder = make(TopicEncoder(K, hidden=(7, 6), mu_batchnorm_std=0.5), rng, 1, D)
    bags, averages = draw_bags(rng), encoder.normalise
    averages.moving_mean.assign(rng.normal(size=K))
    averages.moving_variance.assign(rng.uniform(0.5, 2.0, K))
    hidden = [dense(layer) for layer in encoder.hidden]
    heads = dense(encoder.mean), dense(encoder.log_variance)
    plain = np.array([oracle.encoder(d, hidden, *heads)[0] for d in bags])
    mean, variance = averages.moving_mean.numpy(), averages.moving_variance.numpy()
    standard = (plain - mean) / np.sqrt(variance + averages.epsilon)
    assert_close(encoder(bags)[0], 0.5 * (standard + averages.beta.numpy()))


# --- Topic proportions --------------------------------------------------------------


@eager_and_graph
def test_proportions_are_the_softmax_of_a_linear_map(rng, wrap):
    g, theta = make(TopicProportions(K), rng, 1, K), rng.normal(size=[B, K])
    kernel, bias = dense(g.linear)
    expected = [oracle.topic_proportions(row, kernel.T, bias) for row in theta]
    assert_close(wrap(g)(tf.constant(theta, tf.float32)), np.array(expected))


def test_proportions_start_as_the_softmax_of_theta_itself(rng):
    theta = rng.normal(size=[B, K]).astype("float32")
    expected = [oracle.softmax(row) for row in theta]
    assert_close(TopicProportions(K)(theta), expected)


def test_proportions_of_a_smaller_theta_start_with_a_kernel_of_unit_deviation(rng):
    g = TopicProportions(400)
    t = g(rng.normal(size=[B, 10]).astype("float32"))
    kernel, bias = dense(g.linear)
    assert kernel.shape == (10, 400)
    assert abs(kernel.std() - 1) < 0.05
    assert_close(tf.reduce_sum(t, axis=1), np.ones(B))


def test_encoder_starts_with_the_variance_asked_for(rng):
    _, log_var = TopicEncoder(K, log_variance=-2.0)(draw_bags(rng))
    assert_close(log_var, np.full(log_var.shape, -2.0))


# --- Decoder ------------------------------------------------------------------------


def make_decoder(rng, dtype="float64"):
    return make(TopicDecoder(K, D, dtype=dtype), rng, 1, K)


def test_start_at_makes_every_topic_lean_to_the_corpus(rng):
    decoder, counts = make_decoder(rng), rng.integers(1, 50, size=D)
    noise = decoder.logits.numpy()
    decoder.start_at(np.log(counts / counts.sum()))
    expected = [oracle.softmax(np.log(counts) + row) for row in noise]
    assert_close(decoder.topics(), expected)


# --- All together -------------------------------------------------------------------


def draw_topics(rng, topics=K, words=D):
    return rng.dirichlet(np.ones(words), size=topics)


# --- log p(d | t) -------------------------------------------------------------------


def test_log_likelihood_of_an_empty_document_is_zero(rng):
    p = tf.constant(draw_topics(rng))
    np.testing.assert_array_equal(log_likelihood(tf.zeros_like(p), p), np.zeros(K))


def test_log_likelihood_stays_finite_where_a_word_has_no_probability():
    p = tf.constant([[0.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(p)
        value = log_likelihood(tf.constant([[2.0, 1.0]]), p)
    assert np.isfinite(value).all()
    assert np.isfinite(tape.gradient(value, p)).all()


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
    beta = rng.normal(size=[K, D]) if signed else draw_topics(rng)
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


@both_precisions
def test_topics_without_a_common_word_give_finite_gradients(dtype):
    topics = tf.eye(3, 6, dtype=dtype)
    with tf.GradientTape() as tape:
        tape.watch(topics)
        value = diversity(topics)
    assert np.isfinite(tape.gradient(value, topics)).all()
