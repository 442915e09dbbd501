"""What a program sets of its process, and work over processes and machines."""

from __future__ import annotations

import argparse
import atexit
import ctypes
import gc
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import chain, islice, takewhile
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from tqdm import tqdm

from tcnlm.common.errors import NUMBERS, InputError

if TYPE_CHECKING:
    from tcnlm.common.beam import Beam

# glibc's malloc.h
TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8
NEVER = 2**31 - 1
GARBAGE = 100_000  # objects made between two searches for cycles of them


def search_garbage_rarely() -> None:
    """Search for garbage in cycles after many objects, and not as the process ends."""
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def keep_memory() -> None:
    """Let this process keep what it frees: small models train in 3/4 of the time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        for option, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, NEVER), (ARENA_MAX, 1)):
            mallopt(option, value)


_first_process = cache(os.getpid)  # of who asks first: a fork has the answer already


def refuse_forks() -> None:
    """Raise InputError in a fork of the process that a model was first opened in."""
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


def command_parser(name: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of `python -m tcnlm NAME`, whose description keeps its lines."""
    kept = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    called = f"python -m tcnlm {name}"
    return argparse.ArgumentParser(called, description=description, **kept)


def make_reproducible(seed: int, threads: int = 0, deterministic: bool = True) -> None:
    """Seed everything, use so many cores (0: all), and only deterministic kernels."""
    # Here, since processes that only tokenize do without.
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()


Item = TypeVar("Item")
Result = TypeVar("Result")
# `map` over items in order; what it is given must be importable.
Map = Callable[[Callable[[Item], Result], Iterable[Item]], Iterator[Result]]


def cores() -> int:
    """Return the number of cores that this process may use, in a container too."""
    from joblib import cpu_count  # Here, since it takes a while.

    return cpu_count()


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

    def end() -> None:
        parent_process().join()
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end, daemon=True).start()


def one_by_one(commands: Iterable[Sequence[str]]) -> int:
    """Run this program with each list of arguments; stop at the first that fails.

    Return its exit status. A signal goes to the run that is on, in a session of its own
    lest Ctrl-C reach it twice; no other follows.
    """
    program = [sys.argv[0]]
    if not Path(program[0]).exists():  # `tcnlm train` is called tcnlm-train
        program = ["-m", *program[0].split("-", 1)]
    asked: list[int] = []
    on: list[subprocess.Popen] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        for process in on:
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in NUMBERS}
    try:
        for arguments in commands:
            command = [sys.executable, *program, *arguments]
            process = subprocess.Popen(command, start_new_session=True)
            early = tuple(asked)  # while it was being started, when `on` was empty
            on[:] = [process]
            for number in early:
                process.send_signal(number)
            status = process.wait()
            on.clear()
            if status or asked:
                status = status or -asked[0]
                return status if status > 0 else 128 - status
        return 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- On a runner of Apache Beam, and how far it is -----------------------------------

PACKAGE = "'/path/to/tcnlm[beam]'"
RUNNERS = ("DirectRunner", "FlinkRunner", "DataflowRunner")


def add_runner(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --runner, which takes the rest of the command line."""
    purpose = "Apache Beam's, then its own options, with the same result: "
    parser.add_argument("--runner", nargs="...", help=purpose + ", ".join(RUNNERS))


def without_runner(arguments: list[str]) -> list[str]:
    """Return the arguments before --runner."""
    return list(takewhile(lambda a: a.partition("=")[0] != "--runner", arguments))


def on_runner(arguments: list[str]) -> Beam:
    """Return the pipelines that --runner asks for; InputError where Beam has none."""
    if not arguments or arguments[0] not in RUNNERS:
        named = f"{arguments[0]!r}" if arguments else "nothing"
        raise InputError(f"--runner: {named} is none of {', '.join(RUNNERS)}")
    try:
        from tcnlm.common.beam import Beam
    except ModuleNotFoundError as error:
        raise InputError(
            f"--runner: {error.name} is not installed; pip install {PACKAGE}"
        ) from None
    return Beam(arguments)


FIRST_SECONDS, LOG_SECONDS = 10, 60  # before the first line of a log, between others


def progress_bar(*arguments: Any, **options: Any) -> tqdm:
    """Return `tqdm` of these arguments; where stderr is no terminal, one of lines."""
    if not sys.stderr.isatty():
        options |= {"delay": FIRST_SECONDS, "mininterval": LOG_SECONDS, "ascii": True}
        options |= {"maxinterval": 2 * LOG_SECONDS, "leave": False}
        options["bar_format"] = "{l_bar}{bar}{r_bar}\n"
    return tqdm(*arguments, **options)
