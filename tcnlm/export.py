"""Write a RUN's model as a SavedModel; see `tcnlm.generation.saved_model`."""

from __future__ import annotations

import argparse
from pathlib import Path

from preprocessing.errors import errors_reported
from tcnlm.generation.saved_model import export
from tcnlm.training.runs import load, read_config
from tcnlm.training.weights import WEIGHTS, digest_of


def main() -> None:
    """Export the model of a RUN."""
    parser = argparse.ArgumentParser(description="Write a RUN's model as a SavedModel.")
    parser.add_argument("run", metavar="RUN", help="folder made by train.py")
    parser.add_argument("--out", metavar="FOLDER", help="default: RUN/saved_model")
    options = parser.parse_args()
    settings = read_config(options.run)["data"]["settings"]
    folder = Path(options.out or Path(options.run) / "saved_model")
    model = load(options.run)
    sizes = settings["sequence_length"], settings["context_words"]
    export(model, folder, *sizes, source=digest_of(Path(options.run) / WEIGHTS))
    print(f"{folder}: written")


if __name__ == "__main__":
    with errors_reported():
        main()
