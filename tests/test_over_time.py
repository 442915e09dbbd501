"""Topics over time and by group: means, intervals, gaps; the command and the page."""

import json
import random

import numpy as np
import pandas as pd
import pytest
import tiny
import toy
from measured import fake_run
from scipy import stats
from trained import call

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.over_time import (
    ByGroup,
    OverTime,
    by_movement,
    by_period,
    compared,
    curve,
)
from tcnlm.report import page
from tcnlm.report.evaluate_run import evaluate

MONTHS = ["2019-11", "2019-12", "2020-01", "2020-03", "2020-04"]  # none of 2020-02


@pytest.fixture
def documents(rng):
    """Proportions of 200 documents, NaN without topic words, and dates."""
    dates = [f"{month}-{day:02}" for month in MONTHS for day in range(1, 29)]
    chosen = [None if i % 9 == 4 else dates[rng.integers(140)] for i in range(200)]
    known = rng.random(200) > 0.1
    return chosen, np.where(known[:, None], rng.dirichlet([0.3] * 5, 200), np.nan)


def part(found, name):
    """Return a part of `compared` as [groups, topics]."""
    return np.array([topic[name] for topic in found["topics"]], float).T


def every(dates, unit=None):
    """Return the periods of documents with these dates, all alike."""
    return by_period(dates, np.ones([len(dates), 1]), unit)


def test_means_and_intervals_are_those_of_pandas_and_scipy_and_a_gap_is_no_zero(
    documents,
):
    dates, vectors = documents
    found = by_period(dates, vectors, "month")
    assert found["names"] == sorted([*MONTHS, "2020-02"])
    frame = pd.DataFrame(vectors).groupby([d and d[:7] for d in dates])
    mean, number = (x.reindex(found["names"]) for x in (frame.mean(), frame.count()))
    size = frame.size().reindex(found["names"], fill_value=0)
    assert found["documents"] == size.tolist()
    without = (size - number[0].fillna(0)).astype(int)
    assert found["without_topic_words"] == without.tolist()
    half = frame.sem().reindex(found["names"]) * stats.t.ppf(0.975, number - 1)
    for name, expected in ("share", mean), ("low", mean - half), ("high", mean + half):
        close = {"rtol": 1e-5, "atol": 1e-9}
        np.testing.assert_allclose(part(found, name), expected.clip(0, 1), **close)
        assert np.isnan(part(found, name)).any(axis=1).tolist() == [0, 0, 0, 1, 0, 0]
    assert found["undated"] == dates.count(None)
    (axes,) = curve(found["names"], found["topics"][0], "a").axes
    assert np.isnan(axes.lines[0].get_ydata()).tolist() == [0, 0, 0, 1, 0, 0]


def test_a_period_alone_between_gaps_is_a_point_with_its_interval():
    topic = {"topic": 0, "share": [0.1, None, 0.3, None, None, 0.2, 0.2]}
    topic |= {"low": [0, None, 0.2, None, None, 0.1, 0.1]}
    topic |= {"high": [0.2, None, 0.4, None, None, 0.3, 0.3]}
    (axes,) = curve(list("abcdefg"), topic, "0 $a$").axes
    assert axes.lines[1].get_xydata().tolist() == [[0, 0.1], [2, 0.3]]
    assert axes.get_title("left") == r"0 \$a\$"  # no formula


def test_one_document_has_no_interval_and_one_without_a_topic_word_is_in_no_mean():
    vectors = np.array([[0.2, 0.8], [np.nan, np.nan], [np.nan, np.nan]])
    dates = ["2020-01", "2020-01", "2020-02"]
    found = by_period(dates, vectors)
    assert found["documents"] == [2, 1]
    assert found["without_topic_words"] == [1, 1]
    assert part(found, "share")[0].tolist() == [0.2, 0.8]
    assert np.isnan(part(found, "low")).all()
    assert np.isnan(part(by_period(dates, vectors * np.nan), "share")).all()


def test_the_topic_that_rises_moves_most_and_noise_hardly(rng):
    years = np.repeat(np.arange(2000, 2010), 100)
    weights = np.ones([1000, 4])
    weights[:, 2] += (years - 2000) / 5
    rows = np.array([rng.dirichlet(row) for row in weights])
    found = by_period(years.astype(str), rows)
    assert by_movement(found)[0]["topic"] == 2
    assert part(found, "low")[-1, 2] > part(found, "high")[0, 2]
    noise = compared(rng.permutation(years), rows, np.unique(years).tolist())
    most = [by_movement(each)[0]["movement"] for each in (noise, found)]
    assert most[0] < 0.3 * most[1]


