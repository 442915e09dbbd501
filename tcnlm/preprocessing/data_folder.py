"""The DATA directory: its files, and what is refused of one that was changed."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np

from tcnlm.common import files
from tcnlm.common.errors import InputError, UnreadableError, reading
from tcnlm.preprocessing.collect import SPLITS, Arrays
from tcnlm.preprocessing.documents import LONGEST, Document
from tcnlm.preprocessing.languages import ENGLISH, languages
from tcnlm.preprocessing.phrases import FILE as PHRASES
from tcnlm.preprocessing.vocabulary import FILES, Vocabulary

FORMAT_VERSION = 1
SUMS, LABELS, IDS, DATES, TEXTS = (
    "SHA256SUMS labels.npy ids.txt dates.txt texts.jsonl".split()
)
# All that a DATA directory can hold, and so all that --force removes.
_OF_A_SPLIT = [*(f"{name}.npy" for name in Arrays._fields), LABELS, IDS, DATES, TEXTS]
CONTENTS = frozenset(
    ["meta.json", SUMS, *FILES, PHRASES, *SPLITS]
    + [f"{split}/{name}" for split in SPLITS for name in _OF_A_SPLIT]
)
NO_LABEL = -1
HELD_OUT = ("valid", "test")  # splits that have texts
KEPT = 2_000  # characters of a text
CONTEXTS = ("others", "preceding", "leak", "all")
_OF_ROWS = ("sequence_length", "context", "context_words")  # settings that rows have

Entries = Mapping[str, tuple[str, Callable[[Any], bool]]]

TEXT = "a text", lambda value: isinstance(value, str)
OBJECT = "an object", lambda value: isinstance(value, dict)
_LENGTH = (
    f"a whole number from 1 to {LONGEST:,}",
    lambda value: type(value) is int and 1 <= value <= LONGEST,
)
SETTINGS: Entries = {  # of meta.json, and of what a RUN keeps of it
    "command": TEXT,
    "fingerprint": TEXT,
    "settings.sequence_length": _LENGTH,
    "settings.context_words": _LENGTH,
    "settings.context": (f"one of {', '.join(CONTEXTS)}", lambda v: v in CONTEXTS),
    "settings.language": (  # none of bags, and of DATA made before there were several
        "a language's code",
        lambda v: v is None or (isinstance(v, str) and v in languages()),
    ),
}


def open_data(path: Path) -> tuple[dict, Vocabulary]:
    """Return meta.json and the vocabulary of a DATA directory."""
    meta = read_meta(path)
    try:
        check_entries(path / "meta.json", meta, SETTINGS)
        _check_sums(path, meta)
        return meta, Vocabulary.load(path, language_of(meta["settings"]))
    except UnreadableError:
        raise
    except InputError as error:
        raise InputError(
            f"{error}; make {path} again with python -m preprocessing"
        ) from None


def check_entries(file: Path, found: Mapping[str, Any], entries: Entries) -> None:
    """Raise InputError where an entry ("settings.context") is not what it must be."""
    for place, (right, is_right) in entries.items():
        value = found
        for name in place.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not is_right(value):
            shown = "missing" if value is None else shortened(value)
            raise InputError(f"{file}: {place} is {shown}, but must be {right}")


def language_of(settings: Mapping[str, Any]) -> str:
    """The language of texts, by the settings of meta.json; English where it is none."""
    return settings.get("language") or ENGLISH


# --- Arrays, meta.json, sums --------------------------------------------------------


def save_arrays(folder: Path, arrays: Arrays) -> None:
    """Write the arrays of one split."""
    folder.mkdir()
    for name, array in arrays._asdict().items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def load_arrays(folder: Path) -> Arrays:
    """Map the arrays of one split of a DATA that was opened into memory."""
    return Arrays(*(np.load(folder / f"{n}.npy", "r") for n in Arrays._fields))


def write_meta(folder: Path, meta: dict) -> None:
    """Write meta.json, whose first entry is the version of the format."""
    content = {"format_version": FORMAT_VERSION, **meta}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / "meta.json").write_text(f"{text}\n", encoding="utf-8")


def read_meta(path: str | Path) -> dict:
    """Read meta.json of the DATA directory `path`."""
    file, again = Path(path) / "meta.json", "with python -m preprocessing"
    try:
        with reading(file):
            meta = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path}: not a DATA directory (no meta.json in it); make one {again}"
        ) from None
    except UnreadableError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{file}: damaged ({error}); make {path} again {again}"
        ) from None
    version = meta.get("format_version") if isinstance(meta, dict) else None
    if version != FORMAT_VERSION:
        raise InputError(
            f"{file}: format version {version}, but this program reads version "
            f"{FORMAT_VERSION}; make {path} again {again}"
        )
    return meta


def fingerprint(folder: Path, settings: dict) -> str:
    """SHA-256 over the vocabularies, the arrays and what of `settings` rows have."""
    settings = {name: settings[name] for name in _OF_ROWS}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    arrays = [f"{split}/{name}.npy" for split in SPLITS for name in Arrays._fields]
    for name in [*FILES, *arrays]:
        files.digest_of(folder / name, digest)
    return digest.hexdigest()


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS, which `sha256sum -c` checks: of all files but the texts."""
    (folder / SUMS).write_text("".join(_sums(folder)), encoding="ascii")


