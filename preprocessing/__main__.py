"""`python -m preprocessing SOURCE --out DATA`: raw text to the DATA directory.

`python -m preprocessing --verify DATA` tells whether one is as it was made.
"""

from __future__ import annotations

import shlex
import signal
import sys

from preprocessing.arguments import (
    chosen_preprocessing,
    corpus_of,
    map_of,
    parse,
    refuse_own_input,
)
from preprocessing.checks import open_data
from preprocessing.pipeline import preprocess
from preprocessing.table import table
from tcnlm.common.errors import InputError, errors_reported
from tcnlm.common.runners import without_runner


def main(arguments: list[str]) -> int:
    """Run the command; the exit status is 2 for bad input, 130 if interrupted."""
    options = parse(arguments)
    command = ["python", "-m", "preprocessing", *without_runner(arguments)]
    try:
        if options.verify:
            meta, _ = open_data(options.verify)
            print(f"{options.verify}: as it was made, {meta['fingerprint']}")
            return 0
        refuse_own_input(options)
        meta = preprocess(
            corpus_of(options),
            chosen_preprocessing(options),
            options.out,
            shlex.join(command),
            options.force,
            map_of(options),
        )
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing written", file=sys.stderr)
        return 130
    print(table(meta))
    print(f"written to {options.out}")
    return 0


def run() -> None:
    """Run the program on the command line's arguments."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with errors_reported():
        status = main(sys.argv[1:])
    sys.exit(status)


if __name__ == "__main__":
    run()
