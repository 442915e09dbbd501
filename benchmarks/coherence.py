"""Speed and memory of counting windows, beside gensim: python -m benchmarks.coherence.

Both count the same words (100 topics of 20 words of the reference) in windows of 20
over the same documents, tokenized beforehand and held in memory. gensim takes its time,
so that it counts the first documents only; ours counts these, and then half of the
reference and all of it, read from a file of tokens. Each is measured in a process of
its own. The ratio is that of the first documents.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, combinations, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from gensim.corpora import Dictionary
from gensim.topic_coherence.probability_estimation import p_boolean_sliding_window
from gensim.topic_coherence.segmentation import s_one_one

from benchmarks.usage import megabytes
from tcnlm.coherence import WINDOW, count_windows
from tcnlm.preprocessing.languages import STOP_WORDS, read_stop_words
from tcnlm.preprocessing.reference_text import read_reference
from tcnlm.preprocessing.vocabulary import is_content

TOPICS, WORDS = 100, 20
SKIPPED = 200  # the most frequent content words
PADDING = "<pad>"

Topics = list[list[str]]


@dataclass(frozen=True)
class Measured:
    """One count: of what, how long, and with how much memory at the peak."""

    documents: int
    tokens: int
    seconds: float
    processor: float  # seconds of this process, which a busy machine changes little
    megabytes: float  # of this process

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds

    def __str__(self) -> str:
        return (
            f"{self.documents:>7,} documents {self.tokens:>11,} tokens "
            f"{self.seconds:>7.1f} s {self.processor:>7.1f} s of processor "
            f"{self.speed:>10,.0f} tokens/s {self.megabytes:>5,.0f} MB"
        )


class Stopwatch:
    """Time by the clock and of the processor, from its making."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def measured(self, documents: int, tokens: int) -> Measured:
        """Return what was done since."""
        seconds, processor = time.perf_counter(), time.process_time()
        seconds, processor = seconds - self.start[0], processor - self.start[1]
        return Measured(documents, tokens, seconds, processor, megabytes("VmHWM"))


def main() -> None:
    """Measure and print, one line each."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens.txt"
        tokenizing = tokenize(options, tokens)
        print(f"tokenizing         {tokenizing}", flush=True)
        topics = choose_topics(tokens)
        check_agreement(tokens, topics, min(options.documents, 50))
        compare(tokens, topics, options.documents)
        half = alone(count_streamed, tokens, topics, tokenizing.documents // 2)
        print(f"ours, half         {half}", flush=True)
        whole = alone(count_streamed, tokens, topics, tokenizing.documents)
        print(f"ours, all          {whole}")
    seconds = tokenizing.seconds + whole.seconds
    print(
        f"end to end: {whole.tokens / seconds:,.0f} tokens/s; {seconds:.0f} s, of "
        f"which tokenizing {tokenizing.seconds:.0f} s in {os.cpu_count()} processes"
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.coherence")
    parsed.add_argument("reference", nargs="+", metavar="FILE", type=Path)
    parsed.add_argument("--field", default="text", help="of .jsonl")
    number = "that gensim counts, and ours beside it (default: 200)"
    parsed.add_argument("--documents", metavar="N", type=int, default=200, help=number)
    limit = "use only so many documents of the reference (default: all)"
    parsed.add_argument("--limit", metavar="N", type=int, help=limit)
    return parsed


def tokenize(options: argparse.Namespace, path: Path) -> Measured:
    """Write the reference as tokens, a document a line."""
    watch, documents, tokens = Stopwatch(), 0, 0
    found = read_reference(options.reference, options.field, os.cpu_count() or 1)
    with path.open("w", encoding="utf-8") as file:
        for document in islice(found, options.limit):
            file.write(" ".join(document) + "\n")
            documents += 1
            tokens += len(document)
    return watch.measured(documents, tokens)


def read_tokens(path: Path, documents: int | None = None) -> Iterator[list[str]]:
    """Yield the first documents, or all, of what `tokenize` wrote."""
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from (line.split() for line in islice(file, documents))


def choose_topics(path: Path) -> Topics:
    """Deal frequent content words of the text out to topics, the same every time."""
    stop_words = read_stop_words(STOP_WORDS)
    counts = Counter(chain.from_iterable(read_tokens(path)))
    content = (word for word, _ in counts.most_common() if is_content(word, stop_words))
    words = list(islice(content, SKIPPED, SKIPPED + TOPICS * WORDS))
    share = sum(counts[word] for word in words) / sum(counts.values())
    print(f"{len(words):,} words, {share:.0%} of the tokens; windows of {WINDOW}")
    random.Random(0).shuffle(words)
    return [words[i : i + WORDS] for i in range(0, len(words), WORDS)]


def compare(path: Path, topics: Topics, number: int) -> None:
    """Measure gensim and ours on the first documents; print the ratio."""
    theirs = [alone(count_by_gensim, path, topics, number, n) for n in (1, 2)]
    for processes, measured in enumerate(theirs, 1):
        print(f"gensim, {processes} process{'es' * (processes > 1):2}{measured}")
    ours = alone(count_in_memory, path, topics, number)
    print(f"ours               {ours}")
    ratio = ours.speed / max(measured.speed for measured in theirs)
    print(f"RATIO: {ratio:.1f} times the faster gensim, first {number} documents")
    processor = theirs[0].processor / ours.processor
    print(f"of processor time, gensim's 1 process takes {processor:.1f} times ours")


def alone(count: Callable[..., Measured], *arguments: Any) -> Measured:
    """Call in a fresh process, whose peak of memory is then that of the call."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(count, *arguments).result()


