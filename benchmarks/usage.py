"""How much memory a process has, as Linux says, and how busy the GPU is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ASK = "nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 200"


def check_gpu() -> None:
    """End the program where there is no GPU to ask."""
    program = ASK.split()[0]
    if shutil.which(program) is None:
        sys.exit(f"error: {program}: not found; this benchmark needs an NVIDIA GPU")


@contextmanager
def busy() -> Iterator[list[float]]:
    """Give a list that afterwards has the shares of time in which anything ran."""
    shares: list[float] = []
    asked = subprocess.Popen(ASK.split(), stdout=subprocess.PIPE, text=True)
    try:
        yield shares
    finally:
        asked.terminate()
        shares += [float(line) / 100 for line in asked.communicate()[0].split()]


def megabytes(what: str, process: int | str = "self") -> float:
    """Return a process's memory: "VmRSS", or "VmHWM", the peak.

    The peak of getrusage may be that of the process that started it.
    """
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(rf"{what}:\s+(\d+) kB", status)[1]) / 1024
