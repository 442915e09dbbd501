"""What is said of a list of topics, ready for JSON and as lines, and its protocol."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcnlm.coherence import definitions
from tcnlm.coherence.definitions import COHERENCES, NEVER, TOPS, topic_scores
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.coherence.windows import WindowCounts
from tcnlm.common.errors import InputError

WORDS = 8  # of a topic, in its line
ABSENT = 20  # words named at most


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
    """Coherence of each topic, None without two words, and of all; their diversity.

    others: what further coherences were counted in. InputError where no word was seen.
    """
    words = scored_words([listed], tops)
    absent = counts.absent(words)
    if len(absent) == len(words):
        raise InputError(
            f"{counts.reference}: in its {counts.tokens:,} tokens is no word of the "
            f"topics ({', '.join(words[:3])}, ...); give a text in the same language"
        )
    scores = []
    for topic in listed.topics:
        scored = counts, topic, tops, NEVER[zero]
        pairless = len({*topic}) < 2
        scores.append([math.nan] * len(tops) if pairless else topic_scores(*scored))
    scores = np.array(scores)  # [K, len(tops)]
    means = scores.mean(axis=1)
    longest = max(map(len, listed.topics))
    beside = {
        name: definitions.coherence(name, counted, listed.topics, max(tops))
        for name, counted in (others or {}).items()
    }
    return {
        "source": listed.source,
        "npmi": _figure(means.mean()),
        "npmi_median": _figure(np.median(means)),
        "npmi_by_top": _by_top(tops, scores.mean(axis=0)),
        **{name: definitions.mean(values) for name, values in beside.items()},
        "diversity": definitions.diversity(listed.topics),
        "irbo": definitions.irbo(listed.topics),
        "diversity_words": min(definitions.DIVERSITY_WORDS, longest),
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


def table(figures: Mapping[str, Any], tops: Sequence[int]) -> str:
    """A line for every topic, then what holds for all of them."""
    others = [name for name in COHERENCES if name in figures]

    def cells(scored: Mapping[str, Any]) -> list[str]:
        scores = [*scored["npmi_by_top"].values(), scored["npmi"]]
        scores += [scored[name] for name in others]
        return [shown(score, ".4f") for score in scores]

    names = [*(f"N={top}" for top in tops), "mean", *others]
    lines = [figures["source"], line("topic", names, "words")]
    for topic in figures["topics"]:
        words = " ".join(topic["words"][:WORDS])
        lines.append(line(topic["topic"], cells(topic), words))
    median = f"median {shown(figures['npmi_median'], '.4f')}"
    lines.append(line("mean", cells(figures), median))
    return "\n".join([*lines, *_remarks(figures)])


def describe(protocol: Mapping[str, Any]) -> str:
    """The protocol in words."""
    window = f"windows of {protocol['window']} tokens, partial ones at both ends too"
    tops = "/".join(map(str, protocol["tops"]))
    others = [f"{name}: {kind}" for name, kind in protocol["others"].items()]
    words = f"the first {max(protocol['tops'])} words"
    lines = [
        f"protocol: {window if protocol['window'] else 'a document is a window'}; "
        f"{protocol['zero']};",
        f"  mean over the pairs of the first N words, mean over N = {tops}, "
        "mean over topics",
        *(f"  {other}, {words}" for other in others),
        f"reference: {protocol['reference']}: {protocol['documents']:,} documents, "
        f"{protocol['tokens']:,} tokens, {protocol['windows']:,} windows",
    ]
    return "\n".join(lines)


def shown(figure: float | None, form: str) -> str:
    """A figure in its format; a dash where there is none."""
    return "-" if figure is None else format(figure, form)


def line(label: Any, cells: Sequence[str], rest: str) -> str:
    """A topic's line: its number or a title, its figures, its words."""
    return f"{label:>5} " + "".join(f"{cell:>9}" for cell in cells) + f"  {rest}"


def _remarks(figures: Mapping[str, Any]) -> list[str]:
    topics, used = figures["topics"], figures["topics_in_use"]
    absent = figures["absent_words"]
    remarks = [
        f"diversity {figures['diversity']:.4f}: share of different words among the "
        f"first {figures['diversity_words']} of all topics"
    ]
    if figures["irbo"] is not None:
        remarks.append(f"IRBO {figures['irbo']:.4f}: 1 - overlap of two topics' ranks")
    if used is not None:
        remarks.append(
            f"topics in use: {used} of {len(topics)} are a test document's largest"
        )
    named = ", ".join(absent[:ABSENT]) + (", ..." if absent[ABSENT:] else "")
    return [*remarks, f"absent from the reference ({len(absent)}): {named or 'none'}"]
