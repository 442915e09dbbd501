"""Rebuild the README's tables from results/*.json and tcnlm/report/published.csv.

And draw runs on all of IMDB by epoch: results/imdb/curves.png.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. NAME is one of

    runs DATA                 all runs recorded on a DATA folder of that name, or where
                              there are none those in the folder results/DATA
    named FILE FILE...        the same of the runs in results/FILE.json, named by their
                              files
    systems FOLDER            the runs in results/FOLDER, a system each, beside the
                              paper's figures for them on IMDB
    history DATA              their validation perplexities, epoch by epoch, and the
                              ratio to that of the LSTM
    beside FILE FILE...       the same of named runs
    changes FOLDER FOLDER...  LSTM and TCNLM (lstm.json, tcnlm.json) of each folder in
                              results/, named by the settings and the data in which
                              TCNLM differs from that of the first; a folder without
                              an LSTM goes by the first's
    coherence FILE FILE...    the topics of named runs, beside the paper's Table 4
    topics FILE               the most used topics of the run in results/FILE.json
    words FILE [NUMBER...]    topics of the run in results/FILE.json
    alone FOLDER              what the topic model learned alone, a row for every
                              record of experiments.topics_alone in results/FOLDER
    sentences FILE [NAME...]  what named topics and their mixtures wrote: the record of
                              experiments.sentences in results/FILE.json
    published CORPUS TABLE    the paper's figures, and ours where a recorded run has the
                              same corpus, size and topics

    python tools/results.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tcnlm.files import replacing  # noqa: E402
from tcnlm.report.figures import compared_curves, save  # noqa: E402
from tools.tables import RESULTS, TABLES, record_of  # noqa: E402

PLACE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted(RESULTS.glob("[!.]*.md")))
DRAWN = {
    "LSTM": "imdb-lstm",
    "TCNLM": "imdb-tcnlm",
    "TCNLM, spread of μ held": "imdb-held/tcnlm-held",
    "TCNLM with one topic": "imdb-controls/tcnlm-one-topic",
    "LSTM with TCNLM's start and half of the rate": (
        "imdb-controls/lstm-multiplied-out"
    ),
}
CURVES = RESULTS / "imdb" / "curves.png"


def rebuilt(page: str) -> str:
    """Return a page with every table made anew."""
    return PLACE.sub(lambda m: f"{m[1]}\n{_table(m[2])}\n{m[3]}", page)


def _table(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return TABLES[kind](rest)


def draw_curves(chosen: list[tuple[str, dict]], path: Path) -> None:
    """Draw the validation perplexity of runs by epoch."""
    columns = ("epoch", "valid_perplexity")
    histories = {
        title: {name: [row[name] for row in record["history"]] for name in columns}
        for title, record in chosen
    }
    save(compared_curves(histories), path)


def main() -> None:
    """Write the pages anew, each whole or not at all, and draw the curves."""
    draw_curves([(name, record_of(file)) for name, file in DRAWN.items()], CURVES)
    for page in PAGES:
        with replacing(page) as aside:
            aside.write_text(rebuilt(page.read_text()))


if __name__ == "__main__":
    main()
