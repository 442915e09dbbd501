"""A RUN folder as it is read: its configuration, model, data and history."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError, unreadable
from tcnlm.common.files import is_as_sealed, seal, write_json
from tcnlm.common.process import program, refuse_forks
from tcnlm.common.settings import LARGEST, Settings, as_text, from_json
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.models.base import Model
from tcnlm.models.names import FILE as NAMES
from tcnlm.models.names import Names, automatic_labels, read_names
from tcnlm.preprocessing import data_folder
from tcnlm.preprocessing.data_folder import TEXT
from tcnlm.preprocessing.phrases import FILE as PHRASES
from tcnlm.preprocessing.vocabulary import FILES, Vocabulary
from tcnlm.runs.folders import runs_of
from tcnlm.runs.weights import load_weights

COPIES = 4  # of every weight in training: its gradient and Adam's two moments


@contextmanager
def within_memory(settings: Settings) -> Iterator[None]:
    """Raise InputError where the weights made inside do not fit into this machine."""
    left = memory() / COPIES

    def create(make: Callable[..., Any], **options: Any) -> Any:
        nonlocal left
        left -= _size(options)
        if left < 0:
            raise MemoryError
        return make(**options)

    try:
        with tf.variable_creator_scope(create):
            yield
    except (MemoryError, OverflowError, tf.errors.ResourceExhaustedError):
        shown = " ".join(f"{n}={as_text(v)}" for n, v in asdict(settings).items())
        raise InputError(
            f"to train such a model takes more than this machine's "
            f"{memory() / 2**30:.0f} GB of memory; make it smaller: {shown}"
        ) from None


def memory() -> float:
    """Return the bytes of memory of this machine; infinite where that is not told."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _size(options: dict[str, Any]) -> float:
    shape, value = options.get("shape"), options.get("initial_value")
    if shape is None:
        shape = [] if callable(value) else np.shape(value)
    elements = np.prod([float(n or 1) for n in tf.TensorShape(shape)])
    return float(elements) * tf.as_dtype(options.get("dtype") or tf.float32).size


FORMAT_VERSION = 1
CONFIG, SEAL = "config.json", "config.sha256"
MOST_THREADS = 100_000
RENAMED = {  # settings of RUNs of before, and what they are called now
    "head_start": "topic_pretrain_steps",
    "head_start_rates": "topic_pretrain_rates",
    "head_start_decay": "topic_pretrain_decay",
    "factor_rate": "factor_lr_multiplier",
    "recurrent_rate": "recurrent_lr_multiplier",
    "mean_deviation": "mu_batchnorm_std",
}
DROPPED = {"evaluation_steps": 0, "attention_dropout": 0.0}  # and their defaults


def _number(most: int, optional: bool = False) -> tuple[str, Callable[[Any], bool]]:
    def is_good(value: Any) -> bool:
        known = type(value) is int and 0 <= value <= most
        return known or (optional and value is None)

    return f"a whole number from 0 to {most}", is_good


def _all_are(kind: type) -> Callable[[Any], bool]:
    return lambda found: found is None or (
        isinstance(found, list) and all(isinstance(each, kind) for each in found)
    )


_ENTRIES = {  # of config.json: what each must be
    "model": TEXT,
    "settings": data_folder.OBJECT,
    "training": data_folder.OBJECT,
    "seed": _number(LARGEST),
    "command": TEXT,
    "threads": _number(MOST_THREADS, optional=True),
    "continued_by": ("a list of commands", _all_are(str)),
    "continued_with": ("a list of objects", _all_are(dict)),
    "data.path": TEXT,
    "data.vocabulary_sha256": TEXT,
    **{f"data.{name}": entry for name, entry in data_folder.SETTINGS.items()},
}


