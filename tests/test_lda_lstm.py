"""LDA+LSTM: the topics of the context beside the LSTM's output, nowhere else."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
import tiny
from helpers import assert_close
from loops import SIZES, B, D, K, array, beside_topics, draw_batch

from tcnlm.generation.saved_model import export
from tcnlm.models.lda_lstm import LDALSTM, Config
from tcnlm.models.lstm import LSTM

H, ALPHA, ITERATIONS = SIZES["units"], 0.2, 6


def make_model(rng):
    model = loops.make_model(LDALSTM, rng, alpha=ALPHA, iterations=ITERATIONS)
    model.lda.topic_weights.assign(rng.gamma(0.5, 20.0, [K, D]) + 0.01)
    return model


def oracle_q(model, context):
    n = oracle.bag_of_words(context, D)
    gamma = oracle.lda_gamma(n, array(model.lda.topic_weights), ALPHA, ITERATIONS)
    return gamma / gamma.sum()


def test_the_loss_is_the_oracle_s(rng):
    model, batch = make_model(rng), draw_batch(rng)
    expected = [
        beside_topics(model, batch, b, oracle_q(model, batch["context"][b]))
        for b in range(B)
    ]
    terms = tf.function(model.compute_loss)(batch, training=False)
    nll = np.log(oracle.perplexity(expected))
    np.testing.assert_allclose(terms["nll"], nll, rtol=2e-5)
    np.testing.assert_allclose(terms["loss"], -sum(map(sum, expected)) / B, rtol=2e-5)


def test_without_weights_for_the_topics_it_is_the_lstm(rng):
    model, batch = make_model(rng), draw_batch(rng)
    shared = {name: getattr(model.config, name) for name in
              ("units", "embedding_size", "cutoffs", "dropout")}  # fmt: skip
    plain = LSTM(LSTM.Config(**shared), model.vocabulary)
    plain.build_weights()
    plain.embedding.set_weights(model.embedding.get_weights())
    plain.recurrent[0].set_weights(model.recurrent[0].get_weights())
    softmax = model.softmax
    for weight in (softmax.head, *softmax.projections):
        weight[H:].assign(tf.zeros_like(weight[H:]))
    # A tail's width goes by that of what the softmax sees, so the tails may differ.
    plain.softmax.projections = [w[:H] for w in softmax.projections]
    plain.softmax.tails = softmax.tails
    plain.softmax.head.assign(softmax.head[:H])
    found = model.compute_loss(batch, training=False)
    assert_close(
        found["loss"], plain.compute_loss(batch, training=False)["loss"].numpy()
    )


def test_the_optimizer_does_not_touch_the_topics(rng):
    model = make_model(rng)
    trained = {weight.ref() for weight in model.trainable_variables}
    assert model.lda.topic_weights.ref() not in trained


def test_the_papers_lstm_is_the_default():
    """2.16M recurrent weights as in rGBN-RNN's count, biases not counted."""
    assert 4 * Config.units * (Config.units + Config.embedding_size) == 2_160_000


@pytest.mark.slow
def test_a_saved_model_scores_as_the_model(rng, tmp_path):
    model = make_model(rng)
    export(model, tmp_path / "saved_model")
    loaded = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    writing = {"generate", "generate_known", "beam_search"}
    assert set(loaded) == {*writing, "infer_topics", "score", "topic_words"}
    found = loaded["score"](
        sentences=tf.constant(["w5"]), contexts=tf.constant(["w4 w6 w6"])
    )
    expected = tiny.log_prob(model, [5, 2], model.infer(tf.constant([[0, 2, 2]])))
    np.testing.assert_allclose(found["log_probability"][0], expected, rtol=1e-5)
