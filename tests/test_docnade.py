"""DocNADE (Larochelle and Lauly 2012) against loops, by sums and by what depends."""

import itertools

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close, assert_weight_gradients, eager_and_graph, randomise

from tcnlm.generation.saved_model import export
from tcnlm.layers import softmax
from tcnlm.layers.words import log_counts
from tcnlm.models.docnade import Config, DocNADE, DocumentNade
from tcnlm.preprocessing.vocabulary import SPECIALS, Vocabulary

D, H = 5, 3
WORDS = [f"w{i}" for i in range(D)]
VOCABULARY = Vocabulary([*SPECIALS, *WORDS], [9] * 4 + [9, 7, 5, 3, 1], WORDS)
DOCUMENTS = np.array([[0, 3, 3, 1], [4, -1, -1, -1], [2, 2, 0, -1]], np.int32)
ACTIVATIONS = {"sigmoid": oracle.sigmoid, "tanh": np.tanh}


def make_layer(rng, activation="sigmoid", dtype="float64"):
    return randomise(DocumentNade(D, H, activation, dtype=dtype), rng)


def make_model(rng, **settings):
    model = DocNADE(Config(**{"units": H, "log_counts": False, **settings}), VOCABULARY)
    model.build_weights()
    randomise(model.nade, rng)
    return model


def oracle_log_p(layer, document):
    """log p of every word of a document, one sum and one softmax after another."""
    W, c, V, b = (getattr(layer, name).numpy() for name in ("W", "c", "V", "b"))
    act = ACTIVATIONS[layer.activation.__name__]
    found = []
    for i, word in enumerate(document):
        a = c.copy()
        for k in range(i):
            a += W[document[k]]
        h = act(a)
        found.append(
            oracle.log_softmax(np.array([b[w] + V[w] @ h for w in range(D)]))[word]
        )
    return found


@eager_and_graph
@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_the_words_log_probabilities_are_the_oracle_s(rng, wrap, activation):
    layer = make_layer(rng, activation)
    found = wrap(lambda: layer.log_probs(DOCUMENTS))().numpy()
    for row, document in zip(found, DOCUMENTS):
        expected = oracle_log_p(layer, document[document >= 0])
        assert_close(row, np.array(expected + [0.0] * (4 - len(expected))))
    assert_close(layer.nats(DOCUMENTS), -found.sum())


@pytest.mark.parametrize("rows", [1, 3, 512])
@pytest.mark.parametrize("function", ["nats", "log_probs"])
def test_weight_gradients_are_the_finite_differences(rng, function, rows, monkeypatch):
    monkeypatch.setattr(softmax, "ROWS", rows)
    layer = make_layer(rng)
    total = lambda: tf.reduce_sum(getattr(layer, function)(DOCUMENTS))  # noqa: E731
    assert_weight_gradients(total, layer.trainable_variables, rng)


def test_a_document_s_vector_is_the_oracle_s_and_has_no_order(rng):
    model = make_model(rng)
    W, c = model.nade.W.numpy(), model.nade.c.numpy()
    expected = oracle.sigmoid(c + W[0] + 2 * W[3] + W[1])
    for order in itertools.permutations([0, 3, 3, 1]):
        found = model.features({"words": tf.constant([order])})
        np.testing.assert_allclose(found, [expected], rtol=1e-5)


def test_the_split_objective_is_the_full_one_in_the_mean(rng):
    """Over all orders and all splits of a document, exactly."""
    layer = make_layer(rng)
    orders = np.array(list(itertools.permutations([0, 3, 3, 1])), np.int32)
    full = -tf.reduce_mean(tf.reduce_sum(layer.log_probs(orders), axis=1))
    splits = [layer.split_nats(orders, tf.fill([len(orders)], i)) for i in range(4)]
    assert_close(tf.reduce_mean(splits), full)


def test_the_sampled_softmax_nears_the_full_one(rng):
    layer = make_layer(rng)
    frequencies = tf.constant([0.3, 0.1, 0.2, 0.2, 0.2], tf.float64)
    draw = rng.choice(D, 4000, p=frequencies.numpy())
    samples = tf.constant(draw, tf.int32)
    found = layer.sampled_nats(DOCUMENTS, samples, frequencies)
    np.testing.assert_allclose(found, layer.nats(DOCUMENTS), rtol=0.02)


