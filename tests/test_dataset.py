"""The sequences, contexts and batches that a DATA folder makes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from splits import DOCUMENTS, documents_of_words, make_split

from tcnlm.data.rows import Sequences
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD


def make_sequences(*arguments, preceding=0, **options):
    return Sequences(preceding).rows(make_split(*arguments, **options))


def contexts(split):
    """Return each sequence's context, in file order."""
    rows = Sequences().rows(split)
    batch = rows.batch(np.arange(len(rows)))
    return [row[row >= 0].tolist() for row in batch["context"]]


@given(documents=documents_of_words, length=st.integers(1, 7), size=st.integers(1, 9))
def test_every_word_and_eos_is_a_target_exactly_once(documents, length, size):
    split = make_sequences(documents, length)
    batch_rows = [
        (tuple(i[i != PAD]), tuple(t[t != PAD]))
        for batch in split.batches(size)
        for i, t in zip(batch["inputs"], batch["targets"])
    ]
    expected = []
    for sentence in (s for document in documents for s in document):
        tokens = [GO, *sentence, EOS]
        for start in range(0, len(tokens) - 1, length):
            window = tokens[start : start + length + 1]
            expected.append((tuple(window[:-1]), tuple(window[1:])))
    assert sorted(batch_rows) == sorted(expected)
    assert split.num_targets == sum(len(targets) for _, targets in batch_rows)
    assert len(split) == len(batch_rows)


# Of DOCUMENTS' sequences of 3 targets; sentences of 3, 2 and 2 words make 2, 1 and 1,
# the single sentence of document 2 makes one, and the long one of document 3 three.
CONTEXTS = {
    "others": [[2, 0, 0], [2, 0, 0], [0, 1, 0, 0], [0, 1, 2], [], *[[2]] * 3],
    "preceding": [[], [], [0, 1], [0, 1, 2], [], [], [], []],
    "read": [[], [0, 1], [0, 1], [0, 1, 2], [], [], [0, 1, 2], [0, 1, 2] * 2],
    "leak": [
        *[[2, 0, 0], [0, 1, 2, 0, 0], [0, 1, 0, 0], [0, 1, 2], []],
        *[[0, 1, 2, 0, 2], [0, 1, 2, 0, 2], [0, 1, 2, 0, 1, 2, 2]],
    ],
    "all": [*[[0, 1, 2, 0, 0]] * 4, [], *[[0, 1, 2, 0, 1, 2, 0, 2]] * 3],
}


@pytest.mark.parametrize("rule", CONTEXTS)
def test_a_context_leaves_out_what_its_rule_says_and_is_cut_after_its_size(rule):
    assert contexts(make_split(DOCUMENTS, context=rule))[:8] == CONTEXTS[rule]
    cut = contexts(make_split(DOCUMENTS, context=rule, words=2))[:8]
    assert cut == [words[:2] for words in CONTEXTS[rule]]


def preceding(split):
    """Return each sequence's preceding sentences in file order, without padding."""
    batch = split.batch(np.arange(len(split)))
    return [[words[words >= 0].tolist() for words in row] for row in batch["preceding"]]


def test_preceding_sentences_are_whole_in_order_and_of_the_same_document():
    a, b, _ = DOCUMENTS[0]
    expected = [
        *[[[], []]] * 2,  # the first sentence's two sequences have the same, nothing
        [a, []],
        [a, b],
        [[], []],  # the next document knows nothing of the first
        *[[[], []]] * 3,
        [DOCUMENTS[3][0], []],
    ]
    assert preceding(make_sequences(DOCUMENTS, preceding=2)) == expected
    assert preceding(make_sequences(DOCUMENTS, preceding=1))[3] == [b]


def test_only_who_asks_gets_preceding_sentences():
    """The order and the other arrays are the same either way."""
    without = make_sequences(DOCUMENTS * 20)
    asking = make_sequences(DOCUMENTS * 20, preceding=2)
    order = {"batch_size": 4, "seed": 1, "epoch": 3, "skip": 5}
    for ours, theirs in zip(asking.batches(**order), without.batches(**order)):
        assert ours.pop("preceding").dtype == np.int32
        assert list(theirs) == ["inputs", "targets", "context"]
        assert ours.keys() == theirs.keys()
        for name, array in theirs.items():
            np.testing.assert_array_equal(ours[name], array)


def test_whole_documents_are_contexts_in_order_empty_ones_too():
    split = make_split(DOCUMENTS)
    assert [split.document(i) for i in range(split.num_documents)] == DOCUMENTS
    rows = [row for batch in split.document_contexts(3) for row in batch]
    assert [row[row >= 0].tolist() for row in rows] == [
        [0, 1, 2, 0, 0],
        [],
        [],
        [0, 1, 2, 0, 1, 2, 0, 2],
    ]
