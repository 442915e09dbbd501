"""Documents that have fields: JSON objects, rows of CSV, rows of parquet."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tcnlm.common.errors import InputError, reading
from tcnlm.preprocessing import documents
from tcnlm.preprocessing.documents import Document, Fields, is_missing
from tcnlm.preprocessing.files import PARQUET, plain_suffix

_DELIMITERS = ",;\t"
_QUOTED = re.compile('"[^"]*"?')
_LONGEST_CELL = 2**30
_SEPARATOR = re.compile(r'"?sep=([^\w"]?)"?')  # Excel's line above a header
_MANY_LINES = 10  # of a cell
_LINES = re.compile(r"[\t\r\n]+")
_SWALLOWED = (
    "one row, whose lines look like rows: take out double quotes that are stray, or "
    "give --quoting none"
)
_SKIPPED = ", or leave such documents out by --skip-empty"


def is_json(line: str) -> bool:
    """Whether a file that begins with this line is of JSON objects."""
    if line in ("[", "{") or line.startswith(("[{", "[ {")):
        return True
    try:
        return line.startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def json_documents(
    path: Path, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    """The objects of JSON lines; blank lines do not count."""
    for number, line in lines:
        if line.strip():
            where = f"{path}:{number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                reason = f"not valid JSON: {error}; write one object a line"
                raise InputError(f"{where}: {reason}") from None
            yield _document(record, fields, where)


def table_documents(
    path: Path, first: str, lines: Iterator[tuple[int, str]], fields: Fields
) -> Iterator[Document]:
    """The rows of CSV under a header, above which Excel's "sep=;" may be."""
    # What stands most often in a header outside quotes; a comma where none does.
    delimiter = max(_DELIMITERS, key=_QUOTED.sub("", first).count)
    if plain_suffix(path) == ".tsv":
        delimiter = "\t"
    separator = _SEPARATOR.fullmatch(first)
    if separator:
        delimiter = separator[1] or "\t"
    rows = _rows(path, lines, delimiter, fields.quoted)
    if separator:
        next(rows)
    _, columns, _ = next(rows, (1, [], []))
    _check_columns(path, columns, fields)
    for number, row, written in rows:
        if len(row) != len(columns):
            raise InputError(
                f"{path}:{number}: a row of {len(row)} cells under a header of "
                f"{len(columns)}; a cell with {delimiter!r} or a line end in it needs "
                "double quotes around it"
            )
        cells = (cell if cell.strip() else None for cell in row)
        record = dict(zip(columns, cells))
        for name in {fields.label, fields.id} - {fields.text, None}:
            record[name] = documents.WHOLE.sub(r"\1", record[name] or "")
        document = _document(record, fields, f"{path}:{number}")
        if _are_rows(written, delimiter, len(row)):
            where = f"{path}:{number} to line {number + len(written) - 1}"
            document = document._replace(doubt=(where, _SWALLOWED))
        yield document


def _are_rows(lines: list[str], delimiter: str, cells: int) -> bool:
    """Whether the lines of one row look like as many, between quotes that are stray.

    No cell begins with a space as after a comma of prose. Of few lines a column is of
    numbers or of none; of one column there must be many, and no paragraphs.
    """
    if len(lines) < 2:
        return False
    rows = [x.replace('"', "").split(delimiter) for x in lines if x or cells == 1]
    beginnings = [cell[:1] for row in rows for cell in row]
    if any(len(row) != cells for row in rows) or any(map(str.isspace, beginnings)):
        return False
    many = len(rows) >= _MANY_LINES
    if cells == 1:
        return many and all(beginnings)
    columns = ({cell.isdecimal() for cell in each if cell} for each in zip(*rows))
    return many or all(len(kinds) < 2 for kinds in columns)


def _rows(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str, quoted: bool
) -> Iterator[tuple[int, list[str], list[str]]]:
    """The rows of CSV that have a cell, each with its first line's number and lines."""
    csv.field_size_limit(_LONGEST_CELL)  # Python's own is 131,072
    written: list[str] = []

    def ended() -> Iterator[str]:
        for _, line in lines:
            written.append(line)
            yield f"{line}\n"

    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(ended(), delimiter=delimiter, strict=True, quoting=quoting)
    number = 1
    try:
        for row in reader:
            if row:
                yield number, row, written
            written.clear()
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{number}: no row of a table: {error}; double quotes stand around "
            "a whole cell, and those in it twice, unless --quoting none says that they "
            "are text"
        ) from None


