"""Corpora as they are distributed, read from their archives, whose sums are known."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tcnlm.preprocessing.documents import Document

ACLIMDB_LABELS = {"train": ("neg", "pos", "unsup"), "test": ("neg", "pos")}
_HEADERS_END = re.compile(r"^\r?\n", re.MULTILINE)
_HEADING = re.compile(r" = [^=](?:.*[^=])? = ")  # an article's; a section has two "="
_MARKED = re.compile(r" @([-,.])@ ")  # "-", "," and "." within a word or number


def read_aclimdb(path: Path, part: str) -> Iterator[Document]:
    """Part "train" or "test" of aclImdb_v1.tar.gz, the Large Movie Review Dataset.

    A file a document, its folder the label, its place (test/pos/0_10.txt) the id; train
    has the 50,000 reviews without a label too.
    """
    with tarfile.open(path, "r|gz") as archive:
        for member in archive:
            place = PurePosixPath(member.name).parts[-3:]
            is_review = len(place) == 3 and place[0] == part and member.isfile()
            if is_review and place[1] in ACLIMDB_LABELS[part]:
                text = archive.extractfile(member).read().decode("utf-8-sig")
                label = None if place[1] == "unsup" else place[1]
                yield Document(text, label, "/".join(place))


def read_20news(path: Path, part: str, drop_headers: bool) -> Iterator[Document]:
    """Part "train" or "test" of 20news-bydate.tar.gz, by group and number.

    Its group is a message's label, and its place the id. Messages are Latin-1.
    drop_headers: leave out all up to a message's first empty line.
    """
    messages, top = [], f"20news-bydate-{part}"
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            place = PurePosixPath(member.name).parts[-3:]
            if member.isfile() and len(place) == 3 and place[0] == top:
                content = archive.extractfile(member).read().decode("latin-1")
                messages.append((place[1], int(place[2]), content))
    for label, number, message in sorted(messages):
        parts = _HEADERS_END.split(message, 1)[1:] if drop_headers else [message]
        yield Document("".join(parts), label, f"{part}/{label}/{number}")


def read_wikitext(path: Path, member: str) -> Iterator[Document]:
    """An article of WikiText a document, without its headings, the first its id.

    member: the file of its archive that has the part.
    """
    title, lines = None, []
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        for ended in io.TextIOWrapper(file, "utf-8"):
            line = ended.rstrip("\n")
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
    with zipfile.ZipFile(path) as archive:
        for place in sorted(map(PurePosixPath, archive.namelist()), key=str):
            name = place.with_suffix("").parts
            is_text = place.suffix == ".txt" and len(name) > 4
            if is_text and name[:2] == ("OANC-GrAF", "data"):
                content = archive.read(str(place)).decode("utf-8-sig")
                yield Document(content, name[3], "/".join(name[2:]))
