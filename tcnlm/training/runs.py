"""A RUN folder: its configuration and weights, all that a trained model needs."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from preprocessing.checks import OBJECT, SETTINGS, TEXT, check_entries
from preprocessing.vocabulary import FILES, Vocabulary
from tcnlm.common.errors import InputError, unreadable
from tcnlm.common.files import digest_line, write_json, writing
from tcnlm.common.parallel import cores
from tcnlm.common.process import program
from tcnlm.common.replacing import replacing
from tcnlm.common.settings import LARGEST, Settings, from_json
from tcnlm.common.stack import keras_version
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.models.base import Method
from tcnlm.training.checkpoints import saved
from tcnlm.training.differences import check_same
from tcnlm.training.memory import within_memory
from tcnlm.training.seeds import runs_of
from tcnlm.training.weights import DIGEST, WEIGHTS, load_weights

FORMAT_VERSION = 1
CONFIG, SEAL = "config.json", "config.sha256"
BEGINNING = {CONFIG, SEAL, *FILES, "checkpoints", "tensorboard"}
TRAINED = (*BEGINNING, WEIGHTS, DIGEST, "history.csv", "saved_model")
MADE_WITH = ("threads", "versions", "git_commit", "machine")
MOST_THREADS = 100_000


def _are(values: Any, kind: type) -> bool:
    """Whether an entry that may be missing is a list of a kind."""
    return values is None or (
        isinstance(values, list) and all(isinstance(value, kind) for value in values)
    )


_ENTRIES = {  # of config.json: what each must be
    "model": TEXT,
    "settings": OBJECT,
    "training": OBJECT,
    "seed": (
        f"a whole number from 0 to {LARGEST}",
        lambda value: type(value) is int and 0 <= value <= LARGEST,
    ),
    "command": TEXT,
    "threads": (
        f"a whole number from 0 to {MOST_THREADS}",
        lambda value: value is None
        or (type(value) is int and 0 <= value <= MOST_THREADS),
    ),
    "continued_by": ("a list of commands", lambda value: _are(value, str)),
    "continued_with": ("a list of objects", lambda value: _are(value, dict)),
    "data.path": TEXT,
    **{f"data.{name}": entry for name, entry in SETTINGS.items()},
}


def load(run: str | Path, dataset: Dataset | None = None) -> Method:
    """Return the trained model of a RUN: its best weights on validation.

    dataset: the data that it was trained on, where that is open. A RUN from before
    `vocabulary_sha256` was kept is held to the vocabulary of that.
    """
    config = read_config(run)
    vocabulary = Vocabulary.load(run)
    of_data = dataset.vocabulary.digest if dataset else None
    if config["data"].get("vocabulary_sha256", of_data) not in (
        None,
        vocabulary.digest,
    ):
        raise InputError(
            f"{run}: {' or '.join(FILES)} is not of the data that it was trained on; "
            f"copy them from {config['data']['path']}"
        )
    model = make_model(config, vocabulary)
    load_weights(model, Path(run))
    return model


def make_model(config: Mapping[str, Any], vocabulary: Vocabulary) -> Method:
    """Return the model of a configuration, with fresh weights."""
    settings, _ = settings_of(config)
    with within_memory(settings):
        made = model_class(config["model"])(settings, vocabulary, seed=config["seed"])
        made.build_weights()
    return made


def settings_of(config: Mapping[str, Any]) -> tuple[Settings, Training]:
    """Return the model's and the loop's settings, within their bounds."""
    kind = model_class(config["model"]).Config
    loop = from_json(Training, config.get("training", {}))
    return from_json(kind, config["settings"]), loop


def read_config(run: str | Path) -> dict[str, Any]:
    """Return RUN/config.json; a folder without one is refused.

    Raises InputError where it lacks what the programs go by, or has it otherwise.
    """
    path = Path(run) / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{run}: not a RUN (no config.json); {_right(run)}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({error})") from None
    if not isinstance(config, dict):
        raise InputError(f"{path}: damaged (not a JSON object)")
    if config.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{path}: format version {config.get('format_version')}, but this program "
            f"reads version {FORMAT_VERSION}; train the model again"
        )
    check_entries(path, config, _ENTRIES)
    try:
        settings_of(config)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    _check_seal(Path(run))
    return config


def write_config(run: Path, config: Mapping[str, Any]) -> None:
    """Write config.json and its SHA-256; a kill between them leaves it without one."""
    (run / SEAL).unlink(missing_ok=True)
    write_json(run / CONFIG, config)
    with replacing(run / SEAL) as aside:
        aside.write_text(digest_line(run / CONFIG), encoding="ascii")


def _check_seal(run: Path) -> None:
    """Raise InputError where config.json is not as it was written, if that is known."""
    seal = run / SEAL
    if seal.exists() and seal.read_bytes() != digest_line(run / CONFIG).encode():
        raise InputError(
            f"{run / CONFIG}: changed by hand or damaged (not what {SEAL} was made "
            f"of); put it back as it was, or train again: what may change is changed "
            f"by `{program('train')} --resume {run} --set ...`"
        )


def _right(run: str | Path) -> str:
    """Say what to give in place of a folder that is no RUN."""
    seeds = runs_of(Path(run))
    if seeds == [Path(run)]:
        return "train one with train.py"
    return f"it has those of several seeds: give {', '.join(map(str, seeds))}"


def preprocessing_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a run's training made sequences and contexts of its data."""
    rule = config.get("training", {}).get("context", "data")
    own = {} if rule == "data" else {"context": rule}
    return {**config["data"]["settings"], **own}


