"""rGBN-RNN at its paper's full size: python -m benchmarks.hierarchy [DATA].

Its training steps by turns with their floor, the bare matrix products of LSTMs,
coupling and softmax there and back, and the peak of memory of a process that takes
steps, saves a checkpoint and validates. Without DATA the text is synthetic and as large
as IMDB. A batch is the paper's: 8 documents' groups of 8 sequences.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench import QUARTERS, SEED
from benchmarks.floor import GATES, Load, Product, Sizes, both_ways, softmax
from benchmarks.memory import peak_memory
from benchmarks.rates import measure
from benchmarks.synthetic import Corpus, write_data
from benchmarks.systems import Ours, Products, make_model
from preprocessing.vocabulary import PAD
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.batching import Batch
from tcnlm.data.dataset import Dataset
from tcnlm.layers.coupled_lstm import COUPLED

BATCH = 8
OURS, LAZY = "rGBN-RNN", "with lazy_adam=true"
FLOOR = "its matrix products"


def step_products(model: Any, batch: Batch) -> list[Product]:
    """Return the matrix products of a step, there and back; padding is not read."""
    config = model.config
    sentences = int(np.count_nonzero(batch["targets"][:, :, 0] != PAD))
    steps, width = batch["targets"].shape[-1], config.embedding_size
    forward: list[Product] = []
    for units, topics in zip(config.units, config.num_topics):
        places = sentences * steps
        forward += [
            Product(places, width, GATES * units),
            Product(sentences, units, GATES * units, steps=steps),
            Product(sentences, topics, COUPLED * units),
            Product(places, units, COUPLED * units),
        ]
        width = units
    return [*both_ways(forward), *both_ways(_softmax(model, batch))]


def _softmax(model: Any, batch: Batch) -> list[Product]:
    config = model.config
    sizes = Sizes(
        units=sum(config.units),
        vocabulary=len(model.vocabulary),
        cutoffs=config.cutoffs,
        div_value=config.div_value,
    )
    flat = {"targets": batch["targets"].reshape(-1, batch["targets"].shape[-1])}
    return softmax(sizes, Load.of(flat, sizes))


def systems(dataset: Dataset) -> dict[str, Any]:
    """Return what takes turns, by name; a round has four batches."""
    model = make_model("rgbn_rnn", dataset.vocabulary, {})
    rows = model.batching.rows(dataset.split("train"))
    order = rows.order(BATCH, None, 0)
    middles = [int((i + 0.5) / QUARTERS * len(order)) for i in range(QUARTERS)]
    batches: Sequence[Batch] = [rows.batch(order[middle]) for middle in middles]
    again = make_model("rgbn_rnn", dataset.vocabulary, {})
    made: dict[str, Any] = {
        OURS: Ours(model, batches),
        LAZY: Ours(again, batches, lazy=True),
    }
    made[FLOOR] = Products([p for b in batches for p in step_products(model, b)])
    made[FLOOR].targets = made[OURS].targets
    return made


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    name = "python -m benchmarks.hierarchy"
    parsed = argparse.ArgumentParser(name, description=__doc__)
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path, nargs="?")
    add("--rounds", type=int, default=5, help="of four batches each (default: 5)")
    add("--steps", type=int, default=200, help="of the memory's run (default: 200)")
    add("--threads", type=int, default=0, help="cores to use (default: 0, all)")
    return parsed


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    keep_memory()
    make_reproducible(SEED, options.threads)
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or write_data(Path(folder) / "data", Corpus())
        rates = measure(systems(Dataset(data)), options.rounds)
        peak = peak_memory(data, "rgbn_rnn", {}, options.steps, BATCH)
    for name, rate in rates.items():
        print(f"{name}: {rate:,.0f} words a second, {rate / rates[FLOOR]:.2f}")
    print(f"peak memory of {options.steps} steps: {peak.training:,.0f} MB")


if __name__ == "__main__":
    main()
