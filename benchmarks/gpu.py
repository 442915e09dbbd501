"""How fast one GPU trains the paper's size: python -m benchmarks.gpu DATA.

LSTM and TCNLM of 600 units, the latter with 100 topics, by turns as train.py trains
there and in the other `WAYS`. By default loops are compiled by XLA, kernels are
deterministic, and products are of float32, which TensorFlow multiplies as TF32. The
same batches come again and again; the first round, in which
everything is compiled, is left out. "Busy" is nvidia-smi's share of time in which the
device ran anything.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism

from benchmarks.systems import make_model
from benchmarks.usage import busy, check_gpu
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.dataset import Dataset
from tcnlm.layers import xla
from tcnlm.layers.optimization import Training
from tcnlm.training.trainer import Trainer

SEED = 1
SMALL = {"units": 600, "num_topics": 100}
MODELS = ("lstm", "tcnlm")


class Way(NamedTuple):
    """How steps are taken."""

    title: str
    compiled: bool = True
    deterministic: bool = True
    tf32: bool = True
    precision: str = "float32"


# What XLA has compiled keeps the TF32 of then: without it only where XLA does nothing.
WAYS = (
    Way("as train.py does"),
    Way("loops not compiled", compiled=False),
    Way("neither compiled nor TF32", compiled=False, tf32=False),
    Way("kernels free to vary", deterministic=False),
    Way("bfloat16", precision="bfloat16"),
    Way("bfloat16, free to vary", deterministic=False, precision="bfloat16"),
)


class Speed(NamedTuple):
    """What was measured: of time, "first" is that of the first round."""

    tokens: float  # a second
    busy: float
    step: float  # seconds
    first: float

    def __str__(self) -> str:
        """Tell it as cells of a row."""
        cells = f"{self.tokens:,.0f}", f"{self.busy:.0%}", f"{1000 * self.step:.1f}"
        return " | ".join([*cells, f"{self.first:.0f}"])


def trainer_of(
    name: str, dataset: Dataset, folder: Path, batch_size: int, precision: str
) -> Trainer:
    """Return the trainer of a model with random weights."""
    model = make_model(name, dataset.vocabulary, SMALL)
    loop = Training(batch_size=batch_size, precision=precision)
    return Trainer(model, dataset, folder, loop, SEED)


def measure(
    trainer: Trainer, steps: int, seconds: float, trace: Path | None = None
) -> Speed:
    """Take rounds of the same steps for so many seconds, after one to begin.

    trace: a folder for TensorFlow's profile of one round more.
    """
    batches = iter(trainer.batches().take(steps).cache().repeat())
    began = time.perf_counter()
    targets = int(trainer.take(batches, steps).targets.sum())
    first, rounds, start = time.perf_counter() - began, 0, time.perf_counter()
    with busy() as shares:
        while time.perf_counter() - start < seconds:
            trainer.take(batches, steps)
            rounds += 1
        spent = time.perf_counter() - start
    if trace:
        with tf.profiler.experimental.Profile(str(trace)):
            trainer.take(batches, steps)
    return Speed(rounds * targets / spent, fmean(shares), spent / rounds / steps, first)


def kernels(deterministic: bool) -> None:
    """Take deterministic kernels, or any."""
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    else:
        disable_op_determinism()


@contextmanager
def taken(way: Way) -> Iterator[None]:
    """Take steps this way within."""
    real = xla.on_gpu
    xla.on_gpu = lambda: way.compiled
    kernels(way.deterministic)
    tf.config.experimental.enable_tensor_float_32_execution(way.tf32)
    try:
        yield
    finally:
        xla.on_gpu = real
        kernels(True)
        tf.config.experimental.enable_tensor_float_32_execution(True)


def rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[Any, ...]]:
    """Yield the title of every row and its Speed."""
    dataset, each = Dataset(options.data), (options.steps, options.seconds)
    for size, name, way in product(options.batch_sizes, options.models, WAYS):
        trace = options.trace and options.trace / f"{name} {size} {way.title}"
        with taken(way):
            trainer = trainer_of(name, dataset, folder, size, way.precision)
            yield name, size, way.title, measure(trainer, *each, trace)


def main() -> None:
    """Measure, printing each row as it is known."""
    options = parser().parse_args()
    check_gpu()
    keep_memory()
    make_reproducible(SEED)
    print(*tf.config.list_physical_devices("GPU"))
    print("| model | batch | | tokens/s | busy | ms a step | first round, s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, size, title, speed in rows(options, Path(folder)):
            print(f"| {name} | {size} | {title} | {speed} |", flush=True)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path, help="folder of python -m preprocessing")
    add("--models", nargs="+", choices=MODELS, default=MODELS, help="default: both")
    sizes = "sequences of a batch (default: %(default)s)"
    numbers = {"metavar": "N", "nargs": "+", "type": int, "default": [64, 256, 512]}
    add("--batch-sizes", help=sizes, **numbers)
    steps = "of a round, which is one call from Python (default: %(default)s)"
    add("--steps", type=int, default=50, help=steps)
    time = "of every row, after its first round (default: %(default)s)"
    add("--seconds", type=float, default=5.0, help=time)
    trace = "profile a round more of every row into it, for TensorBoard"
    add("--trace", metavar="FOLDER", type=Path, help=trace)
    return parsed


if __name__ == "__main__":
    main()
