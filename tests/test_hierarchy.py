"""What is said of topics in layers: tree, sample document, norms of the LSTM."""

import gbn_oracle
import numpy as np
import pytest
import tensorflow as tf
import tiny
from loops import lstm

from tcnlm.data.dataset import Dataset
from tcnlm.drawing.markup import filled
from tcnlm.drawing.tree import chosen_topics, topic_tree
from tcnlm.metrics.hierarchy import Hierarchy, hierarchy, sentence_topics
from tcnlm.models.gbn_rnn import theta_of_sentences
from tcnlm.models.topics import word_shares

WORDS = ["ship", "sea", "<sail>", "of", "storm", "wave"]


@pytest.fixture(scope="module")
def data(toy_data):
    return Dataset(toy_data, "preceding")


def settings_of(data):
    return {**data.meta["settings"], "context": "preceding"}


@pytest.mark.parametrize("name", ["rgbn_rnn", "gbn_rnn"])
def test_topics_of_layers_are_linked_by_phi_and_pi(name, data, rng):
    model = tiny.untrained(name, data.vocabulary, units=(6, 5), num_topics=(4, 6))
    for Pi in model.network.Pi:
        Pi.assign(rng.dirichlet(np.ones(Pi.shape[0]), Pi.shape[0]).T)
    layers = hierarchy(model, data, data.split("test"))["layers"]
    Phi = [each.numpy() for each in model.network.Phi]
    beta = [Phi[0], Phi[0] @ Phi[1]]
    words = data.vocabulary.topic_words
    for n, layer in enumerate(layers):
        assert sum(topic["use"] for topic in layer) == pytest.approx(1, rel=1e-4)
        for k, topic in enumerate(layer):
            assert topic["topic"] == k
            best = beta[n][:, k] / word_shares(data.vocabulary) ** 0.5
            assert topic["words"][0] == words[best.argmax()]
            if name == "gbn_rnn":
                assert (topic["next"], topic["stays"]) == ([], None)
            else:
                column = model.network.Pi[n].numpy()[:, k]
                assert topic["stays"] == pytest.approx(column[k])
                others = sorted({*range(len(column))} - {k}, key=lambda i: -column[i])
                assert [after for after, _ in topic["next"]] == others[:4]
    assert all(topic["below"] == [] for topic in layers[0])
    for k, topic in enumerate(layers[1]):
        column = {i: Phi[1][i, k] for i in range(4)}
        largest = sorted(column, key=lambda i: -column[i])
        assert [below for below, _ in topic["below"]] == largest
        assert topic["below"][0][1] == pytest.approx(max(column.values()))


def test_a_sample_document_has_the_proportions_of_its_sentences(data):
    model, split = tiny.untrained("rgbn_rnn", data.vocabulary), data.split("test")
    found = hierarchy(model, data, split)["document"]
    names = data.vocabulary.words
    sentences = [[names[i] for i in s] for s in split.document(found["document"])]
    assert found["sentences"] == [" ".join(words) for words in sentences]
    theta = theta_of_sentences(model, sentences, settings_of(data))
    for shares, weights in zip(found["proportions"], theta):
        total = tf.reduce_sum(weights, axis=1, keepdims=True)
        assert len(shares) == 5
        np.testing.assert_allclose(shares, weights / total, atol=1e-4)


def test_norms_are_those_of_each_layers_own_state_after_each_word(data):
    model, split = tiny.untrained("gbn_rnn", data.vocabulary), data.split("test")
    found = hierarchy(model, data, split)
    sentences = [s.split() for s in found["document"]["sentences"]]
    chosen = sentences.index(found["norms"]["words"])
    theta = theta_of_sentences(model, sentences, settings_of(data))
    ids = [1, *data.vocabulary.ids(sentences[chosen])]  # after <go>
    outputs = model.embedding.embeddings.numpy()[ids]
    for layer, weights, norms in zip(model.recurrent, theta, found["norms"]["norms"]):
        own = np.linalg.norm(lstm(layer.lstm, outputs)[1:], axis=1)
        np.testing.assert_allclose(norms, own, atol=1e-4)
        outputs = gbn_oracle.coupled(outputs[None], weights.numpy()[[chosen]], layer)[0]


def topic(number, use, below=(), following=()):
    links = {"below": list(below), "next": list(following), "stays": 0.5}
    return {"topic": number, "words": WORDS, "use": use, **links}


LAYERS = [
    [topic(k, 0.2, following=[[(k + 1) % 5, 0.4], [0, 0.05]]) for k in range(5)],
    [
        topic(0, 0.1, [[4, 0.9], [3, 0.1]]),
        topic(1, 0.6, [[0, 0.7], [2, 0.2], [1, 0.1]]),
        topic(2, 0.3, [[2, 0.5], [1, 0.4]]),
    ],
]


def test_a_tree_has_the_most_used_topics_and_the_largest_below_them():
    assert chosen_topics(LAYERS) == [[0, 2, 1, 4, 3], [1, 2, 0]]
    assert chosen_topics(LAYERS[:1]) == [[0, 1, 2, 3, 4]]
    (axes,) = topic_tree(LAYERS).axes
    boxes = [text.get_text() for text in axes.texts if ":" in text.get_text()]
    assert len(boxes) == 8
    assert "2:1  (60%)\nship, sea\n<sail>, of\nstorm" in boxes
    assert len(axes.patches) == 7 + 5  # Phi; Pi without weights of .05


def test_the_heat_map_has_a_panel_a_layer_and_a_row_a_topic():
    proportions = [[[0.1, 0.2, 0.3, 0.25, 0.15]] * 4, [[0.5, 0.2, 0.3]] * 4]
    found = {"layers": LAYERS, "document": {"proportions": proportions}}
    high, low, _ = sentence_topics(found).axes
    titles = [text.get_text()[:3] for text in high.get_yticklabels()]
    assert titles == ["2:0", "2:2", "2:1"]
    shown = low.images[0].get_array()
    np.testing.assert_allclose(shown[:, 0], [0.3, 0.25, 0.2, 0.15, 0.1])
    assert shown.shape == (5, 4)


def test_the_page_lists_the_topics_of_every_layer_by_their_use():
    document = {"document": 3, "sentences": ["a <b>", "c"]}
    found = {"layers": LAYERS, "document": document}
    metric = Hierarchy()
    page = filled(metric.template, **metric.shown({"hierarchy": found}, None))
    places = [page.index(f"<td>{name}</td>") for name in ("2:1", "2:2", "2:0", "1:0")]
    assert places == sorted(places)
    assert "<sail>" not in page
    assert "&lt;sail&gt;" in page
