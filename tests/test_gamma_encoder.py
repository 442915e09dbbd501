"""The encoder of a gamma belief network, against loops from the paper's appendix."""

import numpy as np
import pytest
import tensorflow as tf
from gbn_oracle import counts, encoded, log_poisson
from helpers import assert_close, eager_and_graph, randomise

from tcnlm.layers.bags import sum_rows
from tcnlm.layers.gamma_encoder import (
    GammaEncoder,
    from_the_top,
    poisson_log_likelihood,
)

SIZES = (3, 2)
WORDS = 5


def make_encoder(rng, recurrent):
    encoder = GammaEncoder(WORDS, SIZES, recurrent)
    encoder(tf.constant([[[0]]]))
    randomise(encoder, rng)
    return encoder


@eager_and_graph
@pytest.mark.parametrize("recurrent", [True, False])
def test_it_is_equation_9(wrap, recurrent, rng):
    encoder = make_encoder(rng, recurrent)
    documents = rng.integers(-1, WORDS, (4, 3, 6)).astype("int32")
    found = wrap(encoder)(documents)
    for row, document in enumerate(documents):
        for n, layer in enumerate(encoded(document, encoder)):
            k, scale = found[n]
            for j, (k_j, scale_j) in enumerate(layer):
                assert_close(k[row, j], np.array([k_j]))
                assert_close(scale[row, j], np.array(scale_j))


@pytest.mark.parametrize("recurrent", [True, False])
def test_sentences_by_themselves_are_first_ones(recurrent, rng):
    encoder = make_encoder(rng, recurrent)
    sentences = rng.integers(-1, WORDS, (4, 6)).astype("int32")
    for alone, group in zip(encoder(sentences), encoder(sentences[:, None])):
        for ours, theirs in zip(alone, group):
            assert_close(ours, theirs[:, 0])


def test_a_sentence_knows_the_contexts_up_to_its_own_alone(rng):
    encoder = make_encoder(rng, recurrent=True)
    words = np.array([[[0, 1], [2, 3], [1, 1], [4, 2]]])
    before = encoder(words)[-1][1].numpy()[0]
    for j in range(4):
        changed = words.copy()
        changed[0, j, 0] = 3
        moved = (encoder(changed)[-1][1].numpy()[0] != before).any(axis=1)
        assert moved.tolist() == [i >= j for i in range(4)]


def test_parameters_are_those_of_table_3():
    """The paper's "TM" column leaves V_c K_1 out: it and Pi are .03, .06, .07 M."""
    sizes, total = (100, 80, 50), []
    encoder = GammaEncoder(1000, sizes, recurrent=True)
    encoder(tf.constant([[[0]]]))
    for n, size in enumerate(sizes):
        below = 0 if n == 0 else sizes[n - 1]
        Pi, f_lambda, f_k = size * size, size * size, size
        total.append(Pi + (below + size) * size + f_lambda + f_k)
        assert encoder.W[n].shape == (below or 1000, size)
        assert encoder.U[n].shape == (size, size)
        assert encoder.scale[n].kernel.shape == (size, size)
        assert encoder.k[n].kernel.shape == (size, 1)
    assert [round(sum(total[: n + 1]) / 1e6, 2) for n in range(3)] == [0.03, 0.06, 0.07]


def test_draws_go_from_the_top_down_where_topics_are_in_their_shape(rng):
    Phis = [None, tf.constant(rng.dirichlet(np.ones(3), 2).T, tf.float32)]
    layers = [
        tuple(
            tf.constant(rng.gamma(2.0, size=(2, 4, K)), tf.float32) for K in (1, size)
        )
        for size in SIZES
    ]
    draw = lambda k, scale: k * scale  # noqa: E731 (any function of both)
    low, high = from_the_top(layers, draw, Phis)
    assert_close(high.theta, (layers[1][0] * layers[1][1]).numpy())
    for i in range(2):
        for j in range(4):
            k = layers[0][0][i, j, 0] + Phis[1].numpy() @ high.theta[i, j].numpy()
            assert_close(low.k[i, j], k.numpy())
            assert_close(low.theta[i, j], (k * layers[0][1][i, j]).numpy())
    low, _ = from_the_top(layers, draw)
    assert_close(low.k, layers[0][0].numpy())


@eager_and_graph
def test_the_likelihood_is_poissons_without_its_constant(wrap, rng):
    words = np.array([[4, 0, 4, -1], [2, -1, -1, -1], [-1] * 4], np.int32)
    theta = rng.gamma(1.0, size=(3, 2)).astype("float32")
    Phi = rng.dirichlet(np.ones(WORDS), 2).T.astype("float32")
    expected = [log_poisson(*each, Phi) for each in zip(words, theta)]
    found = wrap(poisson_log_likelihood)(words, theta, Phi)
    assert_close(found, np.array(expected))


def test_rows_are_summed_for_any_shape_of_words(rng):
    table = rng.normal(size=(WORDS, 2)).astype("float32")
    words = rng.integers(-1, WORDS, (2, 3, 4)).astype("int32")
    found = sum_rows(table, words)
    assert found.shape == (2, 3, 2)
    for i in range(2):
        for j in range(3):
            assert_close(found[i, j], counts(words[i, j], WORDS) @ table)
    assert not sum_rows(table, tf.fill([3, 4], -1)).numpy().any()
