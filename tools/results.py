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

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.common.files import replacing  # noqa: E402
from tcnlm.drawing.figures import save  # noqa: E402
from tools import scoreboard  # noqa: E402
from tools.pictures import PICTURES  # noqa: E402
from tools.tables import RESULTS, named, table  # noqa: E402

PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted(RESULTS.glob("*.md")))


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


def main() -> None:
    """Draw the pictures and write the pages anew, each whole or not at all."""
    for name, draw in PICTURES.items():
        save(draw(), RESULTS / name)
    for page in PAGES:
        with replacing(page) as aside:
            aside.write_text(rebuilt(page.read_text()))


if __name__ == "__main__":
    main()
