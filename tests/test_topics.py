"""Topic words, diversity, angles, and the topics of documents."""

import numpy as np
import pytest
from splits import make_split

from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.metrics import features
from tcnlm.models.topics import best_words
from tcnlm.preprocessing.vocabulary import SPECIALS, Vocabulary


class Shares:
    """A topic model whose proportions are the shares of the words a, b and c."""

    def infer(self, context):
        bow = np.asarray(bag_of_words(context, 3)) + 1e-3
        return bow / bow.sum(axis=1, keepdims=True)


def inferred(documents, *size):
    split = make_split([[words] for words in documents])
    return features.infer_documents(Shares(), split, *size)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.6, 1.0])
def test_words_stand_by_the_relevance_of_sievert_and_shirley(rng, weight):
    beta, counts = rng.dirichlet(np.ones(30), size=4), rng.integers(1, 99, 30)
    names = [f"w{i}" for i in range(30)]
    lift = np.log(beta) - np.log(counts / counts.sum())
    order = np.argsort(-(weight * np.log(beta) + (1 - weight) * lift))
    known = Vocabulary([*SPECIALS, *names], [1] * len(SPECIALS) + [*counts], names)
    found = best_words(beta, known, 30, weight)
    assert found == [[names[i] for i in row] for row in order]


@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_every_document_is_inferred_in_order_whatever_the_batch(batch_size):
    found = inferred([[4, 4, 4], [5], [6, 6], [4, 4, 5]], batch_size)
    assert list(found.largest) == [0, 1, 2, 0]
    np.testing.assert_allclose(found.proportions.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(found.proportions[3], [2 / 3, 1 / 3, 0], atol=1e-2)


def test_topics_in_use_are_those_largest_somewhere():
    found = inferred([[4], [4, 4, 5], [6]])
    assert found.in_use == 2
    assert found.largest_proportion == pytest.approx((1 + 2 / 3 + 1) / 3, abs=1e-2)
