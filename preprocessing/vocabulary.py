"""Counts to the vocabulary of the language model and of the topic model.

Follows Lau et al. (2017), from whom the TCNLM paper takes its preprocessing: four
special symbols, then words by decreasing count in the training text, ties by first
occurrence. The topic words are those that are neither stop words, nor among the most
frequent types, nor without a letter, nor rare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from preprocessing.errors import InputError

PAD, GO, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<go>", "<eos>", "<unk>")
STOP_WORDS = Path(__file__).with_name("stop_words.txt")

FILES = ("vocabulary.txt", "topic_vocabulary.txt")
_LETTER = re.compile("[a-zA-Z]")


@dataclass(frozen=True)
class Rules:
    """What makes a word a word of the vocabulary, and a topic word."""

    min_count: int = 11  # "more than 10" gives the paper's Table 1: results/README.md
    topic_min_count: int = 100  # in the whole training text
    top_fraction: float = 0.001  # of the types: so many most frequent ones are no topic
    stop_words: frozenset[str] = frozenset()


class Vocabulary:
    """Words and their ids; topic words and theirs.

    words [V] with counts [V] (training text), the specials first; topic_words [D] are
    some of the words, in the same order.
    """

    def __init__(
        self, words: Sequence[str], counts: Sequence[int], topic_words: Sequence[str]
    ):
        self.words = list(words)
        self.counts = np.asarray(counts, dtype=np.int64)
        self.topic_words = list(topic_words)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """Word to id, of the words that a text may have: no specials."""
        start = len(SPECIALS)
        return {word: start + i for i, word in enumerate(self.words[start:])}

    @cached_property
    def topic_ids(self) -> np.ndarray:
        """Topic id of every word id, or -1: int32 [V]."""
        ids = np.full(len(self.words), -1, dtype=np.int32)
        ids[self.ids(self.topic_words)] = np.arange(len(self.topic_words))
        return ids

    @property
    def topic_counts(self) -> np.ndarray:
        """Training counts of the topic words: int64 [D]."""
        return self.counts[self.ids(self.topic_words)]

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of `tokens`, UNK for those not in the vocabulary."""
        return [self.index.get(token, UNK) for token in tokens]

    @classmethod
    def load(cls, folder: str | Path) -> Vocabulary:
        """Reads vocabulary.txt and topic_vocabulary.txt of a DATA or RUN folder."""
        (words, counts), (topic_words, _) = (
            _read_counted(Path(folder) / name) for name in FILES
        )
        return cls(words, counts, topic_words)

    def save(self, folder: str | Path) -> None:
        """Writes vocabulary.txt and topic_vocabulary.txt, "word<TAB>count" a line."""
        columns = (self.words, self.counts), (self.topic_words, self.topic_counts)
        for name, (words, counts) in zip(FILES, columns):
            _write_counted(Path(folder) / name, words, counts)


def build_vocabulary(
    types: Sequence[str], counts: np.ndarray, sentences: int, rules: Rules
) -> Vocabulary:
    """The vocabulary of a training text.

    types: its distinct words by first occurrence, with their `counts`;
    sentences: its number of sentences, which is the count of <eos>.
    """
    is_word = np.array([word not in SPECIALS for word in types], dtype=bool)
    order = [i for i in np.argsort(-counts, kind="stable") if is_word[i]]
    kept = [i for i in order if counts[i] >= rules.min_count]
    top = int(rules.top_fraction * len(order))
    ignored = rules.stop_words.union(types[i] for i in order[:top])
    topic_words = [
        types[i]
        for i in kept
        if counts[i] >= rules.topic_min_count and is_content(types[i], ignored)
    ]
    unknown = int(counts.sum() - counts[kept].sum())
    return Vocabulary(
        [*SPECIALS, *(types[i] for i in kept)],
        [0, 0, sentences, unknown, *counts[kept]],
        topic_words,
    )


def is_content(word: str, ignored: frozenset[str]) -> bool:
    """Whether a word can be a topic word, its count aside."""
    return (
        word not in ignored
        and word != "n't"
        and not word.startswith("'")
        and _LETTER.search(word) is not None
    )


def read_stop_words(path: Path = STOP_WORDS) -> frozenset[str]:
    """A word a line, lower-cased; lines that start with # are comments."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: not a readable list of stop words: {error}"
        ) from None
    words = (line.strip().lower() for line in lines if not line.startswith("#"))
    return frozenset(word for word in words if word)


def _write_counted(path: Path, words: Sequence[str], counts: np.ndarray) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{word}\t{count}\n" for word, count in zip(words, counts))


def _read_counted(path: Path) -> tuple[list[str], list[int]]:
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    words, counts = [], []
    for number, line in enumerate(lines, 1):
        word, tab, count = line.rpartition("\t")
        if not tab or not count.isdecimal():
            raise InputError(f"{path}:{number}: not of the form word<TAB>count")
        words.append(word)
        counts.append(int(count))
    return words, counts
