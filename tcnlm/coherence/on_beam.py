"""Window counts by workers of Apache Beam: they are sums, in whatever order."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace

import apache_beam as beam

from tcnlm.coherence.windows import WindowCounts, as_arrays, count_windows, from_arrays
from tcnlm.common.beam import Arrays, Beam, Item
from tcnlm.common.process import chunks
from tcnlm.preprocessing.phrases import Sentences
from tcnlm.preprocessing.sources import tokens_of

CHUNK = 500  # documents that a worker counts at a time


def count_on(
    runner: Beam,
    documents: Iterable[str],
    words: Sequence[str],
    window: int,
    reference: str,
    sentences: Sentences,
) -> WindowCounts:
    """Return `count_windows` of the tokens of raw documents."""
    total = beam.CombineGlobally(_Total(tuple(words), window, sentences))
    (arrays,) = runner.run(total, chunks(documents, CHUNK))
    return replace(from_arrays(arrays), reference=reference)


class _Total(beam.CombineFn):
    """Numbered lists of documents to the window counts of all, numbered 1."""

    def __init__(self, words: tuple[str, ...], window: int, sentences: Sentences):
        super().__init__()
        self.words, self.window, self.sentences = words, window, sentences

    def create_accumulator(self) -> WindowCounts:
        return count_windows([], self.words, self.window)

    def add_input(self, total: WindowCounts, item: tuple[int, Item]) -> WindowCounts:
        _, texts = item
        documents = tokens_of(texts, self.sentences)
        return total + count_windows(documents, self.words, self.window)

    def merge_accumulators(self, totals: Iterable[WindowCounts]) -> WindowCounts:
        return functools.reduce(operator.add, totals)

    def extract_output(self, total: WindowCounts) -> tuple[int, Arrays]:
        return 1, as_arrays(total)
