"""Settings: frozen dataclasses whose fields say what they mean and what they may be."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, get_args, get_type_hints

from tcnlm.common.errors import InputError

_WANTED = {bool: "true or false", int: "a whole number", float: "a number"}
Chosen = TypeVar("Chosen", bound="Settings")


class SettingError(InputError):
    """A setting that does not exist or a value that does not fit it."""


LARGEST_FLOAT = 3.4028234663852886e38  # of 32 bits
LARGEST_WEIGHT = 1e4  # that any rate, weight or variance is given for a purpose


@dataclass(frozen=True)
class Bounds:
    """What a value, or each number of a tuple, may be."""

    least: float = -math.inf
    above: float = -math.inf
    most: float = math.inf
    below: float = math.inf
    size: float = LARGEST_FLOAT  # at most, whatever the sign
    choices: tuple[str, ...] = ()
    length: int | None = None  # of a tuple
    rising: bool = False  # a tuple

    def complaint(self, value: Any) -> str:
        """Return what the value would have to be, or nothing if it is that."""
        if isinstance(value, tuple):
            return self._complaint_of_many(value)
        if self.choices and value not in self.choices:
            return " or ".join(self.choices)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return ""
        if self.least <= value <= self.most and self.above < value < self.below:
            large = self.size < abs(value) < math.inf
            return f"at most {self.size:g} in size" if large else ""
        named = {"at least": self.least, "above": self.above}
        named |= {"at most": self.most, "below": self.below}
        return " and ".join(f"{w} {v:g}" for w, v in named.items() if math.isfinite(v))

    def _complaint_of_many(self, values: tuple) -> str:
        if self.length is not None and len(values) != self.length:
            return f"{self.length} numbers with commas between"
        if self.rising and any(a >= b for a, b in zip(values, values[1:])):
            return "rising numbers"
        complaint = next(filter(None, map(self.complaint, values)), "")
        return complaint and f"numbers {complaint}"


def setting(default: Any, text: str, **bounds: Any) -> Any:
    """Return a field of a `Settings`, within `Bounds`; text: its line of --settings."""
    numbers = default if isinstance(default, tuple) else (default,)
    if any(isinstance(number, float) for number in numbers):
        bounds = {"size": LARGEST_WEIGHT, **bounds}
    metadata = {"text": text, "bounds": Bounds(**bounds)}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """The base of all settings: no value can be out of its bounds."""

    def __post_init__(self):
        kinds = _types(type(self))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            complaint = _complaint(value, kinds[field.name], field)
            if complaint:
                shown = as_text(value)
                raise SettingError(f"{field.name}={shown}: must be {complaint}")


def _complaint(value: Any, kind: Any, field: dataclasses.Field) -> str:
    return _kind_complaint(value, kind) or field.metadata["bounds"].complaint(value)


def _kind_complaint(value: Any, kind: Any) -> str:
    if get_args(kind):
        kinds = value if isinstance(value, tuple) else [None]
        wrong = any(_kind_complaint(v, get_args(kind)[0]) for v in kinds)
        return "numbers with commas between" if wrong else ""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number that 32 bits can hold"
    if kind is int and isinstance(value, float) and value.is_integer():
        return f"a whole number in digits, {LARGEST} at most"
    good = isinstance(value, (int, float) if kind is float else kind)
    good = good and isinstance(value, bool) == (kind is bool)
    good = good and (kind is not float or math.isfinite(value))
    return "" if good else _WANTED.get(kind, "a text")


_types = cache(get_type_hints)  # resolving compiles every annotation of a class


def override(
    configs: Sequence[Settings],
    assignments: Sequence[str],
    others: Mapping[str, type[Settings]] | None = None,
) -> tuple[Any, ...]:
    """Return the configs with every `name=value` put in; others: all models'."""
    values: list[dict[str, Any]] = [{} for _ in configs]
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        owners = [i for i, config in enumerate(configs) if name in names(config)]
        if not equals or not owners:
            raise SettingError(f"--set {assignment}: {_unknown(name, configs, others)}")
        for i in owners:
            values[i][name] = parse(name, text, configs[i])
    return tuple(dataclasses.replace(c, **v) for c, v in zip(configs, values))


