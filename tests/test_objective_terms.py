"""The terms of the bound against the paper, Monte Carlo and finite differences."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import (
    assert_close,
    assert_input_gradients,
    both_precisions,
    every_way,
)

from tcnlm.layers.distributions import gaussian_kl
from tcnlm.layers.neural_topics import diversity, log_likelihood, topic_angles

B, D, K = 4, 9, 5
PRIORS = [(0.0, 1.0), (0.7, 2.5), (-1.2, 0.3)]


def draw_topics(rng, topics=K, words=D):
    return rng.dirichlet(np.ones(words), size=topics)


def draw_posterior(rng):
    return rng.normal(size=[B, K]), rng.normal(scale=0.8, size=[B, K])


# --- log p(d | t) -------------------------------------------------------------------


@every_way
def test_log_likelihood_is_equation_5(rng, wrap, dtype):
    beta, t = draw_topics(rng), rng.dirichlet(np.ones(K), size=B)
    bags = rng.poisson(1.5, size=[B, D])
    bags[1] = 0
    actual = wrap(log_likelihood)(
        tf.constant(bags, dtype), tf.constant(t @ beta, dtype)
    )
    expected = [oracle.log_likelihood(d, beta, row) for d, row in zip(bags, t)]
    # The floor under the probabilities (1e-10) is all that may differ.
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert actual.dtype == dtype


def test_log_likelihood_is_a_product_over_the_words_of_the_document(rng):
    p = draw_topics(rng, topics=1)[0]
    words = rng.integers(D, size=30)
    expected = sum(np.log(p[w]) for w in words)
    bag = oracle.bag_of_words(words, D)
    np.testing.assert_allclose(log_likelihood(bag, p), expected, rtol=1e-8)


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


def test_log_likelihood_gradient_is_finite_differences(rng):
    bags, logits = rng.poisson(1.5, size=[B, D]).astype(float), rng.normal(size=[B, D])
    assert_input_gradients(lambda z: log_likelihood(bags, tf.nn.softmax(z)), [logits])


# --- KL -----------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("prior", PRIORS)
def test_kl_is_the_closed_form(rng, wrap, dtype, prior):
    mu, log_var = draw_posterior(rng)
    kl = wrap(lambda m, v: gaussian_kl(m, v, *prior))
    expected = [oracle.gaussian_kl(m, v, *prior) for m, v in zip(mu, log_var)]
    assert_close(kl(tf.constant(mu, dtype), tf.constant(log_var, dtype)), expected)


def log_normal(x, mean, variance):
    return -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance).sum(-1)


@pytest.mark.parametrize("prior", PRIORS)
def test_kl_is_its_monte_carlo_estimate(rng, prior):
    mu, log_var = rng.normal(size=K), rng.normal(scale=0.8, size=K)
    epsilon = rng.normal(size=[200_000, K])
    theta = oracle.reparameterise(mu, log_var, epsilon)
    ratios = log_normal(theta, mu, np.exp(log_var)) - log_normal(theta, *prior)
    error = ratios.std() / np.sqrt(len(ratios))
    assert abs(float(gaussian_kl(mu, log_var, *prior)) - ratios.mean()) < 4 * error


@pytest.mark.parametrize(("mean", "variance"), PRIORS)
def test_kl_of_the_prior_to_itself_is_zero_and_its_least_value(rng, mean, variance):
    mu, log_var = (tf.fill([1, K], tf.constant(v, tf.float64)) for v in (mean, 0.0))
    log_var += np.log(variance)
    with tf.GradientTape() as tape:
        tape.watch([mu, log_var])
        kl = gaussian_kl(mu, log_var, mean, variance)
    zero = np.zeros([1, K])
    assert_close([kl, *tape.gradient(kl, [mu, log_var])], [zero[:, 0], zero, zero])
    assert (gaussian_kl(*draw_posterior(rng), mean, variance).numpy() > 0).all()


def test_kl_gradient_is_finite_differences(rng):
    assert_input_gradients(
        lambda mu, log_var: gaussian_kl(mu, log_var, 0.7, 2.5), draw_posterior(rng)
    )


# --- Diversity ----------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("topics", [1, 2, K, 12])
def test_diversity_is_phi_less_nu(rng, wrap, dtype, topics):
    beta = draw_topics(rng, topics)
    value = wrap(diversity)(tf.constant(beta, dtype))
    # The arc cosine is ill-conditioned: its slope multiplies the rounding error.
    np.testing.assert_allclose(
        value, oracle.diversity(beta), rtol=1e-5 if dtype == "float32" else 1e-10
    )


@pytest.mark.parametrize("signed", [False, True])
def test_angles_are_those_of_every_pair(rng, signed):
    """The paper's formula holds for any vectors: |cos|, so opposites are equals."""
    beta = rng.normal(size=[K, D]) if signed else draw_topics(rng)
    expected = [
        [0 if i == j else oracle.angle(beta[i], beta[j]) for j in range(K)]
        for i in range(K)
    ]
    assert_close(topic_angles(tf.constant(beta)), np.array(expected, float))


@pytest.mark.parametrize("topics", [2, 3, 10])
def test_orthogonal_topics_are_at_right_angles_but_to_themselves(topics):
    angles = topic_angles(tf.eye(topics, 20, dtype=tf.float64)).numpy()
    assert_close(angles, np.pi / 2 * (1 - np.eye(topics)))
    others = (topics - 1) / topics  # the share of the T^2 pairs with two topics
    phi, nu = np.pi / 2 * others, (np.pi / 2) ** 2 * others * (1 - others)
    assert_close(diversity(tf.eye(topics, 20, dtype=tf.float64)), phi - nu)


def test_diversity_ignores_the_order_and_the_length_of_the_topics(rng):
    beta = draw_topics(rng)
    changed = beta[rng.permutation(K)] * rng.uniform(0.5, 2, size=[K, 1])
    assert_close(diversity(tf.constant(changed)), diversity(beta).numpy())


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


def test_diversity_gradient_is_finite_differences(rng):
    assert_input_gradients(
        lambda logits: diversity(tf.nn.softmax(logits)), [rng.normal(size=[K, D])]
    )


def test_climbing_diversity_drives_topics_apart(rng):
    logits = tf.Variable(0.1 * rng.normal(size=[K, D]))
    before = topic_angles(tf.nn.softmax(logits)).numpy().mean()
    for _ in range(50):
        with tf.GradientTape() as tape:
            loss = -diversity(tf.nn.softmax(logits))
        logits.assign_sub(2.0 * tape.gradient(loss, logits))
    assert topic_angles(tf.nn.softmax(logits)).numpy().mean() > 2 * before
