"""Topics to be scored, and how they are read from a text file."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.files import read_lines

_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?(e[-+]?[0-9]+)?[.:)]?", re.IGNORECASE)

_WEIGHTED = re.compile(r'[0-9.]+\*"([^"]+)"')  # 0.010*"ship" + ...
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_LABEL = re.compile(r"\s*topic\s*#?\s*[0-9]+\s*[:.)-]?\s+", re.IGNORECASE)


@dataclass(frozen=True)
class TopicList:
    """Topics from one place."""

    source: str
    topics: list[list[str]]  # the words of each, best first
    in_use: int | None = None  # largest of some test document; None: not known


def read_topics(path: Path) -> TopicList:
    """Read topics from a text file, one topic's words a line, best first.

    Blank lines do not count, nor do labels ("Topic 0:") that all lines have; lines may
    be as gensim or Python print topics. Raises InputError, with the file and line, for
    a topic without two different words, and where all lines begin with a number.
    """
    lines = list(read_lines(path))
    labelled = [bool(_LABEL.match(line)) for line in lines if line.strip()]
    if labelled and all(labelled):
        said = "the labels at the beginnings of all lines are no words of topics"
        print(f"{path}: {said}", file=sys.stderr)
        lines = [_LABEL.sub("", line) for line in lines]
    topics = {n: _words(line) for n, line in enumerate(lines, 1) if line.strip()}
    if not topics:
        raise InputError(f"{path}: no topics in it; write one topic's words a line")
    _refuse_numbered(path, list(topics.values()))
    for number, words in topics.items():
        if len(set(words)) < 2:
            raise InputError(
                f"{path}:{number}: a topic needs two different words, this line has "
                f"{words}"
            )
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice:
            print(f"{path}:{number}: {twice!r} is there twice", file=sys.stderr)
    return TopicList(str(path), list(topics.values()))


def _words(line: str) -> list[str]:
    """Return a topic's words: as they are, or as gensim or Python print them."""
    found = _WEIGHTED.findall(line)
    if not found and line.strip()[0] in "[(" and line.strip()[-1] in "])":
        found = [a or b for a, b in _QUOTED.findall(line)]
    return found or line.split()


def _refuse_numbered(path: Path, topics: list[list[str]]) -> None:
    """InputError where the first words are numbers: of rows, or weights."""
    if len(topics) > 1 and all(_NUMBER.fullmatch(words[0]) for words in topics):
        raise InputError(
            f"{path}: every line begins with a number, which is no word of a topic; "
            "leave numbers out with cut -f2- (after spaces cut -d' ' -f2-; of MALLET's "
            "keys, which have weights too, cut -f3-)"
        )
