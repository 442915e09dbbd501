"""Record an evaluated RUN in results/: python tools/record.py RUN results/NAME.json.

What is kept is what a reader needs to repeat the run and to compare it: command,
settings, data, seed, machine, history and figures; no text of the corpus.
"""

import csv
import json
import sys
from pathlib import Path

DATA = ("command", "fingerprint", "vocabulary_size", "topic_vocabulary_size", "splits")
RUN = ("model", "command", "settings", "training", "seed", "versions", "git_commit")
RUN += ("machine",)


def record(run: Path) -> dict:
    """Return the contents of a results file."""
    config = json.loads((run / "config.json").read_text())
    evaluation = json.loads((run / "evaluation.json").read_text())
    with (run / "history.csv").open(newline="") as file:
        history = list(csv.DictReader(file))
    evaluation.pop("documents")
    return {
        "run": {name: config[name] for name in RUN},
        "data": {name: config["data"][name] for name in DATA},
        "evaluation": evaluation,
        "history": [
            {name: float(value) for name, value in row.items()} for row in history
        ],
    }


if __name__ == "__main__":
    run, out = map(Path, sys.argv[1:])
    out.write_text(json.dumps(record(run), indent=1) + "\n")
