"""A corpus: its parts, how to read each, and how its documents become sentences."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from preprocessing import text
from preprocessing.errors import InputError
from preprocessing.sources import (
    FORMATS,
    Document,
    Fields,
    Format,
    read_aclimdb,
    read_plain,
)

NAMES = ("lee", "aclimdb", *FORMATS)


@dataclass(frozen=True)
class Corpus:
    """Parts of a corpus, each a way to read its documents, again and again.

    The parts are train, valid and test; or training, from which valid is to be cut, and
    test; or train and heldout, which is to be halved; or all, which is to be cut.
    """

    parts: Mapping[str, Callable[[], Iterator[Document]]]
    sentences: Callable[[str], list[list[str]]]
    source: str


def lee_corpus() -> Corpus:
    """The Lee news corpus, found in gensim without importing it."""
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        raise InputError("--format lee: gensim, which ships it, is not installed")
    path = Path(spec.origin).parent / "test" / "test_data" / "lee_background.cor"
    return Corpus(
        {"all": partial(read_plain, path, Fields())},
        text.sentences,
        f"lee: gensim/{path.name}",
    )


def aclimdb_corpus(path: Path) -> Corpus:
    """The Large Movie Review Dataset, from its folder or its .tar.gz."""
    parts = {
        "train": partial(read_aclimdb, path, "train"),
        "heldout": partial(read_aclimdb, path, "test"),
    }
    return Corpus(parts, text.sentences, f"aclimdb: {path}")


def file_corpus(
    name: str, files: Mapping[str, Sequence[Path]], fields: Fields
) -> Corpus:
    """A corpus in the format `name`, the `files` of every part given."""
    chosen = FORMATS[name]
    parts = {
        part: partial(_read, chosen, paths, fields) for part, paths in files.items()
    }
    sources = " ".join(str(path) for paths in files.values() for path in paths)
    return Corpus(parts, chosen.sentences, f"{name}: {sources}")


def _read(chosen: Format, paths: Sequence[Path], fields: Fields) -> Iterator[Document]:
    for path in paths:
        yield from chosen.read(path, fields)
