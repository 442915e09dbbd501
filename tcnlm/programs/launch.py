"""The programs, for the scripts at the top, for python -m and for what pip installs.

Each ends in one line where it is interrupted during its imports, which take seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tcnlm.common.interrupts import end_at_once
from tcnlm.common.process import search_garbage_rarely


def _program(name: str) -> Callable[[], None]:
    """Return what runs `tcnlm.programs.NAME` on the command line's arguments."""

    def launch() -> None:
        end_at_once()
        search_garbage_rarely()
        import_module(f"tcnlm.programs.{name}").run()

    return launch


def preprocess() -> None:
    """Run `python -m preprocessing` on the command line's arguments."""
    end_at_once()
    from preprocessing.__main__ import run

    run()


coherence = _program("coherence")
embeddings = _program("embeddings")
evaluate = _program("evaluate")
export = _program("export")
gains = _program("gains")
generate = _program("generate")
infer = _program("infer")
reproduce = _program("reproduce")
serve = _program("serve")
train = _program("train")
