"""The whole TCNLM, sample by sample, against the paper's objective J (eq. 17, 18)."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import fix_draws, randomise

from preprocessing.vocabulary import SPECIALS, Vocabulary
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.models.tcnlm import TCNLM, Config

B, M, C, V, D, K = 3, 5, 8, 13, 6, 4
LENGTHS = (5, 2, 4)  # targets of each sequence; the rest is padding
WEIGHTS = ("Wa", "Wb", "Wc", "Ua", "Ub", "Uc", "bias")
PRIOR = (0.0, 1.7)


def make_model(rng, **settings):
    words = [f"w{i}" for i in range(V - len(SPECIALS))]
    vocabulary = Vocabulary([*SPECIALS, *words], [0] * 4 + [9] * len(words), words[:D])
    config = Config(
        units=7, layers=2, embedding_size=5, num_factors=6, num_topics=K,
        encoder_units=(8, 8), prior_variance=PRIOR[1],
        diversity_weight=0.3, dropout=0.0, encoder_dropout=0.0, cutoffs=(6, 9),
        **settings,
    )  # fmt: skip
    model = TCNLM(config, vocabulary)
    model.build_weights()
    for part in (model.encoder, model.proportions, model.decoder, model.embedding):
        randomise(part, rng)
    for part in (*model.recurrent, model.softmax):
        randomise(part, rng)
    return model


def draw_batch(rng):
    """Three sequences padded at the right; the second document has no content word."""
    inputs, targets = rng.integers(2, V, size=[2, B, M])
    padding = np.arange(M) >= np.array(LENGTHS)[:, None]
    inputs[:, 0], inputs[padding], targets[padding] = 1, 0, 0
    context = rng.integers(-1, D, size=[B, C])
    context[1] = -1
    batch = {"inputs": inputs, "targets": targets, "context": context}
    return {name: ids.astype("int32") for name, ids in batch.items()}


def array(weight):
    return weight.numpy().astype(float)


def dense(layer):
    return array(layer.kernel), array(layer.bias)


def oracle_terms(model, batch, epsilon, sentence):
    """What eq. 17 and 18 need of every sequence, given the draws epsilon [B, K].

    sentence(model, batch, b, t): log p of every target of sequence b.
    """
    encoder, W_hat = model.encoder, dense(model.proportions.linear)
    beta = [oracle.softmax(row) for row in array(model.decoder.logits)]
    log_p_d, kl, log_p_y = [], [], []
    for b in range(B):
        d = oracle.bag_of_words(batch["context"][b], D)
        seen = np.log1p(d) if model.config.encoder_input == "log" else d
        hidden = [dense(layer) for layer in encoder.hidden]
        mu, log_var = oracle.encoder(
            seen, hidden, dense(encoder.mean), dense(encoder.log_variance)
        )
        theta = oracle.reparameterise(mu, log_var, epsilon[b])
        t = oracle.topic_proportions(theta, W_hat[0].T, W_hat[1])
        log_p_d.append(oracle.log_likelihood(d, beta, t))
        kl.append(oracle.gaussian_kl(mu, log_var, *PRIOR))
        log_p_y.append(sentence(model, batch, b, t))
    return log_p_d, kl, log_p_y, oracle.diversity(beta)


def oracle_sentence(model, batch, b, t):
    """log p(y_m | y_<m, t) of every target of sequence b."""
    length = LENGTHS[b]
    h = array(model.embedding.embeddings)[batch["inputs"][b, :length]][None]
    for layer in model.recurrent:
        weights = {name: array(getattr(layer.cell, name)) for name in WEIGHTS}
        h, _ = oracle.topic_compositional_lstm(weights, h, t[None])
    softmax = model.softmax
    rows = [
        oracle.adaptive_log_probs(
            h[0, m],
            array(softmax.head),
            [array(projection) for projection in softmax.projections],
            [array(tail) for tail in softmax.tails],
        )
        for m in range(length)
    ]
    return [row[batch["targets"][b, m]] for m, row in enumerate(rows)]


def assert_is_the_oracle_s(terms, expected):
    log_p_d, kl, log_p_y, R = expected
    nll = np.log(oracle.perplexity(log_p_y))
    J = oracle.objective(*expected, lambda_=0.3)
    for name, value in {
        "reconstruction": -np.mean(log_p_d),
        "kl": np.mean(kl),
        "diversity": R,
        "nll": nll,
        "loss": -J,
    }.items():
        np.testing.assert_allclose(terms[name], value, rtol=2e-5, err_msg=name)


@pytest.fixture
def epsilon(rng, monkeypatch):
    """The draws [B, K] that any model will make."""
    drawn = rng.normal(size=[B, K])
    fix_draws(monkeypatch, drawn)
    return drawn


@pytest.mark.parametrize("encoder_input", ["counts", "log"])
def test_loss_is_minus_J_for_the_sampled_topics(rng, epsilon, encoder_input):
    model, batch = make_model(rng, encoder_input=encoder_input), draw_batch(rng)
    terms = model.objective(batch, training=True)
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, oracle_sentence))


def test_only_the_sentences_are_at_the_mean_where_the_settings_say_so(rng, epsilon):
    model, batch = make_model(rng, language_topics="mean"), draw_batch(rng)
    terms = model.objective(batch, training=True)
    log_p_d, kl, _, R = oracle_terms(model, batch, epsilon, oracle_sentence)
    _, _, log_p_y, _ = oracle_terms(model, batch, np.zeros([B, K]), oracle_sentence)
    assert_is_the_oracle_s(terms, (log_p_d, kl, log_p_y, R))


def test_outside_training_the_topics_are_those_of_the_posterior_s_mean(rng):
    model, batch = make_model(rng), draw_batch(rng)
    terms = tf.function(model.objective)(batch, training=False)
    epsilon = np.zeros([B, K])
    assert_is_the_oracle_s(terms, oracle_terms(model, batch, epsilon, oracle_sentence))


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_a_joint_step_moves_the_topic_model_only_at_a_rate_above_zero(rng, rate):
    model, batch = make_model(rng, topic_learning_rate=rate), draw_batch(rng)
    topics = sum(model.topic_weights(), [])
    before = [weight.numpy() for weight in (*topics, model.embedding.embeddings)]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model.objective(batch, training=True)["loss"])
    GroupedAdam(model.parameter_groups(), clip_norm=5.0).minimize(loss, tape)
    after = [weight.numpy() for weight in (*topics, model.embedding.embeddings)]
    moved = [not np.array_equal(old, new) for old, new in zip(before, after)]
    assert moved == [rate > 0] * len(topics) + [True]


def test_the_words_one_step_at_a_time_have_the_oracle_s_probabilities(rng):
    model, batch = make_model(rng), draw_batch(rng)
    context, state = model.for_steps(model.context(batch)), model.initial_state(B)
    epsilon = np.zeros([B, K])
    _, _, expected, _ = oracle_terms(model, batch, epsilon, oracle_sentence)
    for m in range(M):
        log_probs, state = model.step(batch["inputs"][:, m], state, context)
        for b in range(B):
            if m < LENGTHS[b]:
                actual = log_probs[b, batch["targets"][b, m]]
                np.testing.assert_allclose(actual, expected[b][m], rtol=1e-4)
