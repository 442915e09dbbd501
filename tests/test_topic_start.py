"""Where the topics of the neural topic model start, and their steps alone."""

import re

import numpy as np
import pytest
import tiny
from gensim.models import KeyedVectors
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from tcnlm.data.dataset import Dataset
from tcnlm.data.word_vectors import similarities
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.models.topics import top_words


@pytest.fixture
def directions(rng):
    """Twelve words, four near each of three axes, in turn."""
    return np.tile(np.eye(3), [4, 1]) * 5 + rng.normal(scale=0.1, size=[12, 3])


def test_similarities_are_cosines_less_mean_over_deviation(directions):
    near = similarities(directions, 1, seed=1)[0]
    unit = np.stack([v / np.sqrt(sum(v * v)) for v in directions])
    cosines = unit @ unit.mean(axis=0)
    expected = (cosines - cosines.mean()) / np.sqrt(
        np.mean((cosines - cosines.mean()) ** 2)
    )
    np.testing.assert_allclose(near, expected, rtol=1e-6)


def started(toy_data, name, **chosen):
    data = Dataset(toy_data)
    model = tiny.untrained(name, data.vocabulary, **chosen)
    model.prepare(data)
    return model


def test_topics_start_at_frequencies_times_the_clusters_of_the_given_vectors(
    toy_data, tmp_path, rng
):
    words = Dataset(toy_data).vocabulary.topic_words
    given, file = KeyedVectors(4), tmp_path / "given.bin"
    axes = np.eye(4)[np.arange(len(words)) % 3].astype(np.float32)
    given.add_vectors(words, axes + rng.normal(scale=0.01, size=axes.shape))
    given.save_word2vec_format(str(file), binary=True)
    chosen = {"embeddings": str(file), "embedding_size": 4, "topic_pretrain_steps": 0}
    model = started(toy_data, "tcnlm", topic_start="vectors", **chosen)
    counts = np.maximum(model.vocabulary.topic_counts, 1)
    lifted = model.topics().numpy() / counts
    for row in lifted:
        nearest = np.argsort(-row)[: len(words) // 3]
        assert len(set(nearest % 3)) == 1


def mixed_with_frequencies(data, topics):
    counts = np.array(data.vocabulary.topic_counts, float)
    return 0.7 * topics + 0.3 * counts / counts.sum()


def test_topics_start_at_nmf_s_over_idf_mixed_with_the_frequencies(toy_data):
    data = Dataset(toy_data)
    split, D = data.split("train"), len(data.vocabulary.topic_words)
    bags = [
        np.bincount(split.content(i), minlength=D) for i in range(split.num_documents)
    ]
    tf_idf = TfidfTransformer()
    fitted = NMF(3, random_state=1).fit(tf_idf.fit_transform(bags))
    topics = fitted.components_ / tf_idf.idf_
    topics /= topics.sum(axis=1, keepdims=True)
    model = started(toy_data, "neural_topics", num_topics=3, topic_start="nmf")
    expected = mixed_with_frequencies(data, topics)
    np.testing.assert_allclose(model.topics(), expected, atol=1e-3)


def test_topics_start_at_lda_s_by_gibbs_mixed_with_the_frequencies(toy_data):
    pytest.importorskip("tomotopy")
    chosen = {"num_topics": 3, "topic_pretrain_steps": 0}
    model = started(toy_data, "tcnlm", topic_start="lda", **chosen)
    fitted = started(toy_data, "lda", num_topics=3, fit="gibbs").topics().numpy()
    expected = mixed_with_frequencies(Dataset(toy_data), fitted)
    np.testing.assert_allclose(model.topics(), expected, rtol=1e-4)


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
