"""`python -m preprocessing SOURCE-OPTIONS --out DATA`: raw text to the DATA directory."""

from __future__ import annotations

import sys

from preprocessing.arguments import parse
from preprocessing.errors import InputError
from preprocessing.pipeline import preprocess
from preprocessing.table import table


def main(arguments: list[str]) -> int:
    """Runs the command; the exit status is 2 for bad input, 130 for Ctrl-C."""
    try:
        corpus, settings, options = parse(arguments)
        command = " ".join(["python -m preprocessing", *arguments])
        meta = preprocess(corpus, settings, options.out, command, options.force)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    print(table(meta))
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
