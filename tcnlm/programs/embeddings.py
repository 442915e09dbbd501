"""Make word2vec vectors of a DATA folder's training text, once for several runs.

`--embeddings FILE` then starts a run as `--embeddings train` would with the same seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tcnlm.common.errors import add_debug, errors_reported
from tcnlm.common.files import check_writable
from tcnlm.common.outputs import check_outputs
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.data.dataset import Dataset
from tcnlm.data.word_vectors import train_vectors, write_vectors


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the vectors and write the file."""
    options = parser().parse_args(arguments)
    check_writable(options.out)
    check_outputs(options, "out")
    dataset = Dataset(options.data)
    vectors = train_vectors(dataset, options.size, options.seed)
    write_vectors(options.out, vectors, dataset.vocabulary.words)
    print(f"{options.out}: {len(vectors):,} vectors of size {options.size}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    described = "Make word2vec vectors (skip-gram) of a data folder's training text."
    parsed = argparse.ArgumentParser(
        "python -m tcnlm embeddings", description=described
    )
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path, help="folder made by preprocessing")
    add("--out", metavar="FILE", type=Path, required=True, help="binary if named .bin")
    add(
        "--size",
        metavar="N",
        type=whole_number(1, 10_000),
        default=300,
        help="numbers a word (default: 300)",
    )
    seed, purpose = whole_number(0, LARGEST), "that of the runs (default: 1)"
    add("--seed", metavar="N", type=seed, default=1, help=purpose)
    add_debug(parsed)
    return parsed


def run() -> None:
    """Run the program on the command line's arguments."""
    with errors_reported():
        main()
