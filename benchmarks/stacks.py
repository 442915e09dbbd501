"""A training step and writing on the stack that runs this, in milliseconds.

    .venv/bin/python benchmarks/stacks.py DATA
    .venv-current/bin/python benchmarks/stacks.py DATA

In turns, three times; compare the least of each. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

# Run by its path, Python looks for modules in this folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.dataset import Dataset
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.requests import write_sentences
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.layers.tf_function import graph
from tcnlm.models import model_class

SMALL = {"units": 100, "embedding_size": 100, "dropout": 0.0}
LARGE = {"units": 600, "embedding_size": 300, "dropout": 0.0, "num_topics": 100}
WARM_UP, BATCH, CLIP, TOPICS, SENTENCES = 3, 64, 5.0, 30, 8


def main(data: str) -> None:
    """Print a line a measure."""
    keep_memory()
    make_reproducible(1)
    dataset = Dataset(data)
    model = made("tcnlm", dataset, **SMALL, num_topics=TOPICS)
    print(f"TCNLM of 100 units, a step {step_time(model, dataset, 40):.1f}")
    print(f"writing {TOPICS * SENTENCES} sentences {writing_time(model):.0f}")
    model = made("lstm", dataset, **SMALL)
    print(f"LSTM of 100 units, a step {step_time(model, dataset, 40):.1f}")
    model = made("tcnlm", dataset, **LARGE)
    print(f"TCNLM of 600 units, a step {step_time(model, dataset, 12):.1f}")


def made(name: str, dataset: Dataset, **settings: object) -> object:
    """Return a model with fresh weights."""
    kind = model_class(name)
    model = kind(kind.Config(**settings), dataset.vocabulary, seed=1)
    model.build_weights()
    return model


def step_time(model: object, dataset: Dataset, number: int) -> float:
    """Return the time of a training step, the less of two passes."""
    optimizer = GroupedAdam(model.param_groups(), CLIP)
    signature = [model.batching.signature()]
    step = graph(lambda b: model.train_step(b, optimizer), input_signature=signature)
    rows = model.batching.rows(dataset.split("train"))
    batches = list(islice(rows.batches(BATCH, 1), WARM_UP + number))
    for batch in batches[:WARM_UP]:
        step(batch)
    return least(lambda: [step(batch) for batch in batches[WARM_UP:]]) / number


def writing_time(model: object) -> float:
    """Return the time of some sampled sentences of every topic."""
    write, topics = SentenceDecoder(model, Decoding()), np.eye(TOPICS, dtype="float32")
    write_sentences(write, topics, SENTENCES, seed=1)
    return least(lambda: write_sentences(write, topics, SENTENCES, seed=1))


def least(work: Callable[[], object]) -> float:
    """Return the time of some work, in milliseconds, the less of two times."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * min(times)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parsed.add_argument("data", metavar="DATA", help="made by python -m preprocessing")
    return parsed


if __name__ == "__main__":
    main(parser().parse_args().data)
