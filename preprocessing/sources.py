"""Readers: files of a corpus to raw documents, one at a time."""

from __future__ import annotations

import gzip
import importlib.util
import json
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from preprocessing import text
from preprocessing.errors import InputError

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Format:
    """How to read a corpus: files to documents, a document to tokenized sentences."""

    read: Callable[[Path, str], Iterator[str]]
    sentences: Callable[[str], list[list[str]]]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a plain, .gz or .xz file in UTF-8, counted from 1, without line ends."""
    number = 0
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as file:
            for number, line in enumerate(file, 1):
                yield number, _decode(line, path, number)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}:{number + 1}: the compressed file is damaged or cut short after "
            f"this line ({error}); fetch or make it again"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        decoded = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x} at "
            f"column {error.start + 1}); convert the file to UTF-8"
        ) from None
    return decoded[:-1].removesuffix("\r") if decoded.endswith("\n") else decoded


def read_lines(path: Path, field: str) -> Iterator[str]:
    """A document a line."""
    return (line for _, line in numbered_lines(path))


def read_jsonl(path: Path, field: str) -> Iterator[str]:
    """A JSON object a line, the document in its `field`."""
    for number, line in numbered_lines(path):
        yield _json_text(line, field, f"{path}:{number}")


def _json_text(line: str, field: str, where: str) -> str:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(record, dict) or field not in record:
        names = ", ".join(record) if isinstance(record, dict) else "no object"
        raise InputError(
            f"{where}: no field {field!r} (there is: {names}); name one with --field"
        )
    if not isinstance(record[field], str):
        raise InputError(f"{where}: field {field!r} must be a string")
    return record[field]


def lee_path() -> Path:
    """Where gensim keeps the Lee corpus (found without importing gensim)."""
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        raise InputError("--format lee needs gensim, which ships it: pip install gensim")
    return Path(spec.origin).parent / "test/test_data/lee_background.cor"


def split_tdlm(document: str) -> list[list[str]]:
    """Sentences separated by tabs, tokens by spaces, taken as they are."""
    return [
        [token for token in sentence.split(" ") if token]
        for sentence in document.split("\t")
    ]


FORMATS = {
    "lee": Format(read_lines, text.sentences),
    "tdlm": Format(read_lines, split_tdlm),
    "text": Format(read_lines, text.sentences),
    "jsonl": Format(read_jsonl, text.sentences),
    "aclimdb": Format(read_lines, text.sentences),
}
