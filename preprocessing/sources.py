"""Readers: files of a corpus to raw documents, one after the other."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from preprocessing import text
from preprocessing.dates import iso_date
from tcnlm.common.errors import InputError

ACLIMDB_LABELS = {"train": ("neg", "pos", "unsup"), "test": ("neg", "pos")}

_COMPRESSED = (".gz", ".tgz", ".xz", ".bz2")
_TABLES = (".csv", ".tsv")
_DELIMITERS = ",;\t"
_QUOTED = re.compile('"[^"]*"?')
_WHOLE = re.compile(r"\A(-?\d+)\.0\Z")  # as pandas writes a column of numbers with gaps
_OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\0": lzma.open, b"BZh": bz2.open}
_PARQUET = b"PAR1"
_SKIPPED = "; preprocessing and tcnlm.infer leave such documents out by --skip-empty"
_FOREIGN = {  # how a file begins that is no text: what it is, and what to do
    b"PK\x03\x04": "a zip archive (unpack it) or a spreadsheet (save it as CSV)",
    _PARQUET: "a parquet table; give the file, no pipe, and --format table",
    b"\xff\xfe": "UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
    b"%PDF": "a PDF; give its text, as pdftotext makes it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it with unzstd",
}
MOST_BYTES = 2**30  # of an archive unpacked: the largest known has half of it
_HEAD = 2**13  # bytes that tell what a file is
_DAMAGED = (
    EOFError,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    tarfile.TarError,
)


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
    blank document, to be left out by who reads them, instead of refused.
    """

    text: str = "text"
    label: str | None = None
    id: str | None = None
    skip_empty: bool = False
    date: str | None = None


@dataclass(frozen=True)
class Format:
    """How to read a file: (path, fields) to documents, a text to sentences.

    joint: what to put between lines that are to be one document; None where a line says
    more than text.
    """

    read: Callable[[Path, Fields], Iterator[Document]]
    sentences: Callable[[str], list[list[str]]]
    joint: str | None = None


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, empty ones too."""
    return (line for _, line in _numbered_lines(path))


def read_plain(path: Path, fields: Fields) -> Iterator[Document]:
    """A document a line; an empty line is a document without words.

    Raises InputError where the first line is JSON: its keys would be taken for words.
    """
    first, lines = _ahead(path)
    if _is_json(first):
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
    return _json_documents(path, *_ahead(path), fields)


def read_table(path: Path, fields: Fields) -> Iterator[Document]:
    """A row a document, its `fields` the columns that the header names so.

    CSV, of which .tsv has tabs, any other what stands most often in its header;
    or parquet. An empty cell is null; empty lines do not count.
    """
    if _is_parquet(path):
        return _parquet_documents(path, fields)
    return _table_documents(path, *_ahead(path), fields)


def read_any(path: Path, fields: Fields) -> Iterator[Document]:
    """The documents of a file of JSON or plain text, as it is by its first line.

    Or of a table: parquet by what is in it, CSV by its name.
    """
    if _is_parquet(path):
        return _parquet_documents(path, fields)
    first, lines = _ahead(path)
    if _is_json(first) or _plain_suffix(path) in (".jsonl", ".ndjson"):
        return _json_documents(path, first, lines, fields)
    if _plain_suffix(path) in _TABLES:
        return _table_documents(path, first, lines, fields)
    if fields != Fields(fields.text):
        raise InputError(
            f"{path}: is neither JSON nor a table, and has no fields for --label, --id "
            "and --skip-empty"
        )
    return (Document(line) for _, line in lines)


def _ahead(path: Path) -> tuple[str, Iterator[tuple[int, str]]]:
    """The first line that is not blank, and all lines with their numbers."""
    lines, read = _numbered_lines(path), []
    for number, line in lines:
        read.append((number, line))
        if line.strip():
            break
    return (read[-1][1].strip() if read else ""), chain(read, lines)


def _is_json(line: str) -> bool:
    """Whether a file that begins with this line is of JSON objects."""
    if line in ("[", "{") or line.startswith(("[{", "[ {")):
        return True
    try:
        return line.startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _json_documents(
    path: Path, first: str, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    if first.startswith("["):
        yield from _array(path, lines, fields)
        return
    for number, line in lines:
        if line.strip():
            yield _json_document(line, fields, f"{path}:{number}")


def _array(
    path: Path, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    try:
        records = json.loads("\n".join(line for _, line in lines))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON: {error}") from None
    for number, record in enumerate(records, 1):
        yield _document(record, fields, f"{path}, item {number}")


def _table_documents(
    path: Path, first: str, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    delimiter = "\t" if _plain_suffix(path) == ".tsv" else _delimiter(first)
    rows = _rows(path, lines, delimiter)
    _, columns = next(rows, (1, []))
    _check_columns(path, columns, fields)
    for number, row in rows:
        if len(row) != len(columns):
            raise InputError(
                f"{path}:{number}: a row of {len(row)} cells under a header of "
                f"{len(columns)}; a cell with {delimiter!r} or a line end in it needs "
                "double quotes around it"
            )
        record = {name: cell or None for name, cell in zip(columns, row)}
        for name in {fields.label, fields.id, fields.date} & record.keys() - {
            fields.text
        }:
            record[name] = _WHOLE.sub(r"\1", record[name] or "") or None
        yield _document(record, fields, f"{path}:{number}")


def _delimiter(header: str) -> str:
    """What stands most often in a header outside quotes; a comma where none does."""
    return max(_DELIMITERS, key=_QUOTED.sub("", header).count)


def _rows(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV that have a cell, each with the number of its first line."""
    csv.field_size_limit(MOST_BYTES)  # of a cell; Python's own is 131,072
    ended = (f"{line}\n" for _, line in lines)
    reader = csv.reader(ended, delimiter=delimiter, strict=True)
    number = 1
    try:
        for row in reader:
            if row:
                yield number, row
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{number}: no row of a table: {error}; double quotes stand around "
            "a whole cell, and those in it twice"
        ) from None


