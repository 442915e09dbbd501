"""RUN folders of several seeds, and what may change where a run goes on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcnlm.common.errors import InputError
from tcnlm.common.process import program
from tcnlm.common.settings import as_text

EXPORT = "saved_model"  # the SavedModel's folder in RUN
PREFIX = "seed-"
_NAME = re.compile(f"{PREFIX}([0-9]+)")


def seed_folder(out: Path, seed: int) -> Path:
    """Return where the run of a seed is."""
    return out / f"{PREFIX}{seed}"


def topics_folder(out: Path, number: int) -> Path:
    """Return where the run of a number of topics is, or its runs of several seeds."""
    return out / f"topics-{number}"


def is_seed_folder(path: Path) -> bool:
    """Whether a folder is named as one of several seeds'."""
    return bool(_NAME.fullmatch(path.name))


def runs_of(path: Path) -> list[Path]:
    """Return the runs of a folder of several seeds, by seed; any other is a run."""
    if (path / "config.json").exists():
        return [path]
    found = filter(is_seed_folder, path.glob(f"{PREFIX}*"))
    return sorted(found, key=lambda run: int(run.name[len(PREFIX) :])) or [path]


# None of these is in the weights after a step; where rates decay, `epochs` is.
FREE = ("epochs", "patience", "checkpoint_minutes", "checkpoint_steps")


def check_same(
    run: Path, command: str, was: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Raise InputError where `now` is another run than `was`, that of RUN.

    Settings by name, with "model", "seed" and "DATA"; command: that RUN was begun with.
    """
    changed = [n for n in was if n in now and was[n] != now[n] and n not in FREE]
    if changed:
        raise InputError(
            f"{run}: holds a run with other settings "
            f"({', '.join(_change(name, was, now) for name in changed)}); give another "
            f"--out, or continue it with `{resume_command(run)}`; it was begun by "
            f"`{command}`"
        )
    if was["epochs"] != now["epochs"] and was["decay"] != "constant":
        raise InputError(
            f"{run}: {_change('epochs', was, now)} cannot be: decay={was['decay']} "
            f"made the rates for {was['epochs']} epochs; give another --out"
        )


def resume_command(run: Path) -> str:
    """Return the command that goes on with a run."""
    return f"{program('train')} --resume {shlex.quote(str(run))}"


def _change(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if name == "DATA":
        return "DATA with other contents"
    return f"{name} {as_text(was[name])} -> {as_text(now[name])}"
