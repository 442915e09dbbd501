"""Two workers of one core each beside one of one core: python -m benchmarks.workers.

TCNLM at the paper's small size on made text, with one global batch in both; the two
take turns, since other work on the machine falls on both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import tensorflow as tf
from tqdm import tqdm

from benchmarks.synthetic import Corpus, write_data
from benchmarks.systems import make_model
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.training.cluster import CLUSTER
from tcnlm.training.trainer import Trainer
from tcnlm.training.workers import named_workers

SEED, WARM = 1, 4
SMALL = {"units": 600, "num_topics": 100}


def rate(numbers: int, data: Path, steps: int, batch: int) -> dict[str, float]:
    """Return what so many workers, a core each, measure of themselves."""
    ports = [_free_port() for _ in range(numbers)]
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    command = [sys.executable, "-m", "benchmarks.workers", "--data", str(data)]
    command += ["--steps", str(steps), "--batch-size", str(batch), "--worker"]
    processes = []
    for index in range(numbers):
        config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, CLUSTER: json.dumps(config)}
        pinned = ["taskset", "-c", str(index), *command]
        piped = {"stdout": subprocess.PIPE, "env": environment, "text": True}
        processes.append(subprocess.Popen(pinned, **piped))
    said = [process.communicate()[0] for process in processes]
    return json.loads(said[0].splitlines()[-1])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def measure(data: Path, steps: int, batch: int) -> dict[str, float]:
    """Take steps as one worker of those that TF_CONFIG names."""
    keep_memory()
    make_reproducible(SEED, 1)
    workers, dataset = named_workers(), Dataset(data)
    model = make_model("tcnlm", dataset.vocabulary, SMALL)
    loop = Training(batch_size=batch)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, dataset, Path(folder), loop, SEED, workers)
        batches = iter(trainer.batches())
        for _ in range(WARM):
            trainer.take(batches, 1)
        begin = time.monotonic()
        words = sum(trainer.take(batches, 1).targets.sum() for _ in range(steps))
        seconds = time.monotonic() - begin
    return {"tokens_per_second": words / seconds, "bytes": _bytes(model)}


def _bytes(model: tf.keras.Model) -> int:
    """Return the size of the gradients that are sent whole: all but the embedding's."""
    table = model.embedding.trainable_variables[0].ref()
    weights = (w for w in model.trainable_variables if w.ref() != table)
    return sum(4 * weight.shape.num_elements() for weight in weights)


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    if options.worker:
        print(json.dumps(measure(options.data, options.steps, options.batch_size)))
        return
    with tempfile.TemporaryDirectory() as folder:
        data = write_data(Path(folder) / "DATA", Corpus(sentences=40_000))
        found = {1: [], 2: []}
        for _ in tqdm(range(options.rounds), "rounds", disable=None):
            for number, rates in found.items():
                rates.append(rate(number, data, options.steps, options.batch_size))
    report(found)


def report(found: dict[int, list[dict[str, float]]]) -> None:
    """Print the rates, their ratio in every round, and what a step sends."""
    rates = {
        n: [each["tokens_per_second"] for each in all_] for n, all_ in found.items()
    }
    for number, each in rates.items():
        print(f"{number} worker(s): {median(each):,.0f} tokens/s, {len(each)} rounds")
    ratios = sorted(two / one for one, two in zip(rates[1], rates[2]))
    print(f"ratio {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    print(f"gradients sent whole: {found[1][0]['bytes'] / 1e6:.1f} MB a step")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(
        "python -m benchmarks.workers", description=__doc__
    )
    add = parsed.add_argument
    add("--steps", type=int, default=40, help="of a turn (default: 40)")
    add("--batch-size", type=int, default=64, help="of all workers (default: 64)")
    add("--rounds", type=int, default=3, help="turns of each (default: 3)")
    add("--data", type=Path, help=argparse.SUPPRESS)
    add("--worker", action="store_true", help=argparse.SUPPRESS)
    return parsed


if __name__ == "__main__":
    main()
