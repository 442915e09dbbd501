"""Documents to the arrays of the DATA directory and its meta.json.

First every document is tokenized, on all cores, and written to a temporary file with
provisional ids (in the order in which words turn up); then the splits are cut out of
that file in their final order and get the ids of the vocabulary.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocessing.errors import InputError
from preprocessing.parallel import chunks, ordered_map
from preprocessing.splits import SPLITS
from preprocessing.vocabulary import UNK, Rules, Vocabulary, build_vocabulary

FORMAT_VERSION = 1
_CHUNK = 64  # documents; any number gives the same result
_BLOCK = 1 << 20  # tokens


class Arrays(NamedTuple):
    """Documents as flat arrays.

    tokens int32 [tokens], sentences int64 [S + 1] offsets into tokens, documents
    int64 [N + 1] offsets into sentences.
    """

    tokens: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray


class _Chunk(NamedTuple):
    types: list[str]
    tokens: np.ndarray  # indices of types
    sentence_lengths: list[int]
    document_lengths: list[int]  # in sentences


def tokenize_all(
    documents: Iterable[str],
    sentences: Callable[[str], list[list[str]]],
    file: Path,
    processes: int,
) -> tuple[list[str], Arrays]:
    """Types by first occurrence, and arrays of their indices (tokens kept in `file`)."""
    index: dict[str, int] = {}
    sentence_lengths, document_lengths = [0], [0]
    work = partial(_index_chunk, sentences)
    with file.open("wb") as output:
        for chunk in ordered_map(work, chunks(documents, _CHUNK), processes):
            ids = [index.setdefault(word, len(index)) for word in chunk.types]
            np.array(ids, dtype=np.int32)[chunk.tokens].tofile(output)
            sentence_lengths.extend(chunk.sentence_lengths)
            document_lengths.extend(chunk.document_lengths)
    tokens = np.memmap(file, np.int32, "r") if sum(sentence_lengths) else np.array([], np.int32)
    return list(index), Arrays(tokens, np.cumsum(sentence_lengths), np.cumsum(document_lengths))


def _index_chunk(
    sentences: Callable[[str], list[list[str]]], documents: list[str]
) -> _Chunk:
    index: dict[str, int] = {}
    tokens, sentence_lengths, document_lengths = [], [], []
    for document in documents:
        tokenized = sentences(document)
        document_lengths.append(len(tokenized))
        for sentence in tokenized:
            sentence_lengths.append(len(sentence))
            tokens.extend(index.setdefault(word, len(index)) for word in sentence)
    return _Chunk(list(index), np.array(tokens, np.int32), sentence_lengths, document_lengths)


def select(arrays: Arrays, numbers: np.ndarray) -> Arrays:
    """The documents `numbers` of `arrays`, in that order."""
    starts, ends = arrays.documents[numbers], arrays.documents[numbers + 1]
    documents = np.concatenate([[0], np.cumsum(ends - starts)])
    lengths = np.diff(arrays.sentences)
    parts = [lengths[start:end] for start, end in zip(starts, ends)]
    sentences = np.concatenate([[0], *parts]).cumsum()
    tokens = np.empty(sentences[-1], dtype=np.int32)
    for i, (start, end) in enumerate(zip(starts, ends)):
        place = slice(sentences[documents[i]], sentences[documents[i + 1]])
        tokens[place] = arrays.tokens[arrays.sentences[start] : arrays.sentences[end]]
    return Arrays(tokens, sentences, documents)


def by_first_occurrence(tokens: np.ndarray, size: int) -> np.ndarray:
    """The distinct values (below `size`) of `tokens`, in the order of appearance."""
    first = np.full(size, len(tokens), dtype=np.int64)
    for start in reversed(range(0, len(tokens), _BLOCK)):
        block = tokens[start : start + _BLOCK]
        # Of repeated indices the last assignment holds: the first occurrence.
        first[block[::-1]] = np.arange(start + len(block), start, -1) - 1
    order = np.argsort(first, kind="stable")
    return order[: np.count_nonzero(first < len(tokens))]


def vocabulary_of(types: list[str], train: Arrays, rules: Rules) -> Vocabulary:
    """The vocabulary of the training split, whose tokens are indices of `types`."""
    counts = np.bincount(train.tokens, minlength=len(types))
    order = by_first_occurrence(train.tokens, len(types))
    sentences = len(train.sentences) - 1
    return build_vocabulary([types[i] for i in order], counts[order], sentences, rules)


def counts_of(arrays: Arrays, sequence_length: int) -> dict[str, int]:
    """The figures of the paper's Table 1 for one split, and what follows from them.

    A sentence of n words has n + 1 targets (<eos> is one), in sequences of
    `sequence_length` targets of which the last is shorter.
    """
    lengths = np.diff(arrays.sentences)
    words_before = arrays.sentences[arrays.documents]
    return {
        "documents": len(arrays.documents) - 1,
        "sentences": len(lengths),
        "tokens": len(arrays.tokens),
        "targets": len(arrays.tokens) + len(lengths),
        "sequences": int((-(-(lengths + 1) // sequence_length)).sum()),
        "unknown": int(np.count_nonzero(arrays.tokens == UNK)),
        "empty_documents": int(np.count_nonzero(np.diff(words_before) == 0)),
    }


def save_arrays(folder: Path, arrays: Arrays) -> None:
    """Writes one split."""
    folder.mkdir()
    for name, array in arrays._asdict().items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def fingerprint(folder: Path, settings: dict) -> str:
    """SHA-256 over the vocabularies, the arrays and `settings`."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    arrays = [f"{s}/{name}.npy" for s in SPLITS for name in Arrays._fields]
    for name in ["vocabulary.txt", "topic_vocabulary.txt", *arrays]:
        with (folder / name).open("rb") as file:
            for block in iter(lambda: file.read(_BLOCK), b""):
                digest.update(block)
    return digest.hexdigest()


def read_meta(path: str | Path) -> dict:
    """meta.json of the DATA directory `path`."""
    file = Path(path) / "meta.json"
    try:
        meta = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path}: not a DATA directory (no meta.json); make one with "
            "`python -m preprocessing`"
        ) from None
    except ValueError as error:
        raise InputError(f"{file}: damaged ({error}); make {path} again") from None
    version = meta.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(
            f"{file}: format version {version}, but this program reads version "
            f"{FORMAT_VERSION}; make {path} again with `python -m preprocessing`"
        )
    return meta


@contextmanager
def new_folder(path: Path, force: bool) -> Iterator[Path]:
    """A folder to write to, which becomes `path` only if all goes well."""
    if path.exists():
        _check_replaceable(path, force)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    aside.mkdir()
    try:
        yield aside
        if path.exists():
            shutil.rmtree(path)
        aside.rename(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _check_replaceable(path: Path, force: bool) -> None:
    if not force:
        raise InputError(f"{path}: exists already; give another --out or add --force")
    if not path.is_dir() or (any(path.iterdir()) and not (path / "meta.json").exists()):
        raise InputError(f"{path}: --force replaces only a DATA directory; this is none")