def _is_parquet(path: Path) -> bool:
    try:
        if not path.is_file():  # what a pipe has is gone when it is read
            return False
        with path.open("rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except OSError as error:
        raise _unreadable(path, error) from None


def _parquet_documents(path: Path, fields: Fields) -> Iterator[Document]:
    try:  # Here, since it is an option.
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError(
            f"{path}: a parquet table, to be read by pyarrow: pip install pyarrow"
        ) from None
    number = 0
    try:
        with ParquetFile(path) as file:
            names = _check_columns(path, file.schema_arrow.names, fields)
            for batch in file.iter_batches(columns=names):
                for record in batch.to_pylist():
                    number += 1
                    yield _document(record, fields, f"{path}, row {number}")
    except (ArrowException, OSError) as error:
        reason, _, _ = str(error).partition("\n")
        raise InputError(
            f"{path}: cannot be read after row {number} ({reason}); make it again"
        ) from None


def _check_columns(path: Path, columns: list[str], fields: Fields) -> list[str]:
    """The columns that are wanted of a table; InputError unless each is there once."""
    wanted = {"field": fields.text, "label": fields.label, "id": fields.id}
    wanted["date"] = fields.date
    wanted = {option: name for option, name in wanted.items() if name is not None}
    for option, name in wanted.items():
        if columns.count(name) != 1:
            found = "two columns" if name in columns else "no column"
            known = ", ".join(columns) or "none"
            raise InputError(
                f"{path}: {found} {name!r} (its columns: {known}); name one with "
                f"--{option}"
            )
    return list(dict.fromkeys(wanted.values()))


def _plain_suffix(path: Path) -> str:
    """The ending of a file's name in small letters, what compressed it apart."""
    is_compressed = path.suffix.lower() in _COMPRESSED
    return (path.with_suffix("") if is_compressed else path).suffix.lower()


def refuse_table(path: Path) -> None:
    """InputError if a file of plain text, compressed or not, is a table by its name.

    Its rows would be taken for documents line by line, the names of its columns too.
    """
    if _plain_suffix(path) in _TABLES:
        raise InputError(
            f"{path}: a table, and of plain text every line is a document; give "
            "--format table --field COLUMN"
        )


def read_aclimdb(path: Path, part: str) -> Iterator[Document]:
    """Part "train" or "test" of the Large Movie Review Dataset, as distributed.

    path: the folder aclImdb or its .tar.gz. A file a document, its folder the label,
    its place (test/pos/0_10.txt) the id; train has the 50,000 reviews without a label
    too.
    """
    found = False
    for name, content in _aclimdb_files(path, part):
        found = True
        label = PurePosixPath(name).parent.name
        text = _decode(content, f"{path}/{name}", 1)
        yield Document(text, None if label == "unsup" else label, name)
    if not found:
        raise InputError(
            f"{path}: no {part}/pos/*.txt in it; give the folder aclImdb or "
            "aclImdb_v1.tar.gz as distributed"
        )


def split_tdlm(document: str) -> list[list[str]]:
    """Sentences apart by tabs, tokens by white space, taken as they are.

    A tab at the end starts no sentence; any other empty sentence counts.
    """
    return [sentence.split() for sentence in document.removesuffix("\t").split("\t")]


FORMATS = {
    "tdlm": Format(read_plain, split_tdlm, joint="\t"),
    "text": Format(read_plain, text.sentences, joint="\n"),
    "jsonl": Format(read_jsonl, text.sentences),
    "table": Format(read_table, text.sentences),
}
WITH_FIELDS = tuple(name for name, kind in FORMATS.items() if kind.joint is None)
BY_CONTENT = Format(read_any, text.sentences)


def grouped(
    documents: Iterator[Document], number: int, joint: str
) -> Iterator[Document]:
    """Every `number` consecutive lines as one document; the last may have fewer."""
    while lines := list(islice(documents, number)):
        yield Document(joint.join(line.text.removesuffix("\t") for line in lines))


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a plain, .gz or .xz file in UTF-8, from 1, without their ends."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(_ended(file, path), 1):
                yield number, _decode(line, path, number)
    except _DAMAGED as error:
        raise InputError(
            f"{path}:{number + 1}: the compressed file is damaged or cut short here "
            f"({error}); fetch or make it again"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacked if it begins as gzip, xz or bzip2 files do."""
    with path.open("rb") as file:
        begins = file.peek(8)[:8]
        for magic, what in _FOREIGN.items():
            if begins.startswith(magic):
                raise InputError(f"{path}: is {what}")
        openers = (o for magic, o in _OPENERS.items() if begins.startswith(magic))
        opener = next(openers, None)
        if opener:
            with opener(file, "rb") as unpacked, io.BufferedReader(unpacked) as lines:
                yield lines
            return
        if begins and path.suffix.lower() in _COMPRESSED:
            raise InputError(
                f"{path}: is not compressed though its name says so; call it as it is, "
                "or fetch it again"
            )
        yield file


def _ended(file: BinaryIO, path: Path) -> Iterable[bytes]:
    """The lines of a file; where none ends with a line feed, by carriage returns."""
    head = file.peek(_HEAD)[:_HEAD]
    if head.count(b"\0") * 4 > len(head) > 4:
        raise InputError(f"{path}: is no UTF-8 text; convert it, as by iconv -f UTF-16")
    if b"\r" in head.rstrip(b"\r\n") and b"\n" not in head:
        return (line + b"\n" for line in file.read().rstrip(b"\r").split(b"\r"))
    return file


def _decode(line: bytes, path: Path | str, number: int) -> str:
    try:
        decoded = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        number += line.count(b"\n", 0, error.start)
        raise InputError(
            f"{path}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x} at "
            f"offset {error.start}); convert the file to UTF-8"
        ) from None
    return decoded.rstrip("\r\n") if decoded.endswith("\n") else decoded


def _unreadable(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file")
    return InputError(f"{path}: cannot be read: {error.strerror or error}")


def _json_document(line: str, fields: Fields, where: str) -> Document:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = _of_array(line)
        raise InputError(f"{where}: not valid JSON: {error}{hint}") from None
    return _document(record, fields, where, _of_array(line))


def _document(record: object, fields: Fields, where: str, hint: str = "") -> Document:
    if not isinstance(record, dict):
        like = f'{{"{fields.text}": "..."}}{hint}'
        raise InputError(f"{where}: not a JSON object like {like}")
    if fields.skip_empty and record.get(fields.text) is None:
        return Document("")
    return Document(
        _checked_text(_value(record, "field", fields.text, where), fields.text, where),
        _name(record, "label", fields.label, where),
        _name(record, "id", fields.id, where),
        _date(record, fields.date, where),
    )


def _of_array(line: str) -> str:
    found = line.lstrip().startswith("[")
    return "; this is an array: write one object a line" if found else ""


def _value(record: dict, option: str, field: str, where: str) -> object:
    if field not in record:
        fields = ", ".join(record) or "none"
        raise InputError(
            f"{where}: no field {field!r} (its fields: {fields}); name one with "
            f"--{option}{_SKIPPED if option == 'field' else ''}"
        )
    return record[field]


def _name(record: dict, option: str, field: str | None, where: str) -> str | None:
    """A label or id, which may be a number; null is none, and so is an empty id.

    A whole number is written without ".0", so that 1.0 is 1.
    """
    value = None if field is None else _value(record, option, field, where)
    if value is None or (option, value) == ("id", ""):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as pandas writes whole numbers of a column with gaps
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    if not isinstance(value, str):
        raise InputError(
            f"{where}: field {field!r} is {type(value).__name__}, neither a text nor a "
            f"number; name another --{option}"
        )
    value = _checked_text(value, field, where)
    if not value or value.splitlines() != [value]:
        raise InputError(
            f"{where}: field {field!r} is not one line of text; null says that a "
            f"document has no {option}"
        )
    return value


def _date(record: dict, field: str | None, where: str) -> str | None:
    if field is None:
        return None
    place = f"{where}: field {field!r}"
    return iso_date(_value(record, "date", field, where), place)


def _checked_text(value: object, field: str, where: str) -> str:
    if not isinstance(value, str):
        found = "null" if value is None else type(value).__name__
        raise InputError(
            f"{where}: field {field!r} is {found}, not a text; name another --field"
            f"{_SKIPPED if value is None else ''}"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: field {field!r} has half a surrogate pair at character "
            f"{error.start}, which is no text; write the whole character"
        ) from None
    return value


def _aclimdb_files(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    try:
        yield from (_from_folder if path.is_dir() else _from_tar)(path, part)
    except _DAMAGED as error:
        raise InputError(
            f"{path}: the archive is damaged or cut short ({error}); fetch it again"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _from_folder(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    for label in ACLIMDB_LABELS[part]:
        for file in sorted((path / part / label).glob("*.txt"), key=_by_number):
            yield f"{part}/{label}/{file.name}", file.read_bytes()


def _by_number(file: Path) -> tuple[int, str]:
    """Order reviews NUMBER_RATING.txt by their numbers: 2 before 10."""
    number, _, _ = file.name.partition("_")
    return len(number), file.name


def _from_tar(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    # Opened here, since tarfile takes a gzip file that is cut short for a whole one.
    with _open(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
        for member in bounded(archive):
            place = PurePosixPath(member.name).parts[-3:]
            if member.isfile() and _is_review(place, part):
                yield "/".join(place), archive.extractfile(member).read()


def bounded(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members of an archive; TarError before it is unpacked beyond a bound."""
    for member in archive:
        if member.offset_data + member.size > MOST_BYTES:
            raise tarfile.TarError(f"unpacked it has more than {MOST_BYTES:,} bytes")
        yield member


def _is_review(place: tuple[str, ...], part: str) -> bool:
    return (
        len(place) == 3
        and place[0] == part
        and place[1] in ACLIMDB_LABELS[part]
        and place[2].endswith(".txt")
    )
