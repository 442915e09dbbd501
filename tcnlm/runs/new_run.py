"""A RUN folder as it is begun, or gone on with."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.files import remove_leftovers, replacing, writing
from tcnlm.common.process import cores
from tcnlm.common.settings import Settings
from tcnlm.common.stack import keras_version
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.preprocessing.phrases import FILE as PHRASES
from tcnlm.preprocessing.vocabulary import FILES, Vocabulary
from tcnlm.runs import run_folder
from tcnlm.runs.checkpoints import saved
from tcnlm.runs.folders import EXPORT, check_same
from tcnlm.runs.run_folder import CONFIG, RunFolder
from tcnlm.runs.weights import DIGEST, WEIGHTS

BEGINNING = {CONFIG, run_folder.SEAL, *FILES, PHRASES, "checkpoints", "tensorboard"}
TRAINED = (*BEGINNING, WEIGHTS, DIGEST, "history.csv", EXPORT)
MADE_WITH = ("threads", "versions", "git_commit", "machine")


def new_config(
    model: str,
    settings: Settings,
    training: Training,
    dataset: Dataset,
    seed: int,
    command: str,
    threads: int = 0,
) -> dict[str, Any]:
    """Return what repeats a run, for config.json; threads: 0 for all cores."""
    data = {"path": str(dataset.path.resolve()), **dataset.meta}
    return {
        "format_version": run_folder.FORMAT_VERSION,
        "model": model,
        "settings": _plain(settings),
        "training": _plain(training),
        "seed": seed,
        "threads": threads or cores(),
        "data": {**data, "vocabulary_sha256": dataset.vocabulary.digest},
        "command": command,
        "versions": {"python": platform.python_version(), **versions()},
        "git_commit": _git_commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def versions() -> dict[str, str]:
    """Return those of the packages that figures come from."""
    found = {package: version(package) for package in ("numpy", "gensim")}
    return {"tensorflow": tf.__version__, "keras": keras_version(), **found}


def open_run(run: Path, config: dict[str, Any], vocabulary: Vocabulary) -> None:
    """Make RUN, begin one without a checkpoint again, or check that it holds this run.

    What may change where a run goes on is changed in its config.json.
    """
    with writing(run):
        if not run.exists():
            with replacing(run) as aside:
                aside.mkdir(parents=True)
                _begin(aside, config, vocabulary)
        elif _is_beginning(run):
            _begin(run, config, vocabulary)
        elif (run / CONFIG).exists():
            _go_on(run, config)
        else:
            raise InputError(f"{run}: not empty and not a RUN; give another --out")


def _is_beginning(run: Path) -> bool:
    if not run.is_dir() or saved(run / "checkpoints"):
        return False
    if (run / CONFIG).exists():
        RunFolder(run)  # another program's is refused
    return {path.name for path in run.iterdir()} <= BEGINNING


def _begin(run: Path, config: dict[str, Any], vocabulary: Vocabulary) -> None:
    vocabulary.save(run)
    run_folder.write_config(run, config)


def _go_on(run: Path, config: dict[str, Any]) -> None:
    """Check that RUN may go on so; say in its config.json what is otherwise now."""
    old = RunFolder(run).config
    remove_leftovers(run / "checkpoints")  # a kill may have left the only one aside
    check_same(run, old["command"], _flat(old), _flat(config))
    was, now = old.get("threads", config["threads"]), config["threads"]
    if was != now:
        print(
            f"{run}: was trained with {was} threads and continues with {now}: "
            "the figures may differ in the last digits"
        )
    if not saved(run / "checkpoints") and (run / WEIGHTS).exists():
        raise InputError(
            f"{run}: holds trained weights but no checkpoint to continue from; give "
            "another --out, or remove it to begin again"
        )
    changes: dict[str, Any] = {}
    loops = [run_folder.settings_of(each)[1] for each in (old, config)]
    if old["data"]["path"] != config["data"]["path"] or loops[0] != loops[1]:
        changes = {name: config[name] for name in ("training", "data")}
        changes["continued_by"] = [*old.get("continued_by", []), config["command"]]
    since, told = old.get("continued_with", []), [n for n in MADE_WITH if n in old]
    first, now = ({name: c[name] for name in told} for c in (old, config))
    if now != [first, *since][-1]:
        changes["continued_with"] = [*since, now]
    if changes:
        run_folder.write_config(run, {**old, **changes})


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    own = {"model": config["model"], "seed": config["seed"]}
    settings, loop = map(_plain, run_folder.settings_of(config))
    return {**own, "DATA": config["data"]["fingerprint"], **settings, **loop}


def _plain(settings: Settings) -> dict[str, Any]:
    return json.loads(json.dumps(dataclasses.asdict(settings)))


def _git_commit() -> str | None:
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():  # installed, perhaps within another repository
        return None
    command = ["git", "-C", str(root), "describe"]
    command += ["--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
