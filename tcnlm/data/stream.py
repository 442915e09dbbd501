"""The words of a split as targets, each with the word before it as input."""

from __future__ import annotations

import numpy as np

from tcnlm.preprocessing.vocabulary import EOS, GO, PAD


class Stream:
    """The targets of a split, one after another: each sentence's words and `<eos>`.

    A sentence w1 .. wn is `<go> w1 .. wn` -> `w1 .. wn <eos>`: n + 1 targets. Place p
    of the stream belongs to a sentence s, and p - s is the place of its word among the
    tokens (for `<eos>`, of the next sentence's first).
    """

    def __init__(self, tokens: np.ndarray, sentences: np.ndarray):
        self.tokens = tokens
        self.sentences = sentences
        self.starts = sentences + np.arange(len(sentences))  # of each sentence

    def sentence_of(self, places: np.ndarray) -> np.ndarray:
        """Return the sentences that places are in."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def words(self, first: np.ndarray, last: np.ndarray) -> dict[str, np.ndarray]:
        """Return the inputs and targets [B, T] of the places first .. last - 1 each."""
        places = first[:, None] + np.arange(max(1, (last - first).max(initial=0)))
        inside = places < last[:, None]
        at = places[inside]
        sentence = self.sentence_of(at)
        inputs, targets = (np.full(places.shape, PAD, np.int32) for _ in range(2))
        begins = at == self.starts[sentence]
        ends = at + 1 == self.starts[sentence + 1]
        token = at - sentence
        inputs[inside] = np.where(begins, GO, self._tokens(token - 1, ~begins))
        targets[inside] = np.where(ends, EOS, self._tokens(token, ~ends))
        return {"inputs": inputs, "targets": targets}

    def _tokens(self, places: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        found = np.zeros(len(places), np.int32)
        found[wanted] = self.tokens[places[wanted]]
        return found

    def own_tokens(
        self, first: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the tokens among the targets first .. last - 1 each."""
        begin, end = self.sentence_of(first), self.sentence_of(last - 1)
        return first - begin, np.minimum(last - end, self.sentences[end + 1])

    def touched_tokens(
        self, first: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the tokens of all sentences that these targets touch."""
        begin, end = self.sentence_of(first), self.sentence_of(last - 1)
        return self.sentences[begin], self.sentences[end + 1]


def cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """Return the rows in pieces of `size`, the last one what is left."""
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def pad(rows: list[np.ndarray], value: int, width: int = 0) -> np.ndarray:
    """Return rows of any length as int32 [B, width or more], padded with `value`."""
    width = max([width, *map(len, rows)])
    padded = np.full((len(rows), width), value, np.int32)
    for row, padded_row in zip(rows, padded):
        padded_row[: len(row)] = row
    return padded
