"""Rebuild the tables of README.md and of the pages in results/ from its records.

And runs.csv: of each recipe's runs their command, commit, machine, seeds, hours of
training and the hash of their records.

A table stands between `<!-- table KIND RECIPE RECIPE... -->` and `<!-- end -->`: a row
for the runs of each recipe in results/records.jsonl, with the columns of that kind in
results/columns.csv. `leads OURS/OTHERS ...` says how far runs are below others;
`claims`, `levels`, `missing`, `counts` and `glance` are of tools/boards.py.

    python tools/results.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.common.files import replacing  # noqa: E402
from tools import boards, tables  # noqa: E402

PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted(tables.RESULTS.glob("*.md")))


def rebuilt(page: str) -> str:
    """Return a page with every table made anew."""
    return PLACE.sub(lambda m: f"{m[1]}\n{_table(m[2])}\n{m[3]}", page)


def _table(text: str) -> str:
    kind, *chosen = text.split()
    if hasattr(boards, f"{kind}_table"):
        return getattr(boards, f"{kind}_table")()
    return tables.leads(chosen) if kind == "leads" else tables.table(kind, chosen)


def runs() -> str:
    """Return runs.csv."""
    rows = tables.RUNS.reset_index().sort_values("seed")
    rows["commit"] = rows["git_commit"].str[:7]
    by = rows.astype({"seed": str}).groupby("recipe")
    texts = by[["seed", "commit", "machine"]].agg(lambda c: " ".join(dict.fromkeys(c)))
    table = texts.join(by["hours"].sum().round(2)).join(by["command"].first())
    return table.assign(record=table.index.map(boards.digest)).to_csv()


def main() -> None:
    """Write the pages and runs.csv anew, each whole or not at all."""
    made = {page: rebuilt(page.read_text()) for page in PAGES}
    for page, text in {**made, tables.RESULTS / "runs.csv": runs()}.items():
        with replacing(page) as aside:
            aside.write_text(text)


if __name__ == "__main__":
    main()
