"""Files and folders, written whole or not at all, by one writer at a time."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from operator import methodcaller
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tcnlm.common.errors import InputError, reading


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` if all goes well."""
    aside = path.with_name(f".{os.getpid()}.{path.name}")
    old = path.with_name(f".{os.getpid()}.old.{path.name}")
    try:
        yield aside
        if aside.is_dir() and path.exists():  # goes aside whole
            os.replace(path, old)
        os.replace(aside, path)
        remove(old)
    finally:
        remove(aside)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_leftovers(folder: Path, names: str = ".+") -> None:
    """Remove what killed processes left aside in a folder; names: its pattern."""
    pattern = re.compile(rf"\.[0-9]+\.(old\.)?({names})")
    for left in sorted(folder.glob(".*")):
        found = pattern.fullmatch(left.name)
        if found and found[1] and not (folder / found[2]).exists():
            left.rename(folder / found[2])
        elif found:
            remove(left)


@contextmanager
def writing(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Raise InputError where a file cannot be written; errors: its writer's own."""
    try:
        yield
    except (OSError, *errors) as error:
        text = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        reason = text.split("; ")[-1].partition(" [Op:")[0]  # without TensorFlow's own
        raise InputError(f"{path}: cannot be written: {reason}") from None


def check_writable(path: Path, parents: bool = False) -> None:
    """Raise InputError where a file cannot be written; parents: folders are made."""
    with writing(path):
        if not parents and not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is not a file; give a file's name")
    check_folder(path.parent)


def check_folder(path: Path) -> None:
    """Raise InputError where a folder, made if need be, will take no files."""
    with writing(path):
        above = next(p for p in (path, *path.absolute().parents) if p.exists())
        if not above.is_dir():
            raise InputError(f"{path}: cannot be a folder, {above} is a file")
        tempfile.TemporaryFile(dir=above).close()


@contextmanager
def plain_path(folder: Path) -> Iterator[Path]:
    """Give a path to a folder that TensorFlow cannot take for a pattern, as `k[1]`."""
    if not set("*?[]{}\\") & set(str(folder.absolute())):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tcnlm-") as place:
        alias = Path(place, "folder")
        alias.symlink_to(folder.absolute())
        yield alias


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a file aside, then rename; missing folders are made."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as aside:
            aside.write_bytes(content)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays as an .npz file, as `write_file` does."""
    content = io.BytesIO()  # a zip file cannot be closed on a full disk
    np.savez(content, **arrays)
    write_file(path, content.getvalue())


def digest_of(file: Path, before: Any = None) -> str:
    """Return a file's SHA-256 in hexadecimal digits; before: what it is added to."""
    digest = before or hashlib.sha256()
    with reading(file), file.open("rb") as content:
        while block := content.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def digest_line(file: Path, name: str = "") -> str:
    """Return what `sha256sum` prints of a file; name: its own, if no other is given."""
    return f"{digest_of(file)}  {name or file.name}\n"


def seal(file: Path, beside: Path) -> None:
    """Write down a file's SHA-256 in another beside it."""
    with replacing(beside) as aside:
        aside.write_text(digest_line(file), encoding="ascii")


def is_as_sealed(file: Path, beside: Path) -> bool:
    """Whether a file is as it was sealed; one of before there were seals is."""
    with reading(beside):
        return not beside.exists() or beside.read_bytes() == digest_line(file).encode()


def write_json(path: Path, content: Any) -> None:
    """Write JSON aside, then rename; NumPy's numbers as Python's."""
    text = json.dumps(content, indent=1, default=methodcaller("item"))
    with replacing(path) as aside:
        aside.write_text(text + "\n", encoding="utf-8")


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock of `path`, the file .NAME.lock beside it, which goes afterwards."""
    file = path.with_name(f".{path.name}.lock")
    with _acquire(file, path, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)) as handle:
        handle.truncate(0)
        print(os.getpid(), file=handle, flush=True)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def _acquire(file: Path, path: Path, kind: int) -> TextIO:
    while True:
        handle = file.open("a+", encoding="ascii")
        try:
            fcntl.flock(handle, kind)
        except BlockingIOError:
            with handle:
                handle.seek(0)
                holder = handle.read().strip() or "of another run"
            raise InputError(
                f"{path}: process {holder} is writing it; let that end first"
            ) from None
        with suppress(FileNotFoundError):  # it may be one just removed
            if os.path.samestat(file.stat(), os.fstat(handle.fileno())):
                return handle
        handle.close()


@contextmanager
def owned(run: Path, written: tuple[str, ...]) -> Iterator[None]:
    """Hold RUN for one training or export, which writes these files of it."""
    place = Path(os.path.realpath(run))
    with ExitStack() as stack:
        with writing(run):
            place.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(place))
            remove_leftovers(place.parent, re.escape(place.name))
            if place.exists():
                remove_leftovers(place, "|".join(map(re.escape, written)))
                tempfile.TemporaryFile(dir=place).close()
        yield


@contextmanager
def owned_file(path: Path, *beside: Path) -> Iterator[None]:
    """Hold a file, and the files and folders beside it, for one writer at a time."""
    with ExitStack() as stack:
        with writing(path):
            stack.enter_context(locked(path, wait=True))
            for left in (path, *beside):
                remove_leftovers(left.parent, re.escape(left.name))
                if left.is_dir():
                    remove_leftovers(left)
        yield
