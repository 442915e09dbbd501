"""A map over processes: ordered, and never far ahead of whoever takes the results.

`tcnlm.common.beam` has one over machines.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
# `map` over items in order; what it is given must be importable.
Map = Callable[[Callable[[Item], Result], Iterable[Item]], Iterator[Result]]


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