def count_streamed(path: Path, topics: Topics, number: int) -> Measured:
    """Ours, on tokens as they are read from the file."""
    return _count(read_tokens(path, number), topics)


def count_in_memory(path: Path, topics: Topics, number: int) -> Measured:
    """Ours, on tokens that were read before."""
    return _count(list(read_tokens(path, number)), topics)


def _count(documents: Iterable[Sequence[str]], topics: Topics) -> Measured:
    watch = Stopwatch()
    counts = count_windows(documents, chain.from_iterable(topics))
    return watch.measured(counts.documents, counts.tokens)


def count_by_gensim(
    path: Path, topics: Topics, number: int, processes: int
) -> Measured:
    """gensim's, on tokens that were read before.

    Of 2 processes, the memory and processor time are those of neither, but of their
    parent, which hands the documents out.
    """
    documents = list(read_tokens(path, number))
    watch = Stopwatch()
    accumulate(documents, topics, processes)
    return watch.measured(len(documents), sum(map(len, documents)))


def accumulate(
    documents: Iterable[Sequence[str]], topics: Topics, processes: int = 1
) -> Any:
    """gensim's boolean sliding-window accumulator of the words of the topics."""
    dictionary = Dictionary(topics)
    ids = [np.array(dictionary.doc2idx(topic)) for topic in topics]
    return p_boolean_sliding_window(
        documents, s_one_one(ids), dictionary, WINDOW, processes
    )


def check_agreement(path: Path, topics: Topics, number: int) -> None:
    """Assert that both count the same where their definitions coincide.

    gensim knows no partial windows (padding makes up for them), and forgets a word
    that leaves a window in which it stands twice (so that repetitions are taken out).
    """
    words = set(chain.from_iterable(topics))
    documents = [once_a_window(d, words) for d in read_tokens(path, number)]
    ours = count_windows(documents, words)
    padding = [PADDING] * (WINDOW - 1)
    theirs = accumulate([[*padding, *d, *padding] for d in documents], topics)
    assert ours.windows == theirs.num_docs
    pairs = [pair for topic in topics for pair in combinations(topic, 2)]
    for a, b in pairs:
        assert ours.pairs[ours.index[a], ours.index[b]] == theirs[a, b], (a, b)
    print(f"agreement: {len(pairs):,} pairs, {number} documents without repetitions")


def once_a_window(document: Sequence[str], words: set[str]) -> list[str]:
    """The document with no word of `words` twice in a window."""
    last, kept = {}, []
    for place, token in enumerate(document):
        repeated = token in words and place - last.get(token, -WINDOW) < WINDOW
        kept.append(PADDING if repeated else token)
        if not repeated:
            last[token] = place
    return kept


if __name__ == "__main__":
    main()
