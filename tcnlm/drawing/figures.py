"""What figures share, and those of training (matplotlib without a display)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from tcnlm.common.files import write_file

INK, GREY, LIGHT = "#243b53", "#829ab1", "#d9e2ec"
BLUE, RED = "#1f6f9f", "#c2452d"
DPI = 144
TYPE = {"svg.fonttype": "none", "pdf.fonttype": 42}  # text stays text

PANEL = 4.4, 2.8  # inches: whole on a telephone; the page sets two side by side

History = dict[str, np.ndarray]  # column -> one value per evaluation


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the file's name."""
    write_file(path, _contents(figure, path.suffix[1:]))


def svg(figure: Figure) -> bytes:
    """Return a figure as the contents of an SVG file."""
    return _contents(figure, "svg")


def _contents(figure: Figure, kind: str) -> bytes:
    file, undated = io.BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    options = {"dpi": DPI, "facecolor": "white", "bbox_inches": "tight"}
    with rc_context({**TYPE, "svg.hashsalt": "tcnlm"}):
        figure.savefig(file, format=kind, metadata=undated.get(kind), **options)
    return file.getvalue()


def blank(width: float, height: float) -> Figure:
    """Return an empty figure of this size, inches."""
    return Figure(figsize=(width, height), layout="constrained")


def verbatim(text: str) -> str:
    """Return a text so that a figure shows it, dollars and a first underscore too."""
    return " " * text.startswith("_") + text.replace("$", r"\$")


def colours(number: int) -> list[tuple[float, float, float]]:
    """Return a colour for each of so many kinds; beyond 20 they come again."""
    palette = colormaps["tab20" if number > 10 else "tab10"].colors
    return [palette[i % len(palette)] for i in range(number)]


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


def whole_numbers(ticks: int = 6) -> MaxNLocator:
    """Return what sets ticks at whole numbers."""
    return MaxNLocator(ticks, integer=True, steps=[1, 2, 5, 10])


TOPIC_CURVES = {  # column -> title, unit
    "topics_in_use": ("Topics in use", "topics"),
    "largest_proportion": ("Mean largest proportion", "share of a document"),
    "valid_kl": ("KL(q || prior)", "nats per sequence"),
}


def learning_curves(history: History) -> Iterator[tuple[str, Figure]]:
    """Draw perplexity, else bound or loss, by step, and how topics live."""
    if len(history.get("step", ())) < 2:
        return
    yield "learning_curves", _learned(history)
    for name, (title, unit) in TOPIC_CURVES.items():
        if name in history:
            figure = blank(*PANEL)
            axes = axes_of(figure.subplots(), title, "training step", unit)
            axes.plot(history["step"], history[name], "o-", color=BLUE, ms=3, lw=1.5)
            axes.set_ylim(0, 1.08 * np.nanmax([1e-9, *history[name]]))
            axes.xaxis.set_major_locator(whole_numbers(4))
            yield name, figure


def _learned(history: History) -> Figure:
    measures = ("perplexity", "bound", "loss")
    measure = next(m for m in measures if f"valid_{m}" in history)
    logarithmic = measure == "perplexity"
    figure = blank(*PANEL)
    title = measure.capitalize() + " (logarithmic scale)" * logarithmic
    unit = measure if logarithmic else f"{measure} per content word"
    axes = axes_of(figure.subplots(), title, "training step", unit)
    train, valid = "training, since the last evaluation", "validation"
    for split, label, colour in ("train", train, GREY), ("valid", valid, BLUE):
        look = {"color": colour, "ms": 3, "lw": 1.5, "label": label}
        if f"{split}_{measure}" in history:
            axes.plot(history["step"], history[f"{split}_{measure}"], "o-", **look)
    best = int(np.nanargmin(history[f"valid_{measure}"]))
    step, value = history["step"][best], history[f"valid_{measure}"][best]
    axes.plot(step, value, "o", color=RED, ms=6, label=f"lowest: {value:.1f}")
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    if logarithmic:
        _logarithmic(axes)
    return figure


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


def compared_curves(
    histories: Sequence[tuple[str, History]], title: str, unit: str
) -> Figure:
    """Draw the validation perplexity of several runs by epoch or minutes."""
    axes = blank(*PANEL).subplots()
    axes_of(axes, title, unit, "perplexity (logarithmic scale)")
    column, per = ("epoch", 1) if unit == "epoch" else ("seconds", 60)
    for index, (name, history) in enumerate(histories):
        values = history.get("valid_perplexity", ())
        if len(values) and column in history:
            look = {"color": f"C{index}", "ms": 3, "lw": 1.5, "label": verbatim(name)}
            axes.plot(np.divide(history[column], per), values, "o-", **look)
    _logarithmic(axes)
    if unit == "epoch":
        axes.xaxis.set_major_locator(whole_numbers(12))
    if axes.lines:
        axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return axes.figure
