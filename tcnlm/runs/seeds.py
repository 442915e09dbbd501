"""RUN/seed-S and topics-K: folders of runs that differ by one thing alone."""

from __future__ import annotations

import re
from pathlib import Path

PREFIX = "seed-"
_NAME = re.compile(f"{PREFIX}([0-9]+)")


def seed_folder(out: Path, seed: int) -> Path:
    """Return where the run of a seed is."""
    return out / f"{PREFIX}{seed}"


def topics_folder(out: Path, number: int) -> Path:
    """Return where the run of a number of topics is, or its runs of several seeds."""
    return out / f"topics-{number}"


def is_seed_folder(path: Path) -> bool:
    """Whether a folder is named as one of several seeds'."""
    return bool(_NAME.fullmatch(path.name))


def runs_of(path: Path) -> list[Path]:
    """Return the runs of a folder of several seeds, by seed; any other is a run."""
    if (path / "config.json").exists():
        return [path]
    found = filter(is_seed_folder, path.glob(f"{PREFIX}*"))
    return sorted(found, key=lambda run: int(run.name[len(PREFIX) :])) or [path]
