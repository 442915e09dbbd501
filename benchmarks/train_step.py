"""The speed of training and writing, as ratios: python benchmarks/train_step.py.

The systems take turns (A B A B ...) with the same work in every round, and a ratio is
the median of those of the rounds: what else the machine does falls on all alike. A
round is four batches of 64 sequences, one of each quarter of an epoch's batches by
length. Without DATA the text is synthetic and as large as IMDB. Ours run with the
deterministic kernels of train.py, Keras without. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism
from tqdm import tqdm

# Run by its path, Python looks for modules in this folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.synthetic import Corpus, write_data
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.common.settings import names
from tcnlm.data.batching import Batch
from tcnlm.data.dataset import Dataset
from tcnlm.data.rows import Sequences
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.layers.optimization import Training
from tcnlm.metrics.scores import score
from tcnlm.models import model_class
from tcnlm.training.trainer import Trainer

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


class System(NamedTuple):
    """What takes its turn: `take` does its share of a round, of so many targets."""

    take: Callable[[], Any]
    targets: int = 0


class Bench:
    """The text and the systems, made when they are asked for, and their times."""

    def __init__(self, data: Path, scale: Scale, steps: int, folder: Path):
        self.data, self.scale, self.steps, self.folder = data, scale, steps, folder
        self.dataset = Dataset(data)
        self.rows = Sequences().rows(self.dataset.split("train"))
        self.systems: dict[str, System] = {}
        self.seconds: dict[str, list[float]] = {}

    @cached_property
    def batches(self) -> list[Batch]:
        """The batches of a round, as a trainer would draw them."""
        drawn = islice(self.rows.batches(Training().batch_size, SEED), EPOCH_BATCHES)
        epoch = sorted(drawn, key=lambda batch: batch["targets"].size)
        middles = (np.arange(QUARTERS) + 0.5) / QUARTERS * len(epoch)
        return [epoch[int(i)] for i in middles]

    @cached_property
    def plain_batches(self) -> list[Batch]:
        """As many sequences in batches drawn without regard to their lengths."""
        size = QUARTERS, Training().batch_size
        drawn = np.random.default_rng(SEED).integers(len(self.rows), size=size)
        return [self.rows.batch(row) for row in drawn]

    def ours(self, name: str, settings: dict, **training: Any) -> System:
        """Return the training steps of a model of ours."""
        step = make_trainer(self.dataset, self.folder, name, settings, training).step
        take = lambda: [step(batch)["loss"].numpy() for batch in self.batches]  # noqa: E731
        return System(take, _targets(self.batches))

    def keras(self, settings: dict, batches: list[Batch]) -> System:
        """Return those of a plain Keras LSTM of that size, with a full softmax."""
        config, words = configure("lstm", settings), len(self.dataset.vocabulary)
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [
                layers.Embedding(words, config.embedding_size, mask_zero=True),
                layers.LSTM(config.units, return_sequences=True),
                layers.Dense(words),
            ]
        )
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss)

        def take() -> None:
            disable_op_determinism()
            try:
                for batch in batches:
                    model.train_on_batch(batch["inputs"], batch["targets"])
            finally:
                tf.config.experimental.enable_op_determinism()

        return System(take, _targets(batches))

    @cached_property
    def writing_model(self) -> Any:
        """TCNLM small after a few rounds: it knows how frequent words are."""
        trainer = make_trainer(self.dataset, self.folder, "tcnlm", self.scale.small)
        for batch in self.batches * QUARTERS:
            trainer.step(batch)
        return trainer.model

    def writer(self, temperature: float) -> System:
        """Return what writes the sentences, the topics by turns."""
        model, rows = self.writing_model, self.scale.sentences
        number = model.config.num_topics
        topics = tf.one_hot(np.arange(rows) % number, number)
        options = Decoding(max_length=self.scale.words, temperature=temperature)
        decoder, context = SentenceDecoder(model, options), {"topics": topics}
        return System(partial(decoder, model.context(context), rows))

    def measure(self, systems: Iterable[str]) -> None:
        """Let the systems with these names take turns."""
        self.systems = {name: SYSTEMS[name](self) for name in systems}
        for system in tqdm(self.systems.values(), "first calls", disable=None):
            system.take()
        self.seconds = {name: [] for name in self.systems}
        for _ in tqdm(range(-(-self.steps // QUARTERS)), "rounds", disable=None):
            for name, system in self.systems.items():
                start = time.perf_counter()
                system.take()
                self.seconds[name].append(time.perf_counter() - start)

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

    def peak(self, name: str, settings: dict) -> tuple[float, float]:
        """Return megabytes of a process that trains: all imported, and the peak."""
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(_train, self.data, name, settings, self.steps).result()


def configure(name: str, settings: dict[str, Any]) -> Any:
    """Return a model's configuration, with those of the settings that it has."""
    kind = model_class(name).Config
    return kind(**{key: settings[key] for key in settings.keys() & set(names(kind))})


def make_trainer(
    dataset: Dataset, run: Path, name: str, settings: dict, training: Any = ()
) -> Trainer:
    """Return the trainer of a model with random weights."""
    config = configure(name, settings)
    model = model_class(name)(config, dataset.vocabulary, seed=SEED)
    model.build_weights()
    return Trainer(model, dataset, run, Training(**dict(training)), SEED)


