"""How the words of a sentence are chosen; no TensorFlow is needed to ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.settings import is_real, is_whole
from tcnlm.preprocessing.vocabulary import GO, PAD, UNK

MAX_LENGTH = 40  # words of a sentence, unless asked otherwise; Lau et al. 2017
NEVER = [PAD, GO]  # are written
METHODS = ("greedy", "sample", "beam")
# Nearest to real sentences, by another model: results/what-was-tried.md
TEMPERATURE = 0.8


@dataclass(frozen=True)
class Decoding:
    """How to choose words. Raises InputError for a setting out of its range."""

    method: str = "sample"  # the paper's "greedily sample" cannot be the argmax
    temperature: float = TEMPERATURE  # of sampling
    top_k: int | None = None  # sample from the k most probable words
    top_p: float = 1.0  # sample from the fewest words that have this mass
    beam_width: int = 10
    max_length: int = MAX_LENGTH  # words beyond the prompt
    allow_unknown: bool = False  # the sentences of the paper's tables contain <unk>

    def __post_init__(self):
        limits, whole = np.finfo("float32"), "a whole number, at least 1"
        heat, mass, top_k = self.temperature, self.top_p, self.top_k
        warm = is_real(heat) and float(limits.tiny) <= heat <= float(limits.max)
        is_flag = isinstance(self.allow_unknown, (bool, np.bool_))
        for name, good, wanted in (
            ("method", self.method in METHODS, f"one of {METHODS}"),
            ("beam_width", _is_count(self.beam_width), whole),
            ("max_length", _is_count(self.max_length), whole),
            ("top_k", top_k is None or _is_count(top_k), whole),
            ("temperature", warm, "a number above 0"),
            ("top_p", is_real(mass) and 0 < mass <= 1, "above 0 and at most 1"),
            ("allow_unknown", is_flag, "True or False"),
        ):
            if not good:
                value = getattr(self, name)
                raise InputError(f"{name} must be {wanted}, not {value!r}")

    @property
    def forbidden(self) -> list[int]:
        """The word ids that are never written."""
        return [*NEVER] if self.allow_unknown else [*NEVER, UNK]

    def copies(self, number: int) -> int:
        """Return how many sentences to write at once to have `number` for a context."""
        most = {"greedy": 1, "sample": number, "beam": self.beam_width}[self.method]
        if not _is_count(number) or number > most:
            limit = "at least 1" if self.method == "sample" else f"1 to {most}"
            raise InputError(
                f"number must be {limit} with method {self.method}, not {number!r}"
            )
        return most


def _is_count(value: Any) -> bool:
    return is_whole(value) and value >= 1
