"""Checkpoints from which training goes on to the very same weights.

checkpoints/00001860/ holds TensorFlow's files, a copy of RUN's best weights so far and
state.json: the loop's own state, its SHA-256 and that of every file.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf

from tcnlm.common import files
from tcnlm.common.errors import InputError, UnreadableError, reading
from tcnlm.runs.weights import WEIGHTS

KEPT = 2  # the latest, and one to fall back on
STATE = "state.json"


@dataclass
class State:
    """Where training stands; saved with every checkpoint."""

    epoch: int = 0  # from 0
    position: int = 0  # batches of this epoch already taken
    seconds: float = 0.0  # spent training
    nll: float = 0.0  # sums since the last evaluation: nats (or loss, of topics alone),
    targets: int = 0  # and targets (or content words)
    best: float = math.inf  # of the measure that judges, on validation
    waited: int = 0  # evaluations since the best
    history: list[dict[str, Any]] = field(default_factory=list)


class Checkpoints:
    """The checkpoints of a RUN."""

    def __init__(self, run: Path, model: Any):
        self.folder, self.best = run / "checkpoints", run / WEIGHTS
        self.copy = self.best  # that in the checkpoint last restored
        self.checkpoint = tf.train.Checkpoint(model=model)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint aside, rename it, and remove those no longer kept."""
        folder = self.folder / f"{step:08d}"
        with files.writing(folder, tf.errors.OpError), files.replacing(folder) as aside:
            files.remove_leftovers(self.folder)
            aside.mkdir(parents=True)
            with files.plain_path(aside) as plain:
                self.checkpoint.write(str(plain / "weights"))
            if self.best.exists():
                shutil.copyfile(self.best, aside / WEIGHTS)
            names = sorted(path.name for path in aside.iterdir())
            sums = {name: files.digest_of(aside / name) for name in names}
            content = {"state": state, "sha256": sums, "state_sha256": _digest(state)}
            (aside / STATE).write_text(json.dumps(content), encoding="utf-8")
        for old in saved(self.folder)[:-KEPT]:
            shutil.rmtree(old)

    def restore(self) -> State | None:
        """Restore the latest sound checkpoint; return its state, None without any.

        Raises InputError where there are some and none is sound, or one cannot be read.
        """
        folders = saved(self.folder)[::-1]
        for folder in folders:
            state = _sound_state(folder)
            if state is None:
                print(f"{folder}: this checkpoint is damaged")
                continue
            try:
                with files.plain_path(folder) as plain:
                    status = self.checkpoint.read(str(plain / "weights"))
                    status.assert_existing_objects_matched()
            except (AssertionError, ValueError, tf.errors.OpError):
                raise InputError(
                    f"{folder}: the checkpoint of another model, or of another version"
                ) from None
            self.copy = folder / WEIGHTS
            return state
        if folders:
            raise InputError(
                f"{self.folder}: every checkpoint is damaged; give another --out, or "
                "remove this RUN to begin it again"
            )
        return None


def saved(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, by step."""
    numbered = (path for path in folder.glob("[0-9]*") if path.name.isdecimal())
    return sorted(path for path in numbered if path.is_dir())


def _digest(state: Any) -> str:
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def _sound_state(folder: Path) -> State | None:
    try:
        with reading(folder / STATE):
            content = json.loads((folder / STATE).read_text(encoding="utf-8"))
        state, sums = content.pop("state"), content.pop("sha256")
        # Before there was one, a state had no hash.
        sound = content in ({}, {"state_sha256": _digest(state)})
        sound &= all(files.digest_of(folder / n) == own for n, own in sums.items())
        state.pop("evaluated", None)  # of evaluations within an epoch
        return State(**state) if sound else None
    except UnreadableError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
