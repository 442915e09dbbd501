"""Train a model on a DATA folder into a RUN folder; started again, it goes on."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from preprocessing.errors import errors_reported
from tcnlm.data.dataset import Dataset
from tcnlm.evaluation.measures import judge
from tcnlm.generation.saved_model import export
from tcnlm.models import MODELS, model_class
from tcnlm.process import keep_memory, make_reproducible
from tcnlm.settings import Settings, describe, names, override, whole_number
from tcnlm.training.checkpoints import saved
from tcnlm.training.interrupts import Interrupted, interrupts
from tcnlm.training.runs import WEIGHTS, make_model, new_config, open_run
from tcnlm.training.settings import Training
from tcnlm.training.trainer import NotFiniteError, Trainer

PRESETS = {
    "paper-small": {"units": 600, "layers": 1},
    "paper-large": {"units": 900, "layers": 2},
    "table6": {"units": 100, "layers": 1, "num_topics": 30},
    "tiny": {"units": 16, "embedding_size": 16, "num_topics": 5, "head_start": 100},
}


def main(options: argparse.Namespace, command: str) -> None:
    """Train as the options say, then write the SavedModel."""
    keep_memory()
    make_reproducible(options.seed, options.threads)
    settings, loop = chosen_settings(options)
    judged = judge(model_class(options.model), loop.judge)
    dataset, run = Dataset(options.data, loop.context), Path(options.out)
    config = new_config(options.model, settings, loop, dataset, options.seed, command)
    model = make_model(config, dataset.vocabulary)
    model.check()
    open_run(run, config, dataset.vocabulary)
    trainer = Trainer(model, dataset, run, loop, options.seed)
    state = trainer.train()
    model.load_weights(run / WEIGHTS)
    made = dataset.meta["settings"]
    saved_model = run / "saved_model"
    export(model, saved_model, made["sequence_length"], made["context_words"])
    best = f"validation {judged.title} {judged.form.format(state.best)}"
    print(f"{run}: {best} after {state.epoch} epochs")


def farewell(run: Path, command: str) -> str:
    """Return how an interrupted training goes on."""
    checkpoints = saved(run / "checkpoints")
    if not checkpoints:
        return f"interrupted before the first checkpoint: `{command}` begins again"
    step = int(checkpoints[-1].name)
    return f"interrupted: `{command}` goes on from step {step}"


def chosen_settings(options: argparse.Namespace) -> tuple[Settings, Training]:
    """Return the model's and the loop's settings: defaults, preset, then --set."""
    kinds = {name: model_class(name).Config for name in MODELS}
    config = kinds[options.model]()
    preset = PRESETS.get(options.preset, {}).items()
    config = replace(config, **{k: v for k, v in preset if k in names(config)})
    return override((config, Training()), options.set, kinds)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    settings = {name: model_class(name).Config for name in MODELS}
    parsed = argparse.ArgumentParser(
        description=__doc__,
        epilog=describe(settings, Training, PRESETS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parsed.add_argument
    add("data", metavar="DATA", help="folder made by python -m preprocessing")
    add("--model", choices=sorted(MODELS), default="tcnlm", help="default: tcnlm")
    add("--out", metavar="RUN", required=True, help="folder for all that comes of it")
    add(
        "--set",
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="override settings, listed below",
    )
    add(
        "--embeddings",
        metavar="train|FILE",
        help="start from word2vec vectors made "
        "from the training text, or from a file; short for --set embeddings=...",
    )
    add("--preset", choices=sorted(PRESETS), help="sizes to start from, listed below")
    seed, cores = whole_number(0, 2**31 - 1), whole_number(0, os.cpu_count() or 1)
    add("--seed", type=seed, default=1, help="of all that is random (default: 1)")
    add("--threads", type=cores, default=0, help="cores to use (default: 0, all)")
    return parsed


if __name__ == "__main__":
    chosen = parser().parse_args()
    if chosen.embeddings:
        chosen.set.append(f"embeddings={chosen.embeddings}")
    line = shlex.join(["python", *sys.argv])
    with interrupts.listen(), errors_reported(NotFiniteError):
        try:
            main(chosen, line)
        except Interrupted as interrupted:
            print(farewell(Path(chosen.out), line), file=sys.stderr, flush=True)
            sys.stdout.flush()
            os._exit(interrupted.status)  # TensorFlow takes a second to take leave