def is_parquet(path: Path) -> bool:
    """Whether a file begins as parquet does."""
    if not path.is_file():  # what a pipe has is gone when it is read
        return False
    with reading(path), path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def parquet_documents(path: Path, fields: Fields) -> Iterator[Document]:
    """The rows of a parquet table; InputError without pyarrow."""
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
    wanted = {"field": fields.text, "label": fields.label, "id": fields.id}
    wanted["date"] = fields.date
    for option, name in wanted.items():
        if name is not None and columns.count(name) != 1:
            found = "two columns" if name in columns else "no column"
            raise InputError(
                f"{path}: {found} {name!r} (its columns: {_listed(columns)}); name one "
                f"with --{option}; the first line must be the header"
            )
    return list(dict.fromkeys(n for n in wanted.values() if n is not None))


def _listed(names: list[str]) -> str:
    cut = (f"{name[:40]}..." if len(name) > 40 else name for name in names[:20])
    return ", ".join(repr(name)[1:-1] for name in cut) + ", ..." * (len(names) > 20)


def _document(record: object, fields: Fields, where: str) -> Document:
    if not isinstance(record, dict):
        raise InputError(f'{where}: not a JSON object like {{"{fields.text}": "..."}}')
    if fields.skip_empty and is_missing(record.get(fields.text)):
        return Document("")
    text = _value(record, "field", fields.text, where)
    if isinstance(text, str) and text.strip() and is_missing(text):
        text = None
    if fields.tokenized:
        text = _joined(text, fields.text, where)
    date = _value(record, "date", fields.date, where)
    date = documents.iso_date(date, f"{where}: field {fields.date!r}")
    doubt = None
    for name in (fields.label, fields.id):
        value = record.get(name)
        if value and isinstance(value, str) and is_missing(value):
            doubt = where, f"field {name!r} is {value!r}, taken for none"
    return Document(
        _checked_text(text, fields.text, where),
        _name(record, "label", fields.label, where),
        _name(record, "id", fields.id, where),
        date,
        doubt,
    )


def _joined(value: object, field: str, where: str) -> object:
    """Words as one text, sentences apart by tabs; what is no list as it is."""
    if isinstance(value, str):
        return _LINES.sub("\t", value)
    if not isinstance(value, list):
        return value
    sentences = value if all(isinstance(each, list) for each in value) else [value]
    for word in chain.from_iterable(sentences):
        if not isinstance(word, str) or word.split() != [word]:
            raise InputError(
                f"{where}: field {field!r} has {word!r:.40}, not a word; --tokenized "
                "takes a text, a list of words, or a list of sentences, lists of words"
            )
    return "\t".join(map(" ".join, sentences))


def _value(record: dict, option: str, field: str | None, where: str) -> object:
    if field is not None and field not in record:
        raise InputError(
            f"{where}: no field {field!r} (its fields: {_listed([*record])}); name one "
            f"with --{option}{_SKIPPED if option == 'field' else ''}"
        )
    return record.get(field)


def _name(record: dict, option: str, field: str | None, where: str) -> str | None:
    """A label, without white space around it, or an id; either may be a number."""
    value = _value(record, option, field, where)
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as pandas writes whole numbers of a column with gaps
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    text = _checked_text(value, field, where, option)
    documents.checked_name(text, f"{where}: field {field!r}")
    return text if option == "id" else text.strip()


def _checked_text(value: object, field: str, where: str, option: str = "field") -> str:
    if not isinstance(value, str):
        missing = is_missing(value)
        found = "missing" if missing else type(value).__name__
        said = "; or cast it to text" * isinstance(value, bytes) + _SKIPPED * missing
        raise InputError(
            f"{where}: field {field!r} is {found}, not a text; name another "
            f"--{option}{said}"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{where}: field {field!r} has half a surrogate pair, which is not text"
        ) from None
    return value
