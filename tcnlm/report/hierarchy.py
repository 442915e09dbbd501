"""What a report says of topics in layers: their tree, a document's way through them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tcnlm.drawing.figures import BLUE, INK, axes_of
from tcnlm.drawing.markup import image, note
from tcnlm.drawing.tree import topic_tree

SHOWN_TOPICS = 8  # of a layer, in the heat map: those of the largest weights
SHOWN_WORDS = 4  # of a topic, beside it
FOLLOWING = 2  # topics of the next sentence that are named

Hierarchy = Mapping[str, Any]  # of `evaluation.hierarchy`


def hierarchy_figures(evaluation: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of a hierarchy of topics, with their names."""
    found = evaluation.get("hierarchy")
    if found:
        yield "topic_tree", topic_tree(found["layers"])
        yield "sentences", sentence_topics(found)
        yield "norms", state_norms(**found["norms"])


def sentence_topics(found: Hierarchy) -> Figure:
    """Draw every layer's proportions in a document's sentences, the highest on top."""
    layers = found["document"]["proportions"]
    rows = [min(SHOWN_TOPICS, len(layer[0])) for layer in layers][::-1]
    size = 9, 0.24 * sum(rows) + 0.6 * len(rows) + 0.4
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(
        len(rows), 1, sharex=True, squeeze=False, height_ratios=rows
    )
    for (axes,), layer in zip(panels, range(len(layers), 0, -1)):
        values = np.array(layers[layer - 1]).T  # [K, J]
        shown = np.argsort(-values.mean(axis=1), kind="stable")[:SHOWN_TOPICS]
        axes_of(axes, f"Layer {layer}")
        whole = {"vmin": 0, "vmax": max(map(np.max, layers)), "aspect": "auto"}
        drawn = axes.imshow(values[shown], cmap="Blues", **whole)
        names = [_name(found["layers"][layer - 1][k], layer) for k in shown]
        axes.set_yticks(range(len(shown)), names)
    places = range(values.shape[1])
    axes.set_xticks(places, [str(j + 1) for j in places])
    axes.set_xlabel("sentence", fontsize=9, color=INK)
    bar = figure.colorbar(drawn, ax=panels.ravel().tolist(), fraction=0.03)
    bar.set_label("proportion", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    return figure


def state_norms(words: Sequence[str], norms: Sequence[Sequence[float]]) -> Figure:
    """Draw the norm of each layer's state after every word, the highest on top."""
    figure = Figure(figsize=(9, 1.3 * len(norms) + 0.8), layout="constrained")
    panels = figure.subplots(len(norms), 1, sharex=True, squeeze=False)
    for (axes,), layer in zip(panels, range(len(norms), 0, -1)):
        axes_of(axes, f"LSTM layer {layer}", y="norm of h")
        axes.plot(norms[layer - 1], "o-", color=BLUE, ms=3, lw=1.5)
    axes.set_xticks(range(len(words)), words, rotation=60, ha="right")
    return figure


def _name(topic: Mapping[str, Any], layer: int) -> str:
    return f"{layer}:{topic['topic']} {' '.join(topic['words'][:SHOWN_WORDS])}"


def hierarchy_section(
    evaluation: Mapping[str, Any], figures: Mapping[str, bytes]
) -> str:
    """Return what is said of topics in layers; nothing where there are none."""
    found = evaluation.get("hierarchy")
    if not found:
        return ""
    layers = found["layers"]
    roots = sorted(layers[-1], key=lambda topic: -topic["use"])
    tree = "".join(_branch(layers, len(layers), topic, "") for topic in roots)
    text = "The most used topics of the highest layer and the largest below them. 2:17 "
    text += "is topic 17 of layer 2; %: mean proportion in documents; thick: more."
    return (
        "<h2>Topics in layers</h2>"
        + image(figures.get("topic_tree"), "tree of topics")
        + note(text)
        + f'<ul class="tree">{tree}</ul>'
        + _document(found, figures)
    )


def _branch(layers: Sequence, layer: int, topic: Mapping[str, Any], said: str) -> str:
    """Return a topic as an item of a list, what is below it folded."""
    name, words = f"{layer}:{topic['topic']}", " ".join(topic["words"])
    line = f"<b>{name}</b> {escape(words)} <small>{said}{_shown(layer, topic)}</small>"
    below = "".join(
        _branch(layers, layer - 1, layers[layer - 2][k], f"Φ {weight:.2f}, ")
        for k, weight in topic["below"]
    )
    if not below:
        return f"<li>{line}</li>"
    return f"<li><details><summary>{line}</summary><ul>{below}</ul></details></li>"


def _shown(layer: int, topic: Mapping[str, Any]) -> str:
    """Say how much a topic is used and what follows it."""
    said = f"{topic['use']:.1%}"
    if topic["stays"] is None:
        return said
    following = [f"{layer}:{k} {weight:.2f}" for k, weight in topic["next"]]
    after = ", ".join(following[:FOLLOWING])
    return f"{said}; Π: stays {topic['stays']:.2f}{', ' if after else ''}{after}"


def _document(found: Hierarchy, figures: Mapping[str, bytes]) -> str:
    document = found["document"]
    lines = "".join(f"<li>{escape(text)}</li>" for text in document["sentences"])
    text = f"Document {document['document']}: the proportions of each sentence's "
    text += "topics, the largest of every layer, inferred as in training."
    return (
        "<h2>From sentence to sentence</h2>"
        + note(text)
        + image(figures.get("sentences"), "topics by sentence")
        + f"<details><summary>the sentences</summary><ol>{lines}</ol></details>"
        + "<h2>What the LSTM layers keep</h2>"
        + note("The norm of each layer's state after every word of one sentence.")
        + image(figures.get("norms"), "norms of states by word")
    )
