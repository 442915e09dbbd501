"""Rebuild the tables of README.md and of the pages in results/ from its records.

And draw runs on all of IMDB by epoch, and where TCNLM gains: results/imdb/*.png.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. NAME is one of

    ratios FILE FILE...       test perplexities of the runs in results/FILE.json, their
                              ratios to the first's, and the paper's Table 6
    seeds FILE FILE...        runs over their seeds, FILE-seed-N.json
    leads FILE FILE...        how far runs are below each other over the seeds of both
    written FILE              what topics write
    hierarchies FILE FILE...  models of topics in layers beside the first, an LSTM
    documents FILE FILE...    models of documents
    cells FILE FILE...        PTB by cell and size, without topics and with
    sentiment FILE FILE...    errors of classifiers on features of runs
    bleu FILE FILE...         how like real sentences, and each other, those of runs are
    topics FILE FILE...       the topics of runs over seeds, beside the paper's Table 4
    systems FILE FILE...      systems over their seeds, and the paper's ratios on IMDB

    python tools/results.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.common.replacing import replacing  # noqa: E402
from tcnlm.drawing.figures import compared_curves, save  # noqa: E402
from tools.lead import GAINS, gains_by_class, lead_by_epoch  # noqa: E402
from tools.over_seeds import OVER_SEEDS  # noqa: E402
from tools.system_tables import SYSTEMS  # noqa: E402
from tools.tables import RESULTS, TABLES, named  # noqa: E402

PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted(RESULTS.glob("*.md")))
DRAWN = (
    "imdb-decay/lstm-8-epochs",
    "imdb-decay/lstm-multiplied-out-8-epochs",
    "imdb-decay/tcnlm-8-epochs",
)
CURVES = RESULTS / "imdb" / "curves.png"


def rebuilt(page: str) -> str:
    """Return a page with every table made anew."""
    return PLACE.sub(lambda m: f"{m[1]}\n{_table(m[2])}\n{m[3]}", page)


def _table(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return {**TABLES, **OVER_SEEDS, **SYSTEMS}[kind](rest)


def draw_curves(chosen: list[tuple[str, dict]], path: Path) -> None:
    """Draw the validation perplexity of runs by epoch."""
    columns = ("epoch", "valid_perplexity")
    histories = [
        (title, {name: [row[name] for row in record["history"]] for name in columns})
        for title, record in chosen
    ]
    save(compared_curves(histories), path)


def main() -> None:
    """Write the pages anew, each whole or not at all, and draw the curves."""
    draw_curves(named(DRAWN), CURVES)
    base, *others = DRAWN
    save(lead_by_epoch(base, others), CURVES.with_name("lead.png"))
    save(gains_by_class(GAINS), CURVES.with_name("gains.png"))
    for page in PAGES:
        with replacing(page) as aside:
            aside.write_text(rebuilt(page.read_text()))


if __name__ == "__main__":
    main()
