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
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Run by its path, Python looks for modules in this folder only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import floor
from benchmarks.bench import QUARTERS, SEED, Bench, Scale
from benchmarks.synthetic import write_data
from benchmarks.systems import Products, count_targets, sweep_rate
from benchmarks.torch_lstm import INSTALLED
from tcnlm.common.process import keep_memory, make_reproducible


class Row(NamedTuple):
    """A row of the table: its value, and the systems that it takes to know it."""

    measure: str
    goal: str
    value: Callable[[Bench], str]
    systems: tuple[str, ...] = ()


def against_ceiling(
    bench: Bench, system: str, products: str, parts: list[floor.Part]
) -> str:
    """Tell a system's rate of operations beside that of its bare products."""
    share = bench.shorter(system, products)
    ceiling = floor.total(floor.products(parts)) / median(bench.seconds[products]) / 1e9
    return f"{share:.2f} (of {ceiling:.0f} GFLOP/s)"


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
    moe, ours = (bench.peak(name, "table_6") for name in ("naive_moe", "tcnlm"))
    return (
        f"{bench.faster('tcnlm of Table 6', 'moe of Table 6'):.1f} x its time, "
        f"{moe.own / ours.own:.1f} x its memory ({moe.training:,.0f} against "
        f"{ours.training:,.0f} MB; the program alone {ours.before:,.0f} MB)"
    )


def waiting(bench: Bench) -> str:
    """Tell what more the trainer's loop takes than one with its batches at hand."""
    return f"{max(0.0, 1 - bench.shorter('loop', 'loop, batches at hand')):.1%}"


def real_positions(bench: Bench) -> str:
    """Tell the share of an epoch's computed positions that are real targets."""
    targets = [batch["targets"] for batch in bench.epoch]
    real = sum(np.count_nonzero(t) for t in targets) / sum(t.size for t in targets)
    return f"{real:.3f}"


ROWS = {
    "ceiling": Row(
        "TCNLM small, training, floating-point rate over the measured ceiling",
        "at least 0.6",
        lambda b: against_ceiling(b, "tcnlm", "products", b.training),
        ("tcnlm", "products"),
    ),
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
    "torch": Row(
        "our LSTM small against PyTorch's, the same adaptive softmax, tokens/s",
        "at least 1.25 x",
        lambda b: f"{b.faster('lstm', 'torch'):.2f} x "
        f"({b.tokens('lstm'):,.0f} and {b.tokens('torch'):,.0f} tokens/s)",
        ("lstm", "torch"),
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
        "TCNLM of Table 6, lazy Adam against Adam, tokens/s",
        "",
        lambda b: f"{b.faster('tcnlm of Table 6, lazy', 'tcnlm of Table 6'):.2f} x; "
        f"small {b.faster('tcnlm, lazy', 'tcnlm'):.2f} x",
        ("tcnlm of Table 6", "tcnlm of Table 6, lazy", "tcnlm", "tcnlm, lazy"),
    ),
    "bfloat16": Row(
        "TCNLM small, products in bfloat16 against float32, training, tokens/s",
        "",
        lambda b: f"{b.faster('tcnlm, bfloat16', 'tcnlm'):.2f} x",
        ("tcnlm", "tcnlm, bfloat16"),
    ),
    "waiting": Row(
        "TCNLM of Table 6, share of the time that the trainer waits for batches",
        "",
        waiting,
        ("loop", "loop, batches at hand"),
    ),
    "padding": Row(
        "share of computed positions that are real targets",
        "at least 0.95",
        real_positions,
    ),
    "memory": Row(
        "peak memory of training small",
        "at most 2,000 MB",
        lambda b: f"{b.peak('tcnlm', 'small').training:,.0f} MB",
    ),
    "generation": Row(
        "256 sentences of 30 words sampled from topics, small, rate over the ceiling",
        "at least 0.6",
        lambda b: against_ceiling(b, "writer", "writer's products", b.writing),
        ("writer", "writer's products"),
    ),
    "head-first": Row(
        "the same, head first against every tail computed, sentences/s",
        "at least 2 x",
        lambda b: f"{b.shorter('writer', 'writer, every tail'):.1f} x "
        f"({b.scale.sentences / median(b.seconds['writer']):,.0f} sentences/s)",
        ("writer", "writer, every tail"),
    ),
}


def print_floor(bench: Bench) -> None:
    """Print operations and bytes per token of every part, and the time they take."""
    targets = count_targets(bench.batches)
    print(
        f"{targets / QUARTERS:,.0f} real targets a batch; per target and, last, batch"
    )
    print("part             MFLOP: there   back   kB: there   back   ms at the ceiling")
    sweep = sweep_rate()
    for part in bench.training:
        figures = [
            floor.total(work, what) / targets / scale
            for what, scale in (("flops", 1e6), ("bytes", 1e3))
            for work in (part.forward, part.backward)
        ]
        seconds = Products(floor.products([part]))()
        seconds += floor.total(floor.sweeps([part]), "bytes") / sweep
        cells = "{:12.2f} {:6.2f} {:11.1f} {:6.1f}".format(*figures)
        print(f"{part.name:17}{cells} {1e3 * seconds / QUARTERS:13.1f}")
    print(f"memory, read and written by two cores: {sweep / 1e9:.1f} GB/s")


def run(bench: Bench, names: Iterable[str]) -> None:
    """Measure and print the floor and the rows with these names."""
    rows = [ROWS[name] for name in names if name != "torch" or INSTALLED]
    if "torch" in names and not INSTALLED:
        print("without PyTorch's row: pip install torch")
    bench.measure(dict.fromkeys(name for row in rows for name in row.systems))
    print_floor(bench)
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
