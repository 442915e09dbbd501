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
    try:
        for name, content in _reviews(path, part):
            found = True
            label = PurePosixPath(name).parent.name
            checked_name(name, f"{path}: the file's name {name!r}")
            text = decode(content, f"{path}/{name}", 1)
            yield Document(text, None if label == "unsup" else label, name)
    except DAMAGED as error:
        raise InputError(
            f"{path}: the archive is damaged or cut short ({error}); fetch it again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None
    if not found:
        raise InputError(
            f"{path}: no {part}/pos/*.txt in it; give the folder aclImdb or "
            "aclImdb_v1.tar.gz as distributed"
        )


def _reviews(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    """The names and contents of a part's files; of a folder 2_7.txt before 10_1.txt."""
    if path.is_dir():
        for label in ACLIMDB_LABELS[part]:
            files = (path / part / label).glob("*.txt")
            order = {file: file.name.partition("_")[0] for file in files}
            for file in sorted(order, key=lambda file: (len(order[file]), file.name)):
                yield f"{part}/{label}/{file.name}", file.read_bytes()
        return
    # Opened here, since tarfile takes a gzip file that is cut short for a whole one.
    with opened(path) as packed, tarfile.open(fileobj=packed, mode="r|") as archive:
        for member in bounded(archive):
            name = "/".join(PurePosixPath(member.name).parts[-3:])
            folder, _, label = str(PurePosixPath(name).parent).partition("/")
            is_review = folder == part and label in ACLIMDB_LABELS[part]
            if member.isfile() and is_review and name.endswith(".txt"):
                yield name, archive.extractfile(member).read()


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
            places = {PurePosixPath(each.filename): each for each in archive.infolist()}
            texts = [
                place
                for place in places
                if place.parts[:2] == ("OANC-GrAF", "data")
                and len(place.parts) > 4
                and place.suffix == ".txt"
            ]
            _check_size(places[place] for place in texts)
            for place in sorted(texts, key=str):
                content = archive.read(places[place]).decode("utf-8-sig")
                name = place.with_suffix("").parts[2:]
                yield Document(content, name[1], "/".join(name))
    except _DAMAGED as error:
        raise _not_as_distributed(path, error) from None


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
