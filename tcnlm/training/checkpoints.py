"""Checkpoints from which training goes on to the very same weights.

checkpoints/00001860/ holds TensorFlow's files and state.json: the loop's own state and
the SHA-256 of every file, so that a damaged checkpoint is noticed before it is used.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf

from tcnlm.files import remove_leftovers, replacing

KEPT = 2  # the latest, and one to fall back on
STATE = "state.json"


class Checkpoints:
    """The checkpoints of a RUN."""

    def __init__(self, folder: Path, **tracked: Any):
        self.folder = folder
        self.checkpoint = tf.train.Checkpoint(**tracked)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint aside, rename it, and remove those no longer kept."""
        remove_leftovers(self.folder)
        with replacing(self.folder / f"{step:08d}") as aside:
            aside.mkdir(parents=True)
            self.checkpoint.write(str(aside / "weights"))
            content = {"state": state, "sha256": _digests(aside)}
            (aside / STATE).write_text(json.dumps(content), encoding="utf-8")
        for old in saved(self.folder)[:-KEPT]:
            shutil.rmtree(old)

    def restore(self) -> dict[str, Any] | None:
        """Restore the latest sound checkpoint; return its state, None without any."""
        for folder in reversed(saved(self.folder)):
            state = _sound_state(folder)
            if state is not None:
                status = self.checkpoint.read(str(folder / "weights"))
                status.assert_existing_objects_matched()
                return state
            print(f"{folder}: this checkpoint is damaged; trying the one before")
        return None


def saved(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, by step."""
    return sorted(folder.glob("[0-9]*"))


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != STATE
    }


def _sound_state(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / STATE).read_text(encoding="utf-8"))
        sound = content["sha256"] == _digests(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return content["state"] if sound else None
