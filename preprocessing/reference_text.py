"""A reference corpus for topic coherence: raw files to documents of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from preprocessing.parallel import chunks, ordered_map
from preprocessing.sources import FORMATS, Fields

CHUNK = 100  # documents that a process tokenizes at a time


def read_reference(
    paths: Iterable[str | Path], field: str = "text", processes: int = 1
) -> Iterator[list[str]]:
    """Yield the documents of text or JSON-lines files, lower-cased and tokenized.

    A name like articles.jsonl, .jsonl.gz or .jsonl.xz is a JSON object a line, with the
    document in `field`; any other file is a document a line. Raises InputError for a
    file that is missing or damaged.
    """
    parts = (_documents(Path(path), field) for path in paths)
    documents = itertools.chain.from_iterable(parts)
    for tokenized in ordered_map(_tokenize, chunks(documents, CHUNK), processes):
        yield from tokenized


def _documents(path: Path, field: str) -> Iterator[str]:
    kind = "jsonl" if ".jsonl" in path.suffixes else "text"
    return (document.text for document in FORMATS[kind].read(path, Fields(field)))


def _tokenize(documents: list[str]) -> list[list[str]]:
    sentences = FORMATS["text"].sentences
    return [list(itertools.chain(*sentences(text))) for text in documents]
