"""Files written whole or not at all, and refused before hours of work for them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError, reading
from tcnlm.common.replacing import replacing


@contextlib.contextmanager
def writing(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Raise InputError with its name where a file or folder cannot be written.

    errors: what a writer raises for that besides OSError.
    """
    try:
        yield
    except (OSError, *errors) as error:
        raise InputError(f"{path}: cannot be written: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Return what stopped a writer, as the system says it; TensorFlow adds to that."""
    text = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return text.split("; ")[-1].partition(" [Op:")[0]


def check_writable(path: Path, parents: bool = False) -> None:
    """Raise InputError where a file cannot be written, before hours of work for it.

    parents: missing folders will be made.
    """
    with writing(path):
        if not parents and not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is no file; give the name of one")
    check_folder(path.parent)


def check_folder(path: Path) -> None:
    """Raise InputError where a folder, made if need be, will take no files."""
    with writing(path):
        above = next(p for p in (path, *path.absolute().parents) if p.exists())
        if not above.is_dir():
            raise InputError(f"{path}: cannot be a folder, {above} is a file")
        tempfile.TemporaryFile(dir=above).close()


SIGNS = "[, ], {, }, *, ? and \\"  # of patterns


def _is_pattern(path: Path) -> bool:
    return bool(set("*?[]{}\\") & set(str(path)))


@contextlib.contextmanager
def plain_path(folder: Path) -> Iterator[Path]:
    """Give a path to a folder that TensorFlow cannot take for a pattern of names.

    It reads checkpoints by patterns: `k[1]` is the folder k1 to it.
    """
    if not _is_pattern(folder.absolute()):
        yield folder
        return
    if _is_pattern(Path(tempfile.gettempdir())):
        raise InputError(
            f"TMPDIR: {tempfile.gettempdir()}: must be a folder without {SIGNS} in its "
            f"name to reach {folder}"
        )
    with tempfile.TemporaryDirectory(prefix="tcnlm-") as place:
        alias = Path(place) / "folder"
        alias.symlink_to(folder.absolute(), target_is_directory=True)
        yield alias


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a file aside, then rename; missing folders are made.

    Raises InputError where it cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as aside:
            aside.write_bytes(content)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays as an .npz file, as `write_file` does."""
    content = io.BytesIO()  # a zip file cannot be closed on a full disk
    np.savez(content, **arrays)
    write_file(path, content.getvalue())


def digest_of(file: Path) -> str:
    """Return a file's SHA-256 in hexadecimal digits."""
    digest = hashlib.sha256()
    with reading(file), file.open("rb") as content:
        while block := content.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def digest_line(file: Path, name: str = "") -> str:
    """Return what `sha256sum` prints of a file; name: its own, if no other is given."""
    return f"{digest_of(file)}  {name or file.name}\n"


def write_json(path: Path, content: Any) -> None:
    """Write JSON aside, then rename."""
    with replacing(path) as aside:
        aside.write_text(json_text(content) + "\n", encoding="utf-8")


def json_text(content: Any) -> str:
    """Return JSON for people: a setting a line, and an item of a list of rows a line.

    A list of plain values is one line; an item that holds rows itself is more.
    """
    return _indented(json.loads(json.dumps(content)), "\n")


def _indented(content: Any, margin: str) -> str:
    deeper = margin + " "
    if isinstance(content, dict) and content:
        items = content.items()
        parts = [f"{json.dumps(k)}: {_indented(v, deeper)}" for k, v in items]
        return f"{{{deeper}{f',{deeper}'.join(parts)}{margin}}}"
    if isinstance(content, list) and _has_rows(content):
        parts = [_row(item, deeper) for item in content]
        return f"[{deeper}{f',{deeper}'.join(parts)}{margin}]"
    return json.dumps(content)


def _row(item: Any, margin: str) -> str:
    return _indented(item, margin) if _has_rows(item) else json.dumps(item)


def _has_rows(content: Any) -> bool:
    """Whether there is a list of lists or dicts in it."""
    if isinstance(content, dict):
        return any(map(_has_rows, content.values()))
    rows = content if isinstance(content, list) else []
    return any(isinstance(row, (dict, list)) for row in rows)
