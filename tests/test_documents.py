"""Perplexities of documents, against figures by hand."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.metrics.documents import perplexity, unigram
from tcnlm.metrics.features import count_vectors, log_count_vectors

LN2 = math.log(2)


def test_the_published_form_averages_documents_and_the_corpus_form_words():
    # One word of 1 bit; three words of 3 bits each.
    found = perplexity(np.array([1, 9]) * LN2, np.array([1, 3]))
    assert found == pytest.approx((2**2, 2 ** (10 / 4)))


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_the_unigram_model_goes_by_frequencies_where_all_words_have_one(kind):
    # n = 2, 1, 0 of three words, the last of which is never scored: p = 2/3, 1/3.
    train = kind([[2, 0, 0], [0, 1, 0]])
    test = kind([[1, 0, 0], [0, 0, 0], [1, 2, 0]])
    mean = (math.log(3 / 2) + math.log(3 / 2 * 3 * 3) / 3) / 2
    expected = math.exp(mean), (3 / 2 * 3 / 2 * 3 * 3) ** (1 / 4), 0
    assert unigram(train, test) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_the_unigram_model_adds_one_to_every_word_where_one_has_none(kind):
    # n = 2, 1, 0 of three words: p = 3/6, 2/6, 1/6.
    train = kind([[2, 0, 0], [0, 1, 0]])
    test = kind([[1, 0, 0], [0, 0, 0], [0, 2, 1]])
    mean = (math.log(3 * 3 * 6) / 3 + LN2) / 2
    expected = math.exp(mean), (2 * 3 * 3 * 6) ** (1 / 4), 1
    assert unigram(train, test) == pytest.approx(expected)


@pytest.mark.parametrize("log", [False, True])
def test_the_unigram_model_agrees_with_loops(rng, log):
    train, test = (
        [rng.integers(0, 7, rng.integers(0, 40)) for _ in range(20)] for _ in range(2)
    )
    vectors = log_count_vectors if log else count_vectors

    def words(document):
        for word, count in Counter(document.tolist()).items():
            yield from [word] * (round(math.log(1 + count)) if log else count)

    counts = Counter(word for document in train for word in words(document))
    whole = sum(counts.values())
    means, nats, length = [], 0, 0
    for document in test:
        costs = [-math.log(counts[w] / whole) for w in words(document)]
        if costs:
            means.append(sum(costs) / len(costs))
            nats, length = nats + sum(costs), length + len(costs)
    expected = math.exp(sum(means) / len(means)), math.exp(nats / length)
    found = unigram(vectors(train, 7), vectors(test, 7))
    assert found[:2] == pytest.approx(expected)


def test_documents_without_any_word_have_no_perplexity():
    with pytest.raises(InputError, match="none of the 2 documents has a word"):
        perplexity(np.zeros(2), np.zeros(2))
