"""Formats: the files of a corpus to raw documents, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from tcnlm.common.errors import InputError
from tcnlm.common.process import chunks, ordered_map
from tcnlm.preprocessing import records, text
from tcnlm.preprocessing.documents import (
    LONGEST,
    Document,
    Fields,
    Format,
    checked_name,
)
from tcnlm.preprocessing.files import ahead, numbered_lines, plain_suffix
from tcnlm.preprocessing.markup import normalized
from tcnlm.preprocessing.phrases import Sentences

TABLES = (".csv", ".tsv")
CHUNK = 100  # documents that a process tokenizes at a time, of a reference
MOST_WORDS = LONGEST - 1  # of a document, which is one row of a batch with <eos>

_COUNT = re.compile(r"[0-9]{1,9}(?:\.0*)?")
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_BODIES = ("wtext", "stext")  # of what is written, of what is spoken


def read_plain(path: Path, fields: Fields) -> Iterator[Document]:
    """A document a line; an empty line is a document without words."""
    first, lines = ahead(path)
    if records.is_json(first):
        raise InputError(
            f"{path}: its lines are JSON, not plain text; give --format jsonl, and "
            "--field NAME for the field with the text"
        )
    for _, line in lines:
        yield Document(line)


def read_text(path: Path, fields: Fields) -> Iterator[Document]:
    """The same, but no table by its name, whose rows would be taken for documents."""
    if plain_suffix(path) in TABLES:
        raise InputError(f"{path}: a table; give --format table --field COLUMN")
    return read_plain(path, fields)


def read_any(
    path: Path, fields: Fields, name: str | None = None, field_if_any: bool = False
) -> Iterator[Document]:
    """The documents of JSON lines, a table or plain text, by the file or `name`.

    field_if_any: the field of the text is named for files that have fields.
    """
    if name != "jsonl" and records.is_parquet(path):
        return records.parquet_documents(path, fields)
    first, lines = ahead(path)
    suffix = plain_suffix(path)
    is_json = records.is_json(first) or suffix == ".jsonl"
    if name == "jsonl" or (is_json and name is None):
        return records.json_documents(path, lines, fields)
    if name == "table" or suffix in TABLES:
        return records.table_documents(path, first, lines, fields)
    if fields != (Fields(fields.text) if field_if_any else Fields()):
        raise InputError(
            f"{path}: is neither JSON nor a table, so it has no fields for --field, "
            "--label, --id, --date, --quoting, --tokenized and --skip-empty; is it a "
            "table by another name? Give --format table"
        )
    return (Document(line) for _, line in lines)


def read_counts(
    path: Path, fields: Fields, ids: Mapping[int, str] | None = None
) -> Iterator[Document]:
    """A bag of words a line, each as often as counted; empty lines do not count.

    The label comes first, unless the first entry has a colon. ids: the words that
    numbers stand for; without, words are given, and what follows a # counts as one.
    """
    first, lines = ahead(path)
    numbers = [entry.rpartition(":")[0].isdecimal() for entry in first.split()[1:]]
    if ids is None and numbers and all(numbers):
        raise InputError(
            f"{path}: its words are numbers; --ids-from 0, or 1, says that they are "
            "lines of --vocabulary"
        )
    for number, line in lines:
        if ids is not None:
            line = line.partition("#")[0]
        if line.strip():
            yield _bag(line.split(), ids, f"{path}:{number}")


def _bag(entries: list[str], ids: Mapping[int, str] | None, where: str) -> Document:
    label, words, total = None, [], 0
    if ":" not in entries[0]:
        label = checked_name(entries.pop(0), f"{where}: the label")
    for entry in entries:
        word, _, count = entry.rpartition(":")
        if not word or not _COUNT.fullmatch(count):
            raise InputError(
                f"{where}: {entry[:40]!r} is not like word:2; counts are whole numbers"
            )
        if ids is not None:
            number = int(word) if word.isdecimal() and len(word) < 10 else -1
            if number not in ids:
                raise InputError(
                    f"{where}: {word[:40]!r} is no id from {min(ids)} to {max(ids)}, "
                    "the lines of --vocabulary by --ids-from"
                )
            word = ids[number]
        times = int(count.partition(".")[0])
        total += times
        if total > MOST_WORDS:
            raise InputError(f"{where}: has more than {MOST_WORDS:,} words")
        words += [word] * times
    return Document(" ".join(words), label)


def read_bnc(path: Path, fields: Fields) -> Iterator[Document]:
    """A text of the BNC a document: of a file, or of all *.xml below a folder.

    Its sentences are the s, its words the w and c anywhere in them (a w within an mw
    too), in lower case. The label is the type of wtext or stext, the id bncDoc's.
    """
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: no *.xml in it; give BNC's folder Texts, or files")
    for file in files:
        yield _bnc_text(file)


def _bnc_text(path: Path) -> Document:
    sentences: list[list[str]] = []
    label = name = None
    for element, tag in _elements(path):
        if tag == "s":
            marked = (each for each in element.iter() if _tag(each) in ("w", "c"))
            text = " ".join("".join(each.itertext()) for each in marked)
            sentences.append(text.lower().split())
            element.clear()  # or all of a text would stay in memory
        elif tag == "teiHeader":
            sentences.clear()
        elif tag in _BODIES:
            label = element.get("type")
        elif tag == "bncDoc":
            name = element.get(_ID)
    marks = (m and checked_name(m, f"{path}: its type or id") for m in (label, name))
    return Document("\t".join(map(" ".join, filter(None, sentences))), *marks)


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _elements(path: Path) -> Iterator[tuple[Element, str]]:
    """The elements of a file, with their tags, as they end; the outermost a bncDoc."""
    parser, number, root = XMLPullParser(("start", "end")), 0, None
    try:
        for number, line in numbered_lines(path):
            parser.feed(f"{line}\n")
            for event, element in parser.read_events():
                root = root or _tag(element)
                if root != "bncDoc":
                    raise InputError(
                        f"{path}:{number}: <{root[:40]}>, but a text of the BNC as XML "
                        "is a <bncDoc>"
                    )
                if event == "end":
                    yield element, _tag(element)
        parser.close()
    except ParseError as error:
        reason, _, _ = str(error).partition(":")
        raise InputError(f"{path}:{max(number, 1)}: not XML: {reason}") from None


def split_tdlm(document: str) -> list[list[str]]:
    """Sentences apart by tabs (one at the end starts none), tokens by white space."""
    lines = normalized(document).removesuffix("\t").split("\t")
    return [sentence.split() for sentence in lines]


def split_tokenized(document: str) -> list[list[str]]:
    """The same without empty sentences."""
    return [words for words in split_tdlm(document) if words]


FORMATS = {
    "tdlm": Format(read_plain, split_tdlm, joint="\t"),
    "text": Format(read_text, text.sentences, joint="\n"),
    "jsonl": Format(partial(read_any, name="jsonl"), text.sentences),
    "table": Format(partial(read_any, name="table"), text.sentences),
    "counts": Format(read_counts, split_tokenized, marks=("label",), ordered=False),
    "bnc": Format(read_bnc, split_tokenized, marks=("label", "id")),
}
WITH_FIELDS = ("jsonl", "table")


def chosen_format(
    name: str | None, fields: Fields, ids: Mapping[int, str] | None = None
) -> Format:
    """A format by its name, or each file's own; ids: see `read_counts`."""
    chosen = FORMATS[name] if name else Format(read_any, text.sentences)
    if fields.tokenized:
        return chosen._replace(sentences=split_tokenized)
    if ids is not None:
        return chosen._replace(read=partial(read_counts, ids=ids))
    return chosen


def read_reference(
    paths: Iterable[str | Path],
    field: str = "text",
    processes: int = 1,
    sentences: Sentences = text.sentences,
) -> Iterator[list[str]]:
    """Yield the words of documents, of files as `read_any`, that `sentences` makes."""
    documents = chunks(reference_texts(paths, field), CHUNK)
    work = partial(tokens_of, sentences=sentences)
    for tokenized in ordered_map(work, documents, processes):
        yield from tokenized


def reference_texts(paths: Iterable[str | Path], field: str = "text") -> Iterator[str]:
    """Yield the documents of such files as they are."""
    for path in map(Path, paths):
        for document in read_any(path, Fields(field), field_if_any=True):
            yield document.text


def tokens_of(documents: list[str], sentences: Sentences) -> list[list[str]]:
    """Return each document's tokens, its sentences joined."""
    return [list(chain(*sentences(each))) for each in documents]
