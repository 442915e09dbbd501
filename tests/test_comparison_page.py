"""The comparison of a page: a row a group of seeds, its ratio, the best in bold."""

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import BROWSER, in_browser
from measured import HISTORY, shown

from tcnlm.report import page
from tcnlm.report.comparison import compared, curves, shown_curves
from tcnlm.report.measured import groups_of

NATS = np.full(20, 20.0)
WORDS = "Language models: the next word"


def tables(runs):
    """Return the tables of the page: rows of cells by title, and the bold; notes."""
    tree = ElementTree.fromstring(page.render(runs))
    place = next(e for e in tree.iter("div") if e.get("class") == "compared")
    titles = (title.text for title in place.iter("h2"))
    found = {title: _read(each) for title, each in zip(titles, place.iter("table"))}
    return found, " ".join(p.text or "" for p in tree.iter("p"))


def _read(table):
    head, *rows = table.iter("tr")
    titles = [cell.text for cell in head]
    cells = [dict(zip(titles, ("".join(c.itertext()) for c in row))) for row in rows]
    bold = [
        {t for t, cell in zip(titles, row) if "best" in cell.get("class", "")}
        for row in rows
    ]
    return cells, bold


def table(runs):
    """Return the cells and the bold of the language models' table, and the notes."""
    found, notes = tables(runs)
    return *found[WORDS], notes


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
    assert "standard deviation" in notes
    topics, _ = tables(three_groups())[0]["Topics"]
    assert [row["topics in use"] for row in topics] == ["3.5 ± 0.7", "3"]


def test_a_row_has_its_ratio_to_the_first_and_whether_it_is_level():
    cells, _, notes = table(three_groups())
    first, second, third = (row["ratio to the first"] for row in cells)
    assert first == ""
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
    found, _ = tables(three_groups())
    assert ["perplexity" in bold for bold in found[WORDS][1]] == [False, True, False]
    assert ["NPMI" in bold for bold in found["Topics"][1]] == [False, True]


def test_perplexities_of_other_data_are_not_set_against_each_other():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS - 1, perplexity=6.0, data="B"),
    ]
    cells, bold, notes = table(runs)
    assert all("ratio to the first" not in row for row in cells)
    assert not any(bold)
    assert "of different DATA" in notes
    assert [len(figure.axes[0].lines) for figure in curves(runs)] == [1, 1]


def test_perplexities_over_other_words_have_no_ratio_and_a_note():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS, targets=np.full(20, 9), perplexity=8.0),
    ]
    cells, _, notes = table(runs)
    assert all("ratio to the first" not in row for row in cells)
    assert "do not predict the same words" in notes


def test_what_was_measured_otherwise_is_noted():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS, perplexity=7.0, samples=4, context="others"),
        shown("tdlm", nats=NATS, perplexity=6.0, context="read", leak="context=read!"),
    ]
    _, _, notes = table(runs)
    assert ": context=read!." in notes
    assert "Perplexities are of draws of the topics, ratios at their mean" in notes
    assert "different rules (others, read)" in notes
    _, _, notes = table(runs[:1] * 2)
    assert not any(word in notes for word in ("draws of the topics", "rules"))


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
def test_curves_of_runs_with_one_name_are_all_drawn(seeds):
    runs = [shown("lstm", seed, name=f"{i}/run") for i, seed in enumerate(seeds)]
    (figure,) = curves(runs)
    assert len(figure.axes[0].lines) == 2


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


def one_of_each_kind():
    words = {"topics_in_use": 2, "npmi": 0.1}
    nothing = dict.fromkeys(("npmi", "topics_in_use", "diversity", "topics"))
    one = {name: values[:1] for name, values in HISTORY.items()}
    lda = shown("lda", perplexity=None, loss=6.5, **words)
    return [
        shown("lstm", nats=NATS, perplexity=8.0, **nothing),
        shown("tcnlm", nats=NATS - 1, perplexity=7.0, **words),
        shown("docnade", nats=NATS, targets=NATS, perplexity=800.0, **nothing),
        dataclasses.replace(lda, history={"epoch": one["epoch"]}),
    ]


def test_what_predicts_other_words_has_a_table_and_a_plot_of_its_own():
    runs = one_of_each_kind()
    found, notes = tables(runs)
    rows = {t: [row["run"].split("-")[0] for row in c] for t, (c, _) in found.items()}
    assert rows == {
        WORDS: ["lstm", "tcnlm"],
        "Document models: words in any order": ["docnade"],
        "Topic models: words of documents": ["lda"],
        "Topics": ["tcnlm", "lda"],
    }
    assert "do not predict the same words: each kind has its own table" in notes
    drawn = [figure.axes[0] for figure in shown_curves(groups_of(runs))]
    lines = [[line.get_label() for line in axes.lines] for axes in drawn]
    words = ["lstm-1: lstm on A", "tcnlm-1: tcnlm on A"]
    assert lines == [words, words, *[["docnade-1: docnade on A"]] * 2]
    units = ["epoch", "minutes of training"] * 2
    assert [axes.get_xlabel() for axes in drawn] == units
    printed = compared(runs).splitlines()
    assert [line.split(":")[0] for line in printed[1:3]] == ["lstm-1", "tcnlm-1"]
    assert printed[3].split() == ["run", "perplexity"]


def test_no_table_has_a_column_that_none_of_its_rows_fills():
    for cells, _ in tables(one_of_each_kind())[0].values():
        assert all(any(row[title] for row in cells) for title in cells[0])


def test_runs_of_one_epoch_have_no_curves():
    one = {name: values[:1] for name, values in HISTORY.items()}
    runs = [dataclasses.replace(run, history=one) for run in three_groups()]
    assert not curves(runs)
    lines = curves([*runs, shown("lstm", 7)])[0].axes[0].lines
    assert len(lines) == 5  # beside one of several it is a point


def test_the_details_of_every_run_are_folded_and_its_row_leads_there():
    tree = ElementTree.fromstring(page.render(one_of_each_kind()))
    folded = [e for e in tree.iter("details") if e.get("class") == "run"]
    assert [e.get("id") for e in folded] == ["run-1", "run-2", "run-3", "run-4"]
    assert not any(e.get("open") for e in folded)
    place = next(e for e in tree.iter("div") if e.get("class") == "compared")
    led = {link.text.split("-")[0]: link.get("href") for link in place.iter("a")}
    assert led == {
        "lstm": "#run-1",
        "tcnlm": "#run-2",
        "docnade": "#run-3",
        "lda": "#run-4",
    }


@pytest.mark.skipif(not BROWSER, reason="needs chromium")
@pytest.mark.parametrize("width", [1200, 390])
def test_a_comparison_is_no_wider_than_the_window_and_short(width, tmp_path):
    named = [
        dataclasses.replace(run, evaluation={**run.evaluation, "run": f"runs/{i}" * 9})
        for i, run in enumerate([*one_of_each_kind(), *three_groups()])
    ]
    asked = (
        "[innerWidth, document.documentElement.scrollWidth, document.body.offsetHeight]"
    )
    inner, whole, height = in_browser(page.render(named), asked, tmp_path, width)
    assert (inner, whole) == (width, width)
    assert height < 4000
