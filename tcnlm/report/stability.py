"""Topics of several runs, matched: of seeds which return, of systems side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from tcnlm.drawing.markup import filled
from tcnlm.metrics.stability import SAME, Matched, match, matched
from tcnlm.report.measured import Group, Measured

WORDS = 8  # of a topic
ABOUT = (
    "The topics of every two seeds are matched one to one, so that the Jensen-Shannon "
    "divergences of their word distributions are least in sum (Hungarian algorithm). "
    f"A topic returns where its match is at most {SAME} bits away (0: the same; 1: no "
    "common word); two topics that share half of their probability are so far apart. "
    "The bound is ours, so the mean distance stands beside the counts."
)
TEMPLATE = """<h2>Topics over seeds</h2>
{{ table(titles, kinds, rows) }}
{{ note(about) }}
{% for group in groups %}
<details><summary>{{ group.name }}: topics of the first seed, the steadiest first
</summary>{{ table(group.titles, group.kinds, group.rows) }}</details>
{% endfor %}"""
BESIDE = """<h2>Topics side by side</h2>
{{ note("Topics of the first run, the most used first, each with its match in the "
        "others: one to one, so that the divergences of words are least in sum. In "
        "brackets: bits, 0 the same, 1 without a common word.") }}
{{ table(titles, kinds, rows) }}"""
TITLES = (
    "run",
    "seeds",
    "topics",
    "in every seed",
    "in one seed only",
    "mean distance",
)


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
    """Return the section, empty where no group has several seeds and topics.

    names: of the groups, as the page calls them.
    """
    found = [
        (group, name, match(list(map(_topics, group.runs))))
        for group, name in zip(groups, names)
        if len(group.runs) > 1 and all(_topics(run) is not None for run in group.runs)
    ]
    if not found:
        return Markup()
    rows = []
    for group, name, pairs in found:
        topics, counts = pairs.distance.shape[1], (pairs.in_every_run, pairs.in_one_run)
        means = (f"{np.mean(each):.1f}" for each in counts)  # over the seeds
        rows.append((name, len(group.runs), topics, *means, f"{pairs.mean:.2f}"))
    return filled(
        TEMPLATE,
        titles=TITLES,
        kinds=["", *["number"] * (len(TITLES) - 1)],
        rows=rows,
        about=ABOUT,
        groups=[_of_group(*each) for each in found],
    )


def _topics(run: Measured) -> Any:
    return run.unsaved.get("stability")


def _of_group(group: Group, name: str, found: Matched) -> dict[str, Any]:
    others = [f"to seed {run.config['seed']}" for run in group.runs[1:]]
    distance = found.distance[0, :, 1:]
    order = np.argsort(distance.mean(axis=1), kind="stable")
    return {
        "name": name,
        "titles": ["topic", "words", "returns in", *others],
        "kinds": ["number", "", *["number"] * (1 + len(others))],
        "rows": [
            (
                topic,
                _words(group.first, topic),
                f"{found.returns[0, topic]} of {len(others)}",
                *(f"{bits:.2f}" for bits in distance[topic]),
            )
            for topic in order
        ],
    }


def _words(run: Measured, topic: int) -> str:
    return " ".join(run.evaluation["topics"][topic]["words"][:WORDS])
