"""What is kept of a run that was really made: a line of results/records.jsonl.

What a reader needs to repeat and compare it; no text of the corpus, and of paths the
last names alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from tcnlm.common.errors import InputError, reading
from tcnlm.common.files import write_file
from tcnlm.metrics.registry import METRICS
from tcnlm.runs.folders import is_seed_folder
from tcnlm.runs.run_folder import RunFolder

DATA = ("command", "fingerprint", "vocabulary_size", "topic_vocabulary_size", "splits")
RUN = ("seed", "model", "command", "settings", "training", "git_commit", "versions")
RUN += ("machine",)
SINCE = ("continued_by", "continued_with")  # of a run that went on otherwise
HOW = ("command", "versions", "split", "samples", "context", "epoch", "stopped")
TOLD = ("run", "model", "data", "corpus", *HOW)  # beside the figures
CURVE = ("epoch", "seconds", "train_perplexity", "valid_perplexity")
WORDS = ("absent_words", "seed_words")  # entries where a slash leads to no file
FOLDERS = re.compile(r"(?<![^\s=,'\"])[^\s=,'\"]*/(?=[^\s/])")

Record = dict[str, Any]


def record(run: RunFolder, evaluation: Mapping[str, Any]) -> Record:
    """Return the line of a run; its recipe is the name of its folder."""
    folder, config, history = run.path.absolute(), run.config, run.history()
    folder = folder.parent if is_seed_folder(folder) else folder
    told = {name: evaluation[name] for name in HOW if evaluation.get(name) is not None}
    figures = {k: v for k, v in evaluation.items() if k not in TOLD and v is not None}
    for unrecorded in (name for measure in METRICS for name in measure.unrecorded):
        entry, _, part = unrecorded.partition(".")
        if not part:
            figures.pop(entry, None)
        elif figures.get(entry):
            figures[entry] = {k: v for k, v in figures[entry].items() if k != part}
    name = Path(evaluation["data"]["path"]).name
    return _without_folders(
        {
            "recipe": folder.name,
            **{name: config[name] for name in (*RUN, *SINCE) if name in config},
            "data": {"name": name, **{name: config["data"][name] for name in DATA}},
            "evaluation": told,
            "figures": figures,
            "curve": {k: [*map(float, history[k])] for k in CURVE if k in history},
        }
    )


def _without_folders(content: Any) -> Any:
    """Return JSON with the last names of the paths in its texts alone."""
    if isinstance(content, dict):
        return {
            name: value if name in WORDS else _without_folders(value)
            for name, value in content.items()
        }
    if isinstance(content, (list, tuple)):
        return [_without_folders(value) for value in content]
    return FOLDERS.sub("", content) if isinstance(content, str) else content


def read_records(file: Path) -> list[Record]:
    """Return the lines of a file. Raises InputError where one is no record."""
    with reading(file):
        lines = file.read_text(encoding="utf-8").splitlines()
    try:
        records = [json.loads(line) for line in lines]
        [_key(each) for each in records]
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{file}: has lines that are not records") from None
    return records


def write_records(records: Iterable[Record], file: Path) -> None:
    """Write lines, a run each, whole or not at all."""
    plain = partial(json.dumps, ensure_ascii=False, default=methodcaller("item"))
    lines = (f"{plain(each)}\n" for each in records)
    write_file(file, "".join(lines).encode())


def write_record(run: RunFolder, evaluation: Mapping[str, Any], file: Path) -> None:
    """Add a run's line to a file, or put it in place of that of its recipe and seed."""
    new = record(run, evaluation)
    old = read_records(file) if file.exists() else []
    write_records([*(each for each in old if _key(each) != _key(new)), new], file)


def _key(each: Record) -> tuple[str, int]:
    return each["recipe"], each["seed"]
