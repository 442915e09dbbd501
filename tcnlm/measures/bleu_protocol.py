"""What BLEU's definition leaves open: which sentences are scored, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Split
from tcnlm.generation.sampling import MAX_LENGTH

LEAST = 4  # of a split: two to refer to and two to be scored, each by the other


@dataclass(frozen=True)
class Protocol:
    """How many sentences, how they are drawn and scored."""

    split: str
    sentences: int  # written, references and held out: as many of each
    seed: int = 1
    temperature: float = 1.0
    max_length: int = MAX_LENGTH  # words; what is longer is cut, real text as well
    smoothing: str = "method1"
    topics: str = ""  # what the sentences are written from

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Protocol:
        """Return that of the section of an evaluation.json."""
        return cls(**{field.name: section[field.name] for field in fields(cls)})

    def __str__(self) -> str:
        source = f" from {self.topics}" if self.topics else ""
        return (
            f"BLEU of {self.sentences} sentences sampled{source} (temperature "
            f"{self.temperature:g}, seed {self.seed}, at most {self.max_length} words) "
            f"against {self.sentences} of the {self.split} split; self-BLEU against "
            f"the others; nltk's sentence_bleu, {self.smoothing}. Real: as many other "
            f"sentences of the split, scored alike."
        )


def check_sentences(split: Split) -> None:
    """Raise InputError where a split is too small for references and real text."""
    with_words = np.count_nonzero(np.diff(split.sentences))
    if with_words < LEAST:
        raise InputError(
            f"--bleu: the {split.name} split has {with_words} sentences; it takes "
            f"{LEAST}"
        )
