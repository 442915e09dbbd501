"""Topics to be scored, and how they are read from a text file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.files import read_lines
from tcnlm.preprocessing.text import plain, tokenize

_NUMBER = re.compile(
    r"topic|[-+]?[0-9]+([.,][0-9]+)?(e[-+]?[0-9]+)?[.:)]?", re.IGNORECASE
)
_WEIGHTED = re.compile(r'[0-9.]+\*"([^"]+)"')  # 0.010*"ship" + ...
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_SEVERAL = re.compile(r"\]\)?\s*,\s*[\[(]|['\"]\)\s*,\s*\([0-9]")
_NAMED = re.compile(r"-?[0-9]+((?:_[^_]+){2,})")  # 0_ship_sea, as BERTopic has it
# A comma, but not that of 1,000 or of 0,07.
_SEPARATOR = re.compile(r"[;|]|,(?![0-9]{3}(?![0-9])|(?<=[^0-9]0,)[0-9])|(?<![0-9]),")
_ENDS = re.compile(r"\A(['\"`])(.+)\1\Z")
_SIGN = re.compile(r"[,;|:=*\"()\[\]{}]")
_LIKE = '{"topics": [["ship", "sea"], ["judge", "court"]]}'


@dataclass(frozen=True)
class TopicList:
    """Topics from one place."""

    source: str
    topics: list[list[str]]  # the words of each, best first
    in_use: int | None = None  # largest of some test document; None: not known


def read_topics(path: Path) -> TopicList:
    """Read topics from a text file, one topic's words a line, best first.

    Words are apart by white space, or by one of , ; |. Blank lines do not count. Lines
    may be as gensim, BERTopic or Python print topics, and the whole file JSON. Raises
    InputError, with the file and line, for a topic without two different words, for
    what is no word of a text, and where all lines begin with a number.
    """
    lines = [plain(line) for line in read_lines(path)]
    topics = _of_json(path, "\n".join(lines)) or {
        f"{path}:{number}": _words(line.strip(), f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    }
    if not topics:
        raise InputError(
            f"{path}: no topics in it; write the words of one topic per line"
        )
    firsts = [words[0] for words in topics.values() if words]
    if len(topics) > 1 and all(map(_NUMBER.fullmatch, firsts)):
        raise InputError(
            f"{path}: every line begins with {firsts[0]!r} or the like, no word of a "
            "topic; leave numbers and weights out with cut -f2- or cut -f3-"
        )
    for where, words in topics.items():
        _check(where, words)
    return TopicList(str(path), list(topics.values()))


def _of_json(path: Path, text: str) -> dict[str, list[str]] | None:
    try:
        found = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):  # lines, as Python prints them
        return None
    if found is None:
        return None
    topics = found.get("topics") if isinstance(found, dict) else found
    if _are(topics, str):
        topics = [topics]
    if not _are(topics, list) or not all(_are(words, str) for words in topics):
        raise InputError(f"{path}: JSON, but not like {_LIKE}")
    return {f"{path}, topic {k}": words for k, words in enumerate(topics)}


def _are(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(each, kind) for each in values)


def _words(line: str, where: str) -> list[str]:
    if _SEVERAL.search(line):
        raise InputError(f"{where}: several topics in one line; write one per line")
    found = _WEIGHTED.findall(line)
    if not found and line[0] in "[(" and line[-1] in "])":
        found = [a or b for a, b in _QUOTED.findall(line)]
        line = line[1:-1]
    named = _NAMED.fullmatch(line)
    if found or named:
        return found or named[1].split("_")[1:]
    items = _SEPARATOR.split(line) if _SEPARATOR.search(line) else line.split()
    return [_ENDS.sub(r"\2", item.strip()) for item in items if item.strip()]


def _check(where: str, words: list[str]) -> None:
    """InputError for a topic that cannot be scored."""
    for word in words:
        is_token = not _SIGN.search(word) or tokenize(word) == [word.lower()]
        if word.split() != [word] or not is_token:
            raise InputError(
                f"{where}: {word!r:.40} is not one word of a text; write a topic's "
                "words a line, separated by spaces or by commas"
            )
    if len(set(words)) < 2:
        raise InputError(
            f"{where}: a topic needs two different words, this line has {words}"
        )
