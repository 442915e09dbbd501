"""Where one language model predicts better than another: by word and by place.

Both predict the same targets; the gain at a target is ln p(model) - ln p(baseline), in
nats. A class of targets has the mean gain of its own and its share of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.dataset import Split
from tcnlm.layers.tf_function import graph
from tcnlm.preprocessing.vocabulary import EOS, PAD, SPECIALS, UNK, Vocabulary

RANKS = (100, 1000, 10000)  # of words by their count in the training text
POSITIONS = (1, 2, 5, 10, 20)  # of a target in its sentence
CONTENT = (25, 50, 100, 200)  # content words of a document


@dataclass(frozen=True)
class Gain:
    """What a class of targets gains; nats are means over its targets."""

    classes: str
    name: str
    targets: int
    documents: int  # that have such targets
    share: float  # of all targets
    baseline_nats: float
    model_nats: float
    gain: float  # baseline_nats - model_nats
    error: float | None  # its standard error over documents; of one there is none
    share_of_gain: float | None  # None where there is no gain to share

    @property
    def ratio(self) -> float:
        """The model's perplexity on the class over the baseline's."""
        return float(np.exp(-self.gain))


def target_nats(model: Any, split: Split, batch_size: int = 64) -> np.ndarray:
    """Return -ln p of every target of a split in the order of its stream, [N].

    The topics are at their posterior mean, as `perplexity.score` has them.
    """
    rows, nats = model.batching.rows(split), np.full(split.num_targets, np.nan)
    score = graph(
        lambda batch: _nats(model, batch),
        input_signature=[model.batching.signature()],
    )
    order, batches = rows.order(batch_size, None, 0), rows.batches(batch_size)
    batches = progress_bar(batches, "scoring", len(order), leave=False)
    with model.state_apart():
        for chosen, batch in zip(order, batches):
            nats[rows.places(chosen)] = score(batch)
    return nats


def _nats(model: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    return -tf.boolean_mask(model(batch), batch["targets"] != PAD)


def gains(
    baseline: np.ndarray, model: np.ndarray, split: Split, vocabulary: Vocabulary
) -> list[Gain]:
    """Return the gain of every class, that of all targets first.

    baseline, model: nats [N] of the split's targets, by `target_nats`.
    """
    places = np.arange(split.num_targets)
    sentence = split.stream.sentence_of(places)
    document = np.searchsorted(split.documents, sentence, side="right") - 1
    found = []
    for classes, names, chosen in _classes(split, vocabulary, places, sentence):
        for number, name in enumerate(names):
            inside = chosen == number
            if inside.any():
                parts = baseline, model, document, inside
                found.append(_gain(classes, name, *parts))
    return found


def _gain(
    classes: str,
    name: str,
    baseline: np.ndarray,
    model: np.ndarray,
    document: np.ndarray,
    inside: np.ndarray,
) -> Gain:
    difference = baseline - model
    mean, number = float(difference[inside].mean()), int(inside.sum())
    documents, rows = np.unique(document[inside], return_inverse=True)
    sums = np.bincount(rows, difference[inside] - mean)
    return Gain(
        classes,
        name,
        number,
        len(documents),
        number / len(inside),
        float(baseline[inside].mean()),
        float(model[inside].mean()),
        mean,
        _error(sums, number),
        _share(float(difference[inside].sum()), float(difference.sum())),
    )


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _error(sums: np.ndarray, number: int) -> float | None:
    """Return the standard error of a mean over `number` targets of D documents.

    sums: [D] the documents' deviations from it.
    """
    if len(sums) == 1:
        return None
    unbiased = len(sums) / (len(sums) - 1)
    return float(np.sqrt(unbiased * np.sum(sums**2))) / number


def _classes(
    split: Split, vocabulary: Vocabulary, places: np.ndarray, sentence: np.ndarray
) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Yield what targets are told apart by: title, names, and the class [N] of each."""
    words = _targets(split, places, sentence)
    yield "all", ["all targets"], np.zeros(len(words), int)
    yield "kind", [*KINDS], _kinds(vocabulary)[words]
    rank = np.where(words < len(SPECIALS), 0, words - len(SPECIALS) + 1)
    yield "rank", ["<eos>, <unk>", *_ranges(RANKS)], _bands(rank, (0, *RANKS))
    position = places - split.stream.starts[sentence] + 1
    yield "place in the sentence", _ranges(POSITIONS), _bands(position, POSITIONS)
    lengths = [len(split.content(i)) for i in range(split.num_documents)]
    content = np.repeat(lengths, np.diff(split.stream.starts[split.documents]))
    bands = _ranges(CONTENT, 0)
    yield "content words of the document", bands, _bands(content, CONTENT)


KINDS = ("topic words", "other words", "<eos>", "<unk>")


def _kinds(vocabulary: Vocabulary) -> np.ndarray:
    """Return the number in `KINDS` of every word, [V]."""
    kinds = np.where(vocabulary.topic_ids >= 0, 0, 1)
    kinds[[EOS, UNK]] = 2, 3
    return kinds


def _targets(split: Split, places: np.ndarray, sentence: np.ndarray) -> np.ndarray:
    """Return the word ids [N] of the places of a split's stream."""
    ends = places + 1 == split.stream.starts[sentence + 1]
    targets = np.full(len(places), EOS)
    targets[~ends] = split.tokens
    return targets


def _bands(values: np.ndarray, bounds: tuple[int, ...]) -> np.ndarray:
    """Return for each value how many of the bounds are below it."""
    return np.searchsorted(bounds, values)


def _ranges(bounds: tuple[int, ...], first: int = 1) -> list[str]:
    """Return the names of the bands that bounds make of whole numbers from `first`."""
    lows = [first, *(bound + 1 for bound in bounds)]
    names = [
        f"{low:,}" if low == high else f"{low:,} to {high:,}"
        for low, high in zip(lows, bounds)
    ]
    return [*names, f"over {bounds[-1]:,}"]
