"""How cost grows with documents, topics and words: python -m benchmarks.cost.

A made corpus goes through every program, each a process of its own on one core, with
one of the three sizes changed at a time. Writes OUT/cost.csv and OUT/cost.svg, and
prints by how much cost grows. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.synthetic import EXPONENT, SHIFT

ROOT = Path(__file__).parents[1]
PROGRAMS = ("preprocessing", "training", "evaluation", "inference")
SENTENCES, LENGTH = 2, 15  # of a document; words of each
SYLLABLES = [c + v for c in "bcdfghjklmnprstvwxyz" for v in "aeiou"]
SETTINGS = (
    "units=100 embedding_size=100 epochs=1 topic_pretrain_steps=0 embeddings=random"
)
SETTINGS += " topic_start=frequencies"
ONE_CORE = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
ONE_CORE |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Size:
    """How large the corpus and the model are; words: of the vocabulary."""

    documents: int = 4_000
    topics: int = 30
    words: int = 10_000


SIZES = {
    "documents": (1_000, 4_000, 16_000, 64_000),
    "topics": (30, 100, 300),
    "words": (10_000, 30_000, 100_000),
}


class Cost(NamedTuple):
    """Of one program: user and system seconds, and the peak of memory."""

    seconds: float
    megabytes: float


Costs = dict[Size, dict[str, Cost]]


def main(out: Path) -> None:
    """Measure every size, write the files and print how cost grows."""
    points = {size for name in SIZES for size in along(name)}
    out.mkdir(parents=True, exist_ok=True)
    costs: Costs = {}
    for size in sorted(points, key=astuple):
        with tempfile.TemporaryDirectory() as folder:
            costs[size] = measured(size, Path(folder))
        print(size, file=sys.stderr)
        write_csv(out / "cost.csv", costs)
    for name in SIZES:
        print(growth(name, costs))
    draw(out / "cost.svg", costs)


def along(name: str) -> list[Size]:
    """Return the sizes that differ in one of their numbers."""
    return [replace(Size(), **{name: value}) for value in SIZES[name]]


def measured(size: Size, folder: Path) -> dict[str, Cost]:
    """Return what every program costs at a size."""
    text, words = folder / "texts.txt", folder / "words.txt"
    words.write_text("\n".join(map(word, range(size.words))), encoding="utf-8")
    write_texts(text, size)
    return dict(zip(PROGRAMS, map(cost, commands(size, folder, text, words))))


def commands(size: Size, folder: Path, text: Path, words: Path) -> list[list[str]]:
    """Return the command of every program, in the order of PROGRAMS."""
    data, run, out = folder / "data", folder / "run", folder / "topics.csv"
    made = f"-m preprocessing --format text --input {text} --vocabulary {words}"
    made += f" --topic-min-count 5 --processes 1 --out {data}"
    trained = f"train.py {data} --recipe paper-small --threads 1 --out {run} --set"
    trained += f" {SETTINGS} num_topics={size.topics}"
    inferred = f"-m tcnlm infer {run} --input {text} --out {out}"
    lines = made, trained, f"evaluate.py {run}", inferred
    return [[sys.executable, *line.split()] for line in lines]


def word(rank: int) -> str:
    """Return the word of a rank, three syllables long."""
    return "".join(SYLLABLES[rank // 100**i % 100] for i in (2, 1, 0))


def write_texts(path: Path, size: Size, seed: int = 1) -> None:
    """Write documents, a line each, of words as frequent as IMDB's."""
    rng, ranks = np.random.default_rng(seed), np.arange(size.words)
    frequencies = (ranks + 1 + SHIFT) ** -EXPONENT
    frequencies /= frequencies.sum()
    with path.open("w", encoding="utf-8") as file:
        for _ in range(size.documents):
            drawn = rng.choice(ranks, [SENTENCES, LENGTH], p=frequencies)
            lines = (" ".join(map(word, sentence)) for sentence in drawn)
            file.write(" ".join(f"{line.capitalize()}." for line in lines) + "\n")


def cost(command: Sequence[str]) -> Cost:
    """Run a command and return what it took; end with it where it fails."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, **ONE_CORE}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, **quiet)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: status {process.returncode} of {' '.join(command)}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_csv(path: Path, costs: Costs) -> None:
    """Write a row for every size and program."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*asdict(Size()), "program", *Cost._fields])
        for size, programs in costs.items():
            for name, (seconds, megabytes) in programs.items():
                row = [*astuple(size), name, f"{seconds:.2f}", f"{megabytes:.0f}"]
                rows.writerow(row)


def growth(name: str, costs: Costs) -> str:
    """Return a row: by lines through the costs, what some more of a size cost."""
    unit, cells = 10 if name == "topics" else 1000, []
    x = np.array(SIZES[name]) / unit
    for program in PROGRAMS:
        seconds, memory = np.array([costs[size][program] for size in along(name)]).T
        (slope, start), (more, _) = (np.polyfit(x, y, 1) for y in (seconds, memory))
        miss = np.abs(start + slope * x - seconds) / seconds
        told = f"{slope:+.2f} s, {more:+.1f} MB; off by {miss.max():.0%}"
        cells.append(f"{program} {told}")
    return f"| {unit:,} more {name} | {' | '.join(cells)} |"


def draw(path: Path, costs: Costs) -> None:
    """Draw seconds and megabytes by each of the sizes."""
    # Here, lest the processes that are measured begin with its memory.
    from matplotlib.figure import Figure

    from tcnlm.drawing.figures import save

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots(len(Cost._fields), len(SIZES), sharey="row")
    for row, kind in zip(axes, Cost._fields):
        row[0].set_ylabel(kind)
        for panel, name in zip(row, SIZES):
            for program in PROGRAMS:
                y = [getattr(costs[size][program], kind) for size in along(name)]
                panel.plot(SIZES[name], y, marker="o", label=program)
            panel.set(xlabel=name, xlim=(0, None))
            panel.locator_params(nbins=4)
            panel.xaxis.set_major_formatter("{x:,.0f}")
        row[0].set_ylim(0)
    axes[0][0].legend(frameon=False)
    save(figure, path)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.cost", description=__doc__)
    parsed.add_argument("--out", type=Path, required=True, help="folder to write into")
    return parsed


if __name__ == "__main__":
    main(parser().parse_args().out)