def _sums(folder: Path) -> list[str]:
    names = (n for n in sorted(CONTENTS - {SUMS}) if not n.endswith(TEXTS))
    return [files.digest_line(folder / n, n) for n in names if (folder / n).is_file()]


def _check_sums(folder: Path, meta: Mapping[str, Any]) -> None:
    file = folder / SUMS
    if file.exists():
        with reading(file):
            written = file.read_text(encoding="ascii", errors="replace").splitlines()
        wrong = {line.rstrip("\n") for line in _sums(folder)} ^ set(written)
        for name in sorted(line[66:] for line in wrong):
            changed = f"changed, not what {SUMS} was made of"
            said = changed if (folder / name).is_file() else "no such file"
            raise InputError(f"{folder / name}: {said}")
        return
    try:
        actual = fingerprint(folder, meta["settings"])
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file") from None
    if actual != meta["fingerprint"]:
        raise InputError(
            f"{folder / 'meta.json'}: fingerprint {shortened(meta['fingerprint'])}, "
            f"but that of the files is {actual}: one was changed"
        )


# --- Labels, ids, dates, texts ------------------------------------------------------


def save_marks(
    folder: Path, splits: Mapping[str, np.ndarray], documents: Sequence[Document]
) -> dict[str, list[str]]:
    """Write labels.npy, ids.txt and dates.txt of every split, if a document has one.

    splits: numbers of documents. Returns what meta.json has to say of them: "labels",
    the names of the classes 0, 1, ...
    """
    chosen = {name: [documents[n] for n in rows] for name, rows in splits.items()}
    every = list(chain(*chosen.values()))
    found = {each.label for each in every} - {None}
    # 2 before 10, so that classes that are numbers keep them.
    names = sorted(found, key=lambda n: (not n.isdecimal(), len(n) * n.isdecimal(), n))
    if names:
        classes = {name: index for index, name in enumerate(names)}
        for split, found in chosen.items():
            labels = [classes.get(each.label, NO_LABEL) for each in found]
            labels = np.array(labels, dtype=np.int32)
            np.save(folder / split / LABELS, labels, allow_pickle=False)
    for file, mark in ((IDS, "id"), (DATES, "date")):
        if any(getattr(each, mark) for each in every):
            for split, found in chosen.items():
                lines = (f"{getattr(each, mark) or ''}\n" for each in found)
                _write_lines(folder / split / file, lines)
    return {"labels": names} if names else {}


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as written:
        written.writelines(lines)


def read_labels(folder: Path) -> np.ndarray | None:
    """Read labels.npy of a split, int32 [documents]; None where there is none."""
    file = folder / LABELS
    try:
        return np.load(file) if file.exists() else None
    except ValueError as error:
        raise InputError(
            f"{file}: damaged ({error}); make {folder.parent} again with python -m "
            "preprocessing"
        ) from None


def read_marks(file: Path) -> list[str] | None:
    """Read ids.txt or dates.txt, a line a document; None where there is none."""
    if not file.exists():
        return None
    return file.read_bytes().decode("utf-8").split("\n")[:-1]


def held_out(splits: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the numbers of the documents whose texts are kept, ascending."""
    return np.sort(np.concatenate([splits[name] for name in HELD_OUT]))


def save_texts(
    folder: Path, splits: Mapping[str, np.ndarray], documents: Iterable[Document]
) -> None:
    """Write texts.jsonl of the held-out splits: a JSON string a document."""
    kept = (json.dumps(document.text[:KEPT]) for document in documents)
    texts = dict(zip(held_out(splits), kept))
    for name in HELD_OUT:
        lines = (f"{texts[number]}\n" for number in splits[name])
        _write_lines(folder / name / TEXTS, lines)


def read_texts(folder: Path, rows: Sequence[int]) -> list[str] | None:
    """Return the texts of some of a split's documents; None where none are kept."""
    path = folder / TEXTS
    if not path.exists():
        return None
    with reading(path):
        lines = path.read_bytes().split(b"\n")
    try:
        texts = [json.loads(lines[row]) for row in rows]
    except (ValueError, IndexError):
        texts = [None]
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"{path}: damaged; make DATA again, or remove the file")
    return texts


# --- The folder ---------------------------------------------------------------------


@contextmanager
def new_folder(path: Path, force: bool = False) -> Iterator[Path]:
    """Give a folder beside `path` to write to; it becomes `path` if all goes well.

    An existing `path` is refused with InputError, as one that another process writes;
    with `force` it is replaced if it holds nothing but what a DATA directory holds.
    """
    _check_free(path, force)
    place = Path(os.path.realpath(path))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.locked(place):
            files.remove_leftovers(place.parent, re.escape(place.name))
            _check_free(path, force)
            with files.replacing(place) as aside:
                aside.mkdir()
                yield aside
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error


def _check_free(path: Path, force: bool) -> None:
    if not path.exists():
        return
    if not force:
        raise InputError(f"{path}: exists already; give another --out, or add --force")
    is_data = (path / "meta.json").exists()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not is_data or str(file.relative_to(path)) not in CONTENTS:
            raise InputError(
                f"{file}: no part of a DATA directory, so that --force does not remove "
                f"it; move it away, or give another --out"
            )
