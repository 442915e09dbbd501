"""The neural topic model's layers against the paper's equations 4 to 6."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import (
    assert_close,
    eager_and_graph,
    every_way,
    jacobian,
    randomise,
)

from tcnlm.layers.neural_topics import (
    TopicDecoder,
    TopicEncoder,
    TopicProportions,
    bag_of_words,
)
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTMCell

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


@pytest.mark.parametrize("shape", [(1, 1), (3, 0), (0, 4)])
def test_bag_of_words_of_nothing_is_zero(shape):
    bags = bag_of_words(tf.fill(shape, -1), D)
    np.testing.assert_array_equal(bags, np.zeros([shape[0], D]))


def test_bag_of_words_in_a_graph_of_unknown_shape(rng):
    signature = [tf.TensorSpec([None, None], tf.int32)]
    graph = tf.function(lambda ids: bag_of_words(ids, D), input_signature=signature)
    context = rng.integers(-1, D, size=[B, 7]).astype("int32")
    assert_close(graph(context), [oracle.bag_of_words(row, D) for row in context])


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


def test_posterior_starts_with_the_variance_of_the_prior(rng):
    mu, log_var = TopicEncoder(K)(draw_bags(rng))
    np.testing.assert_array_equal(log_var, np.zeros([B, K]))
    assert np.abs(mu).max() > 0


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_empty_document_has_a_finite_posterior_and_gradient(rng, transform):
    encoder = make(TopicEncoder(K, transform=transform), rng, 1, D)
    with tf.GradientTape() as tape:
        mu, log_var = encoder(tf.zeros([2, D]))
        loss = tf.reduce_sum(mu) + tf.reduce_sum(log_var)
    for value in [mu, log_var, *tape.gradient(loss, encoder.trainable_weights)]:
        assert np.isfinite(value).all()


def test_posterior_of_a_document_depends_on_its_own_bag_alone(rng):
    encoder = make(TopicEncoder(K, hidden=(7, 6)), rng, 1, D)
    slopes = jacobian(lambda d: encoder(d)[0], draw_bags(rng))  # [B, K, B, D]
    reached = np.any(slopes != 0, axis=(1, 3))
    np.testing.assert_array_equal(reached & ~np.eye(B, dtype=bool), False)
    assert reached.any()


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


@pytest.mark.parametrize("size", [1, 100, 1e4])
def test_proportions_stay_on_the_simplex(rng, size):
    g = make(TopicProportions(K), rng, 1, K)
    t = g(tf.constant(size * rng.normal(size=[50, K]), tf.float32)).numpy()
    assert (t >= 0).all()
    assert_close(t.sum(axis=1), np.ones(50))


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


@every_way
def test_decoder_is_equation_6(rng, wrap, dtype):
    decoder, t = make_decoder(rng, dtype), rng.dirichlet(np.ones(K), size=B)
    beta = [oracle.softmax(row) for row in decoder.logits.numpy().astype(float)]
    assert_close(decoder.topics(), beta)
    expected = [oracle.word_probabilities(beta, row) for row in t]
    assert_close(wrap(decoder)(tf.constant(t, dtype)), expected)


def test_topics_and_mixtures_are_distributions_over_the_words(rng):
    decoder = make_decoder(rng)
    for p in (decoder.topics(), decoder(rng.dirichlet(np.ones(K), size=B))):
        assert (p.numpy() >= 0).all()
        assert_close(p.numpy().sum(axis=1), np.ones(len(p)))


def test_a_one_hot_topic_gives_its_own_words(rng):
    decoder = make_decoder(rng)
    assert_close(decoder(tf.eye(K, dtype=tf.float64)), decoder.topics())


def test_start_at_makes_every_topic_lean_to_the_corpus(rng):
    decoder, counts = make_decoder(rng), rng.integers(1, 50, size=D)
    noise = decoder.logits.numpy()
    decoder.start_at(np.log(counts / counts.sum()))
    expected = [oracle.softmax(np.log(counts) + row) for row in noise]
    assert_close(decoder.topics(), expected)


# --- All together -------------------------------------------------------------------


def test_permuting_the_topics_in_every_weight_changes_no_prediction(rng):
    """A topic is its column of W^, its beta and its factors of Wb and Ub together."""
    theta = tf.constant(rng.normal(size=[B, K]), tf.float32)
    x, h = (tf.constant(rng.normal(size=[B, 3]), tf.float32) for _ in range(2))
    g, decoder = make(TopicProportions(K), rng, 1, K), make_decoder(rng, "float32")
    cell = TopicCompositionalLSTMCell(3, K, num_factors=4)
    cell.build((None, 3))
    randomise(cell, rng)

    def predictions():
        t = g(theta)
        return decoder(t), cell(x, [h, h], constants=[t])[0]

    before, order = predictions(), rng.permutation(K)
    g.linear.kernel.assign(g.linear.kernel.numpy()[:, order])
    for weight in (g.linear.bias, decoder.logits, cell.Wb, cell.Ub):
        weight.assign(weight.numpy()[order])
    assert_close(predictions(), before)
