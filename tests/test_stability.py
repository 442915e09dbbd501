"""Topics over seeds: which return, by word distributions matched one to one."""

import dataclasses
import itertools
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import tiny
from measured import shown
from scipy.spatial.distance import jensenshannon

from tcnlm.programs import evaluate
from tcnlm.report import page
from tcnlm.report.stability import match, matched
from tcnlm.runs.run_folder import RunFolder, write_config

pytestmark = pytest.mark.usefixtures("undrawn")


def topics(rng, number=5, words=30):
    return rng.dirichlet(np.full(words, 0.05), number).astype(np.float32)


def test_topics_are_matched_at_the_least_sum_of_divergences(rng):
    first, second = topics(rng), topics(rng)
    cost = [[jensenshannon(p, q, base=2) ** 2 for q in second] for p in first]
    sums = [
        sum(cost[i][j] for i, j in enumerate(order))
        for order in itertools.permutations(range(5))
    ]
    rows, columns, bits = matched(first, second)
    expected = [cost[i][j] for i, j in zip(rows, columns)]
    assert bits == pytest.approx(expected, abs=1e-5)
    assert bits.sum() == pytest.approx(min(sums), abs=1e-4)


def test_half_of_the_probability_in_common_is_half_a_bit_and_the_same_is_none(rng):
    shared = np.array([[0.5, 0.5, 0.0, 0.0]]), np.array([[0.5, 0.0, 0.5, 0.0]])
    assert matched(*shared)[2] == pytest.approx(0.5)
    apart = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert matched(*apart)[2] == pytest.approx(1.0)
    first = topics(rng)
    assert match([first, first[::-1]]) == pytest.approx(0, abs=1e-6)


def run_of(seed, beta, model="tcnlm"):
    run = shown(model, seed, nats=np.ones(3), perplexity=8.0)
    topic = run.evaluation["topics"][0]
    named = [
        {**topic, "topic": k, "words": [f"s{seed}t{k}<", f"w{row.argmax()}"]}
        for k, row in enumerate(beta)
    ]
    evaluation = {**run.evaluation, "topics": named}
    unsaved = {"judges": SimpleNamespace(beta=beta)}
    return dataclasses.replace(run, evaluation=evaluation, unsaved=unsaved)


def test_the_page_of_seeds_says_which_topics_return(monkeypatch):
    monkeypatch.setattr("tcnlm.report.page._sections", lambda *_: "")
    own = np.eye(6, dtype=np.float32)  # disjoint: one in all, one in two, one in one
    betas = own[[0, 1, 2]], own[[3, 0, 1]], own[[4, 5, 0]]
    runs = [run_of(seed, beta) for seed, beta in enumerate(betas, 1)]
    tree = ElementTree.fromstring(page.render(runs))
    tables = [
        [[cell.text for cell in row] for row in table.iter("tr")]
        for table in tree.iter("table")
    ]
    place = [table[0][-1] for table in tables].index("mean distance")
    summary, steadiest = (rows for _, *rows in tables[place : place + 2])
    assert summary[0][1:] == ["3", "3", "1.0", "1.3", "0.56"]
    assert steadiest[0] == ["0", "s1t0< w0", "2 of 2", "0.00", "0.00"]
    assert [row[2] for row in steadiest] == ["2 of 2", "1 of 2", "0 of 2"]


def test_seeds_that_are_measured_together_have_it(toy_data, tmp_path):
    runs = [tiny.make_run_on(toy_data, tmp_path / f"seed-{s}", "tdlm") for s in (1, 2)]
    for seed, run in enumerate(runs, 1):
        write_config(run, {**RunFolder(run).config, "seed": seed})
    line = [*map(str, runs), "--report", str(tmp_path / "both.html")]
    evaluate.main(line)
    text = (tmp_path / "both.html").read_text()
    assert "<h2>Topics over seeds</h2>" in text
    assert ">1 of 1<" in text  # untrained, all are near one another


def test_topics_of_different_systems_stand_side_by_side_by_their_words():
    shifted = np.roll(np.eye(4, 5), 1, axis=0)
    runs = [run_of(1, np.eye(4, 5)), run_of(1, shifted[:3], "tdlm")]
    tree = ElementTree.fromstring(page.render(runs))
    (table,) = (t for t in tree.iter("table") if "tdlm" in "".join(t[0].itertext()))
    rows = [[cell.text or "" for cell in row] for row in table.iter("tr")][1:]
    assert rows[0] == ["0", "s1t0< w0", "s1t1< w0 (0.00)"]
    assert [row[2].partition(" ")[2][:2] for row in rows] == ["w0", "w1", "", "w3"]
