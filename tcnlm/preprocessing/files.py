"""The lines of text files, whatever compressed them, and archives that are bounded."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from tcnlm.common.errors import InputError

PARQUET = b"PAR1"
MOST_BYTES = 2**30  # of an archive unpacked: the largest known has half of it
DAMAGED = (
    EOFError,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    tarfile.TarError,
)

_COMPRESSED = (".gz", ".tgz", ".xz", ".bz2")
_OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\0": lzma.open, b"BZh": bz2.open}
_FOREIGN = {  # how a file begins that is no text: what it is, and what to do
    b"PK\x03\x04": "a zip archive (unpack it) or a spreadsheet (save it as CSV)",
    PARQUET: "a parquet table; give the file, no pipe, and --format table",
    b"\xff\xfe": "UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
    b"%PDF": "a PDF; give its text, as pdftotext makes it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it with unzstd",
}
_HEAD = 2**13  # bytes that tell what a file is


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
    """Lines of a plain, .gz or .xz file in UTF-8, from 1, without their ends."""
    number = 0
    try:
        with opened(path) as file:
            for number, line in enumerate(_ended(file, path), 1):
                yield number, decode(line, path, number)
    except DAMAGED as error:
        raise InputError(
            f"{path}:{number + 1}: the compressed file is damaged or cut short here "
            f"({error}); fetch or make it again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
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


def decode(line: bytes, path: Path | str, number: int) -> str:
    """A line, or all of a file from line `number` on, of UTF-8; InputError if not."""
    try:
        decoded = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        number += line.count(b"\n", 0, error.start)
        raise InputError(
            f"{path}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x} at "
            f"offset {error.start}); convert the file to UTF-8"
        ) from None
    return decoded.rstrip("\r\n") if decoded.endswith("\n") else decoded


def unreadable(path: Path, error: OSError) -> InputError:
    """What is said of a file that the system does not give."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file")
    return InputError(f"{path}: cannot be read: {error.strerror or error}")


def bounded(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members of an archive; TarError before it is unpacked beyond a bound."""
    for member in archive:
        if member.offset_data + member.size > MOST_BYTES:
            raise tarfile.TarError(f"unpacked it has more than {MOST_BYTES:,} bytes")
        yield member
