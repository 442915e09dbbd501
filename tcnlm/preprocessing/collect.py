"""Documents to tokens, on all cores, in arrays small enough for a large corpus.

The vocabulary is known only when everything has been tokenized. Until then a word is
the number of the distinct words ("types") before it, and the tokens lie in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tcnlm.common.parallel import Map, chunks

CHUNK = (
    64  # documents that a process tokenizes at a time; the result is always the same
)


class Arrays(NamedTuple):
    """Documents as flat arrays.

    tokens int32 [tokens]; sentences int64 [S + 1], offsets into tokens; documents
    int64 [N + 1], offsets into sentences.
    """

    tokens: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray


class _Chunk(NamedTuple):
    types: np.ndarray  # uint8: UTF-8, a type a line
    tokens: np.ndarray  # indices of types
    sentence_lengths: np.ndarray
    document_lengths: np.ndarray  # in sentences


def tokenize_all(
    documents: Iterable[str],
    sentences: Callable[[str], list[list[str]]],
    file: Path,
    mapped: Map,
) -> tuple[list[str], Arrays]:
    """Types in the order in which they turn up, and arrays of their indices.

    The tokens stay in `file`, mapped into memory.
    """
    index: dict[str, int] = {}
    sentence_lengths, document_lengths = [[0]], [[0]]
    work = partial(tokenize_chunk, sentences)
    with file.open("wb") as output:
        for arrays in mapped(work, chunks(documents, CHUNK)):
            chunk = _Chunk(**arrays)
            types = bytes(chunk.types).decode().split("\n")[:-1]
            ids = [index.setdefault(word, len(index)) for word in types]
            # NumPy's tofile may lose a Ctrl-C and end with a TypeError in its place.
            output.write(np.array(ids, dtype=np.int32)[chunk.tokens].data)
            sentence_lengths.append(chunk.sentence_lengths)
            document_lengths.append(chunk.document_lengths)
    offsets = (
        np.cumsum(np.concatenate(lengths), dtype=np.int64)
        for lengths in (sentence_lengths, document_lengths)
    )
    return list(index), Arrays(_map(file), *offsets)


def tokenize_chunk(
    sentences: Callable[[str], list[list[str]]], documents: list[str]
) -> dict[str, np.ndarray]:
    """Some documents as the arrays of a `_Chunk`."""
    index: dict[str, int] = {}
    tokens, sentence_lengths, document_lengths = [], [], []
    for document in documents:
        tokenized = sentences(document)
        document_lengths.append(len(tokenized))
        for sentence in tokenized:
            sentence_lengths.append(len(sentence))
            tokens.extend(index.setdefault(word, len(index)) for word in sentence)
    types = "".join(f"{word}\n" for word in index).encode()  # a word has no white space
    numbers = (tokens, sentence_lengths, document_lengths)
    numbers = (np.array(values, dtype=np.int32) for values in numbers)
    return _Chunk(np.frombuffer(types, np.uint8), *numbers)._asdict()


def _map(file: Path) -> np.ndarray:
    if not file.stat().st_size:  # which cannot be mapped
        return np.array([], dtype=np.int32)
    return np.memmap(file, dtype=np.int32, mode="r")


def select(arrays: Arrays, numbers: np.ndarray) -> Arrays:
    """The documents `numbers` of `arrays`, in that order."""
    starts, ends = arrays.documents[numbers], arrays.documents[numbers + 1]
    documents = np.concatenate([[0], np.cumsum(ends - starts)])
    lengths = np.diff(arrays.sentences)
    kept = [lengths[start:end] for start, end in zip(starts, ends)]
    sentences = np.concatenate([[0], *kept]).cumsum()
    tokens = np.empty(sentences[-1], dtype=np.int32)
    places = sentences[documents]  # first token of every document
    for start, end, first, last in zip(starts, ends, places, places[1:]):
        source = slice(arrays.sentences[start], arrays.sentences[end])
        tokens[first:last] = arrays.tokens[source]
    return Arrays(tokens, sentences, documents)
