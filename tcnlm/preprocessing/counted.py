"""Documents whose words were counted: a label and word:count a line, as svmlight's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.checks import LONGEST
from tcnlm.preprocessing.documents import Document, Fields, checked_name
from tcnlm.preprocessing.files import ahead

MOST_WORDS = LONGEST - 1  # of a document, which is one row of a batch with <eos>

_COUNT = re.compile(r"([0-9]{1,9})(?:\.0*)?")
_LIKE = 'not like "label word:2 word:1"'


def read_counts(
    path: Path, fields: Fields, ids: Mapping[int, str] | None = None
) -> Iterator[Document]:
    """A bag of words a line: its words in the line's order, each as often as counted.

    The label comes first, unless the first entry has a colon. ids: the words that
    numbers stand for; without, words are given, and what follows a # counts as one.
    Empty lines do not count. InputError, with the line, for what is no entry.
    """
    first, lines = ahead(path)
    if ids is None and _only_ids(first):
        raise InputError(
            f"{path}: its words are numbers; --ids-from 0, or 1, says that they are "
            "lines of --vocabulary"
        )
    for number, line in lines:
        if ids is not None:
            line = line.partition("#")[0]
        if line.strip():
            yield _document(line.split(), ids, f"{path}:{number}")


def _only_ids(line: str) -> bool:
    words = [entry.rpartition(":")[0] for entry in line.split() if ":" in entry]
    return bool(words) and all(word.isdecimal() for word in words)


def _document(
    entries: list[str], ids: Mapping[int, str] | None, where: str
) -> Document:
    label = None
    if ":" not in entries[0]:
        label = checked_name(entries.pop(0), f"{where}: the label")
    pairs = [_pair(entry, where) for entry in entries]
    total = sum(count for _, count in pairs)
    if total > MOST_WORDS:
        raise InputError(f"{where}: {total:,} words, more than {MOST_WORDS:,}")
    if ids is not None:
        pairs = [(_word(name, ids, where), count) for name, count in pairs]
    return Document(" ".join(word for word, n in pairs for _ in range(n)), label)


def _pair(entry: str, where: str) -> tuple[str, int]:
    word, _, count = entry.rpartition(":")
    found = _COUNT.fullmatch(count)
    if not word or not found:
        raise InputError(f"{where}: {entry[:40]!r} is {_LIKE}: counts are whole")
    return word, int(found[1])


def _word(name: str, ids: Mapping[int, str], where: str) -> str:
    number = int(name) if re.fullmatch("[0-9]{1,9}", name) else -1
    if number not in ids:
        raise InputError(
            f"{where}: {name[:40]!r} is no id from {min(ids)} to {max(ids)}, the lines "
            "of --vocabulary by --ids-from"
        )
    return ids[number]
