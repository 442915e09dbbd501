"""Gamma belief networks: counts by loops (appendix B), and the chains of topics."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import assert_close, eager_and_graph

from tcnlm.layers.gamma_belief import GammaBeliefNetwork, TopicMatrix, augment

SEED = tf.constant([11, 12])
V, SIZES = 5, (3, 2)
DOCUMENT = [[0, 2, 2, 4], [1, 1, 3], [4, 4, 0, 1, 3]]  # of topic-word ids
REPEATS = 1500


# --- An oracle: one document, one draw at a time --------------------------------------


def draw_tables(rng, counts, r):
    """Seat customers one after the other in a Chinese restaurant."""
    return sum(1 for i in range(counts) if i == 0 or rng.random() < r / (r + i))


def draw_split(rng, count, weights):
    weights = np.asarray(weights, float)
    return rng.multinomial(count, weights / weights.sum())


def draw_counts(rng, document, theta, Phi, Pi):
    """Return A and Z of one document; theta[l][j] [K_l], d_j the words' counts."""
    layers, J = len(Phi), len(document)
    x = [np.bincount(words, minlength=Phi[0].shape[0]) for words in document]
    A = [np.zeros(each.shape) for each in Phi]
    Z = [np.zeros(each.shape) for each in Pi]
    for n in range(layers):
        K = Phi[n].shape[1]
        above, passed = [None] * J, np.zeros(K, int)
        for j in reversed(range(J)):
            m = np.zeros(K, int)
            for v, count in enumerate(x[j]):
                parts = draw_split(rng, count, Phi[n][v] * theta[n][j])
                A[n][v] += parts
                m += parts
            m, passed, above[j] = m + passed, np.zeros(K, int), np.zeros(K, int)
            for k in range(K):
                p1 = Pi[n][k] @ theta[n][j - 1] if j and Pi else 0.0
                p2 = Phi[n + 1][k] @ theta[n + 1][j] if n + 1 < layers else 0.0
                if not p1 + p2:  # the first sentence at the top
                    continue
                tables = draw_tables(rng, m[k], p1 + p2)
                back, above[j][k] = draw_split(rng, tables, [p1, p2])
                if back:
                    parts = draw_split(rng, back, Pi[n][k] * theta[n][j - 1])
                    Z[n][k] += parts
                    passed += parts
        x = above
    return A + Z


# --- What is given --------------------------------------------------------------------


def columns(rng, *shape):
    drawn = rng.gamma(0.7, size=shape) + 0.02
    return (drawn / drawn.sum(axis=-2, keepdims=True)).astype("float32")


def network_values(rng, sentences, sizes=SIZES, vocabulary=V, rows=1):
    """Return theta of each layer [B, J, K], Phi and Pi."""
    Phi = [columns(rng, *shape) for shape in zip((vocabulary, *sizes), sizes)]
    Pi = [columns(rng, size, size) for size in sizes]
    shapes = [(rows, sentences, size) for size in sizes]
    return [rng.gamma(1.0, size=s).astype("float32") + 0.1 for s in shapes], Phi, Pi


def padded(document, width=7):
    return [words + [-1] * (width - len(words)) for words in document]


def copies(values, number):
    """Return a batch of as many copies of a document."""
    return tf.tile(values, [number, 1, 1])


def flat(counts):
    A, Z = counts
    return [each.numpy() for each in (*A, *Z)]


# --- Augmentation ---------------------------------------------------------------------


@pytest.mark.parametrize("recurrent", [True, False])
def test_counts_have_the_means_of_the_loops_over_one_document(rng, recurrent):
    thetas, Phi, Pi = network_values(rng, len(DOCUMENT))
    number, theta = 20_000, [each[0] for each in thetas]
    drawn = augment(
        copies(tf.constant([padded(DOCUMENT)]), number),
        [copies(each, number) for each in thetas],
        Phi,
        Pi if recurrent else [],
        SEED,
    )
    assert bool(drawn[1]) == recurrent
    loops = [
        draw_counts(rng, DOCUMENT, theta, Phi, Pi if recurrent else [])
        for _ in range(REPEATS)
    ]
    for found, expected in zip(flat(drawn), zip(*loops)):
        error = np.std(expected, axis=0) * np.sqrt(1 / REPEATS + 1 / number)
        difference = abs(found / number - np.mean(expected, axis=0))
        assert (difference <= 4.5 * error + 1e-3).all()


