"""Settings of a run: frozen dataclasses, overridden by `name=value` from the shell."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from preprocessing.errors import InputError

POSITIVE = {"units", "layers", "embedding_size", "num_topics", "batch_size", "epochs"}
POSITIVE |= {
    "window",
    "patience",
    "document_sequences",
    "filters",
    "filter_width",
    "topic_size",
}
POSITIVE |= {"context_sentences", "context_units", "passes", "chunk_size", "iterations"}
ABOVE_ZERO = {"alpha", "eta", "recurrent_rate"}
SHARES = {"dropout", "encoder_dropout", "topic_dropout"}
ANY_SIGN = {"forget_bias", "prior_mean", "log_variance"}
CHOICES = {
    "candidate_activation": ("tanh", "sigmoid"),
    "cell": ("lstm", "gru", "rnn"),
    "encoder_input": ("counts", "log", "frequencies"),
    "decay": ("constant", "linear", "cosine"),
    "reset": ("document", "never"),
    "context": ("data", "others", "preceding", "read", "leak", "all"),
    "recurrent_start": ("keras", "product"),
    "topic_start": ("frequencies", "random"),
}
_WANTED = {bool: "true or false", int: "a whole number", float: "a number"}


class SettingError(InputError):
    """A setting that does not exist or a value that does not fit it."""


@dataclass(frozen=True)
class Training:
    """Settings of the training loop, the same for every model."""

    batch_size: int = 64  # sequences; Lau et al. 2017
    epochs: int = 20  # at most; TCNLM's are not stated
    judge: str = ""  # measure by which weights are kept; "" takes the model's own
    evaluation_steps: int = 0  # batches between evaluations; one after every epoch too
    patience: int = 2  # evaluations without a better figure before the end
    context: str = "data"  # rule of the contexts; "data" is the one DATA was made with
    clip_norm: float = 5.0  # of each group's gradient; Lau et al. 2017
    decay: str = "constant"  # of the rates; or "linear", "cosine" to 0 at `epochs`' end
    lazy_adam: bool = False  # leave embeddings that a batch does not touch as they are
    checkpoint_minutes: float = 10.0  # between checkpoints; one after every epoch too
    checkpoint_steps: int = 0  # batches between checkpoints; 0 goes by minutes alone


def override(configs: tuple[Any, ...], assignments: list[str]) -> tuple[Any, ...]:
    """Return the configs with every `name=value` put into the one that has the name."""
    known = {field.name for config in configs for field in dataclasses.fields(config)}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or name not in known:
            raise SettingError(
                f"--set {assignment}: write name=value with a name out of "
                f"{', '.join(sorted(known))}"
            )
        configs = tuple(_with(config, name, text) for config in configs)
    return configs


def _with(config: Any, name: str, text: str) -> Any:
    kind = get_type_hints(type(config)).get(name)
    if kind is None:
        return config
    return dataclasses.replace(config, **{name: parse(name, text, kind)})


def parse(name: str, text: str, kind: Any) -> Any:
    """Return the text as a value of the setting's type, within its bounds."""
    try:
        value = _value(text, kind)
    except (ValueError, KeyError):
        wanted = _WANTED.get(kind, "numbers with commas between")
        raise SettingError(f"--set {name}={text}: the value must be {wanted}") from None
    complaint = _out_of_bounds(name, value)
    if complaint:
        raise SettingError(f"--set {name}={text}: the value must be {complaint}")
    return value


def _value(text: str, kind: Any) -> Any:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind is str:
        return text
    if kind in (int, float):
        value = kind(text)
        if not math.isfinite(value):
            raise ValueError(text)
        return value
    return tuple(get_args(kind)[0](part) for part in text.split(",") if part)


def _out_of_bounds(name: str, value: Any) -> str:
    """Return what a value would have to be, or nothing if it is that."""
    if name in CHOICES and value not in CHOICES[name]:
        return " or ".join(CHOICES[name])
    if name in SHARES and not 0 <= value < 1:
        return "at least 0 and below 1"
    if name in ABOVE_ZERO and value <= 0:
        return "above 0"
    smallest = int(name in POSITIVE)
    if isinstance(value, (int, float)) and value < smallest and name not in ANY_SIGN:
        return f"at least {smallest}"
    return ""


def from_json(kind: type, values: dict[str, Any]) -> Any:
    """Return a config of this type from what `dataclasses.asdict` and JSON made."""
    names = {field.name for field in dataclasses.fields(kind)}
    unknown = sorted(set(values) - names)
    if unknown:
        raise SettingError(f"unknown settings {', '.join(unknown)} of {kind.__name__}")
    as_tuple = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return kind(**as_tuple)


def describe(groups: dict[str, Any]) -> str:
    """Return the settings and their defaults, a line each, for --help."""
    lines = []
    for title, config in groups.items():
        lines += ["", f"settings of {title}:"]
        lines += [
            f"  {field.name}={_text(getattr(config, field.name))}"
            for field in dataclasses.fields(config)
        ]
    return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
