"""The paper's size on all of a corpus by one GPU: python -m benchmarks.paper_size DATA.

600 units and, where there are topics, 100: TCNLM, its topic model beside the output
of an LSTM, an LSTM that starts like TCNLM multiplied out, and a plain one, each with
every rate asked for, side by side. A training is evaluated as it ends; what is here
already goes on. Writes OUT/NAME (the RUN), NAME.log and NAME.json, the record.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean

from benchmarks.usage import busy, check_gpu

SHARED = (
    "units=600 cutoffs=1000,4000,12000 div_value=1 decay=linear deterministic=false"
)
STARTED = "recurrent_start=product recurrent_rate=0.5"
TOPICS = (
    "num_topics=100 encoder_dropout=0 topic_start=vectors diversity_weight=30 "
    "head_start=4000 head_start_rates=4e-3,3e-2 head_start_decay=linear"
)
MODELS = {
    "lstm": "lstm",
    "lstm-multiplied-out": f"lstm {STARTED}",
    "topic-lstm": f"topic_lstm {STARTED} {TOPICS}",
    "tcnlm": f"tcnlm factor_rate=0.5 {TOPICS}",
}


def settings(options: argparse.Namespace, rate: str) -> list[str]:
    """Return what all models are given."""
    chosen = {
        "embeddings": options.embeddings,
        "dropout": options.dropout,
        "batch_size": options.batch_size,
        "epochs": options.epochs,
        "patience": options.epochs,
        "learning_rate": rate,
    }
    return [*SHARED.split(), *(f"{name}={value}" for name, value in chosen.items())]


def commands(options: argparse.Namespace, name: str, rate: str) -> list[list[str]]:
    """Return what trains a model with a rate, and what evaluates it."""
    model, *own = MODELS[name].split()
    run = options.out / f"{name}-{rate}"
    train = ["train.py", options.data, "--model", model, "--seed", options.seed]
    train += ["--out", run, "--set", *settings(options, rate), *own]
    evaluate = ["evaluate.py", run, "--batch-size", options.batch_size]
    evaluate += ["--record", f"{run}.json"]
    if "num_topics" in MODELS[name]:
        evaluate.append("--topic-worth")
    return [[str(word) for word in command] for command in (train, evaluate)]


def train(options: argparse.Namespace, name: str, rate: str) -> int:
    """Train a model with a rate, then evaluate it; return the exit status."""
    environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    with open(options.out / f"{name}-{rate}.log", "a", encoding="utf-8") as log:
        for command in commands(options, name, rate):
            print(shlex.join(["python", *command]), file=log, flush=True)
            words = [sys.executable, *command]
            ended = subprocess.run(words, stdout=log, stderr=log, env=environment)
            if ended.returncode:
                return ended.returncode
    return 0


def main() -> int:
    """Train all, some at once; return the number that failed."""
    options = parser().parse_args()
    check_gpu()
    options.out.mkdir(parents=True, exist_ok=True)
    asked = list(product(options.rates, options.models))
    failed = 0
    with busy() as shares, ThreadPoolExecutor(options.at_once) as pool:
        ends = pool.map(lambda pair: train(options, *reversed(pair)), asked)
        for (rate, name), status in zip(asked, ends):
            print(f"{name}-{rate}: {'done' if not status else 'FAILED, see its log'}")
            failed += bool(status)
    print(f"the device was busy {fmean(shares):.0%} of the time")
    return failed


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(
        "python -m benchmarks.paper_size",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path, help="folder of python -m preprocessing")
    add("--out", metavar="OUT", type=Path, required=True, help="for RUNs and records")
    add(
        "--models",
        nargs="+",
        choices=sorted(MODELS),
        default=list(MODELS),
        help="to train",
    )
    add("--rates", metavar="R", nargs="+", default=["4e-3"], help="of Adam")
    add("--epochs", type=int, default=4, help="in which rates fall to zero")
    add("--dropout", type=float, default=0.4, help="share that is dropped")
    add("--batch-size", type=int, default=512, help="sequences")
    add("--embeddings", metavar="train|FILE", default="train", help="where words start")
    add("--seed", type=int, default=1, help="of all that is random")
    add("--at-once", type=int, default=3, help="trainings at a time")
    return parsed


if __name__ == "__main__":
    sys.exit(main())
