"""The figures of a report, as PNG files (matplotlib without a display)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from tcnlm.common.files import write_file

INK, GREY, LIGHT = "#243b53", "#829ab1", "#d9e2ec"
BLUE, RED = "#1f6f9f", "#c2452d"
HIGHLIGHTS = ("#1f6f9f", "#d1812a", "#4d8b57")  # the first topics of a document
DPI = 144
REAL = "real sentences"

History = dict[str, np.ndarray]  # column -> one value per evaluation


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the file's name."""
    write_file(path, _contents(figure, path.suffix[1:]))


def png(figure: Figure) -> bytes:
    """Return a figure as the contents of a PNG file."""
    return _contents(figure, "png")


def _contents(figure: Figure, kind: str) -> bytes:
    """Return the contents of a file, the same for the same figure at any time."""
    file, undated = io.BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    options = {"dpi": DPI, "facecolor": "white", "bbox_inches": "tight"}
    with rc_context({"svg.hashsalt": "tcnlm", "pdf.fonttype": 42}):
        figure.savefig(file, format=kind, metadata=undated.get(kind), **options)
    return file.getvalue()


def all_figures(
    evaluation: Mapping[str, Any], history: History, angles: np.ndarray | None
) -> Iterator[tuple[str, Figure]]:
    """Yield every figure that applies to a run, with its name."""
    if len(history.get("step", ())):
        yield "learning_curves", learning_curves(history)
    found = evaluation.get("retrieval")
    if found:
        curves = {
            name.replace("_", " "): {float(at): value for at, value in curve.items()}
            for name, curve in found["curves"].items()
        }
        yield "retrieval", retrieval_curve(curves, found["chance"])
    found = evaluation.get("classification")
    if found:
        yield "vectors", vectors(**found["picture"])
    found = evaluation.get("bleu")
    if found:
        yield "bleu", bleu_planes({evaluation["model"]: found}, found["real"])
    if evaluation["topics"] is not None:
        yield from _of_topics(evaluation, angles)


def _of_topics(
    evaluation: Mapping[str, Any], angles: np.ndarray | None
) -> Iterator[tuple[str, Figure]]:
    topics = evaluation["topics"]
    names = ("documents", "proportion", "npmi")
    documents, shares, npmi = ([topic[name] for topic in topics] for name in names)
    if None not in shares:
        yield "topic_use", topic_use(np.array(documents), np.array(shares))
    if None not in npmi:
        yield "topic_shape", topic_shape(npmi, angles)
    words = [topic["words"] for topic in topics]
    for i, document in enumerate(evaluation["documents"]):
        yield f"document_{i}", topic_bars(np.array(document["proportions"]), words)


def axes_of(axes: Axes, title: str, x: str = "", y: str = "") -> Axes:
    """Give axes their title, units and quiet looks."""
    axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold")
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=INK, length=3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
    return axes


def _whole_numbers(ticks: int = 6) -> MaxNLocator:
    return MaxNLocator(ticks, integer=True, steps=[1, 2, 5, 10])


TOPIC_CURVES = {  # column -> title, unit
    "topics_in_use": ("Topics in use", "topics"),
    "largest_proportion": ("Mean largest proportion", "share of a document"),
    "valid_kl": ("KL(q || prior)", "nats per sequence"),
}


def learning_curves(history: History) -> Figure:
    """Draw perplexity by training step and, for a topic model, how its topics live.

    Where there is no perplexity, topics being all that is learned, it is their bound
    or, of a model without one, their loss.
    """
    curves = [name for name in TOPIC_CURVES if name in history]
    figure = Figure(figsize=(9, 6 if curves else 3.2), layout="constrained")
    grid = figure.add_gridspec(2 if curves else 1, max(len(curves), 1))
    axes = figure.add_subplot(grid[0, :])
    if "valid_perplexity" in history:
        axes_of(axes, "Perplexity (logarithmic scale)", "training step", "perplexity")
        _judged_curves(axes, history, "perplexity")
        _logarithmic(axes)
    else:
        measure = "bound" if "valid_bound" in history else "loss"
        unit = f"{measure} per content word"
        axes_of(axes, measure.capitalize(), "training step", unit)
        _judged_curves(axes, history, measure)
    for column, name in enumerate(curves):
        title, unit = TOPIC_CURVES[name]
        axes = axes_of(
            figure.add_subplot(grid[1, column]), title, "training step", unit
        )
        axes.plot(history["step"], history[name], "o-", color=BLUE, ms=3, lw=1.5)
        axes.set_ylim(0, 1.08 * np.nanmax([1e-9, *history[name]]))
        axes.xaxis.set_major_locator(_whole_numbers(4))
    return figure


