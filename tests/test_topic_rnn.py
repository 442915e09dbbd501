"""TopicRNN against its equations in loops; what the switch may and may not know."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close, fix_draws
from loops import LENGTHS, B, K, V, array, arrays, lstm, vocabulary_of
from splits import DOCUMENTS, VOCABULARY, make_split

from tcnlm.models.lstm import CELLS
from tcnlm.models.topic_rnn import Config, TopicRNN
from tcnlm.preprocessing.vocabulary import EOS

TOPIC_IDS = (5, 6, 8, 11)  # word ids of the topic words
D = len(TOPIC_IDS)


def make_model(rng, cell="lstm"):
    sizes = {"cell": cell, "layers": 2, "document_sequences": 3.0}
    return loops.make_model(TopicRNN, rng, vocabulary_of(TOPIC_IDS), **sizes)


def draw_batch(rng):
    batch = loops.draw_batch(rng, D)
    batch["targets"][0, :2] = EOS, TOPIC_IDS[0]
    return batch


# --- The oracle ---------------------------------------------------------------------


def gru(layer, x):
    """Cho et al. 2014, the reset gate after the recurrent product."""
    W, U, bias = (np.split(w, 3, axis=-1) for w in arrays(layer))
    h, states = np.zeros(len(U[0])), []
    for x_t in x:
        from_x = [W[g].T @ x_t + bias[g][0] for g in range(3)]
        from_h = [U[g].T @ h + bias[g][1] for g in range(3)]
        z = oracle.sigmoid(from_x[0] + from_h[0])
        r = oracle.sigmoid(from_x[1] + from_h[1])
        h = z * h + (1 - z) * np.tanh(from_x[2] + r * from_h[2])
        states.append(h)
    return np.stack(states)


def rnn(layer, x):
    W, U, bias = arrays(layer)
    h, states = np.zeros(len(U)), []
    for x_t in x:
        h = np.tanh(W.T @ x_t + U.T @ h + bias)
        states.append(h)
    return np.stack(states)


ORACLES = {"lstm": lstm, "gru": gru, "rnn": rnn}


def states(model, words):
    h = array(model.embedding.embeddings)[words]
    for layer in model.recurrent:
        h = ORACLES[model.config.cell](layer, h)
    return h


def word_probabilities(model, h, theta, stop):
    """p(y | h, l, theta) of all words; `stop` is l."""
    v, B_rows, _ = arrays(model.softmax)
    scores = []
    for w in range(V):
        score = v[:, w] @ h
        if not stop and w in TOPIC_IDS:
            score += B_rows[:, TOPIC_IDS.index(w)] @ theta
        scores.append(score)
    return oracle.softmax(np.array(scores))


def joint(model, h, theta):
    """p(y, l | h, theta): l = 0 and l = 1, each for all words."""
    gamma = array(model.softmax.switch)[:, 0]
    p_stop = oracle.sigmoid(gamma @ h)
    content, stop = (word_probabilities(model, h, theta, s) for s in (0, 1))
    return (1 - p_stop) * content, p_stop * stop


def posterior(model, context):
    encoder, bag = model.encoder, np.log1p(oracle.bag_of_words(context, D))
    hidden = [arrays(layer) for layer in encoder.hidden]
    return oracle.encoder(
        bag, hidden, arrays(encoder.mean), arrays(encoder.log_variance)
    )


def oracle_terms(model, batch, epsilon):
    """The objective's terms, given the draws epsilon [B, K]."""
    bounds, kls, log_p_words = [], [], []
    for b in range(B):
        mu, log_var = posterior(model, batch["context"][b])
        theta = oracle.reparameterise(mu, log_var, epsilon[b])
        kls.append(oracle.gaussian_kl(mu, log_var))
        bounds.append(-kls[-1] / 3.0)
        for m, h in enumerate(states(model, batch["inputs"][b, : LENGTHS[b]])):
            y = batch["targets"][b, m]
            content, stop = joint(model, h, theta)
            bounds[-1] += np.log(content[y] if y in TOPIC_IDS else stop[y])
            log_p_words.append(np.log(content[y] + stop[y]))
    return {"loss": -np.mean(bounds), "kl": np.mean(kls), "nll": -np.mean(log_p_words)}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("cell", CELLS)
def test_loss_is_minus_the_bound_for_the_sampled_theta_or_the_posterior_s_mean(
    rng, monkeypatch, cell, training
):
    model, batch = make_model(rng, cell), draw_batch(rng)
    epsilon = rng.normal(size=[B, K]) * training
    fix_draws(monkeypatch, epsilon)
    expected = oracle_terms(model, batch, epsilon)
    terms = model.compute_loss(batch, training=training)
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(terms[name], value, rtol=2e-5, err_msg=name)


@pytest.mark.parametrize("carried", [False, True])
def test_the_rows_of_a_document_bear_its_kl_once(carried):
    """Windows of a batch that have run out of documents bear none."""
    split, config = make_split(DOCUMENTS * 2), {"carry": True, "window": 4}
    model = TopicRNN(Config(**(config if carried else {})), VOCABULARY)
    share = []
    rows = model.batching.rows(split)
    for batch in rows.batches(3, seed=1):
        has_words = (batch["targets"] > 0).any(axis=1)
        np.testing.assert_array_equal(batch["siblings"] > 0, has_words)
        share += [1 / n for n in batch["siblings"] if n]
    document = rows.documents
    assert sum(share) == pytest.approx(len(set(document)))
    found = rows.batch(np.arange(len(rows)))["siblings"]
    assert found.tolist() == [list(document).count(each) for each in document]


def test_each_row_bears_its_share_of_the_kl_which_rises_in_training(rng, monkeypatch):
    given = make_model(rng)
    sizes = {"layers": 2, "kl_warmup_steps": 8}
    model = loops.make_model(TopicRNN, rng, vocabulary_of(TOPIC_IDS), **sizes)
    for ours, theirs in zip(model.weights, given.weights):
        ours.assign(theirs)
    batch = {**draw_batch(rng), "siblings": np.int32([2, 0, 5])}
    kls = [oracle.gaussian_kl(*posterior(model, row)) for row in batch["context"]]
    reference = given.compute_loss(batch, training=False)
    language = float(reference["loss"]) - np.mean(kls) / 3.0
    shared = (kls[0] / 2 + kls[2] / 5) / B
    loss = model.compute_loss(batch, training=False)["loss"]
    np.testing.assert_allclose(loss, language + shared, rtol=2e-5)
    fix_draws(monkeypatch, rng.normal(size=[B, K]))
    losses = []
    for step in (0, 2, 8, 20):
        model.steps.assign(step)
        losses.append(float(model.compute_loss(batch, training=True)["loss"]))
    rises = np.diff(losses[:1] + losses)[1:].cumsum()
    np.testing.assert_allclose(rises, [shared / 4, shared, shared], rtol=1e-3)


# --- Topics -------------------------------------------------------------------------


def test_a_theta_made_from_topics_has_them_as_its_proportions(rng):
    model = make_model(rng)
    topics = rng.dirichlet(np.ones(K) * 3, size=6).astype("float32")
    theta = model.context({"topics": tf.constant(topics)})
    assert_close(tf.nn.softmax(theta), topics)
    np.testing.assert_allclose(tf.reduce_mean(theta, axis=1), np.zeros(6), atol=1e-6)