def _targets(batches: Iterable[Batch]) -> int:
    return sum(int(np.count_nonzero(batch["targets"])) for batch in batches)


def _train(data: Path, name: str, settings: dict, steps: int) -> tuple[float, float]:
    before = _peak_so_far()
    keep_memory()
    make_reproducible(SEED)
    with tempfile.TemporaryDirectory() as run:
        trainer = make_trainer(Dataset(data), Path(run), name, settings)
        size = trainer.training.batch_size
        for batch in islice(trainer.rows.batches(size, SEED), steps):
            trainer.step(batch)
        trainer.checkpoints.save(steps, asdict(trainer.state))
        score(trainer.model, trainer.validation.rows, size)
    return before, _peak_so_far()


def _peak_so_far() -> float:
    """Return this process's; getrusage may have that of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


SYSTEMS: dict[str, Callable[[Bench], System]] = {
    "tcnlm": lambda b: b.ours("tcnlm", b.scale.small),
    "tcnlm, full softmax": lambda b: b.ours("tcnlm", {**b.scale.small, "cutoffs": ()}),
    "tcnlm, lazy": lambda b: b.ours("tcnlm", b.scale.small, lazy_adam=True),
    "tcnlm, bfloat16": lambda b: b.ours("tcnlm", b.scale.small, precision="bfloat16"),
    "lstm": lambda b: b.ours("lstm", b.scale.small),
    "keras": lambda b: b.keras(b.scale.small, b.plain_batches),
    "keras, our batches": lambda b: b.keras(b.scale.small, b.batches),
    "tcnlm of Table 6": lambda b: b.ours("tcnlm", b.scale.table_6),
    "moe of Table 6": lambda b: b.ours("naive_moe", b.scale.table_6),
    "lstm of Table 6": lambda b: b.ours("lstm", b.scale.table_6),
    "keras of Table 6": lambda b: b.keras(b.scale.table_6, b.plain_batches),
    "keras of Table 6, our batches": lambda b: b.keras(b.scale.table_6, b.batches),
    "writer": lambda b: b.writer(1.0),
    # At any other temperature, and so at the nearest one, every tail is computed.
    "writer, every tail": lambda b: b.writer(float(np.nextafter(np.float32(1), 2))),
}


class Row(NamedTuple):
    """A row of the table: its value, and the systems that it takes to know it."""

    measure: str
    goal: str
    value: Callable[[Bench], str]
    systems: tuple[str, ...] = ()


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
    before, ours = bench.peak("tcnlm", bench.scale.table_6)
    _, moe = bench.peak("naive_moe", bench.scale.table_6)
    return (
        f"{bench.faster('tcnlm of Table 6', 'moe of Table 6'):.1f} x its time, "
        f"{(moe - before) / (ours - before):.1f} x its memory ({moe:,.0f} against "
        f"{ours:,.0f} MB; the program alone {before:,.0f} MB)"
    )


ROWS = {
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
    "lazy": Row(
        "TCNLM small, lazy Adam against Adam, tokens/s",
        "",
        lambda b: f"{b.faster('tcnlm, lazy', 'tcnlm'):.2f} x",
        ("tcnlm", "tcnlm, lazy"),
    ),
    "bfloat16": Row(
        "TCNLM small, products in bfloat16 against float32, training, tokens/s",
        "",
        lambda b: f"{b.faster('tcnlm, bfloat16', 'tcnlm'):.2f} x",
        ("tcnlm", "tcnlm, bfloat16"),
    ),
    "memory": Row(
        "peak memory of training small",
        "at most 2,000 MB",
        lambda b: f"{b.peak('tcnlm', b.scale.small)[1]:,.0f} MB",
    ),
    "head-first": Row(
        "256 sentences of 30 words, small, head first against every tail, sentences/s",
        "at least 2 x",
        lambda b: f"{b.shorter('writer', 'writer, every tail'):.1f} x "
        f"({b.scale.sentences / median(b.seconds['writer']):,.0f} sentences/s)",
        ("writer", "writer, every tail"),
    ),
}


def run(bench: Bench, names: Iterable[str]) -> None:
    """Measure and print the rows with these names."""
    rows = [ROWS[name] for name in names]
    bench.measure(dict.fromkeys(name for row in rows for name in row.systems))
    print("| measure | measured | goal |\n|---|---|---|")
    for row in rows:
        print(f"| {row.measure} | {row.value(bench)} | {row.goal} |", flush=True)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python benchmarks/train_step.py")
    add = parsed.add_argument
    add("data", nargs="?", metavar="DATA", type=Path, help="default: synthetic")
    add("--steps", type=int, default=16, help="of every system (default: 16)")
    rows = {"nargs": "+", "choices": ROWS, "default": list(ROWS), "metavar": "NAME"}
    add("--only", help=f"rows, of {', '.join(ROWS)}", **rows)
    return parsed


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    keep_memory()
    make_reproducible(SEED)
    load = ", ".join(f"{minutes:.1f}" for minutes in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; TensorFlow {tf.__version__}")
    scale = Scale()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = options.data or write_data(folder / "DATA", scale.corpus)
        run(Bench(data, scale, options.steps, folder / "RUN"), options.only)


if __name__ == "__main__":
    main()
