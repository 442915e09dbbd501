"""Which documents make which split, and in what order."""

import numpy as np
import pytest

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.collect import SPLITS, assign


def test_heldout_is_shuffled_and_halved_and_train_is_shuffled():
    splits = assign({"train": 50, "heldout": 21}, seed=3)
    assert [len(splits[name]) for name in SPLITS] == [50, 10, 11]
    assert sorted(splits["train"]) == list(range(50)) != list(splits["train"])
    heldout = [*splits["valid"], *splits["test"]]
    assert sorted(heldout) == list(range(50, 71)) != heldout


def test_one_input_is_shuffled_and_cut_by_fractions():
    splits = assign({"all": 99}, (0.5, 0.3, 0.2), seed=3)
    assert [len(splits[name]) for name in SPLITS] == [50, 29, 20]
    assert sorted(np.concatenate(list(splits.values()))) == list(range(99))


def test_splits_given_as_files_keep_their_order():
    splits = assign({"train": 3, "valid": 2, "test": 2}, seed=3)
    assert [list(splits[name]) for name in SPLITS] == [[0, 1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    "sizes",
    [
        {"train": 50, "heldout": 40},
        {"all": 99},
        {"train": 50, "valid": 20, "test": 20},
        {"training": 50, "test": 20},
    ],
)
def test_a_limit_keeps_the_first_documents_of_the_shuffled_splits(sizes):
    limited = assign(sizes, limit=(9, 5, 6), seed=3, valid_from_train=10)
    assert [len(limited[name]) for name in SPLITS] == [9, 5, 6]
    assert list(limited["train"]) != sorted(limited["train"])
    larger = assign(sizes, limit=(20, 8, 8), seed=3, valid_from_train=10)
    for name in SPLITS:
        np.testing.assert_array_equal(limited[name], larger[name][: len(limited[name])])


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ({"train": 0, "heldout": 9}, "train"),
        ({"train": 9, "heldout": 1}, "valid"),
        ({"all": 3}, "test"),
        ({"all": 0}, "train"),
        ({"training": 5, "test": 5}, "train"),
    ],
)
def test_a_split_without_documents_is_refused(sizes, name):
    with pytest.raises(InputError, match=f"the {name} split has no document"):
        assign(sizes, valid_from_train=5)


@pytest.mark.parametrize(("wanted", "size"), [(7, 7), (1, 1), (0.1, 4), (0.25, 10)])
def test_validation_is_cut_from_the_shuffled_training_documents(wanted, size):
    splits = assign({"training": 40, "test": 5}, seed=3, valid_from_train=wanted)
    assert [len(splits[name]) for name in SPLITS] == [40 - size, size, 5]
    both = [*splits["valid"], *splits["train"]]
    assert sorted(both) == list(range(40)) != both
    assert list(splits["test"]) == list(range(40, 45))
    again, other = (
        assign({"training": 40, "test": 5}, seed=seed, valid_from_train=wanted)
        for seed in (3, 4)
    )
    assert [*again["train"]] == [*splits["train"]] != [*other["train"]]