@eager_and_graph
@pytest.mark.parametrize("recurrent", [True, False])
def test_padding_changes_nothing(rng, wrap, recurrent):
    thetas, Phi, Pi = network_values(rng, 3, rows=2)
    Pi = Pi if recurrent else []
    words = rng.integers(0, V, size=[2, 3, 6]).astype("int32")
    expected = flat(augment(words, thetas, Phi, Pi, SEED))
    wide = np.full([4, 3, 9], -1, "int32")
    wide[:2, :, [1, 2, 4, 5, 6, 8]] = words
    nothing = [np.full([2, *each.shape[1:]], np.nan, "float32") for each in thetas]
    long = [tf.concat(pair, axis=0) for pair in zip(thetas, nothing)]
    drawn = wrap(augment)(tf.constant(wide), long, Phi, Pi, SEED)
    for found, each in zip(flat(drawn), expected):
        np.testing.assert_array_equal(found, each)


# --- The network ----------------------------------------------------------------------


def batch(rng, network, rows=4, sentences=3):
    words = rng.integers(-1, V, size=[rows, sentences, 20]).astype("int32")
    sizes = [each.shape[1] for each in network.Phi]
    shapes = [[rows, sentences, size] for size in sizes]
    return tf.constant(words), [
        tf.constant(rng.gamma(1, size=s), tf.float32) for s in shapes
    ]


@pytest.mark.parametrize("recurrent", [True, False])
def test_shapes_of_theta_are_those_of_equations_2_and_10(rng, recurrent):
    network = GammaBeliefNetwork((4, 3, 2), V, recurrent)
    for each in (*network.Phi, *network.Pi):
        each.assign(columns(rng, *each.shape))
    _, thetas = batch(rng, network)
    found = network.prior_shapes(thetas)
    for n, each in enumerate(found):
        for b, j, k in np.ndindex(*each.shape):
            shape = 0.0
            if n < 2:
                shape += network.Phi[n + 1].numpy()[k] @ thetas[n + 1].numpy()[b, j]
            elif j == 0 or not recurrent:
                shape += 1.0
            if recurrent and j:
                shape += network.Pi[n].numpy()[k] @ thetas[n].numpy()[b, j - 1]
            assert float(each[b, j, k]) == pytest.approx(shape, rel=1e-5)


def test_words_of_a_layer_are_the_product_of_those_below(rng):
    network = GammaBeliefNetwork((4, 3, 2), V, False)
    Phi = [each.numpy() for each in network.Phi]
    assert_close(network.word_topics(1), Phi[0])
    assert_close(network.word_topics(3), Phi[0] @ Phi[1] @ Phi[2])
    np.testing.assert_allclose(np.sum(network.word_topics(2), axis=0), 1, rtol=1e-6)


@eager_and_graph
@pytest.mark.parametrize("recurrent", [True, False])
def test_update_moves_every_matrix_by_its_counts(rng, wrap, recurrent):
    network = GammaBeliefNetwork((4, 3), V, recurrent)
    assert len(network.Pi) == (2 if recurrent else 0)
    assert not network.trainable_variables
    words, thetas = batch(rng, network)
    before = [each.numpy() for each in (*network.Phi, *network.Pi)]
    wrap(network.update)(words, thetas, 10.0, SEED)
    masses = network.topics[0].mass.numpy()
    assert masses.sum() == pytest.approx(10 * np.sum(words.numpy() >= 0))
    for old, new in zip(before, (*network.Phi, *network.Pi)):
        assert abs(old - new.numpy()).max() > 1e-3
        np.testing.assert_allclose(np.sum(new, axis=0), 1, rtol=1e-6)


def test_topics_of_a_corpus_are_found_again(rng):
    """With theta known, the chain's columns come close to those that made the words."""
    network = GammaBeliefNetwork((3,), 30, False)
    Phi = np.kron(np.eye(3), np.full([10, 1], 0.1))
    update = tf.function(network.update)
    for n in range(40):
        theta = rng.dirichlet(np.full(3, 0.2), size=64)
        words = [[rng.choice(30, p=Phi @ each, size=20)] for each in theta]
        theta = tf.constant(theta[:, None], tf.float32)
        number = tf.constant([n, 0])
        update(tf.constant(words, tf.int32), [theta], tf.constant(40.0), number)
    np.testing.assert_allclose(network.Phi[0], Phi, atol=0.03)


# --- The chains ----------------------------------------------------------------------


def run(matrix, counts, steps, scale=1.0, first=0):
    """Take steps for the same counts."""
    update = tf.function(matrix.update)
    counts = tf.constant(counts, matrix.dtype)
    scale = tf.constant(scale, matrix.dtype)
    for n in range(first, first + steps):
        update(counts, scale, tf.constant([17, n]))
    return matrix.value.numpy()


def assert_on_the_simplex(columns):
    assert np.isfinite(columns).all()
    assert (columns >= 0).all()
    np.testing.assert_allclose(columns.sum(axis=0, dtype=float), 1, atol=1e-6)


