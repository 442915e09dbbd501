"""What may change where a run goes on, and how a command for another run is refused."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcnlm.common.errors import InputError
from tcnlm.common.process import program

# None of these is in the weights after a step; where rates decay, `epochs` is.
FREE = ("epochs", "patience", "checkpoint_minutes", "checkpoint_steps")


def check_same(
    run: Path, command: str, was: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Raise InputError where `now` is another run than `was`, that of RUN.

    was, now: settings by name, with "model", "seed" and "DATA", its fingerprint;
    command: that RUN was begun with.
    """
    changed = [n for n in was if n in now and was[n] != now[n] and n not in FREE]
    if changed:
        raise InputError(
            f"{run}: holds a run with other settings "
            f"({', '.join(_change(name, was, now) for name in changed)}); give another "
            f"--out, or go on with it by `{resume_command(run)}`; it was begun by "
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
    return f"{name} {_text(was[name])} -> {_text(now[name])}"


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
