"""The programs, for the scripts at the top, `python -m tcnlm`, and what pip installs.

Each ends in one line where it is interrupted during its imports, which take seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tcnlm.common.errors import end_at_once, errors_reported
from tcnlm.common.process import search_garbage_rarely

PROGRAMS = {
    "preprocess": "raw text to the DATA folder; python -m preprocessing",
    "train": "DATA to a RUN folder; train.py",
    "evaluate": "measure a RUN, or compare several; evaluate.py",
    "generate": "write sentences of topics or of a document; generate.py",
    "infer": "texts' shares of topics as a table",
    "coherence": "NPMI of any program's topics over a reference text",
    "gains": "where one RUN predicts better than another",
    "reproduce": "preprocess, train and evaluate by a recipe",
    "export": "write a RUN's SavedModel",
    "serve": "show a SavedModel in a browser",
}


def _program(name: str) -> Callable[[], None]:
    def launch() -> None:
        end_at_once()
        search_garbage_rarely()
        main = import_module(f"tcnlm.programs.{name}").main
        with errors_reported():
            status = main(sys.argv[1:])
        sys.exit(status)

    return launch


def __getattr__(name: str) -> Callable[[], None]:
    if name not in PROGRAMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _program(name)


def main() -> Any:
    """Run `tcnlm COMMAND ...`, as tcnlm-COMMAND runs."""
    command = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if command in PROGRAMS:
        sys.argv[:2] = [f"tcnlm-{command}"]
        return _program(command)()
    listed = "\n".join(f"  {name:12}{what}" for name, what in PROGRAMS.items())
    usage = f"usage: python -m tcnlm COMMAND ...; COMMAND --help says more\n\n{listed}"
    if command in ("-h", "--help"):
        print(usage)
        sys.exit(0)
    sys.exit(f"error: {command!r} is no command\n{usage}")
