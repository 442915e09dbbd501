"""Give the settings of a RUN of before their names of today, and seal it again."""

import json
import sys
from pathlib import Path

from tcnlm.runs.run_folder import CONFIG, RENAMED, write_config


def convert(run: Path) -> None:
    """Rewrite RUN/config.json; weights and all else stay as they are."""
    config = json.loads((run / CONFIG).read_text(encoding="utf-8"))
    for part in ("settings", "training"):
        config[part] = {RENAMED.get(n, n): v for n, v in config[part].items()}
    write_config(run, config)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: python tools/convert_run.py RUN ...\n\n{__doc__}")
    for run in map(Path, sys.argv[1:]):
        convert(run)
