"""Several runs of one program, each a process of its own: nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from types import FrameType

from tcnlm.training.interrupts import NUMBERS


def one_by_one(commands: Iterable[Sequence[str]]) -> int:
    """Run this program with each list of arguments; stop at the first that fails.

    Return its exit status. A signal goes to the run that is on, which ends as it would
    alone, in a session of its own lest Ctrl-C reach it twice.
    """
    for arguments in commands:
        command = [sys.executable, sys.argv[0], *arguments]
        process = subprocess.Popen(command, start_new_session=True)

        def pass_on(
            number: int, frame: FrameType | None, to: subprocess.Popen = process
        ) -> None:
            to.send_signal(number)

        for number in NUMBERS:
            signal.signal(number, pass_on)
        status = process.wait()
        if status:
            return status if status > 0 else 128 - status
    return 0
