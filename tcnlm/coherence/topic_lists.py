"""Topics to be scored, and how they are read from a text file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from preprocessing.errors import InputError
from preprocessing.sources import read_lines


@dataclass(frozen=True)
class TopicList:
    """Topics from one place."""

    source: str
    topics: list[list[str]]  # the words of each, best first
    in_use: int | None = None  # largest of some test document; None: not known


def read_topics(path: Path) -> TopicList:
    """Read topics from a text file, one topic's words a line, best first.

    Raises InputError, with the file and line, for a topic without two different words.
    """
    topics = [line.split() for line in read_lines(path)]
    if not topics:
        raise InputError(f"{path}: no topics in it; write one topic's words a line")
    for number, words in enumerate(topics, 1):
        if len(set(words)) < 2:
            raise InputError(
                f"{path}:{number}: a topic needs two different words, this line has "
                f"{words or 'none'}"
            )
    return TopicList(str(path), topics)
