"""Several runs of one program, each a process of its own: nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from types import FrameType

from tcnlm.common.interrupts import NUMBERS


def one_by_one(commands: Iterable[Sequence[str]], *program: str) -> int:
    """Run this program with each list of arguments; stop at the first that fails.

    program: how Python starts it, by default as a script. Return its exit status. A
    signal goes to the run that is on, which ends as it would alone, in a session of its
    own lest Ctrl-C reach it twice; no other follows. Afterwards they do what they did.
    """
    asked: list[int] = []
    on: list[subprocess.Popen] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        for process in on:
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in NUMBERS}
    try:
        for arguments in commands:
            words = program or (sys.argv[0],)
            status = _run([sys.executable, *words, *arguments], on, asked)
            if status or asked:
                return _exit_status(status or -asked[0])
        return 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(command: Sequence[str], on: list[subprocess.Popen], asked: list[int]) -> int:
    process = subprocess.Popen(command, start_new_session=True)
    early = tuple(asked)  # while it was being started, when `on` was empty
    on.append(process)
    for number in early:
        process.send_signal(number)
    status = process.wait()
    on.clear()
    return status


def _exit_status(status: int) -> int:
    return status if status > 0 else 128 - status
