"""The systems that a table compares, made when they are asked for, and their times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks import floor
from benchmarks.memory import Peak, peak_memory
from benchmarks.synthetic import Corpus
from benchmarks.systems import (
    Keras,
    Loop,
    Ours,
    Products,
    Writer,
    configure,
    make_model,
)
from benchmarks.torch_lstm import Torch
from tcnlm.data.batching import Batch
from tcnlm.data.dataset import Dataset
from tcnlm.data.sequences import Sequences
from tcnlm.layers.optimization import Training
from tcnlm.training.trainer import Trainer

QUARTERS = 4
LEARNING_ROUNDS = 4  # after which rare words have their share of what is written
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
    """The text and the systems, and what was measured of them.

    folder: for what a trainer writes.
    """

    def __init__(self, data: Path, scale: Scale, steps: int, folder: Path):
        self.data, self.scale, self.steps, self.folder = data, scale, steps, folder
        self.dataset = Dataset(data)
        self.vocabulary = self.dataset.vocabulary
        self.rows = Sequences().rows(self.dataset.split("train"))
        self.systems: dict[str, Any] = {}
        self.seconds: dict[str, list[float]] = {}
        self.peak = cache(self._peak)

    @property
    def rounds(self) -> int:
        """How often every system takes its turn."""
        return -(-self.steps // QUARTERS)

    @cached_property
    def epoch(self) -> list[Batch]:
        """Batches as a trainer would draw them, the shortest first."""
        drawn = self.rows.batches(Training().batch_size, SEED)
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
        drawn = np.random.default_rng(SEED).integers(len(self.rows), size=size)
        return [self.rows.batch(row) for row in drawn]

    def ours(self, name: str, settings: dict[str, Any], **training: Any) -> Ours:
        """Return a method of ours with the batches of a round."""
        model = make_model(name, self.vocabulary, settings)
        return Ours(model, self.batches, Training(**training))

    def loop(self, name: str, settings: dict[str, Any], at_hand: bool) -> Loop:
        """Return the trainer's loop with a method of ours."""
        model = make_model(name, self.vocabulary, settings)
        trainer = Trainer(model, self.dataset, self.folder, Training(), SEED)
        return Loop(trainer, QUARTERS, self.rounds + 1, at_hand)

    def keras(self, settings: dict[str, Any], batches: list[Batch]) -> Keras:
        """Return a plain Keras LSTM of our LSTM's sizes."""
        config = configure("lstm", settings)
        size = config.units, config.embedding_size
        return Keras(len(self.vocabulary), *size, batches)

    def torch(self, settings: dict[str, Any]) -> Torch:
        """Return PyTorch's LSTM of our LSTM's sizes."""
        config, clip_norm = configure("lstm", settings), Training().clip_norm
        return Torch(len(self.vocabulary), config, clip_norm, self.batches)

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
        """The floor of writing the sentences, with the epoch's share of rare words."""
        loads = [floor.Load.of(batch, self.sizes) for batch in self.epoch]
        share = self.scale.sentences / sum(load.targets for load in loads)
        tails = zip(*(load.in_tails for load in loads))
        in_tails = tuple(round(share * sum(tail)) for tail in tails)
        sentences = self.scale.sentences
        load = floor.Load(sentences, 1, sentences, in_tails)
        return floor.together(
            [floor.generated_word(self.sizes, load)] * self.scale.words
        )

    @cached_property
    def writing_model(self) -> Any:
        """TCNLM small after a few steps: it knows how frequent words are."""
        system = self.ours("tcnlm", self.scale.small)
        for _ in range(LEARNING_ROUNDS):
            system()
        return system.model

    def writer(self, temperature: float) -> Writer:
        """Return what writes the sentences."""
        sizes = self.scale.sentences, self.scale.words
        return Writer(self.writing_model, *sizes, temperature)

    def measure(self, names: Iterable[str]) -> None:
        """Let the systems with these names take turns."""
        self.systems = {name: SYSTEMS[name](self) for name in names}
        for system in tqdm(self.systems.values(), "first calls", disable=None):
            system()
        self.seconds = {name: [] for name in self.systems}
        for _ in tqdm(range(self.rounds), "rounds", disable=None):
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
    "torch": lambda b: b.torch(b.scale.small),
    "keras": lambda b: b.keras(b.scale.small, b.plain_batches),
    "keras, our batches": lambda b: b.keras(b.scale.small, b.batches),
    "products": lambda b: Products(floor.products(b.training)),
    "tcnlm of Table 6": lambda b: b.ours("tcnlm", b.scale.table_6),
    "tcnlm, lazy": lambda b: b.ours("tcnlm", b.scale.small, lazy_adam=True),
    "tcnlm of Table 6, lazy": lambda b: b.ours(
        "tcnlm", b.scale.table_6, lazy_adam=True
    ),
    "tcnlm, bfloat16": lambda b: b.ours("tcnlm", b.scale.small, precision="bfloat16"),
    "loop": lambda b: b.loop("tcnlm", b.scale.table_6, at_hand=False),
    "loop, batches at hand": lambda b: b.loop("tcnlm", b.scale.table_6, at_hand=True),
    "moe of Table 6": lambda b: b.ours("naive_moe", b.scale.table_6),
    "lstm of Table 6": lambda b: b.ours("lstm", b.scale.table_6),
    "keras of Table 6": lambda b: b.keras(b.scale.table_6, b.plain_batches),
    "keras of Table 6, our batches": lambda b: b.keras(b.scale.table_6, b.batches),
    "writer": lambda b: b.writer(1.0),
    # At any other temperature, and so at the nearest one, every tail is computed.
    "writer, every tail": lambda b: b.writer(float(np.nextafter(np.float32(1), 2))),
    "writer's products": lambda b: Products(floor.products(b.writing)),
}
