"""Counts to the vocabulary of the language model and of the topic model.

As Lau et al. (2017), whom the TCNLM paper follows: four special symbols, then words by
decreasing count in the training text, ties by first occurrence.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError, reading
from tcnlm.preprocessing.languages import ENGLISH, read_list
from tcnlm.preprocessing.phrases import Phrases, Sentences

PAD, GO, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<go>", "<eos>", "<unk>")

FILES = ("vocabulary.txt", "topic_vocabulary.txt")
LETTERS = {
    "english": re.compile("[a-zA-Z]"),  # the paper's rule, after Lau et al. (2017)
    "unicode": re.compile(r"[^\W\d_]"),
}
MOST_UNKNOWN = 0.1  # of the training words
ENOUGH_TOPIC_WORDS, FEWEST_TOPIC_WORDS = 5000, 1000
OFTEN = 10  # times that a topic word is seen, unless too few words are
# What is seen once is not learned, and <unk> needs words to be learned from.
LEAST = 2
# A count of 18 digits is one of int64.
_COUNTED = re.compile("(.+)\t([0-9]{1,18})", re.DOTALL)


@dataclass(frozen=True)
class Rules:
    """What makes a word a word of the vocabulary, and a topic word."""

    # None: `choose` does. "More than 10" gives Table 1: results/counts.md.
    min_count: int | None = 11
    topic_min_count: int | None = 100  # in the whole training text
    top_fraction: float = 0.001  # of the types: so many most frequent ones are no topic
    stop_words: frozenset[str] = frozenset()
    topic_words: tuple[str, ...] | None = None  # if given, exactly these
    topic_letters: str = "english"  # that a topic word has one of: see LETTERS
    max_words: int | None = None  # the most frequent, beside the specials; None: all


class Vocabulary:
    """Words and their ids; topic words and theirs.

    words [V] with counts [V] (training text), the specials first; topic_words [D]: some
    of them, in the same order; language: whose rules make words of a text; phrases:
    which of these are joined to one.
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: Sequence[int],
        topic_words: Sequence[str],
        language: str = ENGLISH,
        phrases: Phrases | None = None,
    ):
        self.words = list(words)
        self.counts = np.asarray(counts, dtype=np.int64)
        self.topic_words = list(topic_words)
        self.language = language
        self.phrases = phrases or Phrases({})

    def __len__(self) -> int:
        return len(self.words)

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` makes the same of, ready for JSON."""
        return {
            "words": self.words,
            "counts": self.counts.tolist(),
            "topic_words": self.topic_words,
            "language": self.language,
            "phrases": self.phrases.scores,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Vocabulary:
        """Return the vocabulary of what `get_config` returned."""
        return cls(**{**config, "phrases": Phrases(config["phrases"])})

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
    def digest(self) -> str:
        """SHA-256 of the words, their counts, the topic words and any phrases."""
        content = [self.words, self.counts.tolist(), self.topic_words]
        content += [self.phrases.scores] * bool(self.phrases)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def topic_counts(self) -> np.ndarray:
        """Training counts of the topic words: int64 [D]."""
        return self.counts[self.ids(self.topic_words)]

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of `tokens`, UNK for those not in the vocabulary."""
        return [self.index.get(token, UNK) for token in tokens]

    def reading(self, split: Sentences | None = None) -> Sentences:
        """Return what makes sentences of words of a text, as of the training text."""
        # Here and below, since its rules take a while to be made.
        from tcnlm.preprocessing.text import in_language, makes_words

        if split is None or makes_words(split):
            split = in_language(self.language)
        return self.phrases.after(split)

    def reads_as(self, other: Vocabulary) -> bool:
        """Whether both make the same words of a text."""
        kept = (self.language, self.phrases.scores)
        return kept == (other.language, other.phrases.scores)

    def beginning(self, text: str) -> list[str]:
        """Return the words of a sentence's beginning."""
        from tcnlm.preprocessing.text import tokenize_beginning

        return self.phrases.join(tokenize_beginning(text, self.language))

    @classmethod
    def load(cls, folder: str | Path, language: str = ENGLISH) -> Vocabulary:
        """Read both vocabularies and any phrases; InputError where they do not fit."""
        file, topic_file = (Path(folder) / name for name in FILES)
        words, topic_words = _read_counted(file), _read_counted(topic_file)
        if tuple(words)[: len(SPECIALS)] != SPECIALS:
            raise InputError(f"{file}:1: does not begin with {' '.join(SPECIALS)}")
        shared = [pair for pair in words.items() if pair[0] in topic_words]
        if list(topic_words.items()) != shared:
            raise InputError(
                f"{topic_file}: not a part of {file.name} in the same order"
            )
        phrases = Phrases.load(Path(folder))
        return cls([*words], [*words.values()], [*topic_words], language, phrases)

    def save(self, folder: str | Path) -> None:
        """Write both vocabularies, word<TAB>count a line, and any phrases."""
        self.phrases.save(Path(folder))
        columns = (self.words, self.counts), (self.topic_words, self.topic_counts)
        for name, pairs in zip(FILES, columns):
            text = "".join(f"{word}\t{count}\n" for word, count in zip(*pairs))
            (Path(folder) / name).write_bytes(text.encode())


def build_vocabulary(
    types: Sequence[str], counts: np.ndarray, sentences: int, rules: Rules
) -> Vocabulary:
    """The vocabulary of a text of these types and counts, and so many sentences."""
    order = _by_frequency(types, counts)
    named = dict.fromkeys(rules.topic_words or ())
    frequent = {i for i in order[: rules.max_words] if counts[i] >= rules.min_count}
    kept = [i for i in order if i in frequent or types[i] in named]
    seen = set(types)
    unseen = [word for word in named if word not in seen]
    if rules.topic_words is None:
        least = max(rules.min_count, rules.topic_min_count)
        candidates = topic_candidates(types, counts, rules)
        topic_words = [types[i] for i in candidates if counts[i] >= least]
    else:
        topic_words = [*(types[i] for i in kept if types[i] in named), *unseen]
    unknown = int(counts.sum() - counts[kept].sum())
    return Vocabulary(
        [*SPECIALS, *(types[i] for i in kept), *unseen],
        [0, 0, sentences, unknown, *counts[kept], *(0 for _ in unseen)],
        topic_words,
    )


def _by_frequency(types: Sequence[str], counts: np.ndarray) -> list[int]:
    order = np.argsort(-counts, kind="stable")
    return [i for i in order if types[i] not in SPECIALS]


def topic_candidates(
    types: Sequence[str], counts: np.ndarray, rules: Rules
) -> list[int]:
    """Indices of the types that are topic words if frequent enough, by frequency."""
    order = _by_frequency(types, counts)
    top = int(rules.top_fraction * len(order))
    ignored = rules.stop_words.union(types[i] for i in order[:top])
    letters = rules.topic_letters
    frequent = order[: rules.max_words]
    return [i for i in frequent if is_content(types[i], ignored, letters)]


def is_content(
    word: str, ignored: frozenset[str], letters: str = Rules.topic_letters
) -> bool:
    """Whether a word can be a topic word, its count aside."""
    return (
        word not in ignored
        and word != "n't"
        and not word.startswith("'")
        and LETTERS[letters].search(word) is not None
    )


def read_topic_words(path: Path) -> tuple[str, ...]:
    """A word a line, taken as it is, each once; empty lines do not count."""
    found = dict.fromkeys(SPECIALS)
    for number, line in enumerate(read_list(path, "words"), 1):
        words = line.split()
        if len(words) > 1 or not found.keys().isdisjoint(words):
            raise InputError(
                f"{path}:{number}: {line!r:.40} must be one word of a text, each once"
            )
        found |= dict.fromkeys(words)
    if len(found) == len(SPECIALS):
        raise InputError(f"{path}: no word in it; write one word per line")
    return tuple(found)[len(SPECIALS) :]


def read_ids(path: Path, first: int) -> dict[int, str]:
    """The words of a list such as `read_topic_words` reads, by their lines."""
    words = read_topic_words(path)
    if len(words) < len(read_list(path, "words")):
        raise InputError(
            f"{path}: ids are line numbers, but one line is empty; remove it"
        )
    return dict(enumerate(words, first))


def _read_counted(path: Path) -> dict[str, int]:
    try:
        with reading(path):
            lines = path.read_bytes().decode("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not readable as UTF-8 text: {error}") from None
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        pair = _COUNTED.fullmatch(line)
        if not pair:
            raise InputError(f"{path}:{number}: not of the form word<TAB>count")
        if pair[1] in counts:
            raise InputError(f"{path}:{number}: {pair[1]!r} occurs twice")
        counts[pair[1]] = int(pair[2])
    return counts


# --- Counts that were left open ----------------------------------------------------


def choose(types: Sequence[str], counts: np.ndarray, rules: Rules) -> Rules:
    """`rules` with a number for every count that is None there (docs/corpora.md)."""
    if rules.min_count is None:
        words = counts[[word not in SPECIALS for word in types]]
        bounds = range(Rules.min_count, LEAST, -1)
        unknown = (
            n for n in bounds if words[words < n].sum() <= MOST_UNKNOWN * words.sum()
        )
        rules = replace(rules, min_count=next(unknown, LEAST))
    if rules.topic_min_count is None:
        found = np.sort(counts[topic_candidates(types, counts, rules)])[::-1]
        least = 0
        if len(found) >= FEWEST_TOPIC_WORDS:
            enough = max(int(found[:ENOUGH_TOPIC_WORDS][-1]), OFTEN)
            fewest = int(found[FEWEST_TOPIC_WORDS - 1])
            least = min(enough, fewest, Rules.topic_min_count)
        rules = replace(rules, topic_min_count=max(rules.min_count, least))
    return rules
