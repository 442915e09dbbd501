"""Documents that have fields: JSON objects, rows of CSV, rows of parquet."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.dates import iso_date
from tcnlm.preprocessing.documents import (
    WHOLE,
    Document,
    Fields,
    checked_name,
    is_missing,
)
from tcnlm.preprocessing.files import MOST_BYTES, PARQUET, plain_suffix, unreadable

_DELIMITERS = ",;\t"
_QUOTED = re.compile('"[^"]*"?')
_SEPARATOR = re.compile(r'"?sep=([^\w"]?)"?')  # Excel's line above a header
_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)*")
_MANY_LINES = 10  # of a cell
_SHOWN, _LETTERS = 20, 40  # names of columns in an error; letters of each
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
    _refuse_unquoted(path, fields)
    if first.startswith("["):
        try:
            records = json.loads("\n".join(line for _, line in lines))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not valid JSON: {error}") from None
        for number, record in enumerate(records, 1):
            yield _document(record, fields, f"{path}, item {number}")
        return
    for number, line in lines:
        if line.strip():
            where, is_array = f"{path}:{number}", line.lstrip().startswith("[")
            hint = "; this is an array: write one object a line" if is_array else ""
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: not valid JSON: {error}{hint}") from None
            yield _document(record, fields, where, hint)


def table_documents(
    path: Path, first: str, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    """The rows of CSV, as `read_table`; see `ahead`."""
    separator = _SEPARATOR.fullmatch(first)
    # What stands most often in a header outside quotes; a comma where none does.
    delimiter = max(_DELIMITERS, key=_QUOTED.sub("", first).count)
    if plain_suffix(path) == ".tsv":
        delimiter = "\t"
    if separator:
        delimiter = separator[1] or "\t"
    rows = _rows(path, lines, delimiter, fields.quoted)
    if separator:
        next(rows)
    _, _, columns = next(rows, (1, 1, []))
    _check_columns(path, columns, fields)
    without = "" if fields.quoted else ", and no --quoting none"
    for number, last, row in rows:
        if len(row) != len(columns):
            raise InputError(
                f"{path}:{number}: a row of {len(row)} cells under a header of "
                f"{len(columns)}; a cell with {delimiter!r} or a line end in it needs "
                f"double quotes around it{without}"
            )
        record = {name: cell or None for name, cell in zip(columns, row)}
        for name in {fields.label, fields.id} - {fields.text, None}:
            record[name] = WHOLE.sub(r"\1", record[name] or "") or None
        document = _document(record, fields, f"{path}:{number}")
        if last > number and _holds_rows(row, delimiter):
            doubt = f"{path}:{number}: a cell goes on to line {last}"
            document = document._replace(doubt=doubt)
        yield document


def _rows(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str, quoted: bool
) -> Iterator[tuple[int, int, list[str]]]:
    """The rows of CSV that have a cell, each with its first and last line's number."""
    csv.field_size_limit(MOST_BYTES)  # of a cell; Python's own is 131,072
    ended = (f"{line}\n" for _, line in lines)
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(ended, delimiter=delimiter, strict=True, quoting=quoting)
    number = 1
    try:
        for row in reader:
            if row:
                yield number, reader.line_num, row
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{number}: no row of a table: {error}; double quotes stand around "
            "a whole cell, and those in it twice, unless --quoting none says that they "
            "are text"
        ) from None


