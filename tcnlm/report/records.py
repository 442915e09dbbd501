"""What is kept of a run that was really made: results/*.json.

Command, settings, data, seed, machine, time, history and figures: what a reader needs
to repeat the run and to compare it. No text of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcnlm.common.files import write_json, writing
from tcnlm.measures.table import MEASURES
from tcnlm.training.run_folder import RunFolder

DATA = ("command", "fingerprint", "vocabulary_size", "topic_vocabulary_size", "splits")
RUN = ("model", "command", "settings", "training", "seed", "versions", "git_commit")
RUN += ("machine",)
SINCE = ("continued_by", "continued_with")  # of a run that went on otherwise


def record(run: RunFolder, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a results file."""
    config, history = run.config, run.history()
    rows = zip(*history.values())
    return {
        "run": {name: config[name] for name in (*RUN, *SINCE) if name in config},
        "data": {
            "name": Path(evaluation["data"]["path"]).name,
            **{name: config["data"][name] for name in DATA},
        },
        "evaluation": _without_text(evaluation),
        "history": [dict(zip(history, map(float, row))) for row in rows],
    }


def _without_text(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(evaluation)
    for name in (name for measure in MEASURES for name in measure.unrecorded):
        entry, _, part = name.partition(".")
        if not part:
            kept.pop(entry, None)
        elif kept.get(entry):
            kept[entry] = {k: v for k, v in kept[entry].items() if k != part}
    return kept


def write_record(run: RunFolder, evaluation: Mapping[str, Any], file: Path) -> None:
    """Write a results file, whole or not at all."""
    with writing(file):
        write_json(file, record(run, evaluation))
