"""The whole TCNLM, sample by sample, against the paper's objective J (eq. 17, 18)."""

import loops
import numpy as np
import oracle
import pytest
from loops import (
    array,
    assert_loss_is_minus_J,
    draw_batch,
    embedded,
    of_targets,
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


@pytest.mark.parametrize(
    ("settings", "training"),
    [
        ({"encoder_input": "counts"}, True),
        ({"encoder_input": "log"}, True),
        ({"language_topics": "mean"}, True),  # of the sentences alone
        ({}, False),
    ],
)
def test_loss_is_minus_J_for_the_sampled_topics_or_the_posterior_s_mean(
    rng, monkeypatch, settings, training
):
    model = make_model(rng, **settings)
    assert_loss_is_minus_J(model, rng, monkeypatch, oracle_sentence, training)


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