@pytest.mark.parametrize("rho", [1.0, 4.0])
def test_fixed_counts_and_small_steps_give_the_dirichlet(rho):
    """Columns are chains; a step of .02 makes variances 1 % too large."""
    weights, chains = np.array([30.0, 15.0, 10.0, 5.0]), 20_000
    matrix = TopicMatrix(4, chains, prior=1.0, step=0.02, decay=0.0)
    counts = np.repeat((weights - 1)[:, None] / rho, chains, axis=1)
    phi = run(matrix, counts, 300, scale=rho)
    total, mean = weights.sum(), weights / weights.sum()
    variance = mean * (1 - mean) / (total + 1)
    np.testing.assert_allclose(mean, [0.5, 0.25, 0.1667, 0.0833], atol=1e-4)
    np.testing.assert_allclose(
        variance, [0.00410, 0.00307, 0.00228, 0.00125], atol=1e-5
    )
    assert (abs(phi.mean(axis=1) - mean) <= 5 * np.sqrt(variance / chains)).all()
    np.testing.assert_allclose(phi.var(axis=1), variance, rtol=0.06)
    covariance = np.cov(phi[:2])[0, 1]
    assert covariance == pytest.approx(-mean[0] * mean[1] / (total + 1), rel=0.06)


def test_steps_and_masses_follow_the_released_schedules(rng):
    matrix, masses = TopicMatrix(6, 1), 0.0
    batches = rng.integers(1000, 9000, size=[4, 6, 1]).astype("float32")
    for i, batch in enumerate(batches, 1):
        weight = [1.0, 0.536, 0.372, 0.287][i - 1]
        masses = (1 - weight) * masses + weight * 2 * batch.sum()
        phi, eps = matrix.value.numpy(), [1.0, 0.968, 0.938, 0.911][i - 1]
        matrix.update(tf.constant(batch), 2.0, SEED)
        np.testing.assert_allclose(matrix.mass, [masses], rtol=2e-3)
        drift = 2 * batch + 0.1 - (2 * batch + 0.1).sum() * phi
        expected = phi + eps / masses * drift
        np.testing.assert_allclose(matrix.value, expected, atol=0.02)


def test_a_step_is_that_of_equation_17_of_its_noise(rng):
    """Of few counts, so that noise is large, sums far from 1 and entries below 0."""
    counts = rng.poisson(1.0, size=[6, 4]) + 1.0
    matrix = TopicMatrix(6, 4, prior=0.5, dtype="float64")
    start = matrix.value.numpy()
    noise = tf.random.stateless_normal([6, 4], SEED, dtype=tf.float64).numpy()
    matrix.update(tf.constant(counts), 1.0, SEED)
    clipped = 0
    for k in range(4):
        phi, mass, weights = start[:, k], counts[:, k].sum(), counts[:, k] + 0.5
        moved = [
            p + (w - weights.sum() * p) / mass + np.sqrt(2 * p / mass) * noise[v, k]
            for v, (p, w) in enumerate(zip(phi, weights))
        ]
        moved = [m - (sum(moved) - 1) * p for m, p in zip(moved, phi)]
        clipped += sum(m < 0 for m in moved)
        kept = np.array([max(m, 0) for m in moved])
        np.testing.assert_allclose(matrix.value[:, k], kept / kept.sum(), rtol=1e-9)
    assert clipped > 0


@eager_and_graph
def test_columns_stay_on_the_simplex_whatever_the_counts(rng, wrap):
    matrix = TopicMatrix(2000, 9)
    update = wrap(matrix.update)
    assert_on_the_simplex(matrix.value.numpy())
    for n in range(12):
        counts = rng.poisson(0.2, size=[2000, 9]) * rng.integers(2, size=9)
        counts = counts * 10.0 ** rng.integers(-3, 9, size=9)
        update(tf.constant(counts, tf.float32), 10.0 ** (n % 4), tf.constant([n, 1]))
        assert_on_the_simplex(matrix.value.numpy())


def test_topic_that_loses_its_counts_does_not_fall_to_noise(rng):
    """Its mass falls to next to nothing; the prior's keeps the noise small."""
    matrix = TopicMatrix(50, 40, prior=1.0)
    run(matrix, rng.poisson(0.2, size=[50, 40]), 1)
    before = run(matrix, np.zeros([50, 40]), 400, first=1)
    assert matrix.mass.numpy().max() < 0.1
    after = run(matrix, np.zeros([50, 40]), 1, first=401)
    assert_on_the_simplex(after)
    assert abs(after - before).sum(axis=0).max() / 2 < 0.3
    assert (after == 0).mean() < 0.15
