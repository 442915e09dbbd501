"""Opening a DATA directory: whatever is damaged is refused before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError, UnreadableError
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.encode import (
    CONTEXTS,
    check_sums,
    counts_of,
    load_arrays,
    read_meta,
)
from tcnlm.preprocessing.languages import ENGLISH, languages
from tcnlm.preprocessing.metadata import DATES, IDS, NO_LABEL, read_labels, read_marks
from tcnlm.preprocessing.splits import SPLITS
from tcnlm.preprocessing.vocabulary import EOS, FILES, UNK, Vocabulary

_LARGEST = np.iinfo(np.int32).max
LONGEST = 100_000  # words of a sequence or context: a batch of them fits into memory

Entries = Mapping[str, tuple[str, Callable[[Any], bool]]]

TEXT = "a text", lambda value: isinstance(value, str)
OBJECT = "an object", lambda value: isinstance(value, dict)
SIZE = (
    f"a whole number from 1 to {_LARGEST}",
    lambda value: type(value) is int and 1 <= value <= _LARGEST,
)
LENGTH = (
    f"a whole number from 1 to {LONGEST:,}",
    lambda value: type(value) is int and 1 <= value <= LONGEST,
)
SETTINGS: Entries = {  # of meta.json, and of what a RUN keeps of it
    "command": TEXT,
    "fingerprint": TEXT,
    "settings.sequence_length": LENGTH,
    "settings.context_words": LENGTH,
    "settings.context": (f"one of {', '.join(CONTEXTS)}", lambda v: v in CONTEXTS),
    "settings.language": (  # none of bags, and of DATA made before there were several
        "a language's code",
        lambda v: v is None or (isinstance(v, str) and v in languages()),
    ),
}
_ENTRIES: Entries = {
    **SETTINGS,
    "vocabulary_size": SIZE,
    "topic_vocabulary_size": SIZE,
    **{f"splits.{s}": ("counts", lambda v: isinstance(v, dict)) for s in SPLITS},
}
_OF_SOME: Entries = {  # that a DATA may have
    "labels": (
        "a list of names, each of them once",
        lambda value: isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and 0 < len(value) == len(set(value)),
    ),
    "word_order": ("true or false", lambda value: isinstance(value, bool)),
}


def open_data(path: Path) -> tuple[dict, Vocabulary]:
    """Return meta.json and the vocabulary of a DATA directory.

    Raises InputError, which names the file, unless all its files are whole, fit
    together and are what they were made as.
    """
    meta = read_meta(path)
    try:
        had = {name: right for name, right in _OF_SOME.items() if name in meta}
        check_entries(path / "meta.json", meta, {**_ENTRIES, **had})
        vocabulary = _vocabulary(path, meta)
        splits = {name: load_arrays(path / name) for name in SPLITS}
        for name, arrays in splits.items():
            _check_arrays(path / name, arrays, len(vocabulary))
            _check_counts(path, name, arrays, vocabulary, meta)
            _check_labels(path / name, len(arrays.documents) - 1, meta.get("labels"))
        for file in (IDS, DATES):
            _check_lines(path, file, splits)
        _check_frequencies(path, splits["train"], vocabulary)
        check_sums(path, meta)
    except UnreadableError:
        raise
    except InputError as error:
        raise InputError(
            f"{error}; make {path} again with python -m preprocessing"
        ) from None
    return meta, vocabulary


def check_entries(file: Path, found: Mapping[str, Any], entries: Entries) -> None:
    """Raise InputError, naming file and entry, where one is not what it must be.

    entries: "settings.context" and the like to what it must be, in words and a test.
    """
    for place, (right, is_right) in entries.items():
        value = found
        for name in place.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not is_right(value):
            raise InputError(f"{file}: {place} is {_shown(value)}, but must be {right}")


def language_of(settings: Mapping[str, Any]) -> str:
    """The language of texts, by the settings of meta.json; English where it is none."""
    return settings.get("language") or ENGLISH


def _shown(value: Any) -> str:
    return "missing" if value is None else shortened(value)


def _vocabulary(path: Path, meta: Mapping[str, Any]) -> Vocabulary:
    vocabulary = Vocabulary.load(path, language_of(meta["settings"]))
    sizes = {
        "vocabulary_size": len(vocabulary),
        "topic_vocabulary_size": len(vocabulary.topic_words),
    }
    for file, (name, size) in zip(FILES, sizes.items()):
        if size != meta[name]:
            raise InputError(
                f"{path / file}: {size} words, but meta.json's {name} is {meta[name]}"
            )
    return vocabulary


def _check_arrays(folder: Path, arrays: Arrays, words: int) -> None:
    tokens, sentences, documents = arrays
    if len(tokens) and not UNK <= tokens.min() <= tokens.max() < words:
        raise InputError(
            f"{folder / 'tokens.npy'}: word ids from {tokens.min()} to {tokens.max()}, "
            f"but a text has those from {UNK} to {words - 1}"
        )
    _check_offsets(folder / "sentences.npy", sentences, "tokens", len(tokens))
    _check_offsets(folder / "documents.npy", documents, "sentences", len(sentences) - 1)


def _check_offsets(file: Path, offsets: np.ndarray, of: str, number: int) -> None:
    rising = len(offsets) and np.all(offsets[1:] >= offsets[:-1])
    if not (rising and offsets[0] == 0 and offsets[-1] == number):
        raise InputError(f"{file}: not offsets that rise from 0 to the {number} {of}")


def _check_counts(
    path: Path,
    split: str,
    arrays: Arrays,
    vocabulary: Vocabulary,
    meta: Mapping[str, Any],
) -> None:
    length = meta["settings"]["sequence_length"]
    said = meta["splits"][split]
    for name, count in counts_of(arrays, vocabulary.topic_ids, length).items():
        # DATA made before these were counted goes on being read.
        told = said.get(name, count if name == "without_topic_words" else None)
        if told != count:
            raise InputError(
                f"{path / 'meta.json'}: splits.{split}.{name} is {_shown(told)}, "
                f"but {path / split} has {count}"
            )


def _check_frequencies(path: Path, train: Arrays, vocabulary: Vocabulary) -> None:
    counts = np.bincount(train.tokens, minlength=len(vocabulary))
    counts[EOS] = len(train.sentences) - 1
    wrong = np.flatnonzero(counts != vocabulary.counts)
    if len(wrong):
        word, place = vocabulary.words[wrong[0]], path / "train" / "tokens.npy"
        raise InputError(
            f"{path / FILES[0]}:{wrong[0] + 1}: {word!r} {vocabulary.counts[wrong[0]]} "
            f"times, but {place} has it {counts[wrong[0]]} times"
        )


def _check_labels(folder: Path, documents: int, names: list[str] | None) -> None:
    file, labels = folder / "labels.npy", read_labels(folder)
    if (labels is None) != (names is None):
        here, there = ("here", "not") if names is None else ("missing", "there")
        raise InputError(f"{file}: {here}, but meta.json's labels are {there}")
    if labels is None:
        return
    if len(labels) != documents:
        raise InputError(f"{file}: {len(labels)} labels of {documents} documents")
    if not NO_LABEL <= labels.min() <= labels.max() < len(names):
        raise InputError(
            f"{file}: labels from {labels.min()} to {labels.max()}, but they go from "
            f"{NO_LABEL} to {len(names) - 1}"
        )


def _check_lines(path: Path, file: str, splits: Mapping[str, Arrays]) -> None:
    lines = {name: read_marks(path / name / file) for name in splits}
    if all(found is None for found in lines.values()):
        return
    for name, found in lines.items():
        documents = len(splits[name].documents) - 1
        if found is None:
            raise InputError(
                f"{path / name / file}: no such file, which another split has"
            )
        if len(found) != documents:
            raise InputError(
                f"{path / name / file}: {len(found)} lines of {documents} documents"
            )
