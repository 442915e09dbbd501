"""The speed of training and writing, as ratios: python -m benchmarks.train_step.

The systems take turns (A B A B ...) with the same work in every round, and a ratio is
the median of those of the rounds: what else the machine does falls on all alike. A
round is four batches of 64 sequences, one of each quarter of an epoch's batches by
length. Without DATA the text is synthetic and as large as IMDB. Everything runs with
deterministic kernels, as train.py does. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from benchmarks import floor
from benchmarks.memory import Peak, peak_memory
from benchmarks.synthetic import Corpus, write_data
from benchmarks.systems import (
    Keras,
    Ours,
    Products,
    Writer,
    configure,
    make_model,
    sweep_rate,
)
from tcnlm.dataset import Batch, Dataset
from tcnlm.settings import Training
from tcnlm.training import make_reproducible

QUARTERS = 4
EPOCH_BATCHES = 400  # drawn from all over an epoch, they stand for it
SEED = 1


@dataclass(frozen=True)
class Scale:
    """What is measured; the defaults are the paper's "small" and its Table 6."""

    corpus: Corpus = Corpus()
    small: dict = field(default_factory=lambda: {"units": 600, "num_topics": 100})
    table_6: dict = field(default_factory=lambda: {"units": 100, "num_topics": 30})
    sentences: int = 256
    words: int = 30