def test_log_counts_are_those_of_every_word():
    counts = [1, 2, 3, 4, 5, 11, 12, 40]
    document = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(0).shuffle(document)
    row = np.concatenate([document, [-1] * 3]).astype(np.int32)
    found = log_counts(tf.constant([row, np.full_like(row, -1)])).numpy()
    for word, count in enumerate(counts):
        assert np.count_nonzero(found[0] == word) == round(np.log(1 + count))
    kept = found[0] >= 0
    assert (found[0][kept] == row[kept]).all()  # at its first places, as they were
    assert (found[1] == -1).all()


def test_orders_are_drawn_anew_in_every_step_and_again_in_the_same(rng):
    model, batch = make_model(rng), {"words": tf.constant([[0, 1, 2, 3, 4]])}

    def loss(step):
        model.steps.assign(step)
        return float(model.compute_loss(batch, training=True)["loss"])

    losses = [loss(step) for step in range(6)]
    assert len(set(losses)) == 6
    assert [loss(step) for step in range(6)] == losses
    orders = itertools.permutations(range(5))
    expected = [-np.sum(oracle_log_p(model.nade, order)) for order in orders]
    assert all(np.isclose(expected, loss, rtol=1e-5).any() for loss in losses)


def order_of(model, document, seed, width=9):
    """The order in which the places of distinct words are read."""
    row = [*document, *[-1] * (width - len(document))]
    [found] = model._one_order(tf.constant([row]), seed).numpy()
    return tuple(document.index(word) for word in found if word >= 0)


def test_every_document_is_scored_in_an_order_of_its_own_the_same_everywhere(rng):
    model = make_model(rng)
    documents = list(itertools.combinations(range(5), 4))
    orders = {
        seed: [order_of(model, d, (0, seed)) for d in documents] for seed in (0, 1)
    }
    assert len(set(orders[0])) >= 3  # of five documents
    assert orders[0] != orders[1]
    assert orders[0] == [order_of(model, d, (0, 0), width=5) for d in documents]
    batch = np.array([[*d, -1, -1] for d in (*documents, documents[0])], np.int32)
    whole = model._one_order(tf.constant(batch), (0, 0)).numpy()
    found = [tuple(d.index(w) for w in row) for d, row in zip(documents, whole)]
    assert found == orders[0]
    np.testing.assert_array_equal(whole[0], whole[-1])


@pytest.mark.parametrize("settings", [{"objective": "split"}, {"sampled": 3}])
def test_the_cheaper_objectives_learn(rng, settings):
    model = make_model(rng, learning_rate=0.02, **settings)
    batch = {"words": tf.constant(DOCUMENTS)}
    model.compile()
    before = model.compute_loss(batch, training=False)["nll"]
    for _ in range(60):
        model.train_step(batch)
    assert model.compute_loss(batch, training=False)["nll"] < 0.9 * before


def test_a_saved_model_gives_vectors_and_scores_documents(rng, tmp_path):
    model = make_model(rng)
    export(model, tmp_path / "saved_model")
    loaded = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(loaded) == {"features", "score_document"}
    texts = tf.constant(["w0 w2 w2 other", "nothing"])
    batch = {"words": tf.constant([[0, 2, 2], [-1, -1, -1]])}
    found = loaded["features"](documents=texts)["features"]
    np.testing.assert_allclose(found[0], model.features(batch)[0], rtol=1e-5)
    assert np.isnan(found[1]).all()
    scores = loaded["score_document"](documents=texts)
    expected = tf.reduce_sum(model(batch), axis=1)
    np.testing.assert_allclose(scores["log_probability"], expected, rtol=1e-5)
    assert scores["words"].numpy().tolist() == [3, 0]
    assert np.isnan(scores["perplexity"].numpy()).tolist() == [False, True]


# --- Words left out -----------------------------------------------------------------


@pytest.mark.parametrize("objective", [{}, {"objective": "split"}, {"sampled": 3}])
def test_words_are_left_out_in_training_only(rng, objective):
    model = make_model(rng, word_dropout=0.9, **objective)
    seen = []
    vector, hidden = model.nade.vector, model.nade.hidden
    model.nade.vector = lambda words, w=1.0: seen.append(w) or vector(words, w)
    model.nade.hidden = lambda words, w=1.0: seen.append(w) or hidden(words, w)
    batch = {"words": tf.constant(np.tile(DOCUMENTS, [50, 1]))}
    model.compute_loss(batch, training=True)
    kept = np.asarray(seen.pop())
    assert set(np.unique(kept).round(4)) == {0.0, 10.0}
    assert kept.mean() == pytest.approx(1, abs=0.3)
    model.compute_loss(batch, training=False)
    model.features(batch)
    assert seen == [1.0, 1.0]
