"""Training rates of several methods: python -m benchmarks.rates RUN... --csv FILE.

Every method is made anew as its RUN has it, and takes training steps with the same
sequences of its data as the others: what else the machine does falls on all alike.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from statistics import median
from typing import Any

from tqdm import tqdm

from benchmarks.bench import QUARTERS, SEED
from benchmarks.systems import Ours
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.common.replacing import replacing
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.training import runs


def prepare(run: Path, data: Path) -> Ours | None:
    """Return a run's method with four batches, one of each quarter of the lengths.

    None for a method that is fitted once, without steps.
    """
    config, dataset = runs.read_config(run), Dataset(data)
    model = runs.make_model(config, dataset.vocabulary)
    if not model.trainable_variables:
        return None
    rows = model.batching.rows(dataset.split("train"))
    order = rows.order(Training().batch_size, seed=None, epoch=0)
    middles = [int((i + 0.5) / QUARTERS * len(order)) for i in range(QUARTERS)]
    return Ours(model, [rows.batch(order[middle]) for middle in middles])


def measure(systems: dict[str, Any], rounds: int) -> dict[str, float]:
    """Return the targets a second of every system, the median of the rounds."""
    for system in tqdm(systems.values(), "first calls", disable=None):
        system()
    seconds = {name: [] for name in systems}
    for _ in tqdm(range(rounds), "rounds", disable=None):
        for name, system in systems.items():
            seconds[name].append(system())
    return {name: s.targets / median(seconds[name]) for name, s in systems.items()}


def write(rates: dict[str, float], file: Path) -> None:
    """Write the rates, the highest first."""
    with replacing(file) as aside, aside.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["model", "tokens_per_second"])
        for name, rate in sorted(rates.items(), key=lambda item: -item[1]):
            writer.writerow([name, round(rate)])


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.rates", description=__doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", nargs="+", type=Path)
    add("--data", metavar="DATA", type=Path, required=True)
    add("--csv", metavar="FILE", type=Path, required=True, help="to write")
    add("--rounds", type=int, default=8, help="of four steps each (default: 8)")
    add("--threads", type=int, default=0, help="cores to use (default: 0, all)")
    return parsed


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    keep_memory()
    make_reproducible(SEED, options.threads)
    made = {runs.read_config(r)["model"]: prepare(r, options.data) for r in options.run}
    rates = measure({k: v for k, v in made.items() if v}, options.rounds)
    write(rates, options.csv)
    print(options.csv.read_text(), end="")


if __name__ == "__main__":
    main()
