"""Rebuild the tables of README.md and of the pages in results/ from its records.

And draw runs on all of IMDB by epoch, where TCNLM gains, and what sees no later word:
results/*.png.

A table stands between `<!-- table KIND RECIPE RECIPE... -->` and `<!-- end -->`: a row
for the runs of each recipe in results/records.jsonl, ratios to the first, the columns
of that kind as in results/columns.csv (`leads`: how far runs are below each other).
`scoreboard MEASURE...` is made of published.csv, `counts` are its verdicts.

    python tools/results.py
"""

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.common.replacing import replacing  # noqa: E402
from tcnlm.drawing.figures import compared_curves, save  # noqa: E402
from tools import scoreboard  # noqa: E402
from tools.lead import (  # noqa: E402
    CARRIED,
    GAINS,
    gains_by_class,
    lead_by_epoch,
    ratios_to_the_first,
)
from tools.tables import RESULTS, Rows, named, table  # noqa: E402

PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted(RESULTS.glob("*.md")))
DRAWN = (
    "imdb-lstm-8-epochs",
    "imdb-lstm-multiplied-out-8-epochs",
    "imdb-tcnlm-8-epochs",
)
CURVES = RESULTS / "curves.png"


def rebuilt(page: str) -> str:
    """Return a page with every table made anew."""
    return PLACE.sub(lambda m: f"{m[1]}\n{_table(m[2])}\n{m[3]}", page)


def _table(text: str) -> str:
    kind, *chosen = text.split()
    if kind == "counts":
        return scoreboard.counted()
    if kind == "scoreboard":
        return scoreboard.table(chosen)
    return table(kind, named(chosen))


def draw_curves(chosen: Rows, path: Path) -> None:
    """Draw the validation perplexity of runs by epoch."""
    curves = [(title, pd.DataFrame(runs[1]["curve"])) for title, runs in chosen]
    save(compared_curves(curves), path)


def main() -> None:
    """Write the pages anew, each whole or not at all, and draw the curves."""
    draw_curves(named(DRAWN), CURVES)
    base, *others = DRAWN
    save(lead_by_epoch(base, others), CURVES.with_name("lead.png"))
    save(gains_by_class(GAINS), CURVES.with_name("gains.png"))
    save(ratios_to_the_first(named(CARRIED)), CURVES.with_name("carried.png"))
    for page in PAGES:
        with replacing(page) as aside:
            aside.write_text(rebuilt(page.read_text()))


if __name__ == "__main__":
    main()