def _judged_curves(axes: Axes, history: History, measure: str) -> None:
    steps = history["step"]
    for split, label, colour in (
        ("train", "training, as it went, since the last evaluation", GREY),
        ("valid", "validation", BLUE),
    ):
        values = history.get(f"{split}_{measure}")
        if values is not None:
            axes.plot(steps, values, "o-", color=colour, ms=3, lw=1.5, label=label)
    best = int(np.nanargmin(history[f"valid_{measure}"]))
    value = history[f"valid_{measure}"][best]
    axes.plot(steps[best], value, "o", color=RED, ms=6, label=f"lowest: {value:.1f}")
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    # Within a factor of three a LogLocator may mark only two values.
    few = MaxNLocator(6, steps=[1, 2, 5, 10])
    many = LogLocator(subs=(1, 1.5, 2, 3, 5, 7))
    axes.yaxis.set_major_locator(many if high > 3 * low else few)
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=LIGHT, lw=0.8)


def compared_curves(histories: Iterable[tuple[str, History]]) -> Figure:
    """Draw the validation perplexity of several runs by epoch."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    title = "Validation perplexity (logarithmic scale)"
    axes = axes_of(figure.subplots(), title, "epoch", "perplexity")
    for name, history in histories:
        if len(history.get("valid_perplexity", ())):
            values = history["valid_perplexity"]
            axes.plot(history["epoch"], values, "o-", ms=3, lw=1.5, label=name)
    _logarithmic(axes)
    axes.xaxis.set_major_locator(_whole_numbers(12))
    if axes.lines:
        axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure


def retrieval_curve(
    precisions: Mapping[str, Mapping[float, float]], chance: float
) -> Figure:
    """Draw the precision of retrieval by the fraction of documents retrieved.

    precisions: by the name of the vectors, then by fraction; chance: of random ones.
    """
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    x = "share of the training documents retrieved (logarithmic scale)"
    title = "Retrieved documents of the same label"
    axes = axes_of(figure.subplots(), title, x, "precision")
    for name, curve in precisions.items():
        fractions = sorted(curve)
        values = [curve[fraction] for fraction in fractions]
        axes.plot(fractions, values, "o-", ms=3, lw=1.5, label=name)
    axes.axhline(chance, color=INK, ls="--", lw=1, label=f"chance: {chance:.3f}")
    axes.set_xscale("log")
    ticks = sorted({fraction for curve in precisions.values() for fraction in curve})
    axes.set_xticks(ticks, [f"{100 * fraction:g} %" for fraction in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=LIGHT, lw=0.8)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure


def bleu_planes(
    runs: Mapping[str, Mapping[str, Any]], real: Mapping[str, Any]
) -> Figure:
    """Draw self-BLEU against test-BLEU, a panel an order: better is down, to the right.

    runs: by name, each with scores by order as "test" and "self"; real: those of text.
    """
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, order in zip(figure.subplots(1, len(real["test"])), real["test"]):
        axes_of(axes, f"BLEU-{order}", "test-BLEU (right is better)", "self-BLEU")
        for name, scores in runs.items():
            axes.plot(scores["test"][order], scores["self"][order], "o", label=name)
        axes.plot(
            real["test"][order], real["self"][order], "*", color=INK, ms=10, label=REAL
        )
        axes.margins(0.2)
        axes.grid(color=LIGHT, lw=0.8)
    figure.axes[0].set_ylabel("self-BLEU (down is better)", fontsize=9, color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    return figure


def vectors(
    x: Sequence[float], y: Sequence[float], labels: Sequence[int], names: Sequence[str]
) -> Figure:
    """Draw documents' vectors on their two main axes, their labels as colours."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    title = f"Vectors of {len(labels):,} documents on their two main axes"
    axes = axes_of(figure.subplots(), title, "first axis", "second axis")
    colours = colormaps["tab20" if len(names) > 10 else "tab10"].colors
    axes.scatter(x, y, s=3, alpha=0.4, lw=0, color=[colours[i % 20] for i in labels])
    for i, name in enumerate(names):
        axes.scatter([], [], s=12, color=colours[i % 20], label=name)
    beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
    axes.legend(fontsize=8, labelcolor=INK, **beside)
    return figure


