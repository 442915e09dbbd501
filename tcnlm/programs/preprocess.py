"""`python -m preprocessing SOURCE --out DATA`: raw text to the DATA directory.

`python -m preprocessing --verify DATA` tells whether one is as it was made.
"""

from __future__ import annotations

import shlex
import signal
import sys

from tcnlm.common.errors import InputError, errors_reported
from tcnlm.common.runners import without_runner
from tcnlm.preprocessing.arguments import (
    chosen_preprocessing,
    corpus_of,
    map_of,
    parse,
    refuse_own_input,
)
from tcnlm.preprocessing.checks import open_data
from tcnlm.preprocessing.pipeline import preprocess
from tcnlm.preprocessing.splits import SPLITS

_COLUMNS = ("documents", "sentences", "tokens", "targets", "sequences", "unknown")


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


def table(meta: dict) -> str:
    """Return Table 1 of the TCNLM paper: vocabulary sizes, the size of every split."""
    header = f"{'':7}" + "".join(f"{name:>13}" for name in _COLUMNS)
    return "\n".join(
        [
            f"vocabulary: LM {meta['vocabulary_size']:,}, "
            f"TM {meta['topic_vocabulary_size']:,}",
            header,
            *(_row(name, meta["splits"][name]) for name in SPLITS),
            _without_topic_words(meta["splits"]),
            *([_left_out(meta["left_out"])] if "left_out" in meta else []),
        ]
    )


def _row(name: str, counts: dict[str, int]) -> str:
    share = counts["unknown"] / max(counts["tokens"], 1)
    cells = [f"{counts[column]:>13,}" for column in _COLUMNS[:-1]]
    return f"{name:7}" + "".join(cells) + f"{share:>13.2%}"


def _without_topic_words(splits: dict[str, dict[str, int]]) -> str:
    numbers = (f"{name} {splits[name]['without_topic_words']:,}" for name in SPLITS)
    return f"documents without a topic word: {', '.join(numbers)}"


def _left_out(number: int) -> str:
    return f"left out by --skip-empty, without a text: {number:,}"


def run() -> None:
    """Run the program on the command line's arguments."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with errors_reported():
        status = main(sys.argv[1:])
    sys.exit(status)


if __name__ == "__main__":
    run()
