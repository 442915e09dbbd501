"""A map over processes: ordered, and never far ahead of whoever takes the results.

`tcnlm.common.beam` has one over machines.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TypeVar

OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
Item = TypeVar("Item")
Result = TypeVar("Result")
# `map` over items in order; what it is given must be importable.
Map = Callable[[Callable[[Item], Result], Iterable[Item]], Iterator[Result]]


def cores() -> int:
    """Return the number of cores that this process may use.

    That of its affinity, and no more than its control groups, those of a container
    say, give it time of; a part of a core counts as one.
    """
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return min([allowed, *map(math.ceil, _quotas())])


def _quotas() -> Iterator[float]:
    """Yield how many cores' time each control group of this process may use.

    Version 2 has it in cpu.max, version 1 in cpu.cfs_quota_us and cpu.cfs_period_us.
    """
    for line in _said_by(OWN_GROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, names = GROUPS, ["cpu.max"]
        elif "cpu" in controllers.split(","):
            root, names = GROUPS / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        own = root / path.lstrip("/")
        for group in (own, *own.parents):
            # Without a limit the quota is "max" or -1.
            found = " ".join(_said_by(group / name) for name in names).split()
            if len(found) == 2 and found[0].isdecimal():
                yield int(found[0]) / int(found[1])


def _said_by(path: Path) -> str:
    """Return the contents of a file of the kernel; nothing where there is none."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """`items` in lists of `size`, the last one shorter."""
    items = iter(items)
    return iter(lambda: list(islice(items, size)), [])


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """`map`, on several processes; `function` and `items` must be importable."""
    items = iter(items)
    first = list(islice(items, processes))
    processes, items = len(first), chain(first, items)
    if processes <= 1:
        yield from map(function, items)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, _depend_on_parent) as pool:
        pending = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > 2 * processes:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _depend_on_parent() -> None:
    """Leave Ctrl-C to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent_process().join()
    os._exit(1)
