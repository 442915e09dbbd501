"""The pictures of TCNLM's lead on the results page."""

from collections.abc import Mapping, Sequence
from csv import DictReader
from pathlib import Path

from matplotlib.figure import Figure

from tcnlm.drawing.figures import BLUE, GREY, INK, LIGHT, RED, axes_of
from tools.tables import RESULTS, epochs, record_of, title_of

COLOURS = (GREY, BLUE, RED)


def lead_by_epoch(base: str, files: Sequence[str]) -> Figure:
    """Draw how far below the first run others are, in training and validation."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, split, title in zip(
        figure.subplots(1, 2, sharey=True),
        ("train", "valid"),
        ("On training batches", "On the validation split"),
    ):
        axes_of(axes, title, "epoch", f"% below the {title_of(base)}")
        theirs = _by_epoch(base, split)
        for file, colour in zip(files, COLOURS):
            ours = _by_epoch(file, split)
            lead = [100 * (1 - ours[e] / theirs[e]) for e in ours]
            axes.plot(list(ours), lead, "o-", ms=3, color=colour, label=title_of(file))
        axes.axhline(0, color=GREY, lw=0.8)
    lines = axes.get_legend_handles_labels()
    below = {"loc": "outside lower center", "ncols": 2, "frameon": False}
    figure.legend(*lines, fontsize=8, labelcolor=INK, **below)
    return figure


def _by_epoch(file: str, split: str) -> dict[int, float]:
    rows = epochs(record_of(file))
    return {int(row["epoch"]): row[f"{split}_perplexity"] for row in rows}


def gains_by_class(tables: Mapping[str, Path]) -> Figure:
    """Draw the gain of each class of words, nats a target, from tcnlm.gains's tables.

    tables: by what the legend is to call them.
    """
    figure = Figure(figsize=(9, 5.4), layout="constrained")
    axes = axes_of(figure.subplots(), GAIN, GAIN_UNIT)
    height = 0.8 / len(tables)
    for i, (title, colour) in enumerate(zip(tables, (BLUE, GREY, LIGHT))):
        rows = _classes(tables[title])
        gains, errors = ([float(row[key]) for row in rows] for key in ("gain", "error"))
        places = [row + i * height for row in range(len(rows))]
        axes.barh(
            places, gains, height, xerr=errors, color=colour, ecolor=INK, label=title
        )
    labels = [f"{row['classes']}: {row['name']}" for row in rows]
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(rows))], labels)
    axes.axvline(0, color=INK, lw=0.8)
    axes.invert_yaxis()
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure


def _classes(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in DictReader(file) if row["classes"] != "all"]


GAIN = "TCNLM below the LSTM that starts like it, by class of word"
GAIN_UNIT = "nats a word of the test, the LSTM's minus TCNLM's (± standard error)"
GAINS = {  # each of the two models that are compared
    "all of IMDB": RESULTS / "imdb-decay" / "gains-8-epochs.csv",
    "a fifth, seed 1": RESULTS / "imdb-fifth-decay" / "gains.csv",
    "a fifth, seed 3": RESULTS / "imdb-fifth-decay" / "gains-seed-3.csv",
}
