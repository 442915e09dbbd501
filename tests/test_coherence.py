"""NPMI against loops over every window, and against cases counted by hand."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.topic_coherence.probability_estimation import p_boolean_sliding_window
from hypothesis import given, settings
from hypothesis import strategies as st

from tcnlm.coherence import (
    NEVER,
    count_windows,
    pairwise_npmi,
    topic_coherence,
    topic_scores,
    windows,
)
from tcnlm.common.errors import InputError

WORDS = "abcd"
corpora = st.lists(st.lists(st.sampled_from("abcdxyz"), max_size=60), max_size=5)


def every_window(documents, window):
    """All windows as sets, by the definition of the published tool."""
    for document in documents:
        if window == 0:
            yield set(document)
        else:
            for end in range(1, len(document) + window):
                yield set(document[max(0, end - window) : end])


def npmi_by_loops(documents, window, first, second, never=0.0):
    sets = list(every_window(documents, window))
    one = sum(first in s for s in sets)
    two = sum(second in s for s in sets)
    both = sum(first in s and second in s for s in sets)
    if both == 0:
        return never
    if both == len(sets):
        return 0.0
    pmi = math.log(both * len(sets) / (one * two))
    return pmi / -math.log(both / len(sets))


def scores_by_loops(documents, window, topic, tops=(5, 10, 15, 20), never=0.0):
    means = []
    for top in tops:
        pairs = list(itertools.combinations(topic[:top], 2))
        scores = [npmi_by_loops(documents, window, a, b, never) for a, b in pairs]
        means.append(sum(scores) / len(scores))
    return means


@settings(deadline=None, max_examples=200)
@given(documents=corpora, window=st.sampled_from([0, 1, 2, 5, 20]))
def test_counts_equal_a_loop_over_every_window(documents, window):
    counts = count_windows(documents, WORDS, window)
    sets = list(every_window(documents, window))
    assert counts.windows == len(sets)
    for (i, a), (j, b) in itertools.product(enumerate(WORDS), repeat=2):
        assert counts.pairs[i, j] == sum(a in s and b in s for s in sets), (a, b)


@settings(deadline=None, max_examples=100)
@given(documents=corpora, window=st.sampled_from([0, 3, 20]))
def test_npmi_equals_a_loop_over_every_window(documents, window):
    scores = pairwise_npmi(count_windows(documents, WORDS, window), list(WORDS))
    for (i, a), (j, b) in itertools.combinations(enumerate(WORDS), 2):
        expected = npmi_by_loops(documents, window, a, b)
        assert scores[i, j] == pytest.approx(expected, abs=1e-12)


def test_coherence_of_a_long_topic_equals_the_loops():
    rng = np.random.default_rng(3)
    vocabulary = [f"w{i}" for i in range(30)]
    documents = [list(rng.choice(vocabulary, size=n)) for n in (0, 1, 7, 90, 200)]
    topic = vocabulary[:22]
    counts = count_windows(documents, topic)
    expected = scores_by_loops(documents, 20, topic)
    assert topic_scores(counts, topic) == pytest.approx(expected, abs=1e-12)
    mean = sum(expected) / len(expected)
    assert topic_coherence(counts, topic) == pytest.approx(mean, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(
    documents=corpora,
    window=st.sampled_from([0, 1, 4, 20]),
    tops=st.lists(st.integers(2, 6), min_size=1, max_size=3),
    never=st.sampled_from(sorted(NEVER.values())),
)
def test_scores_for_each_n_and_zero_rule_equal_the_loops(
    documents, window, tops, never
):
    counts = count_windows(documents, WORDS, window)
    expected = scores_by_loops(documents, window, WORDS, tops, never)
    scores = topic_scores(counts, list(WORDS), tops, never)
    assert scores == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("length", [0, 1, 5, 19, 20, 21, 100])
def test_a_document_of_n_tokens_has_n_plus_19_windows(length):
    assert count_windows([["a"] * length], "a").windows == length + 19


def test_every_token_lies_in_twenty_windows():
    for place in range(30):
        document = ["x"] * 30
        document[place] = "a"
        assert count_windows([document], "a").single[0] == 20


def test_words_further_apart_than_the_window_do_not_meet():
    meets = count_windows([["a", *"x" * 18, "b"]], "ab")
    assert meets.pairs[0, 1] == 1
    assert count_windows([["a", *"x" * 19, "b"]], "ab").pairs[0, 1] == 0


def test_words_of_neighbouring_documents_never_meet():
    assert count_windows([["a"], ["b"]], "ab").pairs[0, 1] == 0


def test_npmi_counted_by_hand():
    # Windows of 2 over "a b c": {a} {a b} {b c} {c}.
    scores = pairwise_npmi(count_windows([["a", "b", "c"]], "abc", 2), list("abc"))
    assert scores[0, 1] == pytest.approx(0.0)  # p12 = 1/4 = p1 p2: independent
    assert scores[0, 2] == 0.0  # never together
    # Windows of 2 over "a b", "x", "x": {a} {a b} {b} {x} {x} {x} {x}.
    scores = pairwise_npmi(count_windows([["a", "b"], ["x"], ["x"]], "ab", 2), "ab")
    assert scores[0, 1] == pytest.approx(math.log(7 / 4) / math.log(7))


def test_words_that_only_occur_together_score_one():
    counts = count_windows([["a", "b"], ["x"]], "ab", window=0)
    assert pairwise_npmi(counts, "ab")[0, 1] == pytest.approx(1.0)


def test_zero_rule_for_absent_words_and_pairs_and_for_pairs_in_every_window():
    counts = count_windows([["a", "b"], ["b", "a", "c"]], "abcd", window=0)
    scores = pairwise_npmi(counts, "abcd")
    assert scores[0, 1] == 0.0  # in every window
    assert scores[0, 3] == 0.0  # d is in none
    assert counts.absent() == ["d"]


def test_minus_one_is_for_absent_words_and_pairs_that_never_meet_only():
    counts = count_windows([["a", "b"], ["b", "a", "c"]], "abcd", window=0)
    scores = pairwise_npmi(counts, "abcd", NEVER["minus-one"])
    assert scores[0, 1] == 0.0  # in every window
    assert scores[0, 3] == -1.0  # d is in none
    assert scores[0, 2] == pairwise_npmi(counts, "abcd")[0, 2]


def test_an_empty_reference_scores_by_the_zero_rule():
    counts = count_windows([], "ab")
    assert counts.windows == 0
    assert topic_coherence(counts, "ab") == 0.0
    assert topic_coherence(counts, "ab", never=-1.0) == -1.0


def test_absent_words_are_those_asked_for_that_no_document_has():
    counts = count_windows([["a"]], "abcd")
    assert counts.absent() == ["b", "c", "d"]
    assert counts.absent("dab") == ["d", "b"]


def test_mean_over_n_weighs_the_first_words_more():
    # Only the pair (a, b) ever meets: 1 pair of 10 at N = 5, 1 of 15 from N = 10 on.
    counts = count_windows([["a", "b"], ["x"]], "abcdef", window=0)
    expected = (1 / 10 + 3 / 15) / 4
    assert topic_coherence(counts, "abcdef") == pytest.approx(expected)


def test_a_word_listed_twice_makes_no_pair_with_itself():
    counts = count_windows([["a", "b"], ["a"], ["x"]], "ab", window=0)
    expected = math.log(3 / 2) / math.log(3)  # of (a, b) alone; (a, a) would score 1
    assert topic_coherence(counts, ["a", "b", "a"]) == pytest.approx(expected)


@pytest.mark.parametrize("window", [0, 20])
def test_chunks_and_blocks_do_not_change_the_counts(monkeypatch, window):
    rng = np.random.default_rng(0)
    documents = [list(rng.choice(list("abcdxyz"), size=40)) for _ in range(20)]
    whole = count_windows(iter(documents), WORDS, window)
    monkeypatch.setattr(windows, "CHUNK", 90)
    monkeypatch.setattr(windows, "PAIRS", 7)
    parts = count_windows(iter(documents), WORDS, window)
    assert (whole.pairs != parts.pairs).nnz == 0
    assert (whole.windows, whole.tokens) == (parts.windows, parts.tokens)
    assert (parts.documents, parts.tokens) == (20, 800)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: count_windows([], "ab", window=-1), "window must be 0"),
        (lambda: pairwise_npmi(count_windows([], "ab"), "az"), "not counted.*'z'"),
        (lambda: topic_coherence(count_windows([], "ab"), "a"), "two different words"),
    ],
)
def test_bad_input_is_refused(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()


def test_counts_equal_gensims_where_the_definitions_coincide(rng):
    # gensim has no partial windows, which padding makes up for, and forgets a word
    # that leaves a window in which it stands twice: here none does.
    vocabulary = [f"w{i}" for i in range(60)]
    documents = [list(rng.permutation(vocabulary)) for _ in range(5)]
    words, pad = vocabulary[:8], ["<pad>"] * 19
    theirs = p_boolean_sliding_window(
        [[*pad, *document, *pad] for document in documents],
        [list(itertools.permutations(range(8), 2))],
        Dictionary([words]),
        window_size=20,
    )
    ours = count_windows(documents, words)
    assert ours.windows == theirs.num_docs
    for a, b in itertools.combinations(words, 2):
        assert ours.pairs[ours.index[a], ours.index[b]] == theirs[a, b]


def test_counting_needs_no_tensorflow():
    program = "import sys, tcnlm.coherence; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
