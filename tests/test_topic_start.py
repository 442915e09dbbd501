"""Where the topics of the neural topic model start, and their steps alone."""

import re
import sys

import numpy as np
import pytest
import tensorflow as tf
import tiny
from gensim.models import KeyedVectors
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from tcnlm.common.errors import InputError
from tcnlm.data import word_vectors
from tcnlm.data.dataset import Dataset
from tcnlm.data.word_vectors import similarities
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.models.starts import check_starts
from tcnlm.models.topics import top_words


@pytest.fixture
def directions(rng):
    """Twelve words, four near each of three axes, in turn."""
    return np.tile(np.eye(3), [4, 1]) * 5 + rng.normal(scale=0.1, size=[12, 3])


def test_similarities_put_each_cluster_of_words_first_in_one_row(directions):
    near = similarities(directions, 3, seed=1)
    first = {tuple(sorted(np.argsort(-row)[:4] % 3)) for row in near}
    assert first == {(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2)}


def test_similarities_are_cosines_less_mean_over_deviation(directions):
    near = similarities(directions, 1, seed=1)[0]
    unit = np.stack([v / np.sqrt(sum(v * v)) for v in directions])
    cosines = unit @ unit.mean(axis=0)
    expected = (cosines - cosines.mean()) / np.sqrt(
        np.mean((cosines - cosines.mean()) ** 2)
    )
    np.testing.assert_allclose(near, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["neural_topics", "tcnlm"])
def test_more_topics_than_words_are_refused_before_clusters_are_made(name):
    chosen = {"num_topics": 11, "topic_start": "vectors"}
    with pytest.raises(InputError, match="num_topics=11: .* 10 topic words; lower it"):
        check_starts(tiny.untrained(name, **chosen))


def started(toy_data, name, **chosen):
    data = Dataset(toy_data)
    model = tiny.untrained(name, data.vocabulary, **chosen)
    model.prepare(data)
    return model


@pytest.mark.parametrize("name", ["neural_topics", "tcnlm"])
def test_topics_start_at_frequencies_times_the_clusters_of_the_given_vectors(
    toy_data, tmp_path, rng, name
):
    words = Dataset(toy_data).vocabulary.topic_words
    given, file = KeyedVectors(4), tmp_path / "given.bin"
    axes = np.eye(4)[np.arange(len(words)) % 3].astype(np.float32)
    given.add_vectors(words, axes + rng.normal(scale=0.01, size=axes.shape))
    given.save_word2vec_format(str(file), binary=True)
    alone = {"topic_pretrain_steps": 0} if name == "tcnlm" else {}
    chosen = {"embeddings": str(file), "embedding_size": 4, **alone}
    model = started(toy_data, name, topic_start="vectors", **chosen)
    counts = np.maximum(model.vocabulary.topic_counts, 1)
    lifted = model.topics().numpy() / counts
    for row in lifted:
        nearest = np.argsort(-row)[: len(words) // 3]
        assert len(set(nearest % 3)) == 1


def test_vectors_of_the_text_are_made_once_for_embeddings_and_topics(
    toy_data, monkeypatch
):
    made, train = [], word_vectors.train_vectors
    counted = lambda *asked: made.append(asked[1:]) or train(*asked)  # noqa: E731
    monkeypatch.setattr(word_vectors, "train_vectors", counted)
    chosen = {
        "embeddings": "train",
        "topic_start": "vectors",
        "topic_pretrain_steps": 0,
    }
    both = started(toy_data, "tcnlm", **chosen).topics()
    assert len(made) == 1
    alone = started(toy_data, "tcnlm", **{**chosen, "embeddings": "random"}).topics()
    np.testing.assert_array_equal(both, alone)


def head_started(toy_data, **chosen):
    tf.keras.utils.set_random_seed(1)
    model = started(toy_data, "tcnlm", encoder_dropout=0.0, **chosen)
    return model.decoder.logits.numpy()


def test_the_second_of_two_steps_alone_is_half_as_long_where_rates_fall(toy_data):
    first = head_started(toy_data, topic_pretrain_steps=1)
    whole = head_started(toy_data, topic_pretrain_steps=2)
    half = head_started(toy_data, topic_pretrain_steps=2, topic_pretrain_decay="linear")
    assert np.abs(whole - first).max() > 1e-4
    np.testing.assert_allclose(half - first, (whole - first) / 2, atol=2e-6)


def mixed_with_frequencies(data, topics):
    counts = np.array(data.vocabulary.topic_counts, float)
    return 0.7 * topics + 0.3 * counts / counts.sum()


@pytest.mark.parametrize("name", ["neural_topics", "tcnlm"])
def test_topics_start_at_nmf_s_over_idf_mixed_with_the_frequencies(toy_data, name):
    data = Dataset(toy_data)
    split, D = data.split("train"), len(data.vocabulary.topic_words)
    bags = [
        np.bincount(split.content(i), minlength=D) for i in range(split.num_documents)
    ]
    tf_idf = TfidfTransformer()
    fitted = NMF(3, random_state=1).fit(tf_idf.fit_transform(bags))
    topics = fitted.components_ / tf_idf.idf_
    topics /= topics.sum(axis=1, keepdims=True)
    alone = {"topic_pretrain_steps": 0} if name == "tcnlm" else {}
    model = started(toy_data, name, num_topics=3, topic_start="nmf", **alone)
    expected = mixed_with_frequencies(data, topics)
    np.testing.assert_allclose(model.topics(), expected, atol=1e-3)


def test_topics_start_at_lda_s_by_gibbs_mixed_with_the_frequencies(toy_data):
    pytest.importorskip("tomotopy")
    chosen = {"num_topics": 3, "topic_pretrain_steps": 0}
    model = started(toy_data, "tcnlm", topic_start="lda", **chosen)
    fitted = started(toy_data, "lda", num_topics=3, fit="gibbs").topics().numpy()
    expected = mixed_with_frequencies(Dataset(toy_data), fitted)
    np.testing.assert_allclose(model.topics(), expected, rtol=1e-4)


def test_without_tomotopy_a_start_from_lda_is_refused_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(InputError, match="topic_start=lda: needs tomotopy"):
        check_starts(tiny.untrained("tcnlm", topic_start="lda"))


def test_how_good_the_topics_are_is_printed_as_they_start_and_before_the_epochs(
    toy_data, capsys
):
    model = started(toy_data, "tcnlm", topic_start="nmf", num_topics=3)
    lines = capsys.readouterr().out.splitlines()
    orders = [r"NPMI (-?\d\.\d{3}), diversity (\d\.\d\d)"] * 2
    figures = "; by relevance ".join(orders)
    assert re.fullmatch(f"topics where they start: {figures}", lines[0])
    after = re.fullmatch(f"topics after 9 steps alone: {figures}", lines[1])
    context = EvaluationContext(model, Dataset(toy_data), rows=None)
    expected = [
        measured[name]
        for measured in (context.coherence, context.relevant_coherence)
        for name in ("npmi", "diversity")
    ]
    np.testing.assert_allclose([*map(float, after.groups())], expected, atol=0.006)
    listed = [f"    {k}  {' '.join(w)}" for k, w in enumerate(top_words(model, 10))]
    assert lines[2:] == listed
