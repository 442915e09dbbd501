"""A reference corpus for topic coherence: raw files to documents of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from tcnlm.common.parallel import chunks, ordered_map
from tcnlm.preprocessing.documents import Fields
from tcnlm.preprocessing.languages import ENGLISH
from tcnlm.preprocessing.sources import read_any
from tcnlm.preprocessing.text import sentences

CHUNK = 100  # documents that a process tokenizes at a time


def read_reference(
    paths: Iterable[str | Path],
    field: str = "text",
    processes: int = 1,
    language: str = ENGLISH,
) -> Iterator[list[str]]:
    """Yield the documents of text, JSON-lines or table files, lower-cased, tokenized.

    A file whose first line is JSON has objects with the document in `field`, a table
    (.csv, .tsv, parquet) rows; of any other every line is a document. Raises InputError
    for one that is missing, damaged or no text.
    """
    documents = chunks(reference_texts(paths, field), CHUNK)
    work = partial(tokens_of, language=language)
    for tokenized in ordered_map(work, documents, processes):
        yield from tokenized


def reference_texts(paths: Iterable[str | Path], field: str = "text") -> Iterator[str]:
    """Yield the documents of such files as they are."""
    for path in map(Path, paths):
        for document in read_any(path, Fields(field)):
            yield document.text


def tokens_of(documents: list[str], language: str = ENGLISH) -> list[list[str]]:
    """Return each document's tokens, its sentences joined."""
    return [list(itertools.chain(*sentences(text, language))) for text in documents]