@pytest.mark.parametrize(
    ("dates", "unit", "number"),
    [
        (["2020-01-01", "2020-02-29"], "day", 60),
        (["2020-01-01T10:00:00", "2020-03-01"], "month", 3),
        (["2015-01-31", "2020-01-01"], "year", 6),
        (["2020-01-01", "2020-03"], "month", 3),
        (["1960", "2019-01-01"], "year", 60),
        (["1959", "2019-01-01"], "decade", 7),
        (["0800-12-25", "1215"], "decade", 42),
    ],
)
def test_the_period_is_the_shortest_that_dates_tell_and_few_enough(dates, unit, number):
    found = every(dates)
    assert (found["every"], len(found["names"])) == (unit, number)
    assert sum(found["documents"]) == 2


def test_a_date_too_inexact_for_the_period_is_left_out_and_counted():
    dates = ["2020", "2020-02", ""]
    found = every(dates, "month")
    assert (found["names"], found["documents"]) == (["2020-02"], [1])
    assert (found["inexact"], found["undated"]) == (1, 1)
    assert every(dates, "decade")["names"] == ["2020s"]
    far = ["1020-01-01", "2020-01-01"]
    for given, said in (
        (dates, "no date is exact enough for a day; take a longer"),
        ([None], "no document has a date"),
        (far, "365,244 days from 1020-01-01 to 2020-01-01"),
    ):
        with pytest.raises(InputError, match=said):
            every(given, "day")


