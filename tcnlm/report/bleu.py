"""What a report says of BLEU."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.figure import Figure

from tcnlm.drawing.figures import REAL, bleu_planes, png
from tcnlm.drawing.markup import image, note, table
from tcnlm.measures.bleu_protocol import Protocol

ALT = "self-BLEU against test-BLEU"


def bleu_section(evaluation: Mapping[str, Any], figures: Mapping[str, bytes]) -> str:
    """Return what is said of BLEU in one run; nothing where it was not asked for."""
    found = evaluation.get("bleu")
    if not found:
        return ""
    rows = {evaluation["model"]: found, REAL: found["real"]}
    titles = [f"{kind}-BLEU-{n}" for kind in ("test", "self") for n in found["test"]]
    cells = [
        [name, *(f"{x:.3f}" for kind in ("test", "self") for x in each[kind].values())]
        for name, each in rows.items()
    ]
    return (
        "<h2>BLEU</h2>"
        + table(["sentences", *titles], ["", *["number"] * len(titles)], cells)
        + note(str(Protocol.of(found)))
        + image(figures.get("bleu"), ALT)
    )


def compared_bleu(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figure of several runs, by their names: one for each real text."""
    return "".join(image(png(each), ALT) for each in compared_planes(evaluations))


def compared_planes(evaluations: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    """Yield a figure of all runs that are set against the same real sentences."""
    groups: dict[str, dict[str, Any]] = {}
    for name, evaluation in evaluations.items():
        found = evaluation.get("bleu")
        if found:
            groups.setdefault(json.dumps(found["real"]), {})[name] = found
    for runs in groups.values():
        yield bleu_planes(runs, next(iter(runs.values()))["real"])
