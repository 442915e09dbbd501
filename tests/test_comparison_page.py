"""The comparison of a page: a row a group of seeds, its ratio, the best in bold."""

from xml.etree import ElementTree

import numpy as np
import pytest
from measured import shown

from tcnlm.report import page
from tcnlm.report.comparison import compared, curves

NATS = np.full(20, 20.0)


def table(runs):
    """Return the first table of the page: rows of cells by title, and the bold."""
    tree = ElementTree.fromstring(page.render(runs))
    head, *rows = next(tree.iter("table")).iter("tr")
    titles = [cell.text for cell in head]
    cells = [dict(zip(titles, (cell.text for cell in row))) for row in rows]
    bold = [
        {t for t, cell in zip(titles, row) if "best" in cell.get("class", "")}
        for row in rows
    ]
    return cells, bold, " ".join(p.text or "" for p in tree.iter("p"))


def three_groups():
    noise = np.random.default_rng(3).normal(0, 0.5, len(NATS))
    runs = [shown("lstm", nats=NATS, perplexity=8.0, npmi=None, topics_in_use=None)]
    for seed, perplexity, used in ((1, 6.0, 3), (2, 7.0, 4)):
        changes = {"perplexity": perplexity, "npmi": 0.1, "topics_in_use": used}
        runs.append(shown("tcnlm", seed, nats=NATS - 2, **changes))
    level = {"perplexity": 8.1, "npmi": 0.2, "topics_in_use": 3}
    return [*runs, shown("tdlm", nats=NATS + noise, **level)]


def test_a_row_is_a_group_with_mean_and_deviation_over_its_seeds():
    cells, _, notes = table(three_groups())
    assert [row["seeds"] for row in cells] == ["1", "2", "1"]
    assert [row["run"] for row in cells] == [
        "lstm-1: lstm on A",
        "tcnlm-1, tcnlm-2: tcnlm on A",
        "tdlm-1: tdlm on A",
    ]
    assert [row["perplexity"] for row in cells] == ["8.00", "6.50 ± 0.71", "8.10"]
    assert [row["topics in use"] for row in cells] == [None, "3.5 ± 0.7", "3"]
    assert "standard deviation" in notes


def test_a_row_has_its_ratio_to_the_first_and_whether_it_is_level():
    cells, _, notes = table(three_groups())
    first, second, third = (row["ratio to the first"] for row in cells)
    assert first is None
    assert second == "0.819 [0.819, 0.819]"  # exp(-2 / 10), as of all documents
    assert third.endswith("] level")
    assert "1,000 draws of the 20 documents" in notes


def test_lines_have_every_group_with_its_perplexity_and_ratio():
    title, lstm, tcnlm, tdlm = compared(three_groups()).splitlines()
    assert title.split("  ")[0] == "run"
    assert title.endswith("ratio to the first")
    places = [title.index(name) for name in ("seeds", "perplexity", "ratio")]
    assert lstm[places[0] :].split() == ["1", "8.00"]
    assert tcnlm[places[0] :].startswith("2")
    assert tcnlm[places[1] :].startswith("6.50 ± 0.71")
    ratio = f"{np.exp(-0.2):.3f}"
    assert tcnlm[places[2] :] == f"{ratio} [{ratio}, {ratio}]"
    assert tdlm.endswith(" level")


def test_the_best_of_each_column_is_bold():
    _, bold, _ = table(three_groups())
    assert [("perplexity" in b, "NPMI" in b) for b in bold] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_perplexities_of_other_data_are_not_set_against_each_other():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS - 1, perplexity=6.0, data="B"),
    ]
    cells, bold, notes = table(runs)
    assert all("ratio to the first" not in row for row in cells)
    assert not any(bold)
    assert "of different DATA" in notes
    drawn = curves(runs)
    assert list(drawn) == ["validation", "validation_2"]
    assert [len(figure.axes[0].lines) for figure in drawn.values()] == [1, 1]


def test_perplexities_over_other_words_have_no_ratio_and_a_note():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("docnade", nats=NATS, targets=np.full(20, 9), perplexity=8.0),
    ]
    cells, _, notes = table(runs)
    assert all("ratio to the first" not in row for row in cells)
    assert "do not predict the same words" in notes


def test_what_was_measured_otherwise_is_noted():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS, perplexity=7.0, samples=4, context="others"),
        shown("tdlm", nats=NATS, perplexity=6.0, context="read"),
    ]
    _, _, notes = table(runs)
    assert "Perplexities are of draws of the topics, ratios at their mean" in notes
    assert "different rules (others, read)" in notes
    _, _, notes = table(runs[:1])
    assert not any(word in notes for word in ("draws of the topics", "rules"))


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
def test_curves_of_runs_with_one_name_are_all_drawn(seeds):
    runs = [shown("lstm", seed, name=f"{i}/run") for i, seed in enumerate(seeds)]
    assert len(curves(runs)["validation"].axes[0].lines) == 2


def test_runs_of_seeds_are_told_apart_by_two_folders():
    runs = [shown("lstm", 1, name="runs/lstm/seed-1"), shown("tcnlm", name="a/tcnlm")]
    cells, _, _ = table(runs)
    assert [row["run"] for row in cells] == [
        "lstm/seed-1: lstm on A",
        "tcnlm: tcnlm on A",
    ]


def test_seeds_of_one_folder_are_named_by_it():
    names = ["runs/lstm/seed-1", "runs/lstm/seed-2"]
    runs = [shown("lstm", seed, name=name) for seed, name in enumerate(names, 1)]
    cells, _, _ = table([*runs, shown("tcnlm", name="a/tcnlm")])
    assert [row["run"] for row in cells] == ["lstm: lstm on A", "tcnlm: tcnlm on A"]
