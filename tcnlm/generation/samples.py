"""Sentences that a model writes, for its evaluation: to be read, not measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.requests import beginning_ids
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.vocabulary import UNK

DRAWS = 5  # sentences of a topic to take one from
PREFIX = 3  # words of a beginning
CONTINUED = 6  # topics that it is continued under
SHOWN_WORDS = 6  # of a topic


def topic_sentences(model: Any, seed: int = 0) -> list[str] | None:
    """Return a sentence sampled from each topic alone (section 5.3).

    It is the first of a few that has words. None where the model writes no sentences.
    """
    number = len(model.topics())
    drawn = _write(model, range(number), DRAWS, {}, seed)
    if drawn is None:
        return None
    return [next(filter(None, map(str, sentences)), "") for sentences in drawn]


def continuations(
    model: Any, split: Any, shares: np.ndarray, beginning: str = ""
) -> dict | None:
    """Return how the topics with the largest shares [K] go on from one beginning.

    By default it is that of the split's first sentence that is long enough and begins
    with known words. It goes on by the likeliest words, so that the topic alone makes
    the difference.
    """
    chosen = np.argsort(-shares, kind="stable")[:CONTINUED]
    own = beginning_ids(model, beginning) if beginning else None
    prefix = own or _beginning(split)
    if prefix is None:
        return None
    written = _write(model, chosen, 1, {"method": "greedy"}, prompt=prefix)
    if written is None:
        return None
    words, names = top_words(model, SHOWN_WORDS), model.vocabulary.words
    return {
        "prefix": " ".join(names[i] for i in prefix),
        "rows": [
            {"topic": int(k), "words": " ".join(words[k]), "sentence": str(sentence)}
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
    """Return `number` sentences of each topic; None where the model writes none."""
    if not model.offers("step"):
        return None
    one_hot = tf.one_hot(np.array(topics), len(model.topics()))
    context = model.context({"topics": one_hot})
    write = SentenceDecoder(model, Decoding(**options))
    return write(context, len(one_hot), number, prompt, seed=seed)
