"""Documents that have fields: JSON objects, rows of CSV, rows of parquet."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.dates import iso_date
from tcnlm.preprocessing.documents import Document, Fields
from tcnlm.preprocessing.files import MOST_BYTES, PARQUET, plain_suffix, unreadable

_DELIMITERS = ",;\t"
_QUOTED = re.compile('"[^"]*"?')
_WHOLE = re.compile(r"\A(-?\d+)\.0\Z")  # as pandas writes a column of numbers with gaps
_LINES = re.compile(r"[\t\r\n]+")
_SKIPPED = "; preprocessing and tcnlm.infer leave such documents out by --skip-empty"


def is_json(line: str) -> bool:
    """Whether a file that begins with this line is of JSON objects."""
    if line in ("[", "{") or line.startswith(("[{", "[ {")):
        return True
    try:
        return line.startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def json_documents(
    path: Path, first: str, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    """The objects of JSON lines, or of one array, as `read_jsonl`; see `ahead`."""
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


def table_documents(
    path: Path, first: str, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    """The rows of CSV, as `read_table`; see `ahead`."""
    delimiter = "\t" if plain_suffix(path) == ".tsv" else _delimiter(first)
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
        named = {fields.label, fields.id, fields.date} - {fields.text}
        for name in named & record.keys():
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


def is_parquet(path: Path) -> bool:
    """Whether a file begins as parquet does."""
    try:
        if not path.is_file():  # what a pipe has is gone when it is read
            return False
        with path.open("rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError as error:
        raise unreadable(path, error) from None


def parquet_documents(path: Path, fields: Fields) -> Iterator[Document]:
    """The rows of a parquet table, as `read_table`; InputError without pyarrow."""
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
    value = _value(record, "field", fields.text, where)
    if fields.tokenized:
        value = _joined(value, fields.text, where)
    return Document(
        _checked_text(value, fields.text, where),
        _name(record, "label", fields.label, where),
        _name(record, "id", fields.id, where),
        _date(record, fields.date, where),
    )


def _joined(value: object, field: str, where: str) -> object:
    """Words as one text, sentences apart by tabs; what is no list as it is."""
    if isinstance(value, str):
        return _LINES.sub("\t", value)
    if not isinstance(value, list):
        return value
    nested = bool(value) and all(isinstance(each, list) for each in value)
    sentences = value if nested else [value]
    for word in chain.from_iterable(sentences):
        if not isinstance(word, str) or word.split() != [word]:
            raise InputError(
                f"{where}: field {field!r} has {word!r:.40}, not a word; --tokenized "
                "takes a text, a list of words, or a list of sentences, lists of words"
            )
    return "\t".join(map(" ".join, sentences))


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
