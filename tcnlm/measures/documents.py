"""The perplexity of documents as bags of words, and of the unigram model beside it.

Larochelle and Lauly, "A Neural Autoregressive Topic Model" (NIPS 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.measures.retrieval import Vectors


@dataclass(frozen=True)
class Perplexity:
    """Two averages of the same nats; documents without a word are in neither."""

    published: float  # exp of the mean over documents of their mean nats a word
    corpus: float  # exp of all nats over all words


def perplexity(nats: np.ndarray, lengths: np.ndarray) -> Perplexity:
    """Return the perplexities of documents.

    nats [D]: -ln p(document), the sum over its words; lengths [D]: how many words.
    """
    if nats.shape != lengths.shape:
        raise InputError(f"nats of {nats.shape} documents, lengths of {lengths.shape}")
    scored = lengths > 0
    if not scored.any():
        raise InputError(f"none of the {len(lengths)} documents has a word")
    nats, lengths = nats[scored], lengths[scored]
    return Perplexity(
        published=float(np.exp(np.mean(nats / lengths))),
        corpus=float(np.exp(nats.sum() / lengths.sum())),
    )


class Spread(NamedTuple):
    """A figure over several orders of the words."""

    mean: float
    deviation: float | None  # of a sample (n - 1); None for one order


@dataclass(frozen=True)
class Orders:
    """Both perplexities over orders of the words; see `Perplexity`."""

    published: Spread
    corpus: Spread


def summarise(nats: np.ndarray, lengths: np.ndarray) -> Orders:
    """Return the mean and spread over orders of both perplexities.

    nats [O, D]: of every document in each order; lengths [D]. The mean is of the
    perplexities, an order each, not the perplexity of the mean nats.
    """
    orders = [perplexity(order, lengths) for order in nats]
    return Orders(
        published=_spread([order.published for order in orders]),
        corpus=_spread([order.corpus for order in orders]),
    )


def _spread(figures: list[float]) -> Spread:
    deviation = float(np.std(figures, ddof=1)) if len(figures) > 1 else None
    return Spread(float(np.mean(figures)), deviation)


class Unigram:
    """One distribution over words for all documents, which any model has to beat.

    p(w) = (n_w + 1) / (N + V) with the n_w of the training documents, N their sum and V
    words: add-one smoothing. Counts [D, V], dense or sparse: `count_vectors` or
    `log_count_vectors` of `tcnlm.measures.retrieval`, the same for training and test.
    """

    def __init__(self, counts: Vectors):
        smoothed = np.asarray(counts.sum(axis=0), float).ravel() + 1
        self.log_probabilities = np.log(smoothed / smoothed.sum())

    def perplexity(self, counts: Vectors) -> Perplexity:
        """Return the perplexities of documents [D, V]; a count of n is n words."""
        lengths = np.asarray(counts.sum(axis=1), float).ravel()
        return perplexity(-(counts @ self.log_probabilities), lengths)
