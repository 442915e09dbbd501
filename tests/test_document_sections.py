"""Documents measured through evaluate.py: perplexity, retrieval, classes, vectors."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tiny
from trained import call

from tcnlm.data.dataset import Dataset, split_of
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.metrics import classification
from tcnlm.metrics.features import document_vectors, infer_documents
from tcnlm.models import MODELS
from tcnlm.preprocessing.vocabulary import GO

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_has_a_vector_of_every_document(name, labelled):
    data = Dataset(labelled)
    split = data.split("test")
    vectors = document_vectors(tiny.untrained(name, data.vocabulary), split)
    assert len(vectors) == split.num_documents
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors.round(6), axis=0)) > 1


@pytest.mark.parametrize("name", ["tcnlm", "lda", "ntm"])
def test_the_vectors_of_topic_models_are_the_proportions_of_the_page(name, labelled):
    data = Dataset(labelled)
    data.meta["settings"]["context_words"] = 3
    split = data.split("test")
    assert max(split.contexts.lengths()) > 3
    model = tiny.untrained(name, data.vocabulary)
    expected = infer_documents(model, split).proportions
    np.testing.assert_allclose(document_vectors(model, split), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["tcnlm", "lda", "docnade"])
def test_documents_without_a_word_of_the_model_have_vectors_of_zeros(name, labelled):
    data = Dataset(labelled)
    model = tiny.untrained(name, data.vocabulary)
    topicless = int(np.flatnonzero(model.vocabulary.topic_ids < 0)[-1])
    documents = [[[model.vocabulary.words[topicless]]]] * 2
    split = split_of(documents, model.vocabulary, data.meta["settings"])
    vectors = document_vectors(model, split)
    assert len(vectors) == 2
    assert not vectors.any()


@pytest.mark.slow
def test_documents_are_measured_by_the_command_and_shown_on_the_page(
    labelled, tmp_path
):
    run, file = tmp_path / "RUN", tmp_path / "vectors.npz"
    settings = "units=6 epochs=20 batch_size=8".split()
    trained = [labelled, "--model", "docnade", "--out", run, "--set", *settings]
    assert call("train", *trained).returncode == 0
    asked = ["--retrieval", "--classify", "--features", file]
    done = call("evaluate", run, *asked, "--record", tmp_path / "record.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((run / "evaluation.json").read_text())
    words = found["document_perplexity"]
    assert words["published"] < words["unigram"]
    assert words["ratio"] == pytest.approx(words["published"] / words["unigram"])
    assert words["documents"] == 18
    assert found["retrieval"]["curves"]["bag_of_words"]["0.2"] == 1.0  # as themes part
    assert found["retrieval"]["chance"] == pytest.approx(1 / 3, abs=0.02)
    assert found["classification"]["accuracy"] > 0.5
    rows = found["classification"]["rows"]
    bags = {"bag of words", "bag of topic words"}
    assert rows.keys() == {"vector", *bags}
    assert all(rows[bag]["logistic"]["accuracy"] == 1 for bag in bags)
    assert len(found["classification"]["picture"]["x"]) == 18
    assert "retrieval, precision at .02" in done.stdout
    page = (run / "report.html").read_text()
    for title in ("Documents", "Retrieval", "Classification", "Units"):
        assert f"<h2>{title}</h2>" in page
    kept = np.load(file, allow_pickle=False)
    assert kept["vectors"].shape == (18, 6)
    assert kept["label_names"].tolist() == ["theme 0", "theme 1", "theme 2"]
    split = Dataset(labelled).split("test")
    assert kept["labels"].tolist() == split.labels.tolist()
    assert kept["ids"].tolist() == split.ids
    record = json.loads((tmp_path / "record.json").read_text())
    assert "picture" not in record["figures"]["classification"]


def test_classifiers_learn_from_every_other_split_by_parts(labelled, monkeypatch):
    data = Dataset(labelled)
    splits = [data.split(name) for name in ("train", "valid", "test")]
    vectors = [np.arange(3.0) + np.zeros([s.num_documents, 1]) for s in splits]
    seen = []

    def watched(train, labels, *test):
        seen.append((train, labels))
        return {"accuracy": 1.0}

    monkeypatch.setattr(classification, "classify", watched)
    monkeypatch.setattr(classification, "classify_by_network", watched)
    parts = {"first": 2, "second": 1}
    rows = classification.classification(vectors, splits, parts, data)["rows"]
    bags = {
        "bag of words": len(data.vocabulary),
        "bag of topic words": len(data.vocabulary.topic_words),
    }
    assert list(rows) == ["vector", "first", "second", *bags]
    columns = [[0, 1, 2]] * 2 + [[0, 1]] * 2 + [[2]] * 2
    assert [train[0].tolist() for train, _ in seen[:-2]] == columns
    expected = [*splits[0].labels, *splits[1].labels]
    assert all(labels.tolist() == expected for _, labels in seen)
    shapes = [(len(expected), size) for size in bags.values()]
    assert [train.shape for train, _ in seen[-2:]] == shapes


def test_topic_rnns_vector_is_its_mean_and_the_state_after_the_last_word(labelled):
    data = Dataset(labelled)
    model, split = tiny.untrained("topic_rnn", data.vocabulary), data.split("test")
    vectors = document_vectors(model, split)
    assert sum(model.feature_parts.values()) == vectors.shape[1]
    for row in range(3):
        words = [w for sentence in split.document(row) for w in (GO, *sentence)]
        content = tf.constant(split.content(row)[None])
        mean, _ = model.encoder(bag_of_words(content, len(data.vocabulary.topic_words)))
        state, constants = model.initial_state(mean, 1)
        for word in words:
            _, state = model.step(tf.constant([word]), state, constants)
        expected = np.concatenate([mean[0], state[-1][0][0]])
        np.testing.assert_allclose(vectors[row], expected, rtol=1e-4, atol=1e-6)
