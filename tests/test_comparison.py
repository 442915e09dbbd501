"""Runs side by side: groups of seeds, ratios with their uncertainty, and their page."""

import dataclasses
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import BROWSER, in_browser
from measured import HISTORY, made, shown

from tcnlm.metrics.registry import figure
from tcnlm.report import measured, page
from tcnlm.report.comparison import compared, shown_curves
from tcnlm.report.measured import Group, best, groups_of, ratios

NATS = np.full(20, 20.0)
WORDS = "Language models: the next word"
PERPLEXITY, NPMI = figure("perplexity"), figure("npmi")
DOCUMENTS = 400


def test_runs_that_differ_by_their_seed_alone_are_a_group():
    runs = [made(seed=1), made("tcnlm"), made(seed=2), made(seed=1, units=7)]
    runs += [made(seed=3, data="B"), made(seed=3)]
    found = [[run.config["seed"] for run in group.runs] for group in groups_of(runs)]
    assert found == [[1, 2, 3], [1], [1], [3]]
    twice = groups_of([made(seed=1)] * 2 + [made(seed=2)])  # is no second seed
    assert [len(group.runs) for group in twice] == [2, 1]


def test_mean_and_deviation_over_seeds_are_those_by_hand():
    group = Group(tuple(made(seed=s, perplexity=p) for s, p in enumerate((4, 6, 11))))
    assert group.mean(PERPLEXITY) == pytest.approx(7)
    assert group.deviation(PERPLEXITY) == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert group.mean(NPMI) is group.deviation(NPMI) is None
    assert Group((made(perplexity=4.0),)).deviation(PERPLEXITY) is None
    endless = Group(tuple(made(seed=s, perplexity=math.inf) for s in (1, 2)))
    assert (endless.mean(PERPLEXITY), endless.deviation(PERPLEXITY)) == (math.inf, None)


def test_a_ratio_is_that_of_corpus_perplexities():
    targets = np.array([1, 9, 30])
    nats = np.array([[3.0, 2.0], [40.0, 41.0], [90.0, 99.0]])
    [found] = measured.bootstrap(np.split(nats, 2, axis=1), targets)
    expected = math.exp(142 / 40) / math.exp(133 / 40)
    assert found.value == pytest.approx(expected)
    assert found.low < expected < found.high


def test_nats_of_seeds_are_averaged_before_the_ratio():
    base = groups_of([made("lstm", nats=[10.0] * 20)])
    seeds = [made("tcnlm", s, nats=[n] * 20) for s, n in ((1, 8.0), (2, 11.0))]
    _, found = ratios([*base, *groups_of(seeds)])
    assert found.value == pytest.approx(math.exp((9.5 - 10) / 10))


def test_an_interval_of_several_seeds_is_as_wide_as_these_and_documents_tell(rng):
    """Variances of the two means add: of documents, and of each system's seeds."""
    seeds = [rng.normal(5, 0.03, 12), rng.normal(5.1, 0.05, 8)]
    hard = rng.normal(0, 0.2, (DOCUMENTS, 1))
    systems = [np.broadcast_to(seeds[0], (DOCUMENTS, 12)), hard + seeds[1]]
    [found] = measured.bootstrap(systems, np.ones(DOCUMENTS, int))
    variance = hard.var() / DOCUMENTS + sum(each.var() / len(each) for each in seeds)
    middle = math.log(found.value)
    assert middle == pytest.approx(systems[1].mean() - systems[0].mean())
    for end in (found.low, found.high):
        width = abs(math.log(end) - middle)
        assert width == pytest.approx(1.96 * math.sqrt(variance), rel=0.12)


def test_other_data_other_targets_and_no_nats_have_no_ratio():
    nats = [10.0] * 20
    runs = [
        made("lstm", nats=nats),
        made("tcnlm", nats=nats, data="B"),
        made("docnade", nats=nats, targets=[9] * 20),
        made("lda"),
        made("tdlm", nats=nats),
    ]
    found = ratios(groups_of(runs))
    assert [ratio is None for ratio in found] == [True] * 4 + [False]
    assert ratios(groups_of(runs[::-1][1:])) == [None] * 4


@pytest.mark.parametrize(
    ("measure", "runs", "expected"),
    [
        ("perplexity", [("lstm", 5), ("tcnlm", 4)], [False, True]),
        ("perplexity", [("lstm", 5), ("docnade", 4)], [False, False]),  # other words
        ("npmi", [("tcnlm", 0.1), ("lda", 0.2), ("tdlm", 0.2)], [False, True, True]),
        ("loss", [("lda", 5.0), ("ntm", 4.0)], [False, False]),
    ],
)
def test_the_best_is_one_among_those_that_compare(measure, runs, expected):
    targets = {"docnade": [2]}
    alike = [
        made(model, nats=[1.0], targets=targets.get(model, [3]), **{measure: value})
        for model, value in runs
    ]
    elsewhere = [made(model, data="B", **{measure: value}) for model, value in runs[:1]]
    found = best(groups_of([*alike, *elsewhere]), figure(measure))
    assert found == [*expected, False]


