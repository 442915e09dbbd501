"""Memory of Apache Beam's workers as a corpus grows: python -m benchmarks.beam FILE.

Preprocessing and the window counts of coherence, by two processes of the DirectRunner,
on the documents of FILE once and several times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from benchmarks.memory import PROCESSES, peak
from preprocessing.sources import read_lines

WORKER = "sdk_worker_main"
LOOK = 0.2  # seconds between two looks at the workers
TOPICS = "war army battle\nfilm album music\ncell protein species\n"
WORK = {
    "preprocessing": "preprocessing --format jsonl --input {file} --out {folder}/DATA",
    "coherence": "tcnlm.coherence {folder}/topics.txt --reference {file} --top 3",
}


def measure(work: str, file: Path, folder: Path, workers: int) -> dict[str, float]:
    """Return seconds and peaks of memory in MB of one program on one file."""
    (folder / "topics.txt").write_text(TOPICS)
    program = WORK[work].format(file=file, folder=folder)
    command = [sys.executable, "-m", *program.split(), "--runner", "DirectRunner"]
    command += [f"--direct_num_workers={workers}", f"--temp_location={folder}"]
    command += ["--direct_running_mode=multi_processing"]
    start, peaks = time.monotonic(), {}
    launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while launcher.poll() is None:
        for process in [launcher.pid, *_workers(launcher.pid)]:
            with suppress(OSError, TypeError):  # ended just now
                peaks[process] = peak(process)
        time.sleep(LOOK)
    if launcher.returncode:
        raise SystemExit(launcher.returncode)
    seconds, own = time.monotonic() - start, peaks.pop(launcher.pid)
    return {"seconds": seconds, "launcher": own, "worker": max(peaks.values())}


def _workers(launcher: int) -> list[int]:
    """Return the numbers of the processes that a launcher's shells have started."""
    found = []
    for place in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            if WORKER in (place / "cmdline").read_text() and _below(place, launcher):
                found.append(int(place.name))
    return found


def _below(place: Path, launcher: int) -> bool:
    while place.name not in ("0", "1", str(launcher)):
        stat = (place / "stat").read_text()
        place = PROCESSES / stat.rpartition(")")[2].split()[1]
    return place.name == str(launcher)


def repeated(source: Path, copies: int, place: Path) -> int:
    """Write the lines of a file so many times; return their number."""
    number = 0
    with place.open("w", encoding="utf-8") as file:
        for line in chain.from_iterable(read_lines(source) for _ in range(copies)):
            print(line, file=file)
            number += 1
    return number


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m benchmarks.beam", description=__doc__)
    add, default = parsed.add_argument, "(default: %(default)s)"
    add("file", metavar="FILE", type=Path, help="documents, .jsonl, plain, .gz or .xz")
    purpose = f"how many times the documents {default}"
    add("--copies", metavar="N", type=int, nargs="+", default=[1, 4], help=purpose)
    add("--workers", metavar="N", type=int, default=2, help=f"processes {default}")
    return parsed


def main(options: argparse.Namespace) -> None:
    """Measure and print a row for each program and size."""
    todo = [(work, copies) for copies in options.copies for work in WORK]
    for work, copies in tqdm(todo, "programs", disable=None):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "corpus.jsonl"
            number = repeated(options.file, copies, file)
            found = measure(work, file, Path(folder), options.workers)
        print(
            f"{work}, {number:,} documents: {found['seconds']:.0f} s; launcher "
            f"{found['launcher']:,.0f} MB, a worker at most {found['worker']:,.0f} MB"
        )


if __name__ == "__main__":
    main(parser().parse_args())
