"""The lines of text files, whatever compressed them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from tcnlm.common.errors import InputError, unreadable

PARQUET = b"PAR1"
_COMPRESSED = (".gz", ".xz", ".bz2")
_OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\0": lzma.open, b"BZh": bz2.open}


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, empty ones too."""
    return (line for _, line in numbered_lines(path))


def ahead(path: Path) -> tuple[str, Iterator[tuple[int, str]]]:
    """The first line that is not blank, and all lines with their numbers."""
    lines, read = numbered_lines(path), []
    for number, line in lines:
        read.append((number, line))
        if line.strip():
            break
    return (read[-1][1].strip() if read else ""), chain(read, lines)


def plain_suffix(path: Path) -> str:
    """The ending of a file's name in small letters, what compressed it apart."""
    is_compressed = path.suffix.lower() in _COMPRESSED
    return (path.with_suffix("") if is_compressed else path).suffix.lower()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a plain, .gz, .xz or .bz2 file in UTF-8, from 1, without their ends."""
    number = 0
    try:
        with opened(path) as file:
            for number, line in enumerate(file, 1):
                yield number, _decoded(line, f"{path}:{number}")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if getattr(error, "errno", None):  # the system's, of which damage has none
            raise unreadable(path, error) from None
        raise InputError(
            f"{path}:{number + 1}: the compressed file is damaged or cut short here "
            f"({error}); fetch or make it again"
        ) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacked if it begins as gzip, xz or bzip2 files do."""
    with path.open("rb") as file:
        begins = file.peek(8)
        for magic, opener in _OPENERS.items():
            if begins.startswith(magic):
                with opener(file) as unpacked, io.BufferedReader(unpacked) as lines:
                    yield lines
                return
        yield file


def _decoded(line: bytes, where: str) -> str:
    try:
        text = line.decode("utf-8-sig" if where.endswith(":1") else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: not valid UTF-8 (byte 0x{line[error.start]:02x} at offset "
            f"{error.start}); give text in UTF-8, or CSV, JSON lines, parquet"
        ) from None
    if "\0" in text:
        raise InputError(
            f"{where}: a zero byte, which UTF-8 text never has; convert it"
        )
    return text.rstrip("\r\n") if text.endswith("\n") else text
