"""Perplexity of documents, retrieval and classification, by hand."""

import numpy as np
import pytest
from test_docnade import VOCABULARY, make_model

from preprocessing.errors import InputError
from tcnlm.evaluation import documents
from tcnlm.evaluation.retrieval import nearest, numbers_taken, precision_curve
from tcnlm.models.base import TopicsAlone
from tcnlm.report.figures import png, retrieval_curves


def test_both_perplexities_by_hand():
    nats, words = np.log([2.0, 2.0**6]), np.array([1, 3])  # 2 and 4 a word
    assert documents.document_perplexity(nats, words) == pytest.approx(8**0.5)
    assert documents.corpus_perplexity(nats, words) == pytest.approx(2 ** (7 / 4))


def test_orders_are_summed_up_by_mean_and_spread():
    nats = np.log([[2.0], [4.0], [6.0]])
    found = documents.over_orders(nats, np.array([1]))
    expected = {"perplexity": 4, "perplexity_spread": 2, "corpus": 4}
    expected |= {"corpus_spread": 2, "orders": 3, "documents": 1}
    assert found == pytest.approx(expected)


def test_the_unigram_perplexity_by_hand():
    train = documents.bags([np.array([0, 0, 1]), np.array([0, -1])], 3)
    assert train.tolist() == [[2, 1, 0], [1, 0, 0]]
    test = documents.bags([np.array([0]), np.array([1, 2])], 3)
    found = documents.unigram_nats(train, test)  # 4/7, 2/7 and 1/7, one added to each
    np.testing.assert_allclose(found, [-np.log(4 / 7), -np.log(2 / 7) - np.log(1 / 7)])


def test_log_counts_are_rounded():
    found = documents.log_counts(np.array([0, 1, 3, 4, 11, 12]))
    assert found.tolist() == [0, 1, 1, 2, 2, 3]


class SomeRows:
    def __init__(self, *batches):
        self.made = [{"words": np.array(words, np.int32)} for words in batches]

    def batches(self, batch_size):
        return iter(self.made)


def test_documents_are_scored_in_several_orders(rng):
    model = make_model(rng)
    nats, words = documents.score_documents(
        model, SomeRows([[0, 3, 1], [4, -1, -1]], [[2, 1, 0, 3]]), orders=4
    )
    assert nats.shape == (4, 3)
    assert words.tolist() == [3, 1, 4]
    assert len(set(nats[:, 2])) > 1
    np.testing.assert_allclose(nats[:, 1], nats[0, 1], rtol=1e-6)  # it has one order


def test_scores_of_nothing_are_refused(rng):
    model = make_model(rng)
    with pytest.raises(InputError, match="no document with a word"):
        documents.score_documents(model, SomeRows())
    with pytest.raises(InputError, match="batch size must be 1 or more, got 0"):
        documents.score_documents(model, SomeRows(), batch_size=0)
    with pytest.raises(InputError, match="document 1 has no word"):
        documents.document_perplexity(np.ones(2), np.array([3, 0]))
    with pytest.raises(InputError, match="no document with a word"):
        documents.corpus_perplexity(np.ones(0), np.ones(0))
    with pytest.raises(InputError, match="orders must be 2 or more"):
        documents.over_orders(np.ones([1, 1]), np.ones(1))


CORPUS = np.array([[2.0, 0], [0, 1], [3, 1], [1, 3], [9, 9]])
LABELS = np.array([0, 1, 1, 0, -1])


def test_precision_by_hand():
    """From [1, 0] the order is 0 2 3 1, labels 0 1 0 1; the unlabelled one is out."""
    curve = precision_curve(
        np.array([[1.0, 0], [0, 5], [1, 1]]),
        np.array([0, 1, -1]),
        CORPUS,
        LABELS,
        (0.0001, 0.25, 0.5, 0.75, 1),
    )
    # Of [0, 5] it is 1 3 2 0, labels 1 0 1 0.
    np.testing.assert_allclose(curve, [1, 1, 1 / 2, 2 / 3, 1 / 2])


def test_length_is_of_no_account_and_equals_go_in_order():
    assert nearest(np.array([[0.0, 0]]), CORPUS, 3).tolist() == [[0, 1, 2]]
    found = nearest(np.array([[1.0, 2]]), CORPUS * [[1], [9], [2], [5], [1]], 5)
    assert (found == nearest(np.array([[3.0, 6]]), CORPUS, 5)).all()


def test_a_fraction_takes_its_floor_and_one_at_least():
    assert numbers_taken(11284, (0.0001, 0.0002, 0.02, 0.2)) == [1, 2, 225, 2256]
    assert numbers_taken(100, (0.0001, 0.29, 1)) == [1, 29, 100]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"fractions": (0.1, 0)}, "fraction 0: must be above 0"),
        ({"fractions": (1.5,)}, "fraction 1.5: must be above 0 and at most 1"),
        ({"labels": LABELS[:4]}, "documents: 5 vectors have 4 labels"),
        ({"labels": np.full(5, -1)}, "documents: none has a label"),
        ({"query_labels": np.full(5, -1)}, "queries: none has a label"),
        ({"queries": CORPUS * np.nan}, "queries: a vector is not finite"),
    ],
)
def test_bad_vectors_and_labels_are_refused(changes, complaint):
    arrays = {"queries": CORPUS, "query_labels": LABELS, "documents": CORPUS}
    with pytest.raises(InputError, match=complaint):
        precision_curve(**{**arrays, "labels": LABELS, **changes})


def test_a_classifier_learns_what_is_linear_and_leaves_out_the_unlabelled(rng):
    pytest.importorskip("sklearn")
    from tcnlm.evaluation.classification import classify

    labels = np.arange(90) % 3
    vectors = np.eye(3)[labels] * [1e-3, 1, 1e3] + rng.normal(size=[90, 3]) * 1e-4
    train_labels = labels.copy()
    train_labels[60:] = -1
    test_labels = labels[:8].copy()
    test_labels[0] = 1  # one of class 0 said to be of 1: 7 of 8 are right
    found = classify(vectors, train_labels, vectors[:8], test_labels)
    assert found["accuracy"] == pytest.approx(7 / 8)
    f1 = [2 * 2 / (2 + 3), 2 * 3 / (3 + 4), 1]  # 2 true of 3 found; 3 of 4; 2 of 2
    assert found["macro_f1"] == pytest.approx(np.mean(f1))
    with pytest.raises(InputError, match="all have the same label"):
        classify(vectors, np.zeros(90), vectors, labels)


def test_the_curves_are_drawn():
    curves = {"docnade": [0.5, 0.4, 0.1], "bag of words": [0.4, 0.2, 0.1]}
    figure = retrieval_curves(curves, (0.0001, 0.02, 0.2))
    assert [line.get_label() for line in figure.axes[0].lines] == list(curves)
    assert png(figure).startswith(b"\x89PNG")


def test_a_topic_model_s_vector_is_its_proportions(rng):
    from tcnlm.models.ntm import NTM, Config

    model = NTM(Config(num_topics=3, embedding_size=4), VOCABULARY)
    assert isinstance(model, TopicsAlone)
    model.build_weights()
    words = np.array([[0, 3, 1], [4, -1, -1]], np.int32)
    expected = model.infer_context(words)
    np.testing.assert_array_equal(model.features({"words": words}), expected)
    np.testing.assert_array_equal(model.features({"context": words}), expected)
