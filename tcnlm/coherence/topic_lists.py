"""Topics to be scored, and how they are read from a text file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from preprocessing.sources import read_lines
from tcnlm.common.errors import InputError

_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?(e[-+]?[0-9]+)?[.:)]?", re.IGNORECASE)


@dataclass(frozen=True)
class TopicList:
    """Topics from one place."""

    source: str
    topics: list[list[str]]  # the words of each, best first
    in_use: int | None = None  # largest of some test document; None: not known


def read_topics(path: Path) -> TopicList:
    """Read topics from a text file, one topic's words a line, best first.

    Blank lines do not count. Raises InputError, with the file and line, for a topic
    without two different words, and where all lines begin with a number.
    """
    lines = enumerate(map(str.split, read_lines(path)), 1)
    topics = {number: words for number, words in lines if words}
    if not topics:
        raise InputError(f"{path}: no topics in it; write one topic's words a line")
    _refuse_numbered(path, list(topics.values()))
    for number, words in topics.items():
        if len(set(words)) < 2:
            raise InputError(
                f"{path}:{number}: a topic needs two different words, this line has "
                f"{words}"
            )
    return TopicList(str(path), list(topics.values()))


def _refuse_numbered(path: Path, topics: list[list[str]]) -> None:
    """InputError where the first words are numbers: of rows, or weights."""
    if len(topics) > 1 and all(_NUMBER.fullmatch(words[0]) for words in topics):
        raise InputError(
            f"{path}: every line begins with a number, which is no word of a topic; "
            "leave numbers out with cut -f2- (after spaces cut -d' ' -f2-; of MALLET's "
            "keys, which have weights too, cut -f3-)"
        )