class Bench:
    """The text and the systems, and what was measured of them."""

    def __init__(self, data: Path, scale: Scale, steps: int):
        self.data, self.scale, self.steps = data, scale, steps
        self.dataset = Dataset(data)
        self.vocabulary = self.dataset.vocabulary
        self.split = self.dataset.split("train")
        self.systems: dict[str, Any] = {}
        self.seconds: dict[str, list[float]] = {}
        self.peak = cache(self._peak)

    @cached_property
    def epoch(self) -> list[Batch]:
        """Batches as a trainer would draw them, the shortest first."""
        drawn = self.split.batches(Training().batch_size, SEED)
        return sorted(islice(drawn, EPOCH_BATCHES), key=lambda b: b["targets"].size)

    @cached_property
    def batches(self) -> list[Batch]:
        """The batches of a round."""
        middles = (np.arange(QUARTERS) + 0.5) / QUARTERS * len(self.epoch)
        return [self.epoch[int(i)] for i in middles]

    @cached_property
    def plain_batches(self) -> list[Batch]:
        """As many sequences in batches drawn without regard to their lengths."""
        size = QUARTERS, Training().batch_size
        rows = np.random.default_rng(SEED).integers(self.split.num_sequences, size=size)
        return [self.split.batch(row) for row in rows]

    def ours(self, name: str, settings: dict[str, Any]) -> Ours:
        """Return a method of ours with the batches of a round."""
        return Ours(make_model(name, self.vocabulary, settings), self.batches)

    def keras(self, settings: dict[str, Any], batches: list[Batch]) -> Keras:
        """Return a plain Keras LSTM of our LSTM's sizes."""
        config = configure("lstm", settings)
        size = config.units, config.embedding_size
        return Keras(len(self.vocabulary), *size, batches)

    @cached_property
    def sizes(self) -> floor.Sizes:
        """Those of TCNLM small."""
        return floor.Sizes.of(configure("tcnlm", self.scale.small), self.vocabulary)

    @cached_property
    def training(self) -> list[floor.Part]:
        """The floor of a round of TCNLM small."""
        loads = [floor.Load.of(batch, self.sizes) for batch in self.batches]
        return floor.together([floor.training_step(self.sizes, load) for load in loads])

    @cached_property
    def writing(self) -> list[floor.Part]:
        """The floor of writing the sentences."""
        word = floor.generated_word(self.sizes, self.scale.sentences)
        return floor.together([word] * self.scale.words)

    def measure(self, names: Iterable[str]) -> None:
        """Let the systems with these names take turns."""
        self.systems = {name: SYSTEMS[name](self) for name in names}
        for system in tqdm(self.systems.values(), "first calls", disable=None):
            system()
        self.seconds = {name: [] for name in self.systems}
        for _ in tqdm(range(-(-self.steps // QUARTERS)), "rounds", disable=None):
            for name, system in self.systems.items():
                self.seconds[name].append(system())

    def shorter(self, a: str, b: str) -> float:
        """Return how many times the seconds of b those of a go into."""
        return median(y / x for x, y in zip(self.seconds[a], self.seconds[b]))

    def faster(self, a: str, b: str) -> float:
        """Return how many times the real tokens per second of b are those of a."""
        tokens = self.systems[a].targets / self.systems[b].targets
        return tokens * self.shorter(a, b)

    def tokens(self, name: str) -> float:
        """Return the real tokens per second."""
        return self.systems[name].targets / median(self.seconds[name])

    def _peak(self, name: str, size: str) -> Peak:
        return peak_memory(self.data, name, getattr(self.scale, size), self.steps)


SYSTEMS: dict[str, Callable[[Bench], Any]] = {
    "tcnlm": lambda b: b.ours("tcnlm", b.scale.small),
    "tcnlm, full softmax": lambda b: b.ours("tcnlm", {**b.scale.small, "cutoffs": ()}),
    "lstm": lambda b: b.ours("lstm", b.scale.small),
    "keras": lambda b: b.keras(b.scale.small, b.plain_batches),
    "keras, our batches": lambda b: b.keras(b.scale.small, b.batches),
    "products": lambda b: Products(floor.products(b.training)),
    "tcnlm of Table 6": lambda b: b.ours("tcnlm", b.scale.table_6),
    "moe of Table 6": lambda b: b.ours("naive_moe", b.scale.table_6),
    "lstm of Table 6": lambda b: b.ours("lstm", b.scale.table_6),
    "keras of Table 6": lambda b: b.keras(b.scale.table_6, b.plain_batches),
    "keras of Table 6, our batches": lambda b: b.keras(b.scale.table_6, b.batches),
    "writer": lambda b: Writer(
        make_model("tcnlm", b.vocabulary, b.scale.small),
        b.scale.sentences,
        b.scale.words,
    ),
    "writer's products": lambda b: Products(floor.products(b.writing)),
}


class Row(NamedTuple):
    """A row of the table: its value, and the systems that it takes to know it."""

    measure: str
    goal: str
    value: Callable[[Bench], str]
    systems: tuple[str, ...] = ()


def against_ceiling(
    bench: Bench, system: str, products: str, parts: list[floor.Part]
) -> str:
    """Tell a system's rate of operations beside that of its bare products."""
    share = bench.shorter(system, products)
    ceiling = floor.total(floor.products(parts)) / median(bench.seconds[products]) / 1e9
    return f"{share:.2f} (of {ceiling:.0f} GFLOP/s)"


def against_keras(bench: Bench, ours: str, keras: str) -> str:
    """Tell our real tokens per second beside those of Keras."""
    even = bench.faster(ours, f"{keras}, our batches")
    return (
        f"{bench.faster(ours, keras):.1f} x ({bench.tokens(ours):,.0f} tokens/s; "
        f"{even:.1f} x where Keras has our batches)"
    )


def time_ratio(bench: Bench, a: str, b: str) -> str:
    """Tell how many times b's time per token a takes."""
    return f"{bench.faster(b, a):.2f} x ({bench.tokens(a):,.0f} tokens/s)"


def against_moe(bench: Bench) -> str:
    """Tell the time and the memory of the naive mixture of experts beside TCNLM's."""
    moe, ours = (bench.peak(name, "table_6") for name in ("naive_moe", "tcnlm"))
    return (
        f"{bench.faster('tcnlm of Table 6', 'moe of Table 6'):.1f} x its time, "
        f"{moe.own / ours.own:.1f} x its memory ({moe.training:,.0f} against "
        f"{ours.training:,.0f} MB; the program alone {ours.before:,.0f} MB)"
    )


def real_positions(bench: Bench) -> str:
    """Tell the share of an epoch's computed positions that are real targets."""
    targets = [batch["targets"] for batch in bench.epoch]
    real = sum(np.count_nonzero(t) for t in targets) / sum(t.size for t in targets)
    return f"{real:.3f}"


ROWS = {
    "ceiling": Row(
        "TCNLM small, training, floating-point rate over the measured ceiling",
        "at least 0.6",
        lambda b: against_ceiling(b, "tcnlm", "products", b.training),
        ("tcnlm", "products"),
    ),
    "keras": Row(
        "TCNLM small against a plain Keras LSTM with the full softmax, tokens/s",
        "at least 1.5 x",
        partial(against_keras, ours="tcnlm", keras="keras"),
        ("tcnlm", "keras", "keras, our batches"),
    ),
    "lstm": Row(
        "TCNLM small against our LSTM, same adaptive softmax, time per token",
        "at most 2 x",
        partial(time_ratio, a="tcnlm", b="lstm"),
        ("tcnlm", "lstm"),
    ),
    "keras-100": Row(
        "TCNLM of Table 6 against a plain Keras LSTM of that size, tokens/s",
        "at least 4 x",
        partial(against_keras, ours="tcnlm of Table 6", keras="keras of Table 6"),
        ("tcnlm of Table 6", "keras of Table 6", "keras of Table 6, our batches"),
    ),
    "lstm-100": Row(
        "TCNLM of Table 6 against our LSTM of that size, time per token",
        "at most 2 x",
        partial(time_ratio, a="tcnlm of Table 6", b="lstm of Table 6"),
        ("tcnlm of Table 6", "lstm of Table 6"),
    ),
    "softmax": Row(
        "TCNLM small, adaptive against full softmax, training, tokens/s",
        "at least 3 x",
        lambda b: f"{b.faster('tcnlm', 'tcnlm, full softmax'):.1f} x",
        ("tcnlm", "tcnlm, full softmax"),
    ),
    "moe": Row(
        "naive MoE (30 experts of 100) against TCNLM of Table 6",
        "dearer",
        against_moe,
        ("tcnlm of Table 6", "moe of Table 6"),
    ),
    "padding": Row(
        "share of computed positions that are real targets",
        "at least 0.95",
        real_positions,
    ),
    "memory": Row(
        "peak memory of training small",
        "at most 2,000 MB",
        lambda b: f"{b.peak('tcnlm', 'small').training:,.0f} MB",
    ),
    "generation": Row(
        "256 sentences of 30 words sampled from topics, small, rate over the ceiling",
        "at least 0.4",
        lambda b: against_ceiling(b, "writer", "writer's products", b.writing),
        ("writer", "writer's products"),
    ),
}


def print_floor(bench: Bench) -> None:
    """Print operations and bytes per token of every part, and the time they take."""
    targets = sum(np.count_nonzero(batch["targets"]) for batch in bench.batches)
    print(
        f"{targets / QUARTERS:,.0f} real targets a batch; per target and, last, batch"
    )
    print("part             MFLOP: there   back   kB: there   back   ms at the ceiling")
    sweep = sweep_rate()
    for part in bench.training:
        figures = [
            floor.total(work, what) / targets / scale
            for what, scale in (("flops", 1e6), ("bytes", 1e3))
            for work in (part.forward, part.backward)
        ]
        seconds = Products(floor.products([part]))()
        seconds += floor.total(floor.sweeps([part]), "bytes") / sweep
        cells = "{:12.2f} {:6.2f} {:11.1f} {:6.1f}".format(*figures)
        print(f"{part.name:17}{cells} {1e3 * seconds / QUARTERS:13.1f}")
    print(f"memory, read and written by two cores: {sweep / 1e9:.1f} GB/s")


def run(data: Path, scale: Scale, names: Iterable[str], steps: int) -> None:
    """Measure and print the floor and the rows with these names."""
    bench = Bench(data, scale, steps)
    rows = [ROWS[name] for name in names]
    bench.measure(dict.fromkeys(name for row in rows for name in row.systems))
    print_floor(bench)
    print("| measure | measured | goal |\n|---|---|---|")
    for row in rows:
        print(f"| {row.measure} | {row.value(bench)} | {row.goal} |", flush=True)


@contextmanager
def data_folder(chosen: Path | None, corpus: Corpus):
    """Yield the folder that was chosen, or a synthetic one."""
    if chosen:
        yield chosen
        return
    with tempfile.TemporaryDirectory() as folder:
        yield write_data(Path(folder) / "DATA", corpus)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.train_step")
    add = parsed.add_argument
    add("data", nargs="?", metavar="DATA", type=Path, help="default: synthetic")
    add("--steps", type=int, default=24, help="of every system (default: 24)")
    rows = {"nargs": "+", "choices": ROWS, "default": list(ROWS), "metavar": "NAME"}
    add("--only", help=f"rows, of {', '.join(ROWS)}", **rows)
    return parsed


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    make_reproducible(SEED)
    load = ", ".join(f"{minutes:.1f}" for minutes in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; TensorFlow {tf.__version__}")
    scale = Scale()
    with data_folder(options.data, scale.corpus) as data:
        run(data, scale, options.only, options.steps)


if __name__ == "__main__":
    main()
