"""Serve the SavedModel of a RUN to this machine, for trying: a page, and REST.

The paths are TensorFlow Serving's, which is the server for production.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tcnlm.common.errors import add_debug
from tcnlm.common.process import keep_memory
from tcnlm.common.settings import whole_number

LOOPBACK, PORT = "127.0.0.1", 8501  # the port is that of TensorFlow Serving's REST


def main(arguments: Sequence[str]) -> None:
    """Serve until interrupted."""
    options = parser().parse_args(arguments)
    # Here, since TensorFlow takes seconds in which Ctrl-C would show a traceback.
    from tcnlm.serving.model import Served, find
    from tcnlm.serving.server import Server

    keep_memory()
    folder = find(options.run)
    with Server(options.host, options.port) as server:
        server.served = Served(folder)
        print(f"{folder}: {server.address} (end with Ctrl-C)", flush=True)
        server.serve_forever()


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m tcnlm serve", description=__doc__)
    add = parsed.add_argument
    known = "folder made by train.py, or a SavedModel"
    add("run", metavar="RUN", type=Path, help=known)
    host = "name or address to listen at (default: %(default)s, this machine alone)"
    add("--host", default=LOOPBACK, help=host)
    port = "0: any that is free (default: %(default)s)"
    add("--port", type=whole_number(0, 65535), default=PORT, help=port)
    add_debug(parsed)
    return parsed
