"""The naive mixture of experts (eq. 7 and 8), expert by expert and word by word."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close, every_way, randomise
from loops import (
    LENGTHS,
    SIZES,
    B,
    K,
    M,
    array,
    assert_loss_is_minus_J,
    draw_batch,
    embedded,
    of_targets,
    word_log_probs,
)

from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTMCell
from tcnlm.models.naive_moe import ExpertLSTM, ExpertLSTMCell, NaiveMoE

H, E = SIZES["units"], SIZES["embedding_size"]


def make_model(rng, **settings):
    return loops.make_model(NaiveMoE, rng, **{"layers": 2, **settings})


def expert_weights(cell, k):
    """W [4, n_h, n_x], U [4, n_h, n_h] and bias [4, n_h] of expert k."""
    gates = (np.split(array(w)[k].T, 4) for w in (cell.kernel, cell.recurrent_kernel))
    W, U = map(np.stack, gates)
    return W, U, array(cell.bias)[k].reshape(4, -1)


def oracle_word_probabilities(model, batch, b, k):
    """softmax(V h_m^(k)) of every step of a sentence: [m, V]."""
    h = embedded(model, batch, b)[None]
    for layer in model.recurrent:
        h, _ = oracle.lstm(*expert_weights(layer.cell, k), h)
    return np.exp(word_log_probs(model.softmax, h[0]))


def oracle_sentence(model, batch, b, t):
    """log p(y_m | y_<m, t) of every target of sequence b, eq. 7."""
    each = [oracle_word_probabilities(model, batch, b, k) for k in range(len(t))]
    return of_targets(np.log(np.tensordot(t, each, 1)), batch, b)


@pytest.mark.parametrize("training", [True, False])
def test_loss_is_minus_J_for_the_sampled_topics_or_the_posterior_s_mean(
    rng, monkeypatch, training
):
    model = make_model(rng)
    assert_loss_is_minus_J(model, rng, monkeypatch, oracle_sentence, training)


def test_one_topic_alone_is_its_expert(rng):
    model, batch = make_model(rng), draw_batch(rng)
    topics = tf.one_hot([2, 0, 3], K)
    log_probs = model(batch, context=topics)
    for b, k in enumerate((2, 0, 3)):
        words = np.log(oracle_word_probabilities(model, batch, b, k))
        expected = of_targets(words, batch, b)
        np.testing.assert_allclose(log_probs[b, : LENGTHS[b]], expected, rtol=1e-4)


@every_way
def test_one_expert_is_a_keras_lstm(rng, wrap, dtype):
    layer, keras = (
        ExpertLSTM(H, 1, dtype=dtype),
        tf.keras.layers.LSTM(H, return_sequences=True, dtype=dtype),
    )
    inputs = tf.constant(rng.normal(size=[B, M, E]), dtype)
    layer.build(inputs.shape)
    keras.build(inputs.shape)
    randomise(layer, rng)
    order = np.r_[0 : 2 * H, 3 * H : 4 * H, 2 * H : 3 * H]  # i, f, c, o
    cell = layer.cell
    weights = (cell.kernel, cell.recurrent_kernel, cell.bias)
    keras.set_weights([weight.numpy()[0][..., order] for weight in weights])
    assert_close(wrap(layer)(inputs)[:, :, 0], keras(inputs))


def test_the_papers_parameters():
    """Section 5.4 with 300-dimensional embeddings, biases not counted: 4.80M, 0.264M.

    4 T H (E + H) against 4 n_f (E + 2 T + 3 H), n_f = H.
    """
    experts, composed = ExpertLSTMCell(100, 30), TopicCompositionalLSTMCell(100, 30)
    for cell in (experts, composed):
        cell.build(tf.TensorShape([None, 300]))
    counts = [cell.count_params() - int(tf.size(cell.bias)) for cell in
              (experts, composed)]  # fmt: skip
    assert counts == [4_800_000, 264_000]


@pytest.mark.parametrize("shape", [(40, 50), (40, 50, 20)])
def test_training_never_copies_the_experts_kernels_to_every_position(shape):
    gates = 40 * 50 * 20 * 4 * 30  # of every position, expert and unit
    layer = ExpertLSTM(30, 20)
    inputs = tf.zeros([*shape, 40])

    @tf.function
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(inputs))
        return tape.gradient(loss, layer.cell.kernel)

    nodes = gradient.get_concrete_function().graph.get_operations()
    sizes = [out.shape.num_elements() or 0 for op in nodes for out in op.outputs
             if out.shape.rank is not None]  # fmt: skip
    assert max(sizes) == gates
