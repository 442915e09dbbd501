"""Coherences against loops over every window, gensim, and cases counted by hand."""

import itertools
import math

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
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
from tcnlm.coherence.definitions import (
    COHERENCES,
    coherence,
    irbo,
    mean,
    rank_biased_overlap,
)
from tcnlm.coherence.windows import Windows, count_kinds
from tcnlm.common.errors import InputError

WORDS = "abcd"
corpora = st.lists(st.lists(st.sampled_from("abcdxyz"), max_size=60), max_size=5)


def every_window(documents, kind):
    """All windows as sets, by the definition of the published tools."""
    for document in documents:
        if kind.size == 0:
            yield set(document)
        elif kind.complete:
            for start in range(max(len(document) - kind.size, 0) + 1):
                yield set(document[start : start + kind.size])
        else:
            for end in range(1, len(document) + kind.size):
                yield set(document[max(0, end - kind.size) : end])


def npmi_by_loops(documents, window, first, second, never=0.0):
    sets = list(every_window(documents, Windows(window)))
    one = sum(first in s for s in sets)
    two = sum(second in s for s in sets)
    both = sum(first in s and second in s for s in sets)
    if both == 0:
        return never
    if both == len(sets):
        return 0.0
    pmi = math.log(both * len(sets) / (one * two))
    return pmi / -math.log(both / len(sets))


@settings(deadline=None, max_examples=300)
@given(
    documents=corpora, size=st.sampled_from([0, 1, 2, 5, 20]), complete=st.booleans()
)
def test_counts_equal_a_loop_over_every_window(documents, size, complete):
    kind = Windows(size, complete)
    (counts,) = count_kinds(documents, WORDS, [kind])
    sets = list(every_window(documents, kind))
    assert counts.windows == len(sets)
    for (i, a), (j, b) in itertools.product(enumerate(WORDS), repeat=2):
        assert counts.pairs[i, j] == sum(a in s and b in s for s in sets), (a, b)


@settings(deadline=None, max_examples=200)
@given(
    documents=corpora,
    window=st.sampled_from([0, 1, 4, 20]),
    tops=st.lists(st.integers(2, 6), min_size=1, max_size=3),
    never=st.sampled_from(sorted(NEVER.values())),
)
def test_npmi_for_each_n_and_zero_rule_equals_the_loops(documents, window, tops, never):
    counts = count_windows(documents, WORDS, window)
    pairs = pairwise_npmi(counts, list(WORDS), never)
    for (i, a), (j, b) in itertools.combinations(enumerate(WORDS), 2):
        expected = npmi_by_loops(documents, window, a, b, never)
        assert pairs[i, j] == pytest.approx(expected, abs=1e-12)
    firsts = [pairs[:top, :top] for top in tops]
    expected = [each[np.triu_indices(len(each), 1)].mean() for each in firsts]
    scores = topic_scores(counts, list(WORDS), tops, never)
    assert scores == pytest.approx(expected, abs=1e-12)


def test_zero_rule_for_absent_words_and_pairs_and_for_pairs_in_every_window():
    counts = count_windows([["a", "b"], ["b", "a", "c"]], "abcd", window=0)
    for never in NEVER.values():
        scores = pairwise_npmi(counts, "abcd", never)
        assert scores[0, 1] == 0.0  # in every window
        assert scores[0, 3] == never  # d is in none
        assert scores[0, 2] == pairwise_npmi(counts, "abcd")[0, 2]
    assert counts.absent() == ["d"]
    empty = count_windows([], "ab")
    assert empty.windows == 0
    assert topic_coherence(empty, "ab") == 0.0
    assert topic_coherence(empty, "ab", never=-1.0) == -1.0
    one = count_windows([["a"]], "abcd")
    assert one.absent() == ["b", "c", "d"]
    assert one.absent("dab") == ["d", "b"]


