"""Coherences beside NPMI against gensim's where it is right, and against loops."""

import itertools

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from hypothesis import given, settings
from hypothesis import strategies as st

from tcnlm.coherence.diversity import irbo, rank_biased_overlap
from tcnlm.coherence.others import COHERENCES, coherence, mean, windows_of
from tcnlm.coherence.windows import Windows, count_kinds

WORDS = [f"w{i}" for i in range(40)]
corpora = st.lists(st.lists(st.sampled_from("abcdxyz"), max_size=40), max_size=5)


def ours(name, documents, topics, top=20):
    words = dict.fromkeys(itertools.chain(*topics))
    (counts,) = count_kinds(documents, words, windows_of([name]))
    return coherence(name, counts, topics, top)


def gensims(name, documents, topics):
    dictionary = Dictionary([*documents, *topics])
    read = {"texts": documents}
    if name == "u_mass":
        read = {"corpus": list(map(dictionary.doc2bow, documents))}
    model = CoherenceModel(
        topics=topics,
        dictionary=dictionary,
        coherence=name,
        topn=20,
        processes=1,
        **read,
    )
    return model.get_coherence_per_topic()


def corpus(rng, lengths):
    """Documents in which no word stands twice.

    gensim forgets a word of a window in which it does, once its first one leaves.
    """
    others = [f"x{i}" for i in range(200)]
    return [list(rng.permutation([*WORDS, *others])[:size]) for size in lengths]


@pytest.mark.parametrize("name", COHERENCES)
def test_coherences_equal_gensims(name, rng):
    # Longer and shorter than the windows of 10 and 110.
    documents = corpus(rng, [3, 9, 10, 11, 60, 109, 110, 111, 150, 240, 240, 200])
    topics = [WORDS[:20], WORDS[15:35], WORDS[38:]]
    expected = gensims(name, documents, topics)
    assert ours(name, documents, topics) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", COHERENCES)
def test_coherences_equal_gensims_where_words_repeat_in_documents_that_are_windows(
    name, rng
):
    documents = [list(rng.choice(WORDS, size)) for size in (2, 5, 7, 8, 9, 10, 10, 10)]
    topics = [WORDS[:20], WORDS[20:]]
    topics = [[w for w in topic if any(w in d for d in documents)] for topic in topics]
    expected = gensims(name, documents, topics)
    assert ours(name, documents, topics) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", COHERENCES)
def test_a_word_that_never_occurs_is_left_out_where_gensim_has_no_number(name, rng):
    documents = corpus(rng, [30, 150, 240])
    topics = [[*WORDS[:3], "never", *WORDS[3:6]], ["never", "nowhere", WORDS[0]]]
    if name in ("c_v", "c_npmi", "c_uci"):
        with np.errstate(all="ignore"):  # piskvorky/gensim #3040
            assert not np.isfinite(gensims(name, documents, topics)[0])
    known, none = ours(name, documents, topics)
    assert none is None
    assert known == pytest.approx(gensims(name, documents, [WORDS[:6]])[0], abs=1e-12)
    assert mean([known, none]) == known
    assert mean([none]) is None


@pytest.mark.parametrize("name", COHERENCES)
def test_empty_documents_and_none_at_all_end_in_a_number_or_none(name, rng):
    documents = [[], WORDS[:9], *corpus(rng, [30, 150]), []]  # piskvorky/gensim #3368
    (found,) = ours(name, documents, [WORDS[:6]])
    assert found == pytest.approx(gensims(name, documents, [WORDS[:6]])[0], abs=1e-12)
    assert ours(name, [], [WORDS[:6]]) == [None]


@pytest.mark.parametrize("name", COHERENCES)
def test_words_in_every_window_and_pairs_that_never_meet_score_numbers(name):
    documents = [["a", "b"], ["a", "c"], ["a", "b"]]
    scores = ours(name, documents, [["a", "b"], ["b", "c"], ["a", "b", "c", "b"]])
    assert np.isfinite(scores).all()
    assert scores[2] == ours(name, documents, [["a", "b", "c"]])[0]  # b counts once


def every_complete_window(documents, size):
    for document in documents:
        for start in range(max(len(document) - size, 0) + 1):
            yield set(document[start : start + size])


@settings(deadline=None, max_examples=200)
@given(documents=corpora, size=st.sampled_from([1, 2, 5, 20]))
def test_complete_windows_equal_a_loop_over_each_where_words_repeat(documents, size):
    (counts,) = count_kinds(documents, "abcd", [Windows(size, complete=True)])
    sets = list(every_complete_window(documents, size))
    assert counts.windows == len(sets)
    for (i, a), (j, b) in itertools.product(enumerate("abcd"), repeat=2):
        assert counts.pairs[i, j] == sum(a in s and b in s for s in sets), (a, b)


def test_several_kinds_in_one_pass_are_counted_as_each_alone(rng):
    documents = [list(rng.choice(WORDS, size)) for size in (0, 1, 30, 200)]
    kinds = [Windows(), Windows(110, complete=True), Windows(0)]
    together = count_kinds(iter(documents), WORDS, kinds)
    for kind, counts in zip(kinds, together):
        (alone,) = count_kinds(documents, WORDS, [kind])
        assert (counts.pairs != alone.pairs).nnz == 0
        assert (counts.window, counts.complete) == kind
        assert (counts.windows, counts.tokens) == (alone.windows, 231)


def overlap_by_definition(first, second, p=0.9):
    """Equation 30 of Webber et al. for lists of one length k."""
    k = len(first)
    agreements = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, k + 1)]
    series = sum(a * p**d for d, a in enumerate(agreements, 1))
    return agreements[-1] * p**k + (1 - p) / p * series


def test_rank_biased_overlap_equals_its_definition_and_a_published_example():
    assert rank_biased_overlap("abcdefg", "bacdefg") == pytest.approx(0.9)
    assert rank_biased_overlap("abcdefg", "abcdefg") == pytest.approx(1.0)
    assert rank_biased_overlap("abc", "def") == 0.0
    found = rank_biased_overlap("abcdefg", "zcavwxy")
    assert found == pytest.approx(overlap_by_definition("abcdefg", "zcavwxy"))


def test_irbo_is_the_mean_over_pairs_of_the_first_ten_words():
    topics = [WORDS[:12], [*WORDS[5:10], *WORDS[20:25]], WORDS[10:22]]
    pairs = itertools.combinations([topic[:10] for topic in topics], 2)
    expected = 1 - np.mean([overlap_by_definition(*pair) for pair in pairs])
    assert irbo(topics) == pytest.approx(expected)
    assert irbo([WORDS[:10], WORDS[10:20]]) == 1.0
    assert irbo([WORDS[:10]] * 2) == pytest.approx(0.0)
    assert irbo([WORDS[:10]]) is None
