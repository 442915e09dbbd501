"""Formats: the files of a corpus to raw documents, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing import text
from tcnlm.preprocessing.bnc import read_bnc
from tcnlm.preprocessing.counted import read_counts
from tcnlm.preprocessing.documents import Document, Fields, Format
from tcnlm.preprocessing.files import ahead, plain_suffix
from tcnlm.preprocessing.markup import normalized
from tcnlm.preprocessing.records import (
    is_json,
    is_parquet,
    json_documents,
    parquet_documents,
    table_documents,
)

_TABLES = (".csv", ".tsv")


def read_plain(path: Path, fields: Fields) -> Iterator[Document]:
    """A document a line; an empty line is a document without words.

    Raises InputError where the first line is JSON: its keys would be taken for words.
    """
    first, lines = ahead(path)
    if is_json(first):
        raise InputError(
            f"{path}: its lines are JSON, no plain text; give --format jsonl, and "
            "--field NAME for the field with the text"
        )
    for _, line in lines:
        yield Document(line)


def read_jsonl(path: Path, fields: Fields) -> Iterator[Document]:
    """A JSON object a line, the document in its `fields`; empty lines do not count.

    Or all of them in one JSON array.
    """
    return json_documents(path, *ahead(path), fields)


def read_table(path: Path, fields: Fields) -> Iterator[Document]:
    """A row a document, its `fields` the columns that the header names so.

    CSV, of which .tsv has tabs, any other what stands most often in its header;
    or parquet. An empty cell is null; empty lines do not count.
    """
    if is_parquet(path):
        return parquet_documents(path, fields)
    return table_documents(path, *ahead(path), fields)


def read_any(path: Path, fields: Fields) -> Iterator[Document]:
    """The documents of a file of JSON or plain text, as it is by its first line.

    Or of a table: parquet by what is in it, CSV by its name.
    """
    if is_parquet(path):
        return parquet_documents(path, fields)
    first, lines = ahead(path)
    if is_json(first) or plain_suffix(path) in (".jsonl", ".ndjson"):
        return json_documents(path, first, lines, fields)
    if plain_suffix(path) in _TABLES:
        return table_documents(path, first, lines, fields)
    if fields != Fields(fields.text):
        raise InputError(
            f"{path}: is neither JSON nor a table, and has no fields for --label, "
            "--id, --date, --quoting, --tokenized and --skip-empty"
        )
    return (Document(line) for _, line in lines)


def refuse_table(path: Path) -> None:
    """InputError if a file of plain text, compressed or not, is a table by its name.

    Its rows would be taken for documents line by line, the names of its columns too.
    """
    if plain_suffix(path) in _TABLES:
        raise InputError(
            f"{path}: a table, and of plain text every line is a document; give "
            "--format table --field COLUMN"
        )


def split_tdlm(document: str) -> list[list[str]]:
    """Sentences apart by tabs, tokens by white space, as they are but for `normalized`.

    A tab at the end starts no sentence; any other empty sentence counts.
    """
    lines = normalized(document).removesuffix("\t").split("\t")
    return [sentence.split() for sentence in lines]


def split_tokenized(document: str) -> list[list[str]]:
    """The same without empty sentences: a document without words has none."""
    return [words for words in split_tdlm(document) if words]


FORMATS = {
    "tdlm": Format(read_plain, split_tdlm, joint="\t"),
    "text": Format(read_plain, text.sentences, joint="\n"),
    "jsonl": Format(read_jsonl, text.sentences),
    "table": Format(read_table, text.sentences),
    "counts": Format(read_counts, split_tokenized, marks=("label",), ordered=False),
    "bnc": Format(read_bnc, split_tokenized, marks=("label", "id")),
}
WITH_FIELDS = ("jsonl", "table")
BY_CONTENT = Format(read_any, text.sentences)


def chosen_format(
    name: str | None, fields: Fields, ids: Mapping[int, str] | None = None
) -> Format:
    """A format by its name, or each file's own; ids: see `read_counts`."""
    chosen = FORMATS[name] if name else BY_CONTENT
    if fields.tokenized:
        return replace(chosen, sentences=split_tokenized)
    if ids is not None:
        return replace(chosen, read=partial(read_counts, ids=ids))
    return chosen


def grouped(
    documents: Iterator[Document], number: int, joint: str
) -> Iterator[Document]:
    """Every `number` consecutive lines as one document; the last may have fewer."""
    while lines := list(islice(documents, number)):
        yield Document(joint.join(line.text.removesuffix("\t") for line in lines))
