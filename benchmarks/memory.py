"""The peak of memory of training a model, each in a process of its own."""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.systems import make_model
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.metrics.scores import score
from tcnlm.training.trainer import Trainer


def peak_memory(
    data: Path, name: str, settings: dict[str, Any], steps: int
) -> tuple[float, float]:
    """Return megabytes: all imported, and the peak.

    The peak is that of training steps, a checkpoint and a validation.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_train, data, name, settings, steps).result()


def _train(
    data: Path, name: str, settings: dict[str, Any], steps: int
) -> tuple[float, float]:
    before, loop = _peak_so_far(), Training()
    keep_memory()
    make_reproducible(seed=1)
    dataset = Dataset(data)
    model = make_model(name, dataset.vocabulary, settings)
    with tempfile.TemporaryDirectory() as run:
        trainer = Trainer(model, dataset, Path(run), loop, seed=1)
        train = trainer.rows.batches(loop.batch_size, seed=1)
        for batch in islice(train, steps):
            trainer.step(batch)
        trainer.checkpoints.save(steps, asdict(trainer.state))
        score(model, trainer.validation.rows, loop.batch_size)
    return before, _peak_so_far()


def _peak_so_far() -> float:
    """Return this process's; getrusage may have that of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
