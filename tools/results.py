"""Rebuild the README's tables from results/*.json and results/published.csv.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. NAME is a DATA folder's
name, for all runs recorded on it, or `published CORPUS TABLE`, for the paper's figures
with ours beside them where a recorded run has the same corpus, size and topics.

    python tools/results.py
"""

import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.published import beside, figures  # noqa: E402

RESULTS = ROOT / "results"
PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", RESULTS / "README.md")
MISSING = "–"


def records() -> list[dict]:
    """Return all recorded runs, by file name."""
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]


def rebuilt(page: str) -> str:
    """Return a page with every table made anew."""
    return PLACE.sub(lambda m: f"{m[1]}\n{_table(m[2])}\n{m[3]}", page)


def _table(name: str) -> str:
    if name.startswith("published "):
        return published_table(*name.split(" ", 2)[1:])
    return runs_table([r for r in records() if r["data"]["name"] == name])


COLUMNS = (  # title, form, value of a record
    ("topics", "{}", lambda r: r["run"]["settings"].get("num_topics")),
    ("parameters", "{:,}", lambda r: r["evaluation"]["parameters"]),
    ("epochs", "{:.0f}", lambda r: r["history"][-1]["epoch"]),
    ("best epoch", "{:.0f}", lambda r: _best(r)["epoch"]),
    ("training, hours", "{:.1f}", lambda r: r["history"][-1]["seconds"] / 3600),
    ("validation perplexity", "{:.2f}", lambda r: _best(r)["valid_perplexity"]),
    ("test perplexity", "{:.2f}", lambda r: r["evaluation"]["perplexity"]),
    ("NPMI", "{:.3f}", lambda r: r["evaluation"]["npmi"]),
    ("diversity", "{:.2f}", lambda r: r["evaluation"]["diversity"]),
    ("topics in use", "{}", lambda r: r["evaluation"]["topics_in_use"]),
)


def _best(record: dict) -> dict:
    return min(record["history"], key=lambda row: row["valid_perplexity"])


def runs_table(chosen: list[dict]) -> str:
    """Return a row for every recorded run, the best perplexity last."""
    chosen = sorted(chosen, key=lambda r: -(r["evaluation"]["perplexity"] or 0))
    rows = [[title for title, *_ in COLUMNS]]
    for record in chosen:
        values = [(form, value(record)) for _, form, value in COLUMNS]
        rows.append([MISSING if v is None else form.format(v) for form, v in values])
    names = ["model", *(r["run"]["model"] for r in chosen)]
    return _markdown([[name, *row] for name, row in zip(names, rows)])


def published_table(corpus: str, table: str) -> str:
    """Return the paper's rows for a corpus, and ours where a run can stand beside."""
    ours = {}
    for record in records():
        evaluation, settings = record["evaluation"], record["run"]["settings"]
        for measure in ("perplexity", "npmi"):
            model = record["run"]["model"]
            figure = beside(evaluation.get("corpus"), model, settings, measure)
            ours[figure] = evaluation[measure]
    rows = [["model", "layers x units", "topics", "measure", "published", "ours"]]
    for figure in figures():
        if (figure.corpus, figure.table) == (corpus, table):
            value, digits = ours.get(figure), 2 if figure.measure == "perplexity" else 3
            cells = [figure.model, figure.size, figure.topics, figure.measure]
            cells += [figure.value, MISSING if value is None else f"{value:.{digits}f}"]
            rows.append([cell or MISSING for cell in cells])
    return _markdown(rows)


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def main() -> None:
    """Write the pages anew, each whole or not at all."""
    for page in PAGES:
        aside = page.with_name(f".{os.getpid()}.{page.name}")
        aside.write_text(rebuilt(page.read_text()))
        aside.rename(page)


if __name__ == "__main__":
    main()
