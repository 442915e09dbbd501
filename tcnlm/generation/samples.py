"""Sentences that a model writes for its evaluation: to be read, not measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tcnlm.generation.methods import Decoding
from tcnlm.preprocessing.vocabulary import UNK

DRAWS = 5  # sentences of a topic to take one from
PREFIX = 3  # words of a beginning
CONTINUED = 6  # topics that it is continued under
# Of real sentences .005 have so many bigrams that they had before, and two at least.
REPEATED, MOST_REPEATING = 0.15, 0.02
MOST_UNKNOWN = 0.09  # of the words of the training text
HIGHEST_PERPLEXITY = 150.0


def topic_sentences(model: Any, seed: int = 0) -> list[str] | None:
    """Return a sentence sampled from each topic alone (section 5.3)."""
    number = len(model.topics())
    drawn = _write(model, range(number), DRAWS, {}, seed)
    if drawn is None:
        return None
    return [next(filter(None, map(str, sentences)), "") for sentences in drawn]


def continuations(
    model: Any, split: Any, shares: np.ndarray, beginning: str = ""
) -> dict | None:
    """Return how the topics with the largest shares [K] go on from one beginning.

    By default the split's first of known words; greedily, so that the topic alone makes
    the difference.
    """
    chosen = np.argsort(-shares, kind="stable")[:CONTINUED]
    vocabulary = model.vocabulary
    prefix = vocabulary.ids(vocabulary.beginning(beginning)) or _beginning(split)
    if prefix is None:
        return None
    written = _write(model, chosen, 1, {"method": "greedy"}, prompt=prefix)
    if written is None:
        return None
    names = vocabulary.words
    return {
        "prefix": " ".join(names[i] for i in prefix),
        "rows": [
            {"topic": int(k), "sentence": str(sentence)}
            for k, (sentence,) in zip(chosen, written)
        ],
    }


def _beginning(split: Any) -> list[int] | None:
    for document in range(split.num_documents):
        for sentence in split.document(document):
            if len(sentence) > 2 * PREFIX and UNK not in sentence[:PREFIX]:
                return sentence[:PREFIX]
    return None


def _write(
    model: Any,
    topics: Any,
    number: int,
    options: dict[str, Any],
    seed: int = 0,
    prompt: Any = (),
) -> list | None:
    if not model.offers("step"):
        return None
    import tensorflow as tf

    from tcnlm.generation.decoding import SentenceDecoder

    one_hot = tf.one_hot(np.array(topics), len(model.topics()))
    context = model.context({"topics": one_hot})
    write = SentenceDecoder(model, Decoding(**options))
    return write(context, len(one_hot), number, prompt, seed=seed)


def repeats_itself(words: Sequence[str]) -> bool:
    """Whether many of a sentence's pairs of words stood in it before."""
    pairs = list(zip(words, words[1:]))
    repeated = len(pairs) - len(set(pairs))
    return repeated >= max(2, REPEATED * len(pairs))


def warning(
    sentences: Iterable[str | None], evaluation: Mapping[str, Any], remedy: str
) -> str:
    """Say why sentences read badly and what would help; nothing where they don't."""
    written = [sentence.split() for sentence in sentences if sentence]
    why = list(_faults(written, evaluation, remedy)) if written else []
    return f"These sentences may read badly: {'; '.join(why)}." if why else ""


def _faults(
    written: Sequence[Sequence[str]], evaluation: Mapping[str, Any], remedy: str
) -> Iterator[str]:
    unknown, perplexity = map(evaluation.get, ("unknown_share", "perplexity"))
    repeating = sum(map(repeats_itself, written))
    if repeating > MOST_REPEATING * len(written):
        yield (
            f"{repeating} of {len(written)} repeat their own pairs of words (more "
            f"epochs help, and {remedy})"
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
