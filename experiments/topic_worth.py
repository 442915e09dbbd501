"""What a document's topics are worth to a trained model's perplexity.

The validation split is scored three times: with the topics of each sequence's own
document, with those of another (the batches' rows shifted by one, batches being drawn
at random), and with the mean proportions of the training documents for all.

    python -m experiments.topic_worth RUN
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from experiments import record
from preprocessing.errors import errors_reported
from tcnlm import runs
from tcnlm.dataset import Dataset, Split
from tcnlm.perplexity import signature
from tcnlm.topics import infer_documents
from tcnlm.training import make_reproducible

BATCH = 256
SEED = 1  # of the batches

Context = Callable[[dict[str, tf.Tensor]], Any]


def perplexity(model: Any, split: Split, context: Context) -> float:
    """Return the perplexity of a split with the contexts that a function gives."""

    @tf.function(input_signature=[signature(model)])
    def score(batch):
        targets = batch["targets"]
        log_probs = model.log_probs(batch["inputs"], targets, context(batch))
        return tf.reduce_sum(log_probs), tf.math.count_nonzero(targets)

    total = sum(np.array(score(batch), float) for batch in split.batches(BATCH, SEED))
    return float(np.exp(-total[0] / total[1]))


def main(options: argparse.Namespace) -> None:
    """Print the three perplexities."""
    make_reproducible(SEED, options.threads)
    model = runs.load(options.run)
    config = runs.read_config(options.run)
    data = Dataset(options.data or config["data"]["path"])
    mean = infer_documents(model, data.split("train")).shares.astype(np.float32)

    def average(batch: dict[str, tf.Tensor]) -> Any:
        rows = tf.shape(batch["targets"])[0]
        return model.context_from_topics(tf.tile(mean[None], [rows, 1]))

    contexts = {
        "own": model.context,
        "another document's": lambda batch: tf.roll(model.context(batch), 1, axis=0),
        "mean of the training documents": average,
    }
    figures = {}
    for name, context in contexts.items():
        figures[name] = perplexity(model, data.split("valid"), context)
        print(f"{name}: validation perplexity {figures[name]:.2f}", flush=True)
    record.write(options.record, parser(), config["data"], {"figures": figures})


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.recording_parser("topic_worth", __doc__)
    parsed.add_argument("run", metavar="RUN", type=Path, help="with topics")
    parsed.add_argument("--data", metavar="DATA", type=Path, help="if it was moved")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
