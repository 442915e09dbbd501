"""How well written sentences read, as far as counting tells; no TensorFlow needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# Real sentences repeat .01 of their bigrams, greedy ones .2 and more.
MOST_REPEATED = 0.05
MOST_UNKNOWN = 0.09  # of the words of the training text
HIGHEST_PERPLEXITY = 150.0


def repeated_bigrams(sentences: Iterable[Sequence[str]]) -> float:
    """Return the share of bigrams that their own sentence had before; 0 of none."""
    repeated = total = 0
    for words in sentences:
        pairs = list(zip(words, words[1:]))
        repeated, total = repeated + len(pairs) - len(set(pairs)), total + len(pairs)
    return repeated / max(total, 1)


def warning(sentences: Iterable[str | None], evaluation: Mapping[str, Any]) -> str:
    """Say why sentences read badly and what would help; nothing where they don't.

    evaluation: of an evaluation.json, perhaps an old one without `unknown_share`.
    """
    written = [sentence.split() for sentence in sentences if sentence]
    why = list(_faults(repeated_bigrams(written), evaluation)) if written else []
    if not why:
        return ""
    return f"These sentences may read badly: {'; '.join(why)}."


def _faults(repeated: float, evaluation: Mapping[str, Any]) -> Iterator[str]:
    unknown, perplexity = map(evaluation.get, ("unknown_share", "perplexity"))
    if repeated > MOST_REPEATED:
        yield (
            f"{repeated:.0%} of their pairs of words repeat an earlier pair of the "
            "same sentence (more epochs help, and sampling at a higher temperature)"
        )
    if unknown is not None and unknown > MOST_UNKNOWN:
        yield (
            f"{unknown:.0%} of the training text are words too rare for the "
            "vocabulary (more text helps)"
        )
    if perplexity is not None and perplexity > HIGHEST_PERPLEXITY:
        yield (
            f"the model hesitates as if among {perplexity:.0f} words at every word "
            "(its perplexity; more text and more epochs help)"
        )
