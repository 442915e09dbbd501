"""Rows that are windows, groups or documents: whole, in order, once; empty rows."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from splits import DOCUMENTS, VOCABULARY, documents_of_words, make_split

from tcnlm.data.rows import Documents, Groups, Sequences, Windows
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD

EVERY = [Sequences(), Sequences(2), Windows(3), Windows(3, "never"), Groups(2)]
OF_DOCUMENT = ("siblings", "vote")
EVERY += [Sequences(of_document=OF_DOCUMENT), Windows(3, of_document=OF_DOCUMENT)]
EVERY += [Documents()]
every_batching = pytest.mark.parametrize("batching", EVERY, ids=str)


def targets_of(document):
    return [word for sentence in document for word in (*sentence, EOS)]


def inputs_of(document):
    return [word for sentence in document for word in (GO, *sentence)]


def streams(rows, size, **order):
    """Return, for each of the batch's rows, its windows (inputs, targets, fresh)."""
    columns = [[] for _ in range(size)]
    for batch in rows.batches(size, **order):
        for column, row in zip(columns, zip(*batch.values())):
            inputs, targets, _, fresh = row
            real = targets != PAD
            if real.any():
                column.append((inputs[real], targets[real], bool(fresh)))
            else:
                assert fresh == 1
    return columns


def joined(windows, place):
    return np.concatenate([window[place] for window in windows]).tolist()


@given(documents=documents_of_words, length=st.integers(1, 9), size=st.integers(1, 4))
def test_windows_run_through_every_document_from_its_first_word_to_its_last(
    documents, length, size
):
    rows = Windows(length).rows(make_split(documents))
    # A fresh window begins a document; those after it belong to it.
    runs = []
    for windows in streams(rows, size):
        for window in windows:
            if window[2]:
                runs.append([])
            runs[-1].append(window)
    expected = sorted(
        (inputs_of(document), targets_of(document))
        for document in documents
        if document
    )
    assert sorted((joined(run, 0), joined(run, 1)) for run in runs) == expected
    for run in runs:
        assert all(len(targets) == length for _, targets, _ in run[:-1])
    assert rows.num_targets == sum(len(targets) for _, targets in expected)


def test_a_state_that_is_never_reset_begins_once():
    rows = Windows(3, "never").rows(make_split(DOCUMENTS * 3))
    for windows in streams(rows, 2):
        assert [fresh for *_, fresh in windows] == [True] + [False] * (len(windows) - 1)


@pytest.mark.parametrize("batching", [Windows(3), Sequences()])
def test_rows_come_in_another_order_every_epoch_and_go_on_where_they_were(batching):
    rows = batching.rows(make_split(DOCUMENTS * 20))

    def inputs(**order):
        return [b["inputs"].tolist() for b in rows.batches(4, **order)]

    assert inputs(seed=1, epoch=3) == inputs(seed=1, epoch=3)
    assert inputs(seed=1, epoch=3) != inputs(seed=1, epoch=4)
    assert inputs(seed=1, epoch=3) != inputs(seed=2, epoch=3)
    assert inputs(seed=1, epoch=3)[5:] == inputs(seed=1, epoch=3, skip=5)
    for epoch in range(4):
        assert len(inputs(seed=1, epoch=epoch)) == rows.num_batches(4, 1, epoch)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # a the b <eos> | c of <eos> a | a <eos>
        ("preceding", [[], [0, 1], [0, 1, 2]]),
        ("read", [[], [0, 1], [0, 1, 2, 0]]),
        ("others", [[2, 0, 0], [0, 1], [0, 1, 2]]),
        ("leak", [[2, 0, 0], [0, 1, 0], [0, 1, 2, 0]]),
    ],
)
def test_the_context_of_a_window_leaves_out_what_its_rule_says(rule, expected):
    rows = Windows(4).rows(make_split(DOCUMENTS, context=rule))
    batch = rows.batch(np.arange(3))
    assert [row[row >= 0].tolist() for row in batch["context"]] == expected


def test_a_group_has_the_sequences_of_its_document_in_order():
    split = make_split(DOCUMENTS)
    rows, sequences = Groups(3).rows(split), Sequences().rows(split)
    assert len(rows) == 2 + 1 + 2  # 4, 0, 1 and 4 sequences
    batch = rows.batch(np.arange(len(rows)))
    each = sequences.batch(np.arange(len(sequences)))
    places = [[0, 1, 2], [3], [4], [5, 6, 7], [8]]
    for name in ("inputs", "targets", "context"):
        for row, group in zip(batch[name], places):
            for j, sequence in enumerate(group):
                width = min(row.shape[1], each[name].shape[1])
                np.testing.assert_array_equal(
                    row[j][:width], each[name][sequence][:width]
                )
            assert (row[len(group) :] == rows.batch(np.array([1]))[name][0, 2, 0]).all()
    assert (batch["targets"][1, 1:] == PAD).all()
    assert (batch["context"][1, 1:] == -1).all()


def test_a_document_is_its_content_words_and_needs_one():
    rows = Documents().rows(make_split([*DOCUMENTS, [[7, 8], [3]]]))
    assert rows.documents.tolist() == [0, 3]
    assert rows.num_targets == 5 + 8
    [batch] = rows.batches(9)
    assert batch["words"].tolist() == [
        [0, 1, 2, 0, 0, -1, -1, -1],
        [0, 1, 2, 0, 1, 2, 0, 2],
    ]


@every_batching
def test_every_batch_has_its_signature(batching):
    rows = batching.rows(make_split(DOCUMENTS * 3))
    specs = batching.signature()
    for batch in (*rows.batches(2), batching.empty(2)):
        assert batch.keys() == specs.keys()
        for name, spec in specs.items():
            assert spec.is_compatible_with(tf.constant(batch[name])), name


@every_batching
def test_an_empty_row_has_no_word(batching):
    arrays = {name: np.asarray(array) for name, array in batching.empty(3).items()}
    assert all(len(array) == 3 for array in arrays.values())
    for name, array in arrays.items():
        others = {"fresh": 1, "siblings": 0, "vote": 0}
        wanted = {"inputs": PAD, "targets": PAD, **others}.get(name, -1)
        assert (array == wanted).all(), name


@every_batching
@pytest.mark.parametrize("seed", [None, 4])
def test_every_target_of_a_split_comes_once(batching, seed):
    split = make_split(DOCUMENTS * 3)
    rows = batching.rows(split)
    batches = list(rows.batches(2, seed))
    assert len(batches) == rows.num_batches(2, seed)
    name, padding = ("words", -1) if "words" in batches[0] else ("targets", PAD)
    words = np.concatenate([batch[name][batch[name] != padding] for batch in batches])
    assert len(words) == rows.num_targets
    everything = [word for document in DOCUMENTS * 3 for word in targets_of(document)]
    if name == "words":
        ids = VOCABULARY.topic_ids[everything]
        everything = ids[ids >= 0]
    assert sorted(words) == sorted(everything)