def test_mean_over_n_weighs_the_first_words_more_and_no_word_meets_itself():
    # Only the pair (a, b) ever meets: 1 pair of 10 at N = 5, 1 of 15 from N = 10 on.
    counts = count_windows([["a", "b"], ["x"]], "abcdef", window=0)
    expected = (1 / 10 + 3 / 15) / 4
    assert topic_coherence(counts, "abcdef") == pytest.approx(expected)
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
        (lambda: pairwise_npmi(count_windows([], "ab"), "az"), "without counts.*'z'"),
        (lambda: topic_coherence(count_windows([], "ab"), "a"), "two different words"),
    ],
)
def test_bad_input_is_refused(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()


# --- c_v, c_npmi, c_uci and u_mass ----------------------------------------------------

MANY = [f"w{i}" for i in range(40)]
every_coherence = pytest.mark.parametrize("name", COHERENCES)


def ours(name, documents, topics, top=20):
    words = dict.fromkeys(itertools.chain(*topics))
    (counts,) = count_kinds(documents, words, [COHERENCES[name].windows])
    return coherence(name, counts, topics, top)


def gensims(name, documents, topics):
    dictionary = Dictionary([*documents, *topics])
    read = {"texts": documents}
    if name == "u_mass":
        read = {"corpus": list(map(dictionary.doc2bow, documents))}
    given = {"topics": topics, "dictionary": dictionary, "coherence": name, **read}
    return CoherenceModel(**given, topn=20, processes=1).get_coherence_per_topic()


def corpus(rng, lengths):
    """Documents in which no word stands twice.

    gensim forgets a word of a window in which it does, once its first one leaves.
    """
    others = [f"x{i}" for i in range(200)]
    return [list(rng.permutation([*MANY, *others])[:size]) for size in lengths]


@every_coherence
def test_coherences_equal_gensims(name, rng):
    # Longer and shorter than the windows of 10 and 110; and of documents that are
    # windows, in which words repeat.
    lengths = [0, 3, 9, 10, 11, 60, 109, 110, 111, 150, 240, 240, 200]  # gensim #3368
    documents, topics = corpus(rng, lengths), [MANY[:20], MANY[15:35], MANY[38:]]
    expected = gensims(name, documents, topics)
    assert ours(name, documents, topics) == pytest.approx(expected, abs=1e-12)
    short = [list(rng.choice(MANY, size)) for size in (2, 5, 7, 8, 9, 10, 10, 10)]
    known = [word for word in MANY if any(word in d for d in short)]
    topics = [known[:10], known[10:]]
    expected = gensims(name, short, topics)
    assert ours(name, short, topics) == pytest.approx(expected, abs=1e-12)
    assert ours(name, [], [MANY[:6]]) == [None]


@every_coherence
def test_a_word_that_never_occurs_is_left_out_where_gensim_has_no_number(name, rng):
    documents = corpus(rng, [30, 150, 240])
    topics = [[*MANY[:3], "never", *MANY[3:6]], ["never", "nowhere", MANY[0]]]
    if name != "u_mass":
        with np.errstate(all="ignore"):  # piskvorky/gensim #3040
            assert not np.isfinite(gensims(name, documents, topics)[0])
    known, none = ours(name, documents, topics)
    assert none is None
    assert known == pytest.approx(gensims(name, documents, [MANY[:6]])[0], abs=1e-12)
    assert mean([known, none]) == known
    assert mean([none]) is None


def test_several_kinds_in_one_pass_are_counted_as_each_alone(rng):
    documents = [list(rng.choice(MANY, size)) for size in (0, 1, 30, 200)]
    kinds = [Windows(), Windows(110, complete=True), Windows(0)]
    together = count_kinds(iter(documents), MANY, kinds)
    for kind, counts in zip(kinds, together):
        (alone,) = count_kinds(documents, MANY, [kind])
        assert (counts.pairs != alone.pairs).nnz == 0
        assert (counts.window, counts.complete) == kind
        assert (counts.windows, counts.tokens) == (alone.windows, 231)


def overlap_by_definition(first, second, p=0.9):
    """Equation 30 of Webber et al. for lists of one length k."""
    k = len(first)
    agreements = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, k + 1)]
    series = sum(a * p**d for d, a in enumerate(agreements, 1))
    return agreements[-1] * p**k + (1 - p) / p * series


def test_irbo_is_one_less_the_mean_overlap_of_the_first_ten_words():
    assert rank_biased_overlap("abcdefg", "bacdefg") == pytest.approx(0.9)  # published
    topics = [MANY[:12], [*MANY[5:10], *MANY[20:25]], MANY[10:22]]
    pairs = itertools.combinations([topic[:10] for topic in topics], 2)
    expected = 1 - np.mean([overlap_by_definition(*pair) for pair in pairs])
    assert irbo(topics) == pytest.approx(expected)
    assert irbo([MANY[:10], MANY[10:20]]) == 1.0
    assert irbo([MANY[:10]] * 2) == pytest.approx(0.0)
    assert irbo([MANY[:10]]) is None
