"""Topics of several runs, matched: of seeds which return, of systems side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
{% if group.single %}
<details><summary>{{ group.name }}: topics of one seed only</summary>
{{ table(("seed", "topic", "words"), ("number", "number", ""), group.single) }}
</details>
{% endif %}
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
    return filled(
        TEMPLATE,
        titles=TITLES,
        kinds=["", *["number"] * (len(TITLES) - 1)],
        rows=[_summary(*each) for each in found],
        about=ABOUT,
        groups=[_of_group(*each) for each in found],
    )


def _topics(run: Measured) -> Any:
    return run.unsaved.get("stability")


def _summary(group: Group, name: str, found: Matched) -> tuple[object, ...]:
    """Return a group's row; the counts are means over its seeds."""
    counts = (found.in_every_run, found.in_one_run)
    number = found.distance.shape[1]
    said = (f"{np.mean(each):.1f}" for each in counts)
    return name, len(group.runs), number, *said, f"{found.mean:.2f}"


def _of_group(group: Group, name: str, found: Matched) -> dict[str, Any]:
    others = [f"to seed {_seed(run)}" for run in group.runs[1:]]
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
        "single": list(_single(group, found)),
    }


def _single(group: Group, found: Matched) -> Iterator[tuple[object, ...]]:
    for run, returns in zip(group.runs, found.returns):
        for topic in np.flatnonzero(returns == 0):
            yield _seed(run), topic, _words(run, topic)


def _seed(run: Measured) -> Any:
    return run.config["seed"]


def _words(run: Measured, topic: int) -> str:
    return " ".join(run.evaluation["topics"][topic]["words"][:WORDS])
