"""Rebuild the tables of README.md and of the pages in results/ from its records.

And gains.png, where TCNLM gains, and runs.csv: of each recipe's runs their command,
commit, machine, seeds, hours of training and the hash of their records.

A table stands between `<!-- table KIND RECIPE RECIPE... -->` and `<!-- end -->`: a row
for the runs of each recipe in results/records.jsonl, with the columns of that kind in
results/columns.csv. `leads OURS/OTHERS ...` says how far runs are below others;
`claims`, `levels`, `missing`, `counts` and `glance` are of tools/boards.py.

    python tools/results.py
"""

import re
import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.common.files import replacing  # noqa: E402
from tcnlm.drawing.figures import BLUE, GREY, INK, LIGHT, axes_of, save  # noqa: E402
from tools import boards, tables  # noqa: E402

PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted(tables.RESULTS.glob("*.md")))
GAINS = {  # tables of tcnlm gains, by what the legend is to call them
    "all of IMDB": "gains-imdb.csv",
    "a fifth, seed 1": "gains-fifth.csv",
    "a fifth, seed 3": "gains-fifth-seed-3.csv",
}
GAIN = "TCNLM below the LSTM with its initialisation and rates, by class of word"
GAIN_UNIT = "nats a word of the test, the LSTM's minus TCNLM's (± standard error)"
BOARDS = {
    "claims": boards.claim_table,
    "levels": boards.level_table,
    "missing": boards.missing_table,
    "counts": boards.count_table,
    "glance": boards.glance,
}


def rebuilt(page: str) -> str:
    """Return a page with every table made anew."""
    return PLACE.sub(lambda m: f"{m[1]}\n{_table(m[2])}\n{m[3]}", page)


def _table(text: str) -> str:
    kind, *chosen = text.split()
    if kind in BOARDS:
        return BOARDS[kind]()
    return tables.leads(chosen) if kind == "leads" else tables.table(kind, chosen)


def runs() -> str:
    """Return runs.csv."""
    rows = tables.RUNS.reset_index().assign(commit=lambda t: t["git_commit"].str[:7])
    by = rows.sort_values("seed").groupby("recipe")
    table = by.agg({"seed": list, "hours": "sum", "commit": set, "machine": set})
    table = table.map(
        lambda v: " ".join(map(str, sorted(v))) if isinstance(v, (list, set)) else v
    )
    table["record"] = table.index.map(boards.digest)
    return table.join(by["command"].first()).to_csv(float_format="%.2f")


def gains() -> Figure:
    """Draw the gain of each class of words, nats a target."""
    drawn = Figure(figsize=(9, 5.4), layout="constrained")
    axes = axes_of(drawn.subplots(), GAIN, GAIN_UNIT)
    height = 0.8 / len(GAINS)
    for i, (title, colour) in enumerate(zip(GAINS, (BLUE, GREY, LIGHT))):
        rows = pd.read_csv(tables.RESULTS / GAINS[title]).query("classes != 'all'")
        looks = {"color": colour, "ecolor": INK, "label": title}
        places = [row + i * height for row in range(len(rows))]
        axes.barh(places, rows["gain"], height, xerr=rows["error"], **looks)
    middles = [row + 0.4 - height / 2 for row in range(len(rows))]
    axes.set_yticks(middles, rows["classes"] + ": " + rows["name"])
    axes.axvline(0, color=INK, lw=0.8)
    axes.invert_yaxis()
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return drawn


def main() -> None:
    """Draw the picture and write the pages anew, each whole or not at all."""
    save(gains(), tables.RESULTS / "gains.png")
    made = {page: rebuilt(page.read_text()) for page in PAGES}
    for page, text in {**made, tables.RESULTS / "runs.csv": runs()}.items():
        with replacing(page) as aside:
            aside.write_text(text)


if __name__ == "__main__":
    main()
