"""How far a run was trained, by its config.json and history.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tcnlm.common.settings import from_json
from tcnlm.layers.optimization import Training
from tcnlm.metrics.base import Figure
from tcnlm.metrics.registry import judge
from tcnlm.models import model_class


def progress(
    config: Mapping[str, Any], history: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    """Return {"epoch": that of the weights, "stopped": {"epoch", "of"}}, for JSON.

    "stopped" is None where training came to its end; both where nothing is known.
    """
    loop = from_json(Training, config.get("training", {}))
    judged = judge(model_class(config["model"]), loop.judge)
    values = history.get(f"valid_{judged.key}", ())
    if not len(values):
        return {"epoch": None, "stopped": None}
    best, epochs = _best(judged, values), history["epoch"]
    waited, last = len(values) - 1 - best, epochs[-1]
    fitted = history["step"][-1] == 0  # before any training, and that was all
    ended = fitted or waited >= loop.patience or last >= loop.epochs
    stopped = None if ended else {"epoch": _number(last), "of": loop.epochs}
    return {"epoch": _number(epochs[best]), "stopped": stopped}


def _best(judged: Figure, values: Sequence[float]) -> int:
    best = 0
    for i, value in enumerate(values):
        best = i if judged.improves(value, values[best]) else best
    return best


def _number(epoch: float) -> int | float:
    return int(epoch) if float(epoch).is_integer() else float(epoch)


def stated(evaluation: Mapping[str, Any]) -> str:
    """Return an evaluation's progress in words; nothing where none is known."""
    epoch, stopped = evaluation.get("epoch"), evaluation.get("stopped")
    if epoch is None:
        return ""
    text = f"weights of epoch {epoch:g}"
    if stopped:
        text += f", stopped at epoch {stopped['epoch']:g} of {stopped['of']}"
    return text
