"""How the words of a sentence are chosen; no TensorFlow is needed to ask for it."""

from __future__ import annotations

from dataclasses import dataclass

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
        if self.method not in METHODS:
            raise InputError(f"method must be one of {METHODS}, not {self.method!r}")
        for name in ("beam_width", "max_length", "top_k"):
            value = getattr(self, name)
            if name == "top_k" and value is None:
                continue
            if not is_whole(value) or value < 1:
                raise InputError(
                    f"{name} must be a whole number, at least 1, not {value!r}"
                )
        limits = np.finfo("float32")
        least, most = float(limits.tiny), float(limits.max)
        if not (is_real(self.temperature) and least <= self.temperature <= most):
            raise InputError(
                f"temperature must be a number above 0, not {self.temperature!r}"
            )
        if not (is_real(self.top_p) and 0 < self.top_p <= 1):
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p!r}")
        if not isinstance(self.allow_unknown, (bool, np.bool_)):
            raise InputError(
                f"allow_unknown must be True or False, not {self.allow_unknown!r}"
            )

    @property
    def forbidden(self) -> list[int]:
        """The word ids that are never written."""
        return [*NEVER] if self.allow_unknown else [*NEVER, UNK]

    def copies(self, number: int) -> int:
        """Return how many sentences to write at once to have `number` for a context."""
        most = {"greedy": 1, "sample": number, "beam": self.beam_width}[self.method]
        if not is_whole(number) or number < 1 or number > most:
            limit = "at least 1" if self.method == "sample" else f"1 to {most}"
            raise InputError(
                f"number must be {limit} with method {self.method}, not {number!r}"
            )
        return most
