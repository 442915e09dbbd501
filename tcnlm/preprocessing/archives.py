"""Corpora as they are distributed: folders and archives, read where they are."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.documents import Document, body, checked_name
from tcnlm.preprocessing.files import (
    DAMAGED,
    MOST_BYTES,
    bounded,
    decode,
    opened,
    unreadable,
)

ACLIMDB_LABELS = {"train": ("neg", "pos", "unsup"), "test": ("neg", "pos")}
_HEADING = re.compile(r" = [^=](?:.*[^=])? = ")  # an article's; a section has two "="
_MARKED = re.compile(r" @([-,.])@ ")  # "-", "," and "." within a word or number
_DAMAGED = (EOFError, KeyError, OSError, ValueError, zlib.error, tarfile.TarError)
_DAMAGED += (zipfile.BadZipFile, RuntimeError)  # encrypted, or packed in a new way


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
        checked_name(name, f"{path}: the file's name {name!r}")
        text = decode(content, f"{path}/{name}", 1)
        yield Document(text, None if label == "unsup" else label, name)
    if not found:
        raise InputError(
            f"{path}: no {part}/pos/*.txt in it; give the folder aclImdb or "
            "aclImdb_v1.tar.gz as distributed"
        )


def _aclimdb_files(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    try:
        yield from (_from_folder if path.is_dir() else _from_tar)(path, part)
    except DAMAGED as error:
        raise InputError(
            f"{path}: the archive is damaged or cut short ({error}); fetch it again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


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
    with opened(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
        for member in bounded(archive):
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


def read_20news(path: Path, part: str, drop_headers: bool) -> Iterator[Document]:
    """Part "train" or "test" of 20news-bydate.tar.gz, by group and number.

    Its group is a message's label, and its place the id. Messages are Latin-1.
    """
    messages, top = [], f"20news-bydate-{part}"
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in bounded(archive):
                place = PurePosixPath(member.name).parts[-3:]
                if member.isfile() and len(place) == 3 and place[0] == top:
                    content = archive.extractfile(member).read().decode("latin-1")
                    messages.append((place[1], int(place[2]), content))
    except _DAMAGED as error:
        raise _not_as_distributed(path, error) from None
    for label, number, message in sorted(messages):
        content = body(message) if drop_headers else message
        yield Document(content, label, f"{part}/{label}/{number}")


def read_wikitext(path: Path, member: str) -> Iterator[Document]:
    """An article of WikiText a document, without its headings, the first its id.

    member: the file of its archive that has the part.
    """
    title, lines = None, []
    for line in _lines_of(path, member):
        if _HEADING.fullmatch(line):
            if lines:
                yield Document("\n\n".join(lines), id=title)
            title, lines = line.strip(" ="), []
        elif line.strip() and not line.startswith(" = "):
            lines.append(_MARKED.sub(r"\1", line))
    if lines:
        yield Document("\n\n".join(lines), id=title)


def read_oanc(path: Path) -> Iterator[Document]:
    """A text of OANC_GrAF.zip a document, in the order of their places, its ids.

    Of OANC-GrAF/data/written_1/journal/slate/1/Article247_4.txt: the label is the
    second folder, journal. What others annotated is not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [each for each in archive.infolist() if _is_text(each)]
            _check_size(texts)
            for each in sorted(texts, key=lambda each: each.filename):
                place = PurePosixPath(each.filename).with_suffix("").parts[2:]
                content = archive.read(each).decode("utf-8-sig")
                yield Document(content, place[1], "/".join(place))
    except _DAMAGED as error:
        raise _not_as_distributed(path, error) from None


def _is_text(member: zipfile.ZipInfo) -> bool:
    place = PurePosixPath(member.filename)
    return (
        place.parts[:2] == ("OANC-GrAF", "data")
        and len(place.parts) > 4
        and place.suffix == ".txt"
    )


def _lines_of(path: Path, member: str) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            _check_size([archive.getinfo(member)])
            for line in io.TextIOWrapper(file, "utf-8"):
                yield line.rstrip("\n")
    except _DAMAGED as error:
        raise _not_as_distributed(path, error) from None


def _check_size(members: Iterable[zipfile.ZipInfo]) -> None:
    if sum(member.file_size for member in members) > MOST_BYTES:
        raise ValueError(f"its texts have more than {MOST_BYTES:,} bytes")


def _not_as_distributed(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: is not as distributed ({error}); remove it")
