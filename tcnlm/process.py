"""What a program sets of its process before it works: memory, seeds, cores."""

from __future__ import annotations

import ctypes
import os

# glibc's malloc.h
TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8
NEVER = 2**31 - 1


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


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_reproducible(seed: int, threads: int = 0) -> None:
    """Seed everything, use deterministic kernels only, and so many cores (0: all)."""
    # Here, since processes that only tokenize do without.
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
