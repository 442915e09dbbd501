"""Documents to splits, and to tokens in arrays small enough for a large corpus.

The vocabulary is known only when everything has been tokenized. Until then a word is
the number of the distinct words ("types") before it, and the tokens lie in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.process import Map, chunks
from tcnlm.preprocessing.vocabulary import UNK

CHUNK = 64  # documents that a process tokenizes at a time; the result is the same


class Arrays(NamedTuple):
    """tokens int32 [T]; offsets int64: sentences [S + 1], documents [N + 1]."""

    tokens: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray


def tokenize_all(
    documents: Iterable[str],
    sentences: Callable[[str], list[list[str]]],
    file: Path,
    mapped: Map,
) -> tuple[list[str], Arrays]:
    """Types by first occurrence, and arrays of their indices, mapped into memory."""
    index: dict[str, int] = {}
    sentence_lengths, document_lengths = [[0]], [[0]]
    work = partial(tokenize_chunk, sentences)
    with file.open("wb") as output:
        for chunk in mapped(work, chunks(documents, CHUNK)):
            types = bytes(chunk["types"]).decode().split("\n")[:-1]
            ids = [index.setdefault(word, len(index)) for word in types]
            # NumPy's tofile may lose a Ctrl-C and end with a TypeError in its place.
            output.write(np.array(ids, dtype=np.int32)[chunk["tokens"]].data)
            sentence_lengths.append(chunk["sentence_lengths"])
            document_lengths.append(chunk["document_lengths"])
    offsets = (
        np.cumsum(np.concatenate(lengths), dtype=np.int64)
        for lengths in (sentence_lengths, document_lengths)
    )
    # An empty file cannot be mapped.
    tokens = np.memmap(file, np.int32, "r") if file.stat().st_size else []
    return list(index), Arrays(np.asanyarray(tokens, np.int32), *offsets)


def tokenize_chunk(
    sentences: Callable[[str], list[list[str]]], documents: list[str]
) -> dict[str, np.ndarray]:
    """Documents as arrays: types (UTF-8, a line each), their indices, and lengths."""
    index: dict[str, int] = {}
    tokens, sentence_lengths, document_lengths = [], [], []
    for document in documents:
        tokenized = sentences(document)
        document_lengths.append(len(tokenized))
        for sentence in tokenized:
            sentence_lengths.append(len(sentence))
            tokens.extend(index.setdefault(word, len(index)) for word in sentence)
    types = "".join(f"{word}\n" for word in index).encode()  # a word has no white space
    return {
        "types": np.frombuffer(types, np.uint8),
        "tokens": np.array(tokens, np.int32),
        "sentence_lengths": np.array(sentence_lengths, np.int32),
        "document_lengths": np.array(document_lengths, np.int32),
    }


def select(arrays: Arrays, numbers: np.ndarray) -> Arrays:
    """The documents `numbers` of `arrays`, in that order."""
    starts, ends = arrays.documents[numbers], arrays.documents[numbers + 1]
    lengths = np.diff(arrays.sentences)
    kept = [lengths[start:end] for start, end in zip(starts, ends)]
    bounds = zip(arrays.sentences[starts], arrays.sentences[ends])
    tokens = [arrays.tokens[first:last] for first, last in bounds]
    return Arrays(
        np.concatenate([arrays.tokens[:0], *tokens]),
        np.concatenate([[0], *kept]).cumsum(),
        np.concatenate([[0], np.cumsum(ends - starts)]),
    )


def counted(types: list[str], train: Arrays) -> tuple[list[str], np.ndarray]:
    """The types that `train`, their indices, has by first occurrence, and how often."""
    import pandas as pd  # Here, since it takes a while.

    counts = np.bincount(train.tokens, minlength=len(types))
    order = pd.unique(train.tokens)
    return [types[i] for i in order], counts[order]


def counts_of(arrays: Arrays, sequence_length: int) -> dict[str, int]:
    """The figures of the paper's Table 1 for a split, and what follows from them.

    A sentence of n words has n + 1 targets (<eos> is one), in as many sequences of
    `sequence_length` targets as it takes.
    """
    lengths = np.diff(arrays.sentences)
    return {
        "documents": len(arrays.documents) - 1,
        "sentences": len(lengths),
        "tokens": len(arrays.tokens),
        "targets": len(arrays.tokens) + len(lengths),
        "sequences": int(np.sum(lengths // sequence_length + 1)),
        "unknown": int(np.count_nonzero(arrays.tokens == UNK)),
    }


# --- Which documents make the training, validation and test split ---------------------

SPLITS = ("train", "valid", "test")
DEFAULT_FRACTIONS = (0.8, 0.1, 0.1)


def assign(
    sizes: Mapping[str, int],
    fractions: Sequence[float] = DEFAULT_FRACTIONS,
    limit: Sequence[int] | None = None,
    seed: int = 0,
    valid_from_train: float | None = None,
) -> dict[str, np.ndarray]:
    """Numbers of the documents of every split, in the order in which they are written.

    sizes: documents of every part of the corpus (see `Corpus`), numbered through the
    parts. valid_from_train: documents of the part training that make valid, a share of
    them if below 1. Raises InputError where a split would be empty.
    """
    # All else is shuffled.
    as_given = SPLITS if limit is None and "test" in sizes else ()
    random = np.random.default_rng(seed)
    first, splits = 0, {}
    for part, size in sizes.items():
        numbers = np.arange(first, first + size)
        first += size
        order = numbers if part in as_given else random.permutation(numbers)
        splits.update(_cut(part, order, fractions, valid_from_train))
    if limit is not None:
        splits = {name: splits[name][:most] for name, most in zip(SPLITS, limit)}
    read = ", ".join(f"{part} {size}" for part, size in sizes.items())
    for name in SPLITS:
        if not len(splits[name]):
            raise InputError(
                f"the {name} split has no document (documents read: {read}); give "
                "more, or other --split, --valid-from-train or --limit"
            )
    return {name: splits[name] for name in SPLITS}


def _cut(
    part: str,
    numbers: np.ndarray,
    fractions: Sequence[float],
    valid_from_train: float | None,
) -> dict[str, np.ndarray]:
    if part == "training":
        share = valid_from_train < 1
        valid = round(valid_from_train * len(numbers)) if share else valid_from_train
        return {"valid": numbers[:valid], "train": numbers[valid:]}
    if part == "heldout":
        return dict(zip(SPLITS[1:], np.split(numbers, [len(numbers) // 2])))
    if part == "all":
        ends = np.round(np.cumsum(fractions[:2]) * len(numbers)).astype(int)
        return dict(zip(SPLITS, np.split(numbers, ends)))
    return {part: numbers}