def _holds_rows(row: list[str], delimiter: str) -> bool:
    """Whether a cell seems to be rows, between quotes that are stray.

    Then each of its lines, with what stands beside its first and its last, has a row's
    number of cells, none of which begins with a space as after a comma of prose. Where
    they are few, other columns are numbers in all of them or in none. Of one column
    every line is a row: there must be many, and no paragraphs.
    """
    for at, cell in enumerate(row):
        if "\n" not in cell:
            continue
        first, *middle, last = (line.split(delimiter) for line in cell.split("\n"))
        middle = [line for line in middle if line != [""] or len(row) == 1]
        lines = [row[:at] + first, *middle, last + row[at + 1 :]]
        if any(len(line) != len(row) for line in lines):
            continue
        columns = list(zip(*lines))
        if any(each[:1].isspace() for each in chain.from_iterable(columns)):
            continue
        many = len(lines) >= _MANY_LINES
        if len(row) == 1:
            return many and all(columns[0])
        del columns[at]
        if many or all(len({*map(_is_number, filter(None, c))}) < 2 for c in columns):
            return True
    return False


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _refuse_unquoted(path: Path, fields: Fields) -> None:
    if not fields.quoted:
        raise InputError(f"{path}: is no CSV, of which --quoting is")


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
    _refuse_unquoted(path, fields)
    number = 0
    try:
        with ParquetFile(path) as file:
            names = _check_columns(path, file.schema_arrow.names, fields)
            for batch in file.iter_batches(columns=names):
                for record in batch.to_pylist():
                    number += 1
                    where = f"{path}, row {number}"
                    record = {k: _decoded(v, k, where) for k, v in record.items()}
                    yield _document(record, fields, where)
    except (ArrowException, OSError) as error:
        reason, _, _ = str(error).partition("\n")
        raise InputError(
            f"{path}: cannot be read after row {number} ({reason}); make it again"
        ) from None


def _decoded(value: object, column: str, where: str) -> object:
    """A value of parquet; bytes, as some programs write texts, are UTF-8."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InputError(
            f"{where}: column {column!r} is bytes that are no UTF-8; cast it to text"
        ) from None


def _check_columns(path: Path, columns: list[str], fields: Fields) -> list[str]:
    """The columns that are wanted of a table; InputError unless each is there once."""
    wanted = {"field": fields.text, "label": fields.label, "id": fields.id}
    wanted["date"] = fields.date
    wanted = {option: name for option, name in wanted.items() if name is not None}
    for option, name in wanted.items():
        if columns.count(name) != 1:
            found = "two columns" if name in columns else "no column"
            data = any(len(c) > _LETTERS or _is_number(c) for c in columns)
            hint = "; if its first line is no header, write one above it"
            raise InputError(
                f"{path}: {found} {name!r} (its columns: {_listed(columns)}); name one "
                f"with --{option}{hint if data else ''}"
            )
    return list(dict.fromkeys(wanted.values()))


def _listed(names: Sequence[str]) -> str:
    """Names that an error shows: some, cut, and with escapes for what is not seen."""
    cut = (f"{n[:_LETTERS]}..." if len(n) > _LETTERS else n for n in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name)[1:-1] for name in cut) + more if names else "none"


def _document(record: object, fields: Fields, where: str, hint: str = "") -> Document:
    if not isinstance(record, dict):
        like = f'{{"{fields.text}": "..."}}{hint}'
        raise InputError(f"{where}: not a JSON object like {like}")
    if fields.skip_empty and is_missing(record.get(fields.text)):
        return Document("")
    value = _value(record, "field", fields.text, where)
    if fields.tokenized:
        value = _joined(value, fields.text, where)
    date = None
    if fields.date is not None:
        date = _value(record, "date", fields.date, where)
        date = iso_date(date, f"{where}: field {fields.date!r}")
    return Document(
        _checked_text(value, fields.text, where),
        _name(record, "label", fields.label, where),
        _name(record, "id", fields.id, where),
        date,
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


def _value(record: dict, option: str, field: str, where: str) -> object:
    if field not in record:
        raise InputError(
            f"{where}: no field {field!r} (its fields: {_listed([*record])}); name one "
            f"with --{option}{_SKIPPED if option == 'field' else ''}"
        )
    return record[field]


def _name(record: dict, option: str, field: str | None, where: str) -> str | None:
    """A label or id, which may be a number; what is missing is none.

    A text that says so ("NA") is left to `Noticed`. A whole number is written without
    ".0", so that 1.0 is 1; white space around a label makes no other class of it.
    """
    value = None if field is None else _value(record, option, field, where)
    if value == "" or (not isinstance(value, str) and is_missing(value)):
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
    value = checked_name(value, f"{where}: field {field!r}")
    return value if option == "id" else value.strip() or value


def _checked_text(value: object, field: str, where: str) -> str:
    if not isinstance(value, str):
        found = "null" if is_missing(value) else type(value).__name__
        raise InputError(
            f"{where}: field {field!r} is {found}, not a text; name another --field"
            f"{_SKIPPED if is_missing(value) else ''}"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: field {field!r} has half a surrogate pair at character "
            f"{error.start}, which is no text; write the whole character"
        ) from None
    return value
