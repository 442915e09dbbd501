"""Write a RUN's model as a SavedModel; see `tcnlm.generation.saved_model`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from tcnlm.common.errors import add_debug
from tcnlm.common.files import digest_of
from tcnlm.runs.folders import EXPORT


def main(arguments: Sequence[str]) -> None:
    """Export the model of a RUN."""
    options = parser().parse_args(arguments)
    # Here, since to say how it is used takes no TensorFlow.
    from tcnlm.common.files import owned
    from tcnlm.generation.saved_model import check_free, check_warm_up, export
    from tcnlm.runs.new_run import TRAINED
    from tcnlm.runs.run_folder import RunFolder
    from tcnlm.runs.weights import WEIGHTS

    run = RunFolder(options.run)
    preprocessing = run.config["data"]["settings"]
    own = options.run / EXPORT
    folder = options.out or own
    check_free(folder)
    if options.warm_up:
        check_warm_up()
    inside = folder.resolve() == own.resolve()
    with owned(options.run, TRAINED) if inside else nullcontext():
        model = run.load()
        sizes = preprocessing["sequence_length"], preprocessing["context_words"]
        source = digest_of(options.run / WEIGHTS)
        export(model, folder, *sizes, source, options.warm_up)
    print(f"{folder}: written")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m tcnlm export", description=__doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="folder made by train.py")
    add("--out", metavar="FOLDER", type=Path, help="default: RUN/saved_model")
    requests = (
        "with requests for TensorFlow Serving to warm up by; needs its package, "
        "tensorflow-serving-api"
    )
    add("--warm-up", action="store_true", help=requests)
    add_debug(parsed)
    return parsed