# The page.


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
    found, _ = tables(three_groups())
    topics, bold = found["Topics"]
    assert [row["topics in use"] for row in topics] == ["3.5 ± 0.7", "3"]
    assert ["NPMI" in titles for titles in bold] == [False, True]
    assert ["perplexity" in titles for titles in found[WORDS][1]] == [0, 1, 0]


def test_a_row_has_its_ratio_to_the_first_and_whether_it_is_level():
    cells, _, notes = table(three_groups())
    first, second, third = (row["ratio to the first"] for row in cells)
    assert first == ""
    assert second == "0.819 [0.819, 0.819]"  # exp(-2 / 10), as of all documents
    assert third.endswith("] level")
    assert "1,000 draws of the 20 documents" in notes


def test_lines_have_every_group_with_its_perplexity_and_ratio():
    title, lstm, tcnlm, tdlm = compared(three_groups()).splitlines()
    assert title.split()[:3] == ["run", "seeds", "perplexity"]
    assert lstm.split()[-2:] == ["1", "8.00"]
    assert tcnlm.split()[-7:] == "2 6.50 ± 0.71 0.819 [0.819, 0.819]".split()
    assert tdlm.endswith(" level")


def test_perplexities_of_other_data_are_not_set_against_each_other():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS - 1, perplexity=6.0, data="B"),
    ]
    cells, bold, notes = table(runs)
    assert all("ratio to the first" not in row for row in cells)
    assert not any(bold)
    assert "of different DATA" in notes
    drawn = [len(figure.axes[0].lines) for figure in shown_curves(groups_of(runs))]
    assert drawn == [1, 1, 1, 1]  # by epochs and minutes


def test_what_was_measured_otherwise_is_noted():
    runs = [
        shown("lstm", nats=NATS, perplexity=8.0),
        shown("tcnlm", nats=NATS, perplexity=7.0, samples=4, context="others"),
        shown("tdlm", nats=NATS, perplexity=6.0, context="read", leak="context=read!"),
        shown("lclm", nats=NATS, targets=np.full(20, 9), perplexity=8.0),
    ]
    cells, _, notes = table(runs)
    assert [bool(row["ratio to the first"]) for row in cells] == [0, 1, 1, 0]
    assert "do not predict the same words" in notes
    assert ": context=read!." in notes
    assert "Perplexities are of draws of the topics, ratios at their mean" in notes
    assert "different rules (others, read)" in notes


def test_seeds_are_named_by_their_folder_and_alone_by_two():
    names = ["a/lstm/seed-1", "a/lstm/seed-2", "b/tdlm/seed-1"]
    models = ["lstm", "lstm", "tdlm"]
    runs = [shown(m, s, name=name) for m, s, name in zip(models, (1, 2, 1), names)]
    cells, _, _ = table(runs)
    assert [row["run"].split(":")[0] for row in cells] == ["lstm", "tdlm/seed-1"]


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
    found, _ = tables(runs)
    page_of = ElementTree.fromstring(page.render(runs))
    folded = [e.get("id") for e in page_of.iter("details") if e.get("class") == "run"]
    assert folded == ["run-1", "run-2", "run-3", "run-4"]
    assert {"#run-1", "#run-4"} <= {link.get("href") for link in page_of.iter("a")}
    rows = {t: [row["run"].split("-")[0] for row in c] for t, (c, _) in found.items()}
    assert rows == {
        WORDS: ["lstm", "tcnlm"],
        "Document models: words in any order": ["docnade"],
        "Topic models: words of documents": ["lda"],
        "Topics": ["tcnlm", "lda"],
    }
    for cells, _ in found.values():  # no column is empty
        assert all(any(row[title] for row in cells) for title in cells[0])
    drawn = [figure.axes[0] for figure in shown_curves(groups_of(runs))]
    lines = [[line.get_label() for line in axes.lines] for axes in drawn]
    words = ["lstm-1: lstm on A", "tcnlm-1: tcnlm on A"]
    assert lines == [words, words, *[["docnade-1: docnade on A"]] * 2]
    units = ["epoch", "minutes of training"] * 2
    assert [axes.get_xlabel() for axes in drawn] == units


def test_runs_of_one_epoch_have_no_curves():
    one = {name: values[:1] for name, values in HISTORY.items()}
    runs = [dataclasses.replace(run, history=one) for run in three_groups()]
    assert not list(shown_curves(groups_of(runs)))
    drawn = next(shown_curves(groups_of([*runs, shown("lstm", 7)])))
    assert len(drawn.axes[0].lines) == 5  # beside one of several it is a point


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
