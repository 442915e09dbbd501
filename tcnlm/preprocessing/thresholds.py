"""The smallest counts of words and topic words, chosen where they are left open.

The paper's, 11 and 100, are for corpora of 15 million words and more; on a small one
they leave no vocabulary to speak of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tcnlm.preprocessing.vocabulary import SPECIALS, Rules, topic_candidates

MOST_UNKNOWN = 0.1  # of the training words
ENOUGH_TOPIC_WORDS = 1000
# What is seen once is not learned, and <unk> needs words to be learned from.
LEAST = 2


def choose(types: Sequence[str], counts: np.ndarray, rules: Rules) -> Rules:
    """`rules` with a number for every count that is None there.

    min_count: the largest up to the paper's that leaves at most a tenth of the training
    words unknown, but at least 2. topic_min_count: the largest up to the paper's that
    leaves 1,000 topic words, but at least min_count. types, counts: the distinct words
    of the training text and how often each occurs.
    """
    if rules.min_count is None:
        rules = replace(rules, min_count=_min_count(types, counts))
    if rules.topic_min_count is None:
        rules = replace(rules, topic_min_count=_topic_min_count(types, counts, rules))
    return rules


def _min_count(types: Sequence[str], counts: np.ndarray) -> int:
    words = counts[[word not in SPECIALS for word in types]]
    for least in range(Rules.min_count, LEAST, -1):
        if words[words < least].sum() <= MOST_UNKNOWN * words.sum():
            return least
    return LEAST


def _topic_min_count(types: Sequence[str], counts: np.ndarray, rules: Rules) -> int:
    candidates = -np.sort(-counts[topic_candidates(types, counts, rules)])
    if len(candidates) < ENOUGH_TOPIC_WORDS:
        return rules.min_count
    enough = int(candidates[ENOUGH_TOPIC_WORDS - 1])
    return max(rules.min_count, min(Rules.topic_min_count, enough))
