"""What is said of a list of topics, ready for JSON, and by which protocol."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcnlm.coherence.diversity import DIVERSITY_WORDS, diversity, irbo
from tcnlm.coherence.npmi import NEVER, TOPS, topic_scores
from tcnlm.coherence.others import coherence, mean
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.coherence.windows import WindowCounts
from tcnlm.common.errors import InputError


def scored_words(lists: Iterable[TopicList], tops: Sequence[int] = TOPS) -> list[str]:
    """The different words that the coherence of all the topics rests on."""
    topics = itertools.chain.from_iterable(listed.topics for listed in lists)
    return list(dict.fromkeys(word for words in topics for word in words[: max(tops)]))


def measure(
    listed: TopicList,
    counts: WindowCounts,
    tops: Sequence[int] = TOPS,
    zero: str = "zero",
    others: Mapping[str, WindowCounts] | None = None,
) -> dict[str, Any]:
    """Coherence of each topic and of all, and their diversity.

    None is the coherence of a topic without two words. others: what the coherences
    of these names were counted in, to be there too. Raises InputError where no word
    of theirs was ever seen: nothing can be said then.
    """
    words = scored_words([listed], tops)
    absent = counts.absent(words)
    if len(absent) == len(words):
        raise InputError(
            f"{counts.reference}: in its {counts.tokens:,} tokens is no word of the "
            f"topics ({', '.join(words[:3])}, ...); give text of the same language"
        )
    scores = np.array(
        [_scores(counts, topic, tops, NEVER[zero]) for topic in listed.topics]
    )  # [K, len(tops)]
    means = scores.mean(axis=1)
    longest = max(map(len, listed.topics))
    beside = {
        name: coherence(name, counted, listed.topics, max(tops))
        for name, counted in (others or {}).items()
    }
    return {
        "source": listed.source,
        "npmi": _figure(means.mean()),
        "npmi_median": _figure(np.median(means)),
        "npmi_by_top": _by_top(tops, scores.mean(axis=0)),
        **{name: mean(values) for name, values in beside.items()},
        "diversity": diversity(listed.topics),
        "irbo": irbo(listed.topics),
        "diversity_words": min(DIVERSITY_WORDS, longest),
        "topics_in_use": listed.in_use,
        "absent_words": absent,
        "topics": [
            {
                "topic": i,
                "npmi": _figure(means[i]),
                "npmi_by_top": _by_top(tops, scores[i]),
                **{name: values[i] for name, values in beside.items()},
                "words": topic,
            }
            for i, topic in enumerate(listed.topics)
        ],
    }


def _scores(
    counts: WindowCounts, topic: Sequence[str], tops: Sequence[int], never: float
) -> list[float]:
    one_word = len(set(topic)) < 2
    return (
        [math.nan] * len(tops) if one_word else topic_scores(counts, topic, tops, never)
    )


def protocol(
    counts: WindowCounts, tops: Sequence[int] = TOPS, zero: str = "zero"
) -> dict[str, Any]:
    """Say what the coherence was counted on, so that like is compared with like."""
    return {
        "reference": counts.reference,
        "documents": counts.documents,
        "tokens": counts.tokens,
        "windows": counts.windows,
        "window": counts.window,
        "tops": list(tops),
        "zero": f"a pair that shares no window scores {NEVER[zero]:g}",
    }


def _by_top(tops: Sequence[int], scores: Iterable[float]) -> dict[str, float | None]:
    return {str(top): _figure(score) for top, score in zip(tops, scores)}


def _figure(score: float) -> float | None:
    return None if math.isnan(score) else float(score)