def topic_bars(proportions: np.ndarray, words: Sequence[Sequence[str]]) -> Figure:
    """Draw a document's topic proportions [K], as in the paper's Figure 2.

    The largest topics are coloured and named by their words beside the chart.
    """
    figure = Figure(figsize=(9, 2.1), layout="constrained")
    axes, beside = figure.subplots(1, 2, width_ratios=(2, 1))
    axes_of(axes, "", "topic", "proportion")
    axes.bar(range(len(proportions)), proportions, color=GREY, width=0.85)
    for colour, topic in zip(HIGHLIGHTS, np.argsort(-proportions, kind="stable")):
        label = f"{topic}: {' '.join(words[topic][:5])}"
        axes.bar(topic, proportions[topic], color=colour, width=0.85, label=label)
    axes.set_ylim(0, max(0.25, 1.08 * float(proportions.max())))
    axes.set_xlim(-0.8, len(proportions) - 0.2)
    axes.xaxis.set_major_locator(_whole_numbers())
    beside.axis("off")
    handles, labels = axes.get_legend_handles_labels()
    beside.legend(
        handles, labels, loc="center left", fontsize=8, frameon=False, labelcolor=INK
    )
    return figure


def topic_use(documents: np.ndarray, proportions: np.ndarray) -> Figure:
    """Draw how much every topic is used, the most used first.

    documents [K]: how many have it as their largest; proportions [K]: mean share.
    """
    order = np.argsort(-proportions, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    axes_of(left, "Largest topic of how many documents", "topics by use", "documents")
    left.bar(ranks, documents[order], color=BLUE, width=0.85)
    left.yaxis.set_major_locator(_whole_numbers())
    axes_of(right, "Mean proportion", "topics by use", "share of a document")
    right.bar(ranks, proportions[order], color=BLUE, width=0.85)
    right.axhline(1 / len(ranks), color=RED, lw=1, label="all topics even")
    right.legend(fontsize=8, frameon=False, labelcolor=INK)
    for axes in (left, right):
        axes.set_xlim(0.2, len(ranks) + 0.8)
        axes.xaxis.set_major_locator(_whole_numbers())
    return figure


def topic_shape(npmi: Sequence[float], angles: np.ndarray) -> Figure:
    """Draw the topics' coherence, and the angles between them [K, K], degrees.

    90 degrees: two topics without a common word.
    """
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    axes_of(left, "Coherence", "NPMI", "topics")
    left.hist(npmi, bins=12, color=BLUE, rwidth=0.92)
    mean = float(np.mean(npmi))
    left.axvline(mean, color=RED, lw=1.2, label=f"mean {mean:.3f}")
    left.xaxis.set_major_locator(MaxNLocator(6))
    left.yaxis.set_major_locator(_whole_numbers())
    left.legend(fontsize=8, frameon=False, labelcolor=INK)
    axes_of(right, "Angles between topics", "topic", "topic")
    image = right.imshow(angles, cmap="viridis", vmin=0, vmax=90)
    right.xaxis.set_major_locator(_whole_numbers())
    right.yaxis.set_major_locator(_whole_numbers())
    bar = figure.colorbar(image, ax=right, ticks=[0, 30, 60, 90])
    bar.set_label("degrees", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    return figure
