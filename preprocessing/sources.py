"""Readers: files of a corpus to raw documents, one after the other."""

from __future__ import annotations

import gzip
import json
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from preprocessing import text
from preprocessing.errors import InputError

ACLIMDB_LABELS = {"train": ("neg", "pos", "unsup"), "test": ("neg", "pos")}

_OPENERS = {".gz": gzip.open, ".tgz": gzip.open, ".xz": lzma.open}
_DAMAGED = (
    EOFError,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    tarfile.TarError,
)


@dataclass(frozen=True)
class Format:
    """How to read a file: (path, JSON field) to documents, a document to sentences."""

    read: Callable[[Path, str], Iterator[str]]
    sentences: Callable[[str], list[list[str]]]


def read_lines(path: Path, field: str = "") -> Iterator[str]:
    """A document a line; an empty line is a document without words."""
    return (line for _, line in _numbered_lines(path))


def read_jsonl(path: Path, field: str) -> Iterator[str]:
    """A JSON object a line, the document in its `field`; empty lines do not count."""
    for number, line in _numbered_lines(path):
        if line.strip():
            yield _json_text(line, field, f"{path}:{number}")


def read_aclimdb(path: Path, part: str) -> Iterator[str]:
    """Part "train" or "test" of the Large Movie Review Dataset, as distributed.

    path: the folder aclImdb or its .tar.gz. A file a document; train has the 50,000
    reviews without a label too.
    """
    found = False
    for name, content in _aclimdb_files(path, part):
        found = True
        yield _decode(content, f"{path}/{name}", 1)
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
    "tdlm": Format(read_lines, split_tdlm),
    "text": Format(read_lines, text.sentences),
    "jsonl": Format(read_jsonl, text.sentences),
}


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a plain, .gz or .xz file in UTF-8, from 1, without their ends."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                yield number, _decode(line, path, number)
    except _DAMAGED as error:
        raise InputError(
            f"{path}:{number + 1}: the compressed file is damaged or cut short here "
            f"({error}); fetch or make it again"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _open(path: Path) -> BinaryIO:
    return _OPENERS.get(path.suffix, open)(path, "rb")


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


def _json_text(line: str, field: str, where: str) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f'{where}: not a JSON object like {{"{field}": "..."}}')
    if field not in record:
        fields = ", ".join(record) or "none"
        raise InputError(
            f"{where}: no field {field!r} (its fields: {fields}); name one with --field"
        )
    return _checked_text(record[field], field, where)


def _checked_text(value: object, field: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field!r} is no string")
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
        for member in archive:
            place = PurePosixPath(member.name).parts[-3:]
            if member.isfile() and _is_review(place, part):
                yield "/".join(place), archive.extractfile(member).read()


def _is_review(place: tuple[str, ...], part: str) -> bool:
    return (
        len(place) == 3
        and place[0] == part
        and place[1] in ACLIMDB_LABELS[part]
        and place[2].endswith(".txt")
    )
