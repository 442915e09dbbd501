"""Phrases: neighbours that stand together too often for chance become one word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.files import numbered_lines

FILE = "phrases.txt"
THRESHOLD = 50.0  # of the score; gensim's own, 10, joins "this movie" too
JOINT = "_"
# gensim's ENGLISH_CONNECTOR_WORDS, whose import takes seconds.
ENGLISH_CONNECTORS = frozenset(
    "a an the for of with without at from to in on by and or".split()
)
_LINE = re.compile(r"(\S+(?: \S+)+)\t([0-9.e+-]+)")

Sentences = Callable[[str], list[list[str]]]


class Phrases:
    """Phrases, their words apart by spaces, and their scores: {"new york": 42.5}."""

    def __init__(self, scores: Mapping[str, float]):
        self.scores = dict(scores)

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def lengths(self) -> list[int]:
        """How many words a phrase has, the most first."""
        return sorted({phrase.count(" ") + 1 for phrase in self.scores}, reverse=True)

    def join(self, words: list[str]) -> list[str]:
        """Return a sentence where the words of each phrase are one: new_york."""
        joined, place = [], 0
        while place < len(words):
            ends = (place + length for length in self.lengths)
            known = (e for e in ends if " ".join(words[place:e]) in self.scores)
            end = next(known, place + 1)
            joined.append(JOINT.join(words[place:end]))
            place = end
        return joined

    def after(self, sentences: Sentences) -> Sentences:
        """Return `sentences` with phrases, to be sent to other processes too."""
        return partial(_joined, sentences, self) if self.scores else sentences

    def save(self, folder: Path) -> None:
        """Write phrases.txt, "words<TAB>score" a line; none where there are none."""
        (folder / FILE).unlink(missing_ok=True)
        if self.scores:
            with (folder / FILE).open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(
                    f"{p}\t{score:.4f}\n" for p, score in self.scores.items()
                )

    @classmethod
    def load(cls, folder: Path) -> Phrases:
        """Read phrases.txt of a DATA or RUN folder, which has one or not."""
        path, scores = folder / FILE, {}
        for number, line in numbered_lines(path) if path.exists() else ():
            found = _LINE.fullmatch(line)
            if not found or found[1] in scores:
                raise InputError(f"{path}:{number}: not a phrase<TAB>score, each once")
            scores[found[1]] = float(found[2])
        return cls(scores)


def _joined(sentences: Sentences, phrases: Phrases, text: str) -> list[list[str]]:
    return [phrases.join(words) for words in sentences(text)]


def learn(
    sentences: Iterable[list[str]],
    min_count: int,
    threshold: float,
    connectors: frozenset[str],
    accept: Callable[[list[str]], bool],
) -> Phrases:
    """Return the phrases of a text, the best first.

    min_count: of a phrase and of its words; threshold: of (count - min_count) times the
    number of types, over the product of its first and last word's counts. connectors:
    words that stand within a phrase, but never at its ends, and do not count. accept:
    which words may make one.
    """
    # Here, since it takes seconds.
    from gensim.models.phrases import Phrases as Counted

    counted = Counted(
        sentences,
        min_count=min_count,
        threshold=threshold,
        delimiter=" ",  # which no word has in it
        connector_words=connectors,
    )
    found = counted.export_phrases().items()
    best = sorted(found, key=lambda pair: (-pair[1], pair[0]))
    return Phrases({phrase: s for phrase, s in best if accept(phrase.split(" "))})
