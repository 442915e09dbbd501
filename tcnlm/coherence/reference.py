"""The reference corpus of topic coherence: given files, or the corpus itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcnlm.coherence import windows
from tcnlm.coherence.windows import WINDOW, WindowCounts, Windows
from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.preprocessing import text
from tcnlm.preprocessing.phrases import Sentences
from tcnlm.preprocessing.sources import read_reference, reference_texts

if TYPE_CHECKING:
    from tcnlm.common.beam import Beam


@dataclass(frozen=True)
class Reference:
    """The text that coherence is counted on: files, or the corpus's training split."""

    files: tuple[Path, ...] = ()
    field: str = "text"  # of JSON lines and tables
    processes: int = 1
    counts: Path | None = None  # window counts made earlier, in place of any text
    counted: WindowCounts | None = None  # the same in memory
    runner: Beam | None = None  # that files are counted on, in place of processes
    sentences: Sentences = text.sentences  # that splits files, as a RUN's texts were

    def __post_init__(self):
        for path in (*self.files, *filter(None, [self.counts])):
            if not path.is_file():
                raise InputError(f"{path}: no such reference file")

    def window_counts(
        self, words: Iterable[str], window: int = WINDOW, dataset: Any = None
    ) -> WindowCounts:
        """Count windows for `words`, or take them from the counts made earlier."""
        if self.counted:
            return self.counted
        if self.counts:
            return windows.load_counts(self.counts, words, window)
        if self.runner:
            # Here, since it is an option.
            from tcnlm.coherence.on_beam import count_on

            texts = reference_texts(self.files, self.field)
            described = self.description(dataset), self.sentences
            return count_on(self.runner, texts, words, window, *described)
        return self.kinds_counted(words, [Windows(window)], dataset)[0]

    def kinds_counted(
        self, words: Iterable[str], kinds: Sequence[Windows], dataset: Any = None
    ) -> list[WindowCounts]:
        """Count several kinds of windows for `words` in one pass over the text.

        Raises InputError where there is none, but counts made earlier.
        """
        if self.counts:
            raise InputError(
                f"{self.counts}: window counts of one kind, and other coherences have "
                "windows of their own: give the text, --reference"
            )
        if not (self.files or dataset.word_order):
            # There is nothing nearer than in the same document.
            kinds = [Windows(0) for _ in kinds]
        size = None if self.files else dataset.meta["splits"]["train"]["tokens"]
        shown = {"desc": "counting windows", "unit": " tokens", "unit_scale": True}
        bar = progress_bar(total=size, leave=False, **shown)  # unknown of files
        described = self.description(dataset)

        def documents() -> Iterator[Sequence[str]]:
            for document in self.documents(dataset):
                yield document
                bar.update(len(document))

        with bar:
            return windows.count_kinds(documents(), words, kinds, described)

    def description(self, dataset: Any) -> str:
        """Say which text it is."""
        if self.files:
            return ", ".join(str(path) for path in self.files)
        return f"the corpus itself: training split of {dataset.path}"

    def documents(self, dataset: Any) -> Iterator[Sequence[str]]:
        """Yield documents of tokens."""
        if self.files:
            given = self.field, self.processes, self.sentences
            return read_reference(self.files, *given)
        split, words = dataset.split("train"), dataset.vocabulary.words
        return (
            [words[token] for token in itertools.chain(*split.document(i))]
            for i in range(split.num_documents)
        )
