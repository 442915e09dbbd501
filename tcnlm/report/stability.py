"""Topics of several runs, matched: of seeds which return, of systems side by side.

Two runs' topics are matched one to one by the Hungarian algorithm, so that the sum of
the Jensen-Shannon divergences of words is least.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.optimize import linear_sum_assignment

from tcnlm.drawing.markup import filled
from tcnlm.metrics.exploration import divergences
from tcnlm.report.measured import Group, Measured

WORDS = 8  # of a topic
SAME = 0.5  # bits: so far are two topics that share half of their probability
ABOUT = (
    "The topics of every two seeds are matched one to one, so that the Jensen-Shannon "
    "divergences of their word distributions are least in sum (Hungarian algorithm). "
    f"A topic returns where its match is at most {SAME} bits away (0: the same; 1: no "
    "common word); two topics that share half of their probability are so far apart. "
    "The bound is ours, so the mean distance stands beside the counts."
)
TEMPLATE = """<h2>Topics over seeds</h2>
{{ table(titles, ("",), rows) }}
{{ note(about) }}
{% for group in groups %}
<details><summary>{{ group.name }}: topics of the first seed, the steadiest first
</summary>{{ table(group.titles, ("number", ""), group.rows) }}</details>
{% endfor %}"""
BESIDE = """<h2>Topics side by side</h2>
{{ note("Topics of the first run, the most used first, each with its match in the "
        "others: one to one, so that the divergences of words are least in sum. In "
        "brackets: bits, 0 the same, 1 without a common word.") }}
{{ table(titles, kinds, rows) }}"""
TITLES = ("run", "seeds", "topics")
TITLES += ("in every seed", "in one seed only", "mean distance")


def match(runs: Sequence[np.ndarray]) -> np.ndarray:
    """Match the topics of every two of R runs, each [K, D], rows of sum 1.

    Returns distances [R, K, R], bits, of topic k of run r to its match; 0 to its own.
    """
    number, topics = len(runs), len(runs[0])
    distance = np.zeros([number, topics, number])
    for a, b in itertools.combinations(range(number), 2):
        rows, columns, bits = matched(runs[a], runs[b])
        distance[a, rows, b] = distance[b, columns, a] = bits
    return distance


def matched(
    first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the topics of two runs that are matched, [K] each, and their distances."""
    bits = divergences(first, second) / np.log(2)
    rows, columns = linear_sum_assignment(bits)
    return rows, columns, bits[rows, columns]


def side_by_side(groups: Sequence[Group], names: Sequence[str]) -> Markup:
    """Return the topics of the first run of each group of one DATA, matched."""
    told = [(g, n) for g, n in zip(groups, names) if _topics(g.first) is not None]
    told = [(g, n) for g, n in told if g.data == told[0][0].data]
    if len(told) < 2:
        return Markup()
    first, *others = (group.first for group, _ in told)
    topics = first.evaluation["topics"]
    order = sorted(range(len(topics)), key=lambda k: -(topics[k]["proportion"] or 0))
    columns = [{k: _words(first, k) for k in order}]
    for run in others:
        pairs = zip(*matched(_topics(first), _topics(run)))
        columns.append({k: f"{_words(run, j)} ({bits:.2f})" for k, j, bits in pairs})
    return filled(
        BESIDE,
        titles=["topic", *(name for _, name in told)],
        kinds=["number", *[""] * len(told)],
        rows=[[k, *(column.get(k, "") for column in columns)] for k in order],
    )


def stability(groups: Sequence[Group], names: Sequence[str]) -> Markup:
    """Return the section of groups of several seeds; names: as the page calls them."""
    rows, told = [], []
    for group, name in zip(groups, names):
        topics = list(map(_topics, group.runs))
        if len(topics) < 2 or any(beta is None for beta in topics):
            continue
        distance, others = match(topics), len(topics) - 1
        returns = (distance <= SAME).sum(axis=2) - 1  # in how many other runs, [R, K]
        means = ((returns == n).sum(axis=1).mean() for n in (others, 0))
        mean = distance.sum() / (others * returns.size)
        shown = (len(topics), returns.shape[1], *(f"{x:.1f}" for x in means))
        rows.append((name, *shown, f"{mean:.2f}"))
        told.append({"name": name, **_of_first(group, distance[0, :, 1:], returns[0])})
    if not rows:
        return Markup()
    return filled(TEMPLATE, titles=TITLES, rows=rows, about=ABOUT, groups=told)


def _topics(run: Measured) -> Any:
    judged = run.unsaved.get("judges")
    return judged and judged.beta


def _of_first(group: Group, distance: np.ndarray, returns: np.ndarray) -> dict:
    """Return a table of the first seed's topics by their distances [K, R - 1]."""
    others = [f"to seed {run.config['seed']}" for run in group.runs[1:]]
    return {
        "titles": ["topic", "words", "returns in", *others],
        "rows": [
            (
                topic,
                _words(group.first, topic),
                f"{returns[topic]} of {len(others)}",
                *(f"{bits:.2f}" for bits in distance[topic]),
            )
            for topic in np.argsort(distance.mean(axis=1), kind="stable")
        ],
    }


def _words(run: Measured, topic: int) -> str:
    return " ".join(run.evaluation["topics"][topic]["words"][:WORDS])