# --- A corpus whose first theme rises -------------------------------------------------


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of three themes by month, ever more of ships; as jsonl."""
    draw, rows = random.Random(5), []
    for i in range(240):
        month = i % 6
        rising = draw.random() < 0.1 + 0.15 * month
        theme = 0 if rising else draw.choice([1, 2])
        words = draw.choices(toy.THEMES[theme], k=12)
        date = None if i % 40 == 3 else f"2020-{month + 2 * (month > 2) + 1:02}-05"
        row = {"text": f"{' '.join(words)}.", "date": date, "kind": f"theme {theme}"}
        rows.append(row)
    path = tmp_path_factory.mktemp("dated") / "corpus.jsonl"
    pd.DataFrame(rows).to_json(path, orient="records", lines=True)
    return path


@pytest.fixture(scope="module")
def run(corpus):
    marks = "--date", "date", "--label", "kind"
    _, data = toy.preprocessed(corpus.parent, corpus.read_text(), *marks, form="jsonl")
    chosen = ["--model", "lda", "--set", "num_topics=3"]
    done = call("train", data, "--out", corpus.parent / "RUN", *chosen)
    assert done.returncode == 0, done.stderr
    return corpus.parent / "RUN"


@pytest.fixture(scope="module")
def evaluation(run):
    done = call("evaluate", run)
    assert done.returncode == 0, done.stderr
    return json.loads((run / "evaluation.json").read_text())


@pytest.fixture(scope="module")
def tables(run, corpus):
    """Proportions, by month and by label, and what the command prints."""
    files = [run.parent / name for name in ("theta.csv", "months.csv", "kinds.csv")]
    line = ["--input", corpus, "--date", "date", "--label", "kind", "--out", files[0]]
    line += ["--over-time", files[1], "--by-label", files[2]]
    done = call("infer", run, *line)
    assert done.returncode == 0, done.stderr
    return (*map(pd.read_csv, files), done.stdout)


def test_the_command_writes_a_row_for_every_month_and_topic(tables):
    theta, months, kinds, printed = tables
    columns = "period documents without_topic_words topic words share low high"
    assert list(months) == columns.split()
    assert list(months.period[::3]) == [f"2020-{i:02}" for i in range(1, 9)]
    assert list(months.topic[:3]) == [0, 1, 2]
    assert set(months.words.str.split().str.len()) == {10}
    assert list(months.documents[months.share.isna()]) == [0] * 6
    assert "by month, 2020-01 to 2020-08" in printed
    assert "left out, with no date: 6 documents" in printed
    topics = [f"topic_{k}" for k in range(3)]
    means = theta[topics].groupby(theta.date.str[:7]).mean()
    shares = months.pivot(index="period", columns="topic", values="share").dropna()
    np.testing.assert_allclose(shares, means, rtol=1e-4)
    inside = months.dropna()
    assert ((inside.low < inside.share) & (inside.share < inside.high)).all()
    groups = theta.groupby("label")[topics]
    half = groups.sem().mul(stats.t.ppf(0.975, groups.size() - 1), axis=0)
    high = kinds.set_index("label")[[f"{topic}_high" for topic in topics]]
    np.testing.assert_allclose(high, (groups.mean() + half).clip(upper=1), rtol=1e-3)


def test_from_python_it_is_the_commands_table(run, corpus, tables):
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    texts, dates = ([row[name] for row in rows] for name in ("text", "date"))
    with pytest.warns(UserWarning, match="left out, with no date: 6 documents"):
        found = tcnlm.load_run(run).over_time(texts, dates)
    pd.testing.assert_frame_equal(pd.DataFrame(found), tables[1], rtol=1e-3)
    for given, said in (
        ((dates[1:],), "240 texts, but 239 dates"),
        ((["2020", "soon"],), "date 1: 'soon' is not a date"),
        ((dates, "week"), "one of day, month, year, decade, not 'week'"),
    ):
        with pytest.raises(InputError, match=said):
            tcnlm.load_run(run).over_time(texts, *given)


def test_dates_of_numpy_and_pandas_are_dates_as_exact_as_they_are(run):
    dates = [np.datetime64("1066-10"), pd.Period("1066-12"), np.int64(1066), pd.NaT]
    texts = ["ship sea", "ship", "bread", "court"]
    with pytest.warns(UserWarning, match="no date: 1 .*no month in their date: 1 doc"):
        rows = tcnlm.load_run(run).over_time(texts, dates, "month")
    assert [row["period"] for row in rows[::3]] == ["1066-10", "1066-11", "1066-12"]
    assert [row["documents"] for row in rows[::3]] == [1, 0, 1]


def test_the_page_has_curves_and_groups_of_all_documents(run, evaluation, tables):
    text = (run / "report.html").read_text()
    found = evaluation["over_time"]
    assert (found["every"], found["undated"]) == ("month", 6)
    assert sum(found["documents"]) == 234
    shares = tables[1].pivot(index="period", columns="topic", values="share")
    assert found["names"] == list(shares.index)
    np.testing.assert_allclose(part(found, "share"), shares, rtol=1e-3)
    assert evaluation["by_group"]["names"] == ["theme 0", "theme 1", "theme 2"]
    for key, title in ("over_time", "over time"), ("by_group", "by group"):
        assert f"<h2>Topics {title}</h2>" in text
        assert len(list((run / "figures").glob(f"{key}_*.svg"))) == 3
    assert "234 documents of training, validation and test" in text
    assert evaluation["clusters"]["documents"] == 240
    assert evaluation["clusters"]["purity"] > 0.9
    assert "The largest topics of all 240 documents with a label agree with" in text
    assert "Without a date: 6." in text
    (rows,) = OverTime().tables(evaluation).values()
    assert list(rows[0]) == list(tables[1])
    empty = [row["share"] for row in rows if row["documents"] == (0, "0")]
    assert empty == [(None, "")] * 6
    many = ByGroup().said({**evaluation["by_group"], "labels": 40})
    assert many.startswith("The 3 largest of 40 labels, 240 documents")


def test_without_dates_and_labels_the_page_has_no_such_section(toy_data):
    data = Dataset(toy_data)
    _, found = evaluate(tiny.untrained("lda", data.vocabulary), data)
    assert found["over_time"] is found["by_group"] is found["clusters"] is None
    text = page.render([fake_run(["a", "b"], over_time=None, by_group=None)])
    assert "Topics over time" not in text
    assert "Topics by group" not in text


def test_a_bad_date_and_a_model_without_topics_stop_the_command(
    run, toy_data, tmp_path
):
    texts = tmp_path / "a.jsonl"
    texts.write_text(
        '{"text": "ship", "date": 2020}\n{"text": "sea", "date": "soon"}\n'
    )
    line = ["--input", texts, "--date", "date", "--out", tmp_path / "o.csv"]
    line += ["--over-time", tmp_path / "t.csv"]
    done = call("infer", run, *line)
    assert done.returncode == 2
    assert "a.jsonl:2: field 'date': 'soon' is not a date" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    done = call("infer", tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm"), *line)
    assert "--over-time: a lstm has no topics" in done.stderr
