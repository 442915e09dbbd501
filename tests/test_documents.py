"""Perplexities of documents, against figures by hand."""

import math

import numpy as np
import pytest
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.metrics.documents import perplexity, unigram

LN2 = math.log(2)


def test_the_published_form_averages_documents_and_the_corpus_form_words():
    # One word of 1 bit; three words of 3 bits each.
    found = perplexity(np.array([1, 9]) * LN2, np.array([1, 3]))
    assert found == pytest.approx((2**2, 2 ** (10 / 4)))


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("last", "p", "unseen"),
    [([1, 2, 0], [2 / 3, 1 / 3, 1], 0), ([0, 2, 1], [3 / 6, 2 / 6, 1 / 6], 1)],
)
def test_the_unigram_model_adds_one_to_every_word_where_one_has_none(
    kind, last, p, unseen
):
    train, test = kind([[2, 0, 0], [0, 1, 0]]), kind([[1, 0, 0], [0, 0, 0], last])
    first, second = -math.log(p[0]), -np.dot(last, np.log(p))
    expected = math.exp((first + second / 3) / 2), math.exp((first + second) / 4)
    assert unigram(train, test) == pytest.approx((*expected, unseen))


def test_documents_without_any_word_have_no_perplexity():
    with pytest.raises(InputError, match="none of the 2 documents has a word"):
        perplexity(np.zeros(2), np.zeros(2))
