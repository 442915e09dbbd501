"""Seed words: words that the user gives a topic, which its beta starts at and keeps.

The prior of topic i, of line i, is a Dirichlet's whose pseudo-counts are the words' own
training counts: as if each stood there twice as often.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.vocabulary import Vocabulary

SEED_SHARE = 0.5  # of a topic's probability, where it starts
LINES = ";"  # between topics, where a file's lines are one setting


class Seed(NamedTuple):
    """What is said of a topic."""

    name: str  # "" without one
    words: list[str]  # topic words
    unknown: list[str]


def seeds_of(config: Any, vocabulary: Vocabulary) -> list[Seed]:
    """Return the seeds of the first topics, none where the setting is not given."""
    known = {word: word for word in vocabulary.topic_words}
    found = []
    for line in filter(str.strip, getattr(config, "seed_words", "").split(LINES)):
        name, _, text = line.rpartition(":")
        given = text.replace(",", " ").split()
        words = {word: known.get(word) or known.get(word.lower()) for word in given}
        kept = list(dict.fromkeys(filter(None, words.values())))
        unknown = [word for word, as_known in words.items() if not as_known]
        found.append(Seed(name.strip(), kept, unknown))
    return found


def check_seeds(config: Any, vocabulary: Vocabulary) -> list[str]:
    """Return warnings; InputError of a seed without topic words, or one too many."""
    seeds = seeds_of(config, vocabulary)
    if seeds and len(seeds) > config.num_topics:
        raise InputError(
            f"seed_words: {len(seeds)} seeds for {config.num_topics} topics; raise "
            "num_topics, or leave some out"
        )
    for number, seed in enumerate(seeds, 1):
        if not seed.words:
            raise InputError(
                f"seed_words: topic {number} has no topic word ({seed.name}: "
                f"{', '.join(seed.unknown)}); topic_vocabulary.txt of DATA lists them"
            )
    unknown = [word for seed in seeds for word in seed.unknown]
    return [f"seed words that are no topic words: {', '.join(unknown)}"] * bool(unknown)


def seed_weights(config: Any, vocabulary: Vocabulary) -> np.ndarray | None:
    """Return p(w) of the topics' seed words [K, D], else 0; None without any."""
    seeds = seeds_of(config, vocabulary)
    if not seeds:
        return None
    counts = np.maximum(vocabulary.topic_counts, 1)
    index = {word: i for i, word in enumerate(vocabulary.topic_words)}
    weights = np.zeros([config.num_topics, len(counts)], np.float32)
    for row, seed in zip(weights, seeds):
        ids = [index[word] for word in seed.words]
        row[ids] = counts[ids] / counts.sum()
    return weights


def seeded_start(topics: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return topics [K, D], for each seed that with most of its words, and these."""
    # Here, since few give seeds.
    from scipy.optimize import linear_sum_assignment

    marked = weights > 0
    seeded = np.flatnonzero(marked.any(axis=1))
    _, best = linear_sum_assignment(-(marked[seeded] @ topics.T))
    others = [k for k in range(len(topics)) if k not in best]
    mixed = topics[[*best, *others]]
    even = marked[seeded] / marked[seeded].sum(axis=1, keepdims=True)
    mixed[seeded] = (1 - SEED_SHARE) * mixed[seeded] + SEED_SHARE * even
    return mixed


def seed_loss(weights: np.ndarray, topics: Any, words: Any) -> Any:
    """Return minus the log prior of the topics [K, D], nats a bag of `words` words."""
    import tensorflow as tf  # here, since names and page read seeds without it

    return -words * tf.reduce_sum(weights * tf.math.log(topics))
