"""What a program sets of its process before it works: memory and seeds; forks."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import shlex
import sys
from functools import cache
from pathlib import Path

from tcnlm.common.errors import InputError

# glibc's malloc.h
TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8
NEVER = 2**31 - 1
GARBAGE = 100_000  # objects made between two searches for cycles of them


def search_garbage_rarely() -> None:
    """Search for garbage in cycles after many objects, and not as the process ends.

    TensorFlow's import makes half a million objects that all stay. Python by default
    searches them again and again, and twice more as it exits: a third of a start.
    """
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def keep_memory() -> None:
    """Let this process keep what it frees; without glibc, do nothing.

    A training step makes and drops the same tensors of some megabytes again and again.
    glibc by default returns such memory to the system, which clears every page of it
    anew at the next use: a quarter of a small model's time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        for option, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, NEVER), (ARENA_MAX, 1)):
            mallopt(option, value)


@cache
def _first_process() -> int:
    """Return the process that asks first: a fork of it has the answer already."""
    return os.getpid()


def refuse_forks() -> None:
    """Raise InputError in a fork of the process that a model was first opened in.

    TensorFlow's threads are not there, and it would wait for them for ever.
    """
    if _first_process() != os.getpid():
        raise InputError(
            "this process was forked after a model was opened, and TensorFlow works in "
            "the first alone; fork before that, and open the RUN in each process "
            '(gunicorn without --preload), or start processes by "spawn" or joblib\'s '
            '"loky"'
        )


def command_line() -> str:
    """Return the command that began this process, as it may be typed again."""
    return shlex.join([*shlex.split(_called(sys.argv[0])), *sys.argv[1:]])


def program(name: str) -> str:
    """Return how train, evaluate or generate is called where this process was."""
    installed = Path(sys.argv[0]).name.startswith("tcnlm-")
    return _called(f"tcnlm-{name}" if installed else f"{name}.py")


def _called(script: str) -> str:
    if script.endswith(".py"):
        return shlex.join(["python", script])
    return shlex.quote(Path(script).name)


def make_reproducible(seed: int, threads: int = 0, deterministic: bool = True) -> None:
    """Seed everything, use so many cores (0: all), and only deterministic kernels."""
    # Here, since processes that only tokenize do without.
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()
