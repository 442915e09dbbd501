"""How the C library keeps memory: for the next step, instead of giving it back."""

from __future__ import annotations

import ctypes

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
