"""Paragraphs: sentences whose topics move on from one to the next (rgbn_rnn).

theta_j is drawn from theta_(j-1) through Pi or, within a document, inferred from its
sentences. Every sentence starts from the zero state, as in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.generation.decoding import Sentence, SentenceDecoder, repeated
from tcnlm.generation.requests import Document, Topic, as_text, beginning_ids, layers_of
from tcnlm.models.base import Model
from tcnlm.models.gbn_rnn import as_seen, theta_of_sentences, usual_theta

WHOLE_DOCUMENT = 0  # for a number of sentences: as many as the document has
SEEDS = 2**31

Theta = list[tf.Tensor]  # [N, K_l] of every layer, the lowest first


def check(
    model: Any, length: int, number: int, method: str, document: Document | None
) -> None:
    """Refuse by InputError what makes no paragraph."""
    if not (model.layered and model.network.Pi):
        raise InputError(
            f"--paragraph: model {type(model).__name__} has no topics that move from "
            "sentence to sentence; rgbn_rnn has"
        )
    if length == WHOLE_DOCUMENT and not document:
        raise InputError(
            "--paragraph: give a number of sentences, 1 or more; only a --document has "
            "its own"
        )
    if number > 1 and method != "sample":
        raise InputError(
            f"number must be 1 for --paragraph with method {method}, not {number}"
        )


def starts(
    model: Model,
    topics: np.ndarray,
    document: Document | None,
    settings: Mapping[str, Any],
) -> list[Theta]:
    """Return theta of the first sentences: those of a document, or of topics one."""
    if not document:
        return [usual_theta(model, layers_of(model, topics))]
    theta = theta_of_sentences(model, document.sentences, settings)
    return [[each[j : j + 1] for each in theta] for j in range(len(theta[0]))]


def write_paragraphs(
    write: SentenceDecoder,
    start: Sequence[Theta],
    length: int,
    number: int = 1,
    prompt: str = "",
    seed: int = 0,
) -> list[list[list[Sentence]]]:
    """Return `number` paragraphs of `length` sentences for each row of the start.

    The prompt begins the first sentence. Where words are not sampled, theta is not
    either: it moves on to the mean of what would be drawn.
    """
    model, written, rng = write.model, [], np.random.default_rng(seed % 2**64)
    rows, begun = start[0][0].shape[0] * number, beginning_ids(model, prompt)
    for j in range(length or len(start)):
        words, draws = rng.integers(SEEDS), rng.integers(SEEDS, size=2)
        if j < len(start):
            theta = repeated(start[j], number)
        else:
            sampled = write.options.method == "sample"
            theta = model.moved(theta, tf.constant(draws) if sampled else None)
        context = as_seen(model, theta)
        written.append(write(context, rows, 1, () if j else begun, int(words)))
    each = [[sentences[row][0] for sentences in written] for row in range(rows)]
    return [each[i : i + number] for i in range(0, rows, number)]


def as_paragraphs(topics: list[Topic], paragraphs: Sequence[list[Sentence]]) -> str:
    """Return the topics and the paragraphs, a sentence a line, with gaps between."""
    written = [[s for s in paragraph if s.words] for paragraph in paragraphs]
    texts = [indent(as_text([], each), "    ") for each in written]
    return as_text(topics, []) + "\n" + "\n\n".join(texts) + "\n"
