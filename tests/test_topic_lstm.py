"""topic_lstm: the topics of TCNLM's topic model beside the LSTM's output."""

import loops
import numpy as np
import pytest
import tensorflow as tf
from helpers import assert_close, fix_draws
from loops import (
    SIZES,
    VOCABULARY,
    B,
    K,
    array,
    assert_is_the_oracle_s,
    beside_topics,
    draw_batch,
    oracle_terms,
)

from tcnlm.data.dataset import Dataset
from tcnlm.models.bag_lstm import BagLSTM
from tcnlm.models.lda_lstm import LDALSTM
from tcnlm.models.lstm import LSTM
from tcnlm.models.topic_lstm import TopicLSTM


def make_model(rng, vocabulary=VOCABULARY, **settings):
    return loops.make_model(TopicLSTM, rng, vocabulary, **settings)


def test_loss_is_minus_J_for_the_sampled_topics(rng, monkeypatch):
    model, batch = make_model(rng), draw_batch(rng)
    epsilon = rng.normal(size=[B, K])
    fix_draws(monkeypatch, epsilon)
    terms = model.compute_loss(batch, training=True)
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, beside_topics))


def test_outside_training_the_topics_are_those_of_the_posterior_s_mean(rng):
    model, batch = make_model(rng), draw_batch(rng)
    terms = tf.function(model.compute_loss)(batch, training=False)
    expected = oracle_terms(model, batch, np.zeros([B, K]), beside_topics)
    assert_is_the_oracle_s(terms, expected)


@pytest.mark.parametrize(
    ("model_class", "settings"),
    [(TopicLSTM, {}), (LDALSTM, {}), (BagLSTM, {"context_units": K})],
)
def test_the_output_layer_alone_sees_the_context(rng, model_class, settings):
    model = loops.make_model(model_class, rng, **settings)
    assert model.softmax.head.shape[0] == SIZES["units"] + K
    states, log_probs = [], []
    for context in (tf.one_hot([2, 0, 3], K), tf.one_hot([1, 1, 0], K)):
        start = model.initial_state(context, B)
        word, state = model.step(tf.constant([5, 9, 4]), *start)
        states.append([array(each) for each in tf.nest.flatten(state)])
        log_probs.append(word.log_probs().numpy())
    assert_close(*states)
    assert np.abs(log_probs[0] - log_probs[1]).max() > 1e-2


def test_its_three_groups_learn_at_their_own_rates(rng):
    model = make_model(rng, recurrent_lr_multiplier=0.25, topic_learning_rate=7e-3)
    groups = model.param_groups()
    rate = model.config.learning_rate
    assert [own for _, own in groups] == [rate, 0.25 * rate, 7e-3]
    ids = [{id(weight) for weight in weights} for weights, _ in groups]
    assert ids[1] == {id(w) for w in model.recurrent[0].weights}
    assert ids[2] >= {id(w) for w in model.encoder.trainable_weights}
    assert len(set.union(*ids)) == sum(map(len, ids))
    assert set.union(*ids) == {id(w) for w in model.trainable_variables}
    assert len(make_model(rng).param_groups()) == 2


def test_its_lstm_starts_as_the_lstm_does_that_starts_like_tcnlm(rng, toy_data):
    data, starts = Dataset(toy_data), []
    ours = make_model(
        rng, data.vocabulary, recurrent_start="product", topic_pretrain_steps=0
    )
    sizes = {name: SIZES[name] for name in ("units", "embedding_size", "cutoffs")}
    plain = LSTM(LSTM.Config(**sizes, recurrent_start="product"), data.vocabulary)
    plain.build_weights()
    for model in (ours, plain):
        tf.keras.utils.set_random_seed(4)
        model.prepare(data)
        starts.append(model.recurrent[0].get_weights())
    for own, expected in zip(*starts):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize(
    ("model_class", "cell"), [(TopicLSTM, "lstm"), (LDALSTM, "lstm"), (LDALSTM, "rnn")]
)
def test_with_carry_a_window_goes_on_from_the_one_before_it(rng, model_class, cell):
    """As one reading of both; a row that begins anew does not."""
    model = loops.make_model(model_class, rng, carry=True, window=4, cell=cell)
    words = tf.constant(rng.integers(4, loops.V, [2, 9]), tf.int32)
    topics, log_probs = tf.one_hot([1, 2], K), []
    for first, fresh in ((0, [1, 1]), (4, [0, 1])):
        inputs, targets = (words[:, i : i + 4] for i in (first, first + 1))
        batch = {"inputs": inputs, "targets": targets, "fresh": tf.constant(fresh)}
        log_probs.append(model(batch, context=topics))
    whole, anew = (
        model({"inputs": read[:, :-1], "targets": read[:, 1:]}, context=topics)
        for read in (words, words[:, 4:])
    )
    assert_close(log_probs[0], whole[:, :4])
    assert_close(log_probs[1][0], whole[0, 4:])
    assert_close(log_probs[1][1], anew[1])
    assert np.abs(anew[1] - whole[1, 4:]).max() > 1e-4
