"""NMF: the fit by its own product, proportions by scipy's least squares."""

import numpy as np
import tensorflow as tf
import tiny
import toy
from helpers import assert_close, eager_and_graph
from scipy import sparse
from scipy.optimize import nnls
from sklearn.feature_extraction.text import TfidfTransformer

from tcnlm.data.dataset import Dataset
from tcnlm.models.nmf import nmf_topics
from tcnlm.models.topics import top_words


def draw_counts(rng, words=10):
    counts = rng.poisson(1.0, [20, words])
    counts[:10, : words // 2] *= 4
    counts[3] = 0  # a document without words
    counts[:, 7] = 0  # a word without documents
    return sparse.csr_matrix(counts)


def test_topics_are_distributions_whose_weighted_sums_are_the_documents_tf_idf(rng):
    counts = draw_counts(rng)
    topics, idf = nmf_topics(counts, 10, seed=1)  # as many as words: exact
    assert_close(topics.sum(axis=1), np.ones(10))
    assert topics.min() > 0
    basis, x = (topics * idf).T, TfidfTransformer().fit_transform(counts).toarray()
    found = np.stack([basis @ nnls(basis, row)[0] for row in x])
    np.testing.assert_allclose(found, x, atol=0.02)


def make_model(data, **settings):
    dataset = Dataset(data)
    model = tiny.untrained("nmf", dataset.vocabulary, **settings)
    model.prepare(dataset)
    return model


def test_the_fit_finds_the_themes_of_the_toy_corpus_again_and_again(toy_data):
    model = make_model(toy_data)
    found = {frozenset(words) for words in top_words(model, 8)}
    assert found == {frozenset(theme) for theme in toy.THEMES}
    assert_close(make_model(toy_data).topics(), model.topics().numpy())


@eager_and_graph
def test_proportions_are_the_least_squares_of_words(rng, wrap):
    model, counts = tiny.untrained("nmf", sweeps=200), draw_counts(rng)
    idf, topics = TfidfTransformer().fit(counts).idf_, rng.gamma(0.5, size=[3, 10])
    model.idf.assign(idf)
    model.topic_weights.assign(topics)
    basis = model.topics().numpy().astype(float) * idf
    x = TfidfTransformer().fit_transform(counts).toarray()
    weights = np.stack([nnls(basis.T, row)[0] for row in x])
    rows = [np.repeat(np.arange(10), row) for row in counts.toarray()]
    context = tf.ragged.constant([r.tolist() for r in rows]).to_tensor(-1)
    expected = (weights + 1e-10) / (weights + 1e-10).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(wrap(model.infer)(context), expected, atol=1e-3)
    assert_close(model.infer(context)[3], np.full(3, 1 / 3))


def test_the_loss_is_what_the_topics_leave_of_each_document_s_length(rng):
    model = tiny.untrained("nmf")
    topics = np.full([3, 10], 1e-9)
    topics[0, 0] = topics[1, 1] = topics[2, 2] = 1
    model.topic_weights.assign(topics)
    context = tf.constant([[0, 0, 1, -1], [5, 5, 5, 5]])  # rebuilt; not at all
    loss = model.compute_loss({"context": context}, training=False)["loss"]
    assert_close(loss, 4 / 7)
