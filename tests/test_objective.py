"""The whole TCNLM, sample by sample, against the paper's objective J (eq. 17, 18)."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import fix_draws
from loops import (
    B,
    K,
    array,
    assert_is_the_oracle_s,
    draw_batch,
    embedded,
    of_targets,
    oracle_terms,
    word_log_probs,
)

from tcnlm.models.tcnlm import TCNLM

WEIGHTS = ("Wa", "Wb", "Wc", "Ua", "Ub", "Uc", "bias")


def make_model(rng, **settings):
    return loops.make_model(TCNLM, rng, layers=2, num_factors=6, **settings)


def oracle_sentence(model, batch, b, t):
    """log p(y_m | y_<m, t) of every target of sequence b."""
    h = embedded(model, batch, b)[None]
    for layer in model.recurrent:
        weights = {name: array(getattr(layer.cell, name)) for name in WEIGHTS}
        h, _ = oracle.topic_compositional_lstm(weights, h, t[None])
    return of_targets(word_log_probs(model.softmax, h[0]), batch, b)


@pytest.fixture
def epsilon(rng, monkeypatch):
    """The draws [B, K] that any model will make."""
    drawn = rng.normal(size=[B, K])
    fix_draws(monkeypatch, drawn)
    return drawn


@pytest.mark.parametrize("encoder_input", ["counts", "log"])
def test_loss_is_minus_J_for_the_sampled_topics(rng, epsilon, encoder_input):
    model, batch = make_model(rng, encoder_input=encoder_input), draw_batch(rng)
    terms = model.compute_loss(batch, training=True)
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, oracle_sentence))


def test_only_the_sentences_are_at_the_mean_where_the_settings_say_so(rng, epsilon):
    model, batch = make_model(rng, language_topics="mean"), draw_batch(rng)
    terms = model.compute_loss(batch, training=True)
    log_p_d, kl, _, R = oracle_terms(model, batch, epsilon, oracle_sentence)
    _, _, log_p_y, _ = oracle_terms(model, batch, np.zeros([B, K]), oracle_sentence)
    assert_is_the_oracle_s(terms, (log_p_d, kl, log_p_y, R))


def test_outside_training_the_topics_are_those_of_the_posterior_s_mean(rng):
    model, batch = make_model(rng), draw_batch(rng)
    terms = tf.function(model.compute_loss)(batch, training=False)
    epsilon = np.zeros([B, K])
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, oracle_sentence))


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_a_joint_step_moves_the_topic_model_only_at_a_rate_above_zero(rng, rate):
    model, batch = make_model(rng, topic_learning_rate=rate), draw_batch(rng)
    parts = model.encoder, model.proportions, model.decoder
    topics = [weight for part in parts for weight in part.trainable_variables]
    before = [weight.numpy() for weight in (*topics, model.embedding.embeddings)]
    model.compile()
    model.train_step(batch)
    after = [weight.numpy() for weight in (*topics, model.embedding.embeddings)]
    moved = [not np.array_equal(old, new) for old, new in zip(before, after)]
    assert moved == [rate > 0] * len(topics) + [True]