def open_data(
    config: Mapping[str, Any], path: str | Path | None = None, context: str = ""
) -> Dataset:
    """Open the DATA that a run was trained on, or `path` in its place.

    context: the rule of the contexts, by default the one of the training. Raises
    InputError where it is gone or not the same data.
    """
    trained_on = config["data"]
    rule = context or config["training"].get("context", "data")
    dataset = _open(path or trained_on["path"], rule, moved=path is None)
    if dataset.meta["fingerprint"] != trained_on["fingerprint"]:
        raise InputError(
            f"{dataset.path}: not the data that this run was trained on, which had "
            f"another fingerprint and was made by `{trained_on['command']}`"
        )
    return dataset


def _open(path: str | Path, context: str, moved: bool) -> Dataset:
    try:
        return Dataset(path, context)
    except InputError as error:
        hint = "; where is it now? Say so with --data" if moved else ""
        raise InputError(f"{error}{hint}") from None


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
        _open_run(run, config, vocabulary)


def _open_run(run: Path, config: dict[str, Any], vocabulary: Vocabulary) -> None:
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
    """Whether a folder holds nothing but what comes before the first checkpoint."""
    if not run.is_dir() or saved(run / "checkpoints"):
        return False
    if (run / CONFIG).exists():
        read_config(run)  # another program's is refused
    return {path.name for path in run.iterdir()} <= BEGINNING


def _begin(run: Path, config: dict[str, Any], vocabulary: Vocabulary) -> None:
    vocabulary.save(run)
    write_config(run, config)


def _go_on(run: Path, config: dict[str, Any]) -> None:
    old = read_config(run)
    check_same(run, old["command"], _flat(old), _flat(config))
    was, now = old.get("threads", config["threads"]), config["threads"]
    if was != now:
        print(
            f"{run}: was trained with {was} threads, goes on with {now}: the figures "
            "may differ in the last digits"
        )
    if not saved(run / "checkpoints") and (run / WEIGHTS).exists():
        raise InputError(
            f"{run}: holds trained weights but no checkpoint to go on from; give "
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
    """Return a dataclass as JSON will give it back."""
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


def read_history(run: Path) -> dict[str, np.ndarray]:
    """Return the columns of RUN/history.csv; none where there is no such file.

    An empty cell is not a number. Raises InputError for a line that is no row of it.
    """
    path = run / "history.csv"
    if not path.is_file():
        return {}
    try:
        names, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        numbers = [[float(cell or "nan") for cell in row] for row in rows]
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{path}: damaged ({error})") from None
    for line, row in enumerate(numbers, 2):
        if len(row) != len(names):
            raise InputError(f"{path}:{line}: {len(row)} cells for {len(names)} names")
    if "epoch" not in names:
        raise InputError(f"{path}:1: damaged (no column epoch)")
    return {name: np.array(column) for name, column in zip(names, zip(*numbers))}
