"""The files of the DATA directory: arrays of the splits, and meta.json."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError, unreadable
from tcnlm.common.files import digest_line
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.phrases import FILE as PHRASES
from tcnlm.preprocessing.splits import SPLITS
from tcnlm.preprocessing.vocabulary import FILES, UNK

FORMAT_VERSION = 1

# All that a DATA directory can hold, and so all that --force removes.
_OF_A_SPLIT = [f"{name}.npy" for name in Arrays._fields]
_OF_A_SPLIT += ["labels.npy", "ids.txt", "dates.txt", "texts.jsonl"]
SUMS = "SHA256SUMS"
CONTENTS = frozenset(
    ["meta.json", SUMS, *FILES, PHRASES, *SPLITS]
    + [f"{split}/{name}" for split in SPLITS for name in _OF_A_SPLIT]
)

CONTEXTS = ("others", "preceding", "leak", "all")
_OF_ROWS = ("sequence_length", "context", "context_words")  # settings that rows have

_BLOCK = 1 << 20


def counted(types: list[str], train: Arrays) -> tuple[list[str], np.ndarray]:
    """The types that `train` has, by first occurrence, and how often it has each.

    Its tokens are indices of `types`.
    """
    counts = np.bincount(train.tokens, minlength=len(types))
    order = by_first_occurrence(train.tokens, len(types))
    return [types[i] for i in order], counts[order]


def by_first_occurrence(tokens: np.ndarray, size: int) -> np.ndarray:
    """The distinct values of `tokens` (all below `size`) as they turn up."""
    first = np.full(size, len(tokens), dtype=np.int64)
    for start in reversed(range(0, len(tokens), _BLOCK)):
        block = tokens[start : start + _BLOCK]
        # Of assignments to the same place the last one holds: the first occurrence.
        first[block[::-1]] = np.arange(start, start + len(block))[::-1]
    return np.argsort(first, kind="stable")[: np.count_nonzero(first < len(tokens))]


def save_arrays(folder: Path, arrays: Arrays) -> None:
    """Write the arrays of one split."""
    folder.mkdir()
    for name, array in arrays._asdict().items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def load_arrays(folder: Path) -> Arrays:
    """Map the arrays of one split into memory; InputError where one is none."""
    kinds = Arrays(np.int32, np.int64, np.int64)._asdict()
    return Arrays(*(load_array(folder / f"{n}.npy", k) for n, k in kinds.items()))


def load_array(file: Path, kind: type) -> np.ndarray:
    """Map an array [n] of the type `kind`, a whole file, into memory."""
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array = np.lib.format.open_memmap(file, mode="r")
    except OSError as error:
        raise unreadable(file, error) from None
    except Exception:  # of any kind: what numpy makes of a foreign header
        raise InputError(f"{file}: cut short, or no array of numpy") from None
    whole = array.offset + array.nbytes == file.stat().st_size
    if not (whole and array.ndim == 1 and array.dtype == kind):
        raise InputError(f"{file}: not one row of {np.dtype(kind)} and nothing else")
    return array


def counts_of(
    arrays: Arrays, topic_ids: np.ndarray, sequence_length: int
) -> dict[str, int]:
    """The figures of the paper's Table 1 for a split, and what follows from them.

    A sentence of n words has n + 1 targets (<eos> is one), in as many sequences of
    `sequence_length` targets as it takes. topic_ids: see `Vocabulary`; a document
    without topic words, be it empty or not, is an empty bag of words.
    """
    lengths = np.diff(arrays.sentences)
    bounds = arrays.sentences[arrays.documents]
    words = np.diff(bounds)
    is_topic_word = topic_ids[arrays.tokens] >= 0
    # The next document that is not empty starts where one ends.
    has_topic = np.logical_or.reduceat(is_topic_word, bounds[:-1][words > 0])
    return {
        "documents": len(words),
        "sentences": len(lengths),
        "tokens": len(arrays.tokens),
        "targets": len(arrays.tokens) + len(lengths),
        "sequences": int(np.sum(lengths // sequence_length + 1)),
        "unknown": int(np.count_nonzero(arrays.tokens == UNK)),
        "empty_documents": int(np.count_nonzero(words == 0)),
        "without_topic_words": len(words) - int(np.count_nonzero(has_topic)),
    }


def fingerprint(folder: Path, settings: dict) -> str:
    """SHA-256 over the vocabularies, the arrays and what of `settings` rows have."""
    settings = {name: settings[name] for name in _OF_ROWS}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    arrays = [f"{split}/{name}.npy" for split in SPLITS for name in Arrays._fields]
    for name in [*FILES, *arrays]:
        with (folder / name).open("rb") as file:
            for block in iter(lambda: file.read(_BLOCK), b""):
                digest.update(block)
    return digest.hexdigest()


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS, which `sha256sum -c` checks: of all files but the texts."""
    (folder / SUMS).write_text("".join(_sums(folder)), encoding="ascii")


def _sums(folder: Path) -> Iterator[str]:
    for name in sorted(CONTENTS - {SUMS}):
        if (folder / name).is_file() and not name.endswith("texts.jsonl"):
            yield digest_line(folder / name, name)


def check_sums(folder: Path, meta: Mapping[str, Any]) -> None:
    """Raise InputError where a file is not what a DATA directory was made with.

    One from before there was SHA256SUMS is held to its fingerprint.
    """
    if not (folder / SUMS).exists():
        found = fingerprint(folder, meta["settings"])
        if found != meta["fingerprint"]:
            told = shortened(meta["fingerprint"])
            raise InputError(
                f"{folder / 'meta.json'}: fingerprint {told}, but that of the files is "
                f"{found}: one was changed"
            )
        return
    told = (folder / SUMS).read_text(encoding="ascii", errors="replace").splitlines()
    wrong = {line.rstrip("\n") for line in _sums(folder)} ^ set(told)
    if wrong:
        name = min(line[66:] for line in wrong)
        raise InputError(f"{folder / name}: changed, not what {SUMS} was made of")


def write_meta(folder: Path, meta: dict) -> None:
    """Write meta.json, whose first entry is the version of the format."""
    meta = {"format_version": FORMAT_VERSION, **meta}
    text = json.dumps(meta, indent=1, ensure_ascii=False) + "\n"
    (folder / "meta.json").write_text(text, encoding="utf-8")


def read_meta(path: str | Path) -> dict:
    """Read meta.json of the DATA directory `path`.

    Raises InputError where there is none, or one of another version of the format.
    """
    file = Path(path) / "meta.json"
    try:
        meta = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path}: not a DATA directory (no meta.json in it); make one with "
            "python -m preprocessing"
        ) from None
    except (IsADirectoryError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file}: damaged ({error}); make {path} again with python -m preprocessing"
        ) from None
    except OSError as error:
        raise unreadable(file, error) from None
    version = meta.get("format_version") if isinstance(meta, dict) else None
    if version != FORMAT_VERSION:
        raise InputError(
            f"{file}: format version {version}, but this program reads version "
            f"{FORMAT_VERSION}; make {path} again with python -m preprocessing"
        )
    return meta
