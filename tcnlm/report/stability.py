"""The section of a page about seeds: which topics return in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from tcnlm.drawing.markup import filled
from tcnlm.metrics.stability import SAME, Matched, match
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
TITLES = (
    "run",
    "seeds",
    "topics",
    "in every seed",
    "in one seed only",
    "mean distance",
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
