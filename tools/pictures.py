"""The pictures of the results pages."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from tcnlm.drawing.figures import BLUE, GREY, INK, LIGHT, RED, axes_of
from tools.tables import RESULTS, RUNS, figure, named, series, title_of

COLOURS = (GREY, BLUE, RED)
LEAD = ("imdb-lstm-multiplied-out-8-epochs", "imdb-tcnlm-8-epochs")
CARRIED = re.search("<!-- table carried (.+) -->", (RESULTS / "carried.md").read_text())
GAIN = "TCNLM below the LSTM that starts like it, by class of word"
GAIN_UNIT = "nats a word of the test, the LSTM's minus TCNLM's (± standard error)"
GAINS = {  # each of the two models that are compared
    "all of IMDB": RESULTS / "gains-imdb.csv",
    "a fifth, seed 1": RESULTS / "gains-fifth.csv",
    "a fifth, seed 3": RESULTS / "gains-fifth-seed-3.csv",
}


def lead_by_epoch(base: str, recipes: Sequence[str]) -> Figure:
    """Draw how far below the first run others are, in training and validation."""
    drawn = Figure(figsize=(9, 3.8), layout="constrained")
    theirs = _epochs(base)
    titles = {"train": "On training batches", "valid": "On the validation split"}
    for axes, split in zip(drawn.subplots(1, 2, sharey=True), titles):
        axes_of(axes, titles[split], "epoch", f"% below the {title_of(base)}")
        for recipe, colour in zip(recipes, COLOURS):
            ratio = (_epochs(recipe) / theirs)[f"{split}_perplexity"].dropna()
            lead, label = 100 * (1 - ratio), title_of(recipe)
            axes.plot(lead.index, lead, "o-", ms=3, color=colour, label=label)
        axes.axhline(0, color=GREY, lw=0.8)
    lines = axes.get_legend_handles_labels()
    below = {"loc": "outside lower center", "ncols": 2, "frameon": False}
    drawn.legend(*lines, fontsize=8, labelcolor=INK, **below)
    return drawn


def _epochs(recipe: str) -> pd.DataFrame:
    """Return the evaluations after whole epochs; there may be others in between."""
    rows = pd.DataFrame(RUNS[recipe][1]["curve"]).set_index("epoch")
    return rows[rows.index % 1 == 0]


def ratios_to_the_first(recipes: Sequence[str]) -> Figure:
    """Draw test perplexities over the first row's, blue where there are topics."""
    drawn = Figure(figsize=(9, 3.6), layout="constrained")
    title = "Test perplexity over that of the LSTM that carries its state"
    axes = axes_of(drawn.subplots(), title, "ratio, ± standard deviation over seeds")
    rows = named(recipes)
    runs, names = series(rows), []
    ratios, sizes = figure(runs, "ratio"), figure(runs, "figures.parameters")[1]
    for row, (name, records) in enumerate(rows):
        plain, own = records[1]["model"] == "lstm", ratios.loc[row]
        looks = {"color": GREY if plain else BLUE, "fmt": "s" if plain else "o"}
        axes.errorbar(own.mean(), row, xerr=own.std(), ms=5, capsize=2, **looks)
        names.append(f"{name}, {sizes[row] / 1e6:.1f} million weights")
    axes.set_yticks(range(len(rows)), names)
    axes.axvline(1, color=GREY, lw=0.8)
    axes.invert_yaxis()
    return drawn


def gains_by_class(tables: Mapping[str, Path]) -> Figure:
    """Draw the gain of each class of words, nats a target, from tcnlm.gains's tables.

    tables: by what the legend is to call them.
    """
    drawn = Figure(figsize=(9, 5.4), layout="constrained")
    axes = axes_of(drawn.subplots(), GAIN, GAIN_UNIT)
    height = 0.8 / len(tables)
    for i, (title, colour) in enumerate(zip(tables, (BLUE, GREY, LIGHT))):
        rows = pd.read_csv(tables[title]).query("classes != 'all'")
        looks = {"color": colour, "ecolor": INK, "label": title}
        places = [row + i * height for row in range(len(rows))]
        axes.barh(places, rows["gain"], height, xerr=rows["error"], **looks)
    middles = [row + 0.4 - height / 2 for row in range(len(rows))]
    axes.set_yticks(middles, rows["classes"] + ": " + rows["name"])
    axes.axvline(0, color=INK, lw=0.8)
    axes.invert_yaxis()
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return drawn


PICTURES = {  # of results/
    "lead.png": partial(lead_by_epoch, "imdb-lstm-8-epochs", LEAD),
    "gains.png": partial(gains_by_class, GAINS),
    "carried.png": partial(ratios_to_the_first, CARRIED[1].split()),
}