def names(config: Settings | type[Settings]) -> list[str]:
    """Return the names of settings."""
    return [field.name for field in dataclasses.fields(config)]


def _unknown(
    name: str, configs: Sequence[Settings], others: Mapping[str, type[Settings]] | None
) -> str:
    known = sorted({name for config in configs for name in names(config)})
    owners = [model for model, kind in (others or {}).items() if name in names(kind)]
    if owners:
        return f"{name} belongs to {', '.join(owners)}"
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}write name=value with a name out of {', '.join(known)}"


def parse(name: str, text: str, config: Settings | type[Settings]) -> Any:
    """Return the text as a value of this setting's type, within its bounds."""
    kind = config if isinstance(config, type) else type(config)
    [field] = [field for field in dataclasses.fields(kind) if field.name == name]
    wanted = _types(kind)[name]
    try:
        value = _value(text, wanted)
    except (ValueError, KeyError):
        complaint = _WANTED.get(wanted, "numbers with commas between")
    else:
        complaint = _complaint(value, wanted, field)
    if complaint:
        raise SettingError(f"--set {name}={text}: must be {complaint}")
    return value


def _value(text: str, kind: Any) -> Any:
    if get_args(kind):
        parts = filter(None, text.split(","))
        return tuple(_value(part, get_args(kind)[0]) for part in parts)
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind is int:
        try:
            return int(text)
        except ValueError:
            kind = float  # lest 1e12 be called no whole number
    value = kind(text)
    if kind is float and not math.isfinite(value):
        raise ValueError(text)
    return value


def from_json(kind: type[Chosen], values: Mapping[str, Any]) -> Chosen:
    """Return settings of this type from what `dataclasses.asdict` and JSON made."""
    for name in sorted(set(values) - set(names(kind))):
        raise SettingError(f"unknown setting {name} of {kind.__name__}")
    lists = {name: tuple(v) for name, v in values.items() if isinstance(v, list)}
    return kind(**{**values, **lists})


def describe(models: Mapping[str, type[Settings]], training: type[Settings]) -> str:
    """Return all settings with defaults and meanings for --settings, each once."""
    owners: dict[type, list[str]] = {}
    for model, kind in models.items():
        for part in kind.__mro__[::-1]:
            if issubclass(part, Settings) and _own(part):
                owners.setdefault(part, []).append(model)
    lines = ["settings of the training loop:", *_lines(training, {})]
    for part, users in owners.items():
        lines += ["", f"settings of {', '.join(users)}:"]
        lines += _lines(part, {model: models[model] for model in users})
    return "\n".join(lines)


def _own(part: type) -> list[dataclasses.Field]:
    bases = filter(dataclasses.is_dataclass, part.__bases__)
    inherited = {name for base in bases for name in names(base)}
    return [f for f in dataclasses.fields(part) if f.name not in inherited]


def _lines(part: type, users: Mapping[str, type[Settings]]) -> list[str]:
    lines = []
    for field in _own(part):
        defaults = {model: getattr(kind, field.name) for model, kind in users.items()}
        differ = {m: value for m, value in defaults.items() if value != field.default}
        other = "".join(f"; {m}: {as_text(value)}" for m, value in differ.items())
        choices = " | ".join(field.metadata["bounds"].choices)
        lines.append(f"  {field.name}={as_text(field.default)}{other}")
        lines.append(f"      {field.metadata['text']}" + (choices and f" ({choices})"))
    return lines


def as_text(value: Any) -> str:
    """Return a setting's value as --set and the programs' options take it."""
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


LARGEST = 2**31 - 1  # that a shape or a count may be


def is_whole(value: Any) -> bool:
    """Whether a value given in Python is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether a value given in Python is a number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return the `type` of an argument that is a whole number within bounds."""

    def parsed(text: str) -> int:
        try:
            number = int(text)
        except ValueError:  # also of thousands of digits
            number = most + 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {least} to {most}, not {text[:30]}"
            )
        return number

    return parsed
