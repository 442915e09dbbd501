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
from tcnlm.common.files import replacing, writing
from tcnlm.common.process import cores
from tcnlm.common.settings import Settings
from tcnlm.common.stack import keras_version
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.preprocessing.vocabulary import FILES, Vocabulary
from tcnlm.runs.checkpoints import saved
from tcnlm.runs.folders import check_same
from tcnlm.runs.run_folder import (
    CONFIG,
    FORMAT_VERSION,
    SEAL,
    RunFolder,
    settings_of,
    write_config,
)
from tcnlm.runs.weights import DIGEST, WEIGHTS

BEGINNING = {CONFIG, SEAL, *FILES, "checkpoints", "tensorboard"}
TRAINED = (*BEGINNING, WEIGHTS, DIGEST, "history.csv", "saved_model")
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
    """Return all that is needed to repeat a run, ready for config.json.

    threads: 0 for all cores.
    """
    return {
        "format_version": FORMAT_VERSION,
        "model": model,
        "settings": _plain(settings),
        "training": _plain(training),
        "seed": seed,
        "threads": threads or cores(),
        "data": {
            "path": str(dataset.path.resolve()),
            **dataset.meta,
            "vocabulary_sha256": dataset.vocabulary.digest,
        },
        "command": command,
        **provenance(),
    }


def provenance() -> dict[str, Any]:
    """Return what a result was made with: versions, commit and machine."""
    return {
        "versions": {"python": platform.python_version(), **versions()},
        "git_commit": _git_commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def versions() -> dict[str, str]:
    """Return those of the packages that figures come from."""
    found = {package: version(package) for package in ("numpy", "gensim")}
    return {"tensorflow": tf.__version__, "keras": keras_version(), **found}


def open_run(run: Path, config: dict[str, Any], vocabulary: Vocabulary) -> None:
    """Make RUN with its configuration, or check that it holds this very run.

    One without a checkpoint is begun again, whatever its settings. What may change
    where a run goes on is changed in its config.json.
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
    write_config(run, config)


def _go_on(run: Path, config: dict[str, Any]) -> None:
    old = RunFolder(run).config
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
    changes = _changes(old, config)
    if changes:
        write_config(run, {**old, **changes})


def _changes(old: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """Return what config.json is to say of a run that goes on otherwise than it was."""
    found: dict[str, Any] = {}
    if old["data"]["path"] != config["data"]["path"] or _loop(old) != _loop(config):
        commands = [*old.get("continued_by", []), config["command"]]
        found = {name: config[name] for name in ("training", "data")}
        found["continued_by"] = commands
    since = old.get("continued_with", [])
    told = [name for name in MADE_WITH if name in old]
    first, now = ({name: c[name] for name in told} for c in (old, config))
    if now != [first, *since][-1]:
        found["continued_with"] = [*since, now]
    return found


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    own = {"model": config["model"], "seed": config["seed"]}
    data = {"DATA": config["data"]["fingerprint"]}
    return {**own, **data, **_plain(settings_of(config)[0]), **_loop(config)}


def _loop(config: dict[str, Any]) -> dict[str, Any]:
    return _plain(settings_of(config)[1])


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
