"""Languages: the stop words of each, its abbreviations, and what else sets it apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from configparser import ConfigParser, SectionProxy
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.markup import APOSTROPHES, normalized

ENGLISH = "en"
WITHOUT_SPACES = ("ja", "th", "zh")  # between words: to be segmented first
LIKELY, DISTINCT = 0.1, 30  # a text's share of stop words, and how many there are
STOP_WORDS = Path(__file__).with_name("stop_words.txt")  # of English
_KNOWN = Path(__file__).with_name("languages.ini")


class Language(NamedTuple):
    """What is known of a language; languages.ini says where it is from.

    starters: words that begin a sentence after an abbreviation; after_numbers: those
    before which a number's full stop ends none ("3. Oktober"); elisions: words that
    lose their vowel before an apostrophe (l', qu'); lower: a capital and its small
    letter, where Unicode has another.
    """

    name: str
    stop_words: frozenset[str]
    abbreviations: tuple[str, ...]
    starters: tuple[str, ...]
    after_numbers: tuple[str, ...]
    elisions: tuple[str, ...]
    lower: tuple[str, ...]


@cache
def languages() -> dict[str, Language]:
    """Every language by its code of ISO 639-1, English with MALLET's stop words."""
    known = ConfigParser(delimiters="=", comment_prefixes="#", interpolation=None)
    known.read(_KNOWN, encoding="utf-8")
    # The file alone of stopwords-iso (Gene Diaz), since to import an older one warns.
    listed = Path(find_spec("stopwordsiso").origin).with_name("stopwords-iso.json")
    words = json.loads(listed.read_text(encoding="utf-8"))
    codes = sorted(known.sections())
    return {code: _language(code, known[code], words[code]) for code in codes}


def guessed(counts: Mapping[str, int], given: str) -> str:
    """The language of a text: `given`, unless another has a quarter more stop words."""
    shares = {code: _share(counts, known) for code, known in languages().items()}
    likeliest = max(shares, key=lambda code: shares[code])
    bound = max(LIKELY, 1.25 * shares[given])
    return likeliest if shares[likeliest] > bound else given


def _share(counts: Mapping[str, int], known: Language) -> float:
    found = [w for w in known.stop_words if len(w) > 1 and w in counts]
    if len(found) < DISTINCT:
        return 0.0
    return sum(counts[w] for w in found) / sum(counts.values())


def _language(code: str, entries: SectionProxy, listed: Sequence[str]) -> Language:
    def words(key: str) -> tuple[str, ...]:
        return tuple(entries.get(key, "").split())

    if code == ENGLISH:
        stop_words = read_stop_words(STOP_WORDS)
    else:
        elided = (f"{word}'" for word in words("elisions"))
        lowered = frozenset(normalized(word).lower() for word in listed)
        stop_words = lowered.union(words("more stop words"), elided)
    keys = "abbreviations", "starters", "after numbers", "elisions", "lower"
    return Language(entries["name"], stop_words, *map(words, keys))


def read_stop_words(path: Path) -> frozenset[str]:
    """A word a line, lower-cased; lines that start with # are comments."""
    lines = read_list(path, "stop words")
    lines += [re.sub(f"[{APOSTROPHES}]", "'", line) for line in lines]
    words = (line.strip().lower() for line in lines if not line.startswith("#"))
    return frozenset(word for word in words if word)


def read_list(path: Path, kind: str) -> list[str]:
    """Read the lines of a list of `kind`, words or stop words."""
    try:
        return normalized(path.read_text(encoding="utf-8-sig")).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a readable list of {kind}: {error}") from None
