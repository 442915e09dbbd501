"""The reference corpus of topic coherence: given files, or the corpus itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preprocessing.errors import InputError
from preprocessing.reference import read_reference


@dataclass(frozen=True)
class Reference:
    """The text that coherence is counted on: files, or the corpus's training split.

    A file that does not exist is refused at once, not after hours of other work.
    """

    files: tuple[Path, ...] = ()
    field: str = "text"  # of JSON lines
    processes: int = 1

    def __post_init__(self):
        for path in self.files:
            if not path.is_file():
                raise InputError(f"{path}: no such reference file")

    def description(self, dataset: Any) -> str:
        """Say which text it is."""
        if self.files:
            return ", ".join(str(path) for path in self.files)
        return f"the corpus itself: training split of {dataset.path}"

    def documents(self, dataset: Any) -> Iterator[Sequence[str]]:
        """Yield documents of tokens."""
        if self.files:
            return read_reference(self.files, self.field, self.processes)
        return _corpus_documents(dataset)


def _corpus_documents(dataset: Any) -> Iterator[list[str]]:
    split, words = dataset.split("train"), dataset.vocabulary.words
    for i in range(split.num_documents):
        yield [words[token] for token in itertools.chain(*split.document(i))]
