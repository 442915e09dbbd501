"""RUN/model.weights.h5, the best weights, and their SHA-256 as of `sha256sum`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError, UnreadableError, reading
from tcnlm.common.files import is_as_sealed, replacing, seal, writing
from tcnlm.common.process import program

WEIGHTS = "model.weights.h5"
DIGEST = "model.weights.sha256"
HDF5_BYTES = 4096  # that it takes to describe an array, at most


def save_weights(model: Any, run: Path) -> None:
    """Write both files; a kill between them leaves weights without a hash."""
    with _new_weights(run) as aside:
        # Where the weights find no room HDF5 would crash the process.
        sizes = [w.dtype.size * w.shape.num_elements() for w in model.weights]
        aside.write_bytes(bytes(sum(sizes) + HDF5_BYTES * (len(sizes) + 10)))
        model.save_weights(aside)


@contextmanager
def _new_weights(run: Path) -> Iterator[Path]:
    with writing(run / WEIGHTS):
        (run / DIGEST).unlink(missing_ok=True)
        with replacing(run / WEIGHTS) as aside:
            yield aside
        seal(run / WEIGHTS, run / DIGEST)


def load_weights(model: Any, run: Path) -> None:
    """Give a model a RUN's weights; InputError if missing, locked, bad or another's."""
    file = run / WEIGHTS
    if not file.exists():
        raise InputError(f"{file}: no such file; let train.py finish an epoch first")
    again = f"`{program('train')} --resume {run}` takes what a checkpoint holds"
    if not _is_good(run):
        raise InputError(f"{file}: damaged (not what {DIGEST} was made of); {again}")
    try:
        model.load_weights(file)
    except Exception as error:  # HDF5 and Keras raise whatever they stumble over
        if getattr(error, "errno", None):  # the system's, of which damage has none
            raise UnreadableError(
                f"{file}: cannot be read: {os.strerror(error.errno)}; if a lock is the "
                "reason, HDF5_USE_FILE_LOCKING=FALSE in the environment ignores it"
            ) from None
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{file}: damaged, or another model's ({reason}); {again}"
        ) from None
    if not all(np.isfinite(weight).all() for weight in model.get_weights()):
        raise InputError(f"{file}: damaged (not all weights are numbers); {again}")


def recover_weights(run: Path, copy: Path) -> None:
    """Put a checkpoint's copy in the place of weights that are missing or damaged."""
    if _is_good(run):
        return
    if not copy.exists():
        raise InputError(
            f"{run / WEIGHTS}: missing or damaged, and no checkpoint holds a copy; "
            "train again in another --out"
        )
    with _new_weights(run) as aside:
        shutil.copyfile(copy, aside)
    print(f"{run / WEIGHTS}: was missing or damaged; taken from {copy.parent}")


def _is_good(run: Path) -> bool:
    if not (run / WEIGHTS).is_file():
        return False
    with reading(run / WEIGHTS), (run / WEIGHTS).open("rb"):
        pass  # HDF5 would call it damaged
    return is_as_sealed(run / WEIGHTS, run / DIGEST)
