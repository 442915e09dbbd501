"""The naive mixture of experts (eq. 7 and 8), expert by expert and word by word."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
import tiny
from helpers import assert_close, every_way, fix_draws, randomise
from loops import (
    LENGTHS,
    SIZES,
    B,
    K,
    M,
    V,
    array,
    assert_is_the_oracle_s,
    draw_batch,
    embedded,
    of_targets,
    oracle_terms,
    word_log_probs,
)

from tcnlm.generation.saved_model import export
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTMCell
from tcnlm.models.naive_moe import (
    Config,
    ExpertLSTM,
    ExpertLSTMCell,
    MixtureSoftmax,
    NaiveMoE,
)

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


def test_loss_is_minus_J_for_the_sampled_topics(rng, monkeypatch):
    model, batch = make_model(rng), draw_batch(rng)
    epsilon = rng.normal(size=[B, K])
    fix_draws(monkeypatch, epsilon)
    terms = model.compute_loss(batch, training=True)
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, oracle_sentence))


def test_outside_training_the_topics_are_those_of_the_posterior_s_mean(rng):
    model, batch = make_model(rng), draw_batch(rng)
    terms = tf.function(model.compute_loss)(batch, training=False)
    epsilon = np.zeros([B, K])
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, oracle_sentence))


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


def test_experts_start_as_keras_lstms_and_differ():
    cell = ExpertLSTMCell(H, 2)
    cell.build(tf.TensorShape([None, E]))
    first, second = cell.kernel.numpy()
    assert np.abs(first - second).max() > 0.1
    assert np.abs(cell.kernel).max() <= np.sqrt(6 / (E + 4 * H))
    U = cell.recurrent_kernel.numpy()
    np.testing.assert_allclose(U[1] @ U[1].T, np.eye(H), atol=1e-5)
    assert cell.bias.numpy()[1].tolist() == [0] * H + [1] * H + [0] * 2 * H


def test_a_topic_that_is_nowhere_has_no_bad_gradient(rng):
    """t reaches zero in float32; the mixture's logarithm must not notice."""
    softmax = MixtureSoftmax(V, (6,))
    hidden = tf.constant(rng.normal(size=[2, K, H]), tf.float32)
    topics = tf.Variable(tf.one_hot([1, 2], K))
    with tf.GradientTape() as tape:
        log_probs = softmax((hidden, topics), tf.constant([3, 9]))
    assert np.isfinite(tape.gradient(log_probs, topics)).all()


def test_probabilities_of_all_words_add_up_under_any_topics(rng):
    softmax = MixtureSoftmax(V, (6, 9))
    hidden = tf.constant(rng.normal(size=[5, K, H]), tf.float32)
    topics = tf.constant(rng.dirichlet([0.2] * K, 5), tf.float32)
    words = tf.range(V)
    each = [softmax((hidden, topics), tf.fill([5], word)) for word in words]
    log_probs = softmax.log_probs((hidden, topics))
    assert_close(tf.stack(each, axis=1), log_probs.numpy())
    assert_close(tf.reduce_sum(tf.exp(log_probs), axis=1), np.ones(5, "float32"))


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


def test_the_papers_sizes_are_the_defaults():
    assert (Config.units, Config.num_topics, Config.layers) == (100, 30, 1)


@pytest.mark.slow
def test_a_saved_model_infers_and_scores_as_the_model(rng, tmp_path):
    model = make_model(rng)
    export(model, tmp_path / "saved_model")
    loaded = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    writing = {"generate", "generate_known", "beam_search"}
    assert set(loaded) == {*writing, "infer_topics", "score", "topic_words"}
    found = loaded["score"](
        sentences=tf.constant(["w5"]), contexts=tf.constant(["w4 w6"])
    )
    expected = tiny.log_prob(model, [5, 2], model.infer(tf.constant([[0, 2]])))
    np.testing.assert_allclose(found["log_probability"][0], expected, rtol=1e-5)


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
