"""How long a program takes to begin: python -m benchmarks.beginning CHECKOUT...

Training, measuring and writing are next to nothing on a small corpus: what they take is
imports and graphs. Checkouts of this repository take turns, with one environment;
processor time, since other work on the machine lengthens any other.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tqdm import tqdm

HERE = Path(__file__).parents[1]
LEE = "-m preprocessing --format lee --min-count 3 --topic-min-count 5 --out".split()
TINY = "units=8 embedding_size=8 num_topics=4 head_start=9 epochs=1".split()


def programs(data: Path, run: Path) -> dict[str, list[str]]:
    """Return the arguments of each program; run: a folder that is not there yet."""
    trained = ["train.py", data, "--model", "tcnlm", "--out", run, "--threads", "1"]
    written = ["generate.py", run, "--seed", "1", "--number", "2", "--method", "sample"]
    lines = ([*trained, "--set", *TINY], ["evaluate.py", run], written)
    return {line[0]: [*map(str, line)] for line in lines}


def processor_seconds(arguments: Sequence[str], checkout: Path) -> float:
    """Return the user and system time of one of a checkout's programs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{checkout}, {' '.join(command)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(
    checkouts: Sequence[Path], folder: Path, rounds: Iterable[int]
) -> dict[str, list[float]]:
    """Return each program's seconds, a sum over rounds for every checkout."""
    data = folder / "DATA"
    processor_seconds([*LEE, str(data)], HERE)
    found = {name: [0.0] * len(checkouts) for name in programs(data, folder)}
    for turn in rounds:
        for place, checkout in enumerate(checkouts):
            run = folder / f"run-{turn}-{place}"
            for name, arguments in programs(data, run).items():
                found[name][place] += processor_seconds(arguments, checkout)
    return found


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.beginning")
    add, folders = parsed.add_argument, "clones or worktrees of other commits; "
    folders += "the ratio is that of the last to the first"
    add("checkout", metavar="CHECKOUT", nargs="+", type=Path, help=folders)
    add("--rounds", type=int, default=5, help="turns of each checkout (default: 5)")
    return parsed


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    checkouts = [checkout.resolve() for checkout in options.checkout]
    rounds = tqdm(range(options.rounds), "rounds", disable=None)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(checkouts, Path(folder), rounds)
    print("processor seconds a round:", *options.checkout, "ratio")
    for name, seconds in found.items():
        each = (f"{total / options.rounds:.2f}" for total in seconds)
        print(f"{name:14}", *each, f"{seconds[-1] / seconds[0]:.2f}")


if __name__ == "__main__":
    main()
