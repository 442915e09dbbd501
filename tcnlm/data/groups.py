"""Rows that are sequences of one document in their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcnlm.data.batching import CONTEXT, WORDS, Array, Batch, Batching, Rows, pieces
from tcnlm.data.dataset import Split
from tcnlm.data.sequences import SequenceRows
from tcnlm.preprocessing.vocabulary import PAD


@dataclass(frozen=True)
class Groups(Batching):
    """A row is `size` sequences of one document in their order, each with its context.

    inputs, targets [B, J, T], context [B, J, C]. A document of more sequences makes
    several rows; where one has fewer the last are empty. What is asked of a sentence by
    itself comes as ever, [B, T] and [B, C].
    """

    size: int
    unit = "document"

    @property
    def arrays(self) -> dict[str, Array]:
        """Those of sequences, J of them a row."""
        return {
            name: Array((self.size, *array.shape), array.padding)
            for name, array in {**WORDS, **CONTEXT}.items()
        }

    def sequences(self, batch: Batch) -> int:
        """Return the number of sequences that are no padding."""
        return int(np.count_nonzero(batch["targets"][:, :, 0] != PAD))

    def rows(self, split: Split) -> GroupRows:
        """Return the groups of a split."""
        return GroupRows(split, self.size)


class GroupRows(Rows):
    """Groups of consecutive sequences of a document."""

    def __init__(self, split: Split, size: int):
        super().__init__(split)
        self.sequences, self.size = SequenceRows(split), size
        self.num_targets = split.num_targets
        places = np.searchsorted(self.sequences.sentence, split.documents)
        _, self.first, self.last = pieces(places[:-1], places[1:], size)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.first)

    def lengths(self) -> np.ndarray:
        """Return the number of sequences of every group."""
        return self.last - self.first

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places in the split's stream of these groups' targets."""
        each = [np.arange(self.first[row], self.last[row]) for row in rows]
        return self.sequences.places(np.concatenate(each))

    def documents_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the number in the split of the document that each group is of."""
        return self.sequences.documents_of(self.first[rows])

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the groups with these indices."""
        places = self.first[rows][:, None] + np.arange(self.size)
        inside = places < self.last[rows][:, None]
        batch = self.sequences.batch(
            np.minimum(places, len(self.sequences) - 1).ravel()
        )
        for name, array in {**WORDS, **CONTEXT}.items():
            batch[name] = batch[name].reshape(*places.shape, -1)
            batch[name][~inside] = array.padding
        return batch
