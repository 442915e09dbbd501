"""The topic tree as a figure: layers from general to special, arrows by Phi and Pi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from tcnlm.drawing.figures import GREY, INK, RED, verbatim

ROOTS = 3  # topics of the highest layer, the most used
BRANCHES = 2  # below each, those of the largest weights
WIDEST = 7  # topics of a layer
WORDS = 5
SMALLEST = 0.1  # weight of an arrow to the side
THICKEST = 5.0  # points, of a weight of 1
FILLS = ("#dbe9f4", "#fff1c9", "#fbdcc4")  # of layers, the lowest first
HEIGHT = 0.36  # of a box; layers are 1 apart
BEND = 0.45  # height of an arrow to the side, about twice

Layers = Sequence[Sequence[Mapping[str, Any]]]  # of `evaluation.hierarchy`
Places = dict[tuple[int, int], tuple[float, float]]  # of (layer, topic) the centre


def chosen_topics(layers: Layers) -> list[list[int]]:
    """Return the topics that are drawn of every layer, the lowest layer first.

    The most used of the highest and, going down, what their columns of Phi weigh most.
    """
    most = WIDEST if len(layers) == 1 else ROOTS
    used = sorted(layers[-1], key=lambda topic: -topic["use"])[:most]
    chosen = [[topic["topic"] for topic in used]]
    for layer in reversed(layers[1:]):
        chosen.insert(0, _below(layer, chosen[0]))
    return chosen


def _below(layer: Sequence[Mapping[str, Any]], above: Sequence[int]) -> list[int]:
    weights: dict[int, float] = {}
    places: dict[int, float] = {}
    for place, topic in enumerate(above):
        for below, weight in layer[topic]["below"][:BRANCHES]:
            weights[below] = weights.get(below, 0.0) + weight
            places[below] = places.get(below, 0.0) + weight * place
    kept = sorted(weights, key=lambda k: -weights[k])[:WIDEST]
    return sorted(kept, key=lambda k: places[k] / weights[k])


def topic_tree(layers: Layers) -> Figure:
    """Draw the most used topics of the highest layer and what is below them."""
    chosen = chosen_topics(layers)
    widest = max(map(len, chosen))
    size = max(1.7 * widest, 7), 1.75 * len(layers) + 0.4
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.axis("off")
    axes.set_xlim(-0.35, widest)
    axes.set_ylim(0.65, len(layers) + 0.5)
    places = {
        (layer, topic): ((i + 0.5) * widest / len(topics), float(layer))
        for layer, topics in enumerate(chosen, 1)
        for i, topic in enumerate(topics)
    }
    for layer, topics in enumerate(layers, 1):
        axes.text(-0.3, layer, f"layer {layer}", rotation=90, color=INK, va="center")
        for topic in topics:
            _arrows(axes, layer, topic, places)
    for (layer, k), place in places.items():
        topic, style = layers[layer - 1][k], {"boxstyle": "round,pad=0.35", "lw": 0.8}
        words = topic["words"][:WORDS]
        rows = [", ".join(words[:2]), ", ".join(words[2:4]), *words[4:]]
        text = "\n".join([f"{layer}:{k}  ({topic['use']:.0%})", *rows])
        style |= {"facecolor": FILLS[min(layer, len(FILLS)) - 1], "edgecolor": GREY}
        middle = {"ha": "center", "va": "center", "zorder": 3}
        axes.text(*place, verbatim(text), fontsize=8, color=INK, bbox=style, **middle)
    moves = any(topic["next"] for layer in layers for topic in layer)
    kinds = [(GREY, "below, by Φ")] + [(RED, "next sentence, by Π")] * moves
    lines = [Line2D([], [], color=colour, lw=2, label=text) for colour, text in kinds]
    below = {"loc": "outside lower center", "ncols": 2, "frameon": False}
    figure.legend(handles=lines, fontsize=8, **below)
    return figure


def _arrows(axes: Axes, layer: int, topic: Mapping[str, Any], places: Places) -> None:
    """Draw a topic's arrows: to the right over the boxes, to the left beneath."""
    start = places.get((layer, topic["topic"]))
    if start is None:
        return
    for below, weight in topic["below"]:
        end = places.get((layer - 1, below))
        if end:
            _arrow(axes, (start, -1), (end, 1), weight, GREY)
    for after, weight in topic["next"]:
        end = places.get((layer, after))
        if end and weight >= SMALLEST:
            side = 1 if end[0] > start[0] else -1
            bend = -BEND / abs(end[0] - start[0])
            _arrow(axes, (start, side), (end, side), weight, RED, bend)


def _arrow(
    axes: Axes, start: tuple, end: tuple, weight: float, colour: str, bend: float = 0.0
) -> None:
    """Draw an arrow between boxes' edges: each a centre, and 1 of the upper, or -1."""
    ends = ((x, y + side * HEIGHT / 2) for (x, y), side in (start, end))
    shape = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}"}
    look = {"lw": max(0.6, THICKEST * weight), "color": colour, "alpha": 0.75}
    arrow = FancyArrowPatch(*ends, mutation_scale=9, zorder=1, **shape, **look)
    axes.add_patch(arrow)