class RunFolder:
    """A RUN folder, opened once: its configuration is read and checked.

    `config` is what config.json holds, `settings` the model's of it, `training` the
    loop's. Raises InputError where it is missing, or not as the programs need it.
    """

    def __init__(self, path: str | Path):
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"a RUN must be given as a str or Path, not {path!r:.40}")
        self.path = Path(path)
        self.config = _read(self.path)
        self.model_name = self.config["model"]  # in the registry
        self.fingerprint = self.config["data"]["fingerprint"]  # of its DATA
        try:
            self.settings, self.training = settings_of(self.config)
        except InputError as error:
            raise InputError(f"{self.path / CONFIG}: {error}") from None
        if not is_as_sealed(self.path / CONFIG, self.path / SEAL):
            raise InputError(
                f"{self.path / CONFIG}: changed by hand or damaged (not what {SEAL} "
                f"was made of); put it back as it was, or train again: what may change "
                f"is changed by `{program('train')} --resume {self.path} --set ...`"
            )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the data that it was trained on."""
        data = self.config["data"]
        found = Vocabulary.load(self.path, data_folder.language_of(data["settings"]))
        if found.digest != data["vocabulary_sha256"]:
            raise InputError(
                f"{self.path}: {', '.join(FILES)} or {PHRASES} is not of the data that "
                f"it was trained on; copy those that are there from {data['path']}"
            )
        return found

    def load(self) -> Model:
        """Return the trained model: its best weights on validation."""
        model = make_model(self.config, self.vocabulary)
        load_weights(model, self.path)
        return model

    def names(self, model: Model) -> Names:
        """Return what its model's topics are called, by topics.csv if it has it."""
        if not model.offers("topics"):
            return Names(())
        return read_names(self.path / NAMES, automatic_labels(model))

    @property
    def preprocessing(self) -> dict[str, Any]:
        """How its training made sequences and contexts of its data."""
        rule = self.training.context
        own = {} if rule == "data" else {"context": rule}
        return {**self.config["data"]["settings"], **own}

    def data(self, path: str | Path | None = None, context: str = "") -> Dataset:
        """Open the DATA that it was trained on, or `path` in its place.

        context: the rule of the contexts, by default the one of the training. Raises
        InputError where it is gone or not the same data.
        """
        trained_on = self.config["data"]
        try:
            dataset = Dataset(path or trained_on["path"])
        except InputError as error:
            hint = "" if path else "; where is it now? Say so with --data"
            raise InputError(f"{error}{hint}") from None
        if dataset.meta["fingerprint"] != trained_on["fingerprint"]:
            raise InputError(
                f"{dataset.path}: not the data that this run was trained on, which had "
                f"another fingerprint and was made by `{trained_on['command']}`"
            )
        dataset.use_context(context or self.training.context)
        return dataset

    def history(self) -> dict[str, np.ndarray]:
        """Return the columns of history.csv; none where there is no such file."""
        path = self.path / "history.csv"
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
                cells = f"{len(row)} cells for {len(names)} columns"
                raise InputError(f"{path}:{line}: {cells}")
        if "epoch" not in names:
            raise InputError(f"{path}:1: damaged (no column epoch)")
        return {name: np.array(column) for name, column in zip(names, zip(*numbers))}


def _read(run: Path) -> dict[str, Any]:
    path = run / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        seeds, right = runs_of(run), "train one with train.py"
        if seeds != [run]:
            right = f"it has those of several seeds: give {', '.join(map(str, seeds))}"
        raise InputError(f"{run}: not a RUN (no config.json); {right}") from None
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
    data_folder.check_entries(path, config, _ENTRIES)
    for part in ("settings", "training"):
        values = {RENAMED.get(n, n): v for n, v in config.get(part, {}).items()}
        same = {n for n, v in DROPPED.items() if values.get(n) == v}
        config[part] = {n: v for n, v in values.items() if n not in same}
    return config


def write_config(run: Path, config: Mapping[str, Any]) -> None:
    """Write config.json and its SHA-256; a kill between them leaves it without one."""
    (run / SEAL).unlink(missing_ok=True)
    write_json(run / CONFIG, config)
    seal(run / CONFIG, run / SEAL)


def make_model(config: Mapping[str, Any], vocabulary: Vocabulary) -> Model:
    """Return the model of a configuration, with fresh weights."""
    refuse_forks()
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
