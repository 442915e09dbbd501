"""Files of known sums from the network, kept in a cache and fetched once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from tqdm import tqdm

from tcnlm.common.errors import InputError
from tcnlm.common.locks import locked
from tcnlm.common.progress_bar import progress_bar

CACHE, MIRROR = "TCNLM_CACHE", "TCNLM_MIRROR"  # environment variables
PIECE = 2**16  # bytes
PATIENCE = 10, 60  # seconds: to connect, and between two pieces
PARTIAL, BEYOND = 206, 416  # status codes


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


def _bar(name: str, have: int, left: int) -> tqdm:
    total = have + left if left else None
    size = {"unit": "B", "unit_scale": True, "unit_divisor": 1024}
    return progress_bar(desc=f"fetching {name}", initial=have, total=total, **size)
