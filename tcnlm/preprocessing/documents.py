"""A raw document, and what a reader of files is told and is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Document(NamedTuple):
    """A raw document, with its class, name and date where the corpus has them.

    date: as ISO 8601 has it.
    """

    text: str
    label: str | None = None
    id: str | None = None
    date: str | None = None


class Fields(NamedTuple):
    """The fields of a JSON object that hold a document, its label, its id and its date.

    Or the columns of a table. skip_empty: whether an object without a text is read as a
    blank document, to be left out by who reads them, instead of refused. tokenized:
    whether the text is in words already: a text, or a list of words or of sentences.
    """

    text: str = "text"
    label: str | None = None
    id: str | None = None
    skip_empty: bool = False
    tokenized: bool = False
    date: str | None = None


@dataclass(frozen=True)
class Format:
    """How to read a file: (path, fields) to documents, a text to sentences.

    joint: what to put between lines that are to be one document; None where a line says
    more than text. marks: of "label" and "id" those it has without a field for them;
    ordered: whether the order of a document's words is that of a text.
    """

    read: Callable[[Path, Fields], Iterator[Document]]
    sentences: Callable[[str], list[list[str]]]
    joint: str | None = None
    marks: tuple[str, ...] = ()
    ordered: bool = True
