"""Topics over time and by group: means, intervals, gaps; the command and the page."""

import csv
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
from tcnlm.drawing.figures import PANEL
from tcnlm.metrics.evaluate import evaluate
from tcnlm.metrics.over_time import (
    ByGroup,
    OverTime,
    by_day,
    by_movement,
    by_period,
    curves,
    points,
)
from tcnlm.metrics.proportions import Sums, movement, summed
from tcnlm.programs.preprocess import main as preprocess
from tcnlm.report import page

MONTHS = ["2019-11", "2019-12", "2020-01", "2020-03", "2020-04"]  # none of 2020-02


@pytest.fixture
def documents(rng):
    """Proportions of 200 documents, whether they have topic words, and dates."""
    dates = [f"{month}-{day:02}" for month in MONTHS for day in range(1, 29)]
    chosen = [None if i % 9 == 4 else dates[rng.integers(140)] for i in range(200)]
    known = rng.random(200) > 0.1
    vectors = np.where(known[:, None], rng.dirichlet(np.full(5, 0.3), 200), np.nan)
    return chosen, vectors, known


def told(found, name):
    """Return a part of `compared` as [groups, topics]."""
    return np.array([topic[name] for topic in found["topics"]], float).T


def test_means_and_intervals_are_those_of_pandas_and_scipy(documents):
    dates, vectors, known = documents
    found = by_period(by_day(dates, vectors, known), "month")
    frame = pd.DataFrame(vectors).assign(month=[d and d[:7] for d in dates])
    groups = frame.groupby("month")
    own = [found["names"].index(name) for name in MONTHS]
    assert [found["documents"][i] for i in own] == groups.size().tolist()
    np.testing.assert_allclose(told(found, "share")[own], groups.mean(), rtol=1e-5)
    for i, (_, rows) in zip(own, groups):
        rows = rows.drop(columns="month").dropna()
        ends = stats.t.interval(0.95, len(rows) - 1, rows.mean(), stats.sem(rows))
        for name, end in zip(("low", "high"), ends):
            np.testing.assert_allclose(
                told(found, name)[i], np.clip(end, 0, 1), rtol=1e-5, atol=1e-9
            )
        assert found["without_topic_words"][i] == found["documents"][i] - len(rows)
    assert found["undated"] == dates.count(None)


def test_a_month_without_documents_is_a_gap_and_no_zero(documents):
    found = by_period(by_day(*documents), "month")
    assert found["names"] == sorted([*MONTHS, "2020-02"])
    assert found["documents"][3] == 0
    for name in ("share", "low", "high"):
        assert np.isnan(told(found, name)[3]).all()
        assert np.isfinite(np.delete(told(found, name), 3, axis=0)).all()
    (axes,) = curves(found["names"], found["topics"][:1], ["a"]).axes
    assert (
        np.isnan(axes.lines[0].get_ydata()).tolist()
        == [False] * 3 + [True] + [False] * 2
    )


def test_a_period_alone_between_gaps_is_a_point_with_its_interval():
    topic = {"topic": 0, "share": [0.1, None, 0.3, None, None, 0.2, 0.2]}
    topic |= {"low": [0, None, 0.2, None, None, 0.1, 0.1]}
    topic |= {"high": [0.2, None, 0.4, None, None, 0.3, 0.3]}
    (axes,) = curves(list("abcdefg"), [topic], ["$a$"]).axes
    assert axes.lines[1].get_xydata().tolist() == [[0, 0.1], [2, 0.3]]
    assert axes.get_title("left") == r"\$a\$"  # no formula


@pytest.mark.parametrize("number", [1, 5])
@pytest.mark.parametrize("draw", [curves, points])
def test_a_telephone_shows_every_figure_whole(draw, number):
    part = {"share": [0.1, 0.2], "low": [0, 0.1], "high": [0.2, 0.3]}
    topics = [{"topic": k, **part} for k in range(number)]
    figure = draw(["a", "b"], topics, [f"{k} word" for k in range(number)])
    assert figure.get_size_inches()[0] == PANEL[0]
    assert [axes.get_title("left") for axes in figure.axes] == [
        f"{k} word" for k in range(number)
    ]


def test_one_document_has_a_mean_and_no_interval(rng):
    row = rng.dirichlet(np.ones(3), 1)
    found = by_period(by_day(["2020"], row, np.array([True])))
    np.testing.assert_allclose(told(found, "share"), row, rtol=1e-5)
    assert np.isnan(told(found, "low")).all()


def test_documents_without_a_topic_word_are_in_no_mean():
    vectors = np.array([[0.2, 0.8], [np.nan, np.nan], [np.nan, np.nan]])
    dates = ["2020-01", "2020-01", "2020-02"]
    found = by_period(by_day(dates, vectors, np.array([True, False, False])))
    assert found["documents"] == [2, 1]
    assert found["without_topic_words"] == [1, 1]
    assert told(found, "share")[0].tolist() == [0.2, 0.8]
    nothing = by_period(by_day(dates, vectors, np.zeros(3, bool)))
    assert np.isnan(told(nothing, "share")).all()


@pytest.mark.parametrize("number", [8, 60])
def test_intervals_cover_the_true_mean_as_often_as_they_say(rng, number):
    covered = []
    for _ in range(400):
        sums = Sums()
        sums.add(rng.dirichlet(np.full(4, 0.5), number), np.ones(number, bool))
        low, high = sums.interval
        covered.append((low <= 0.25) & (high >= 0.25))
    assert 0.92 < np.mean(covered) < 0.97


def test_sums_joined_are_those_of_all(rng):
    rows, parts = rng.dirichlet(np.ones(3), 40), Sums()
    known = rng.random(40) > 0.2
    for some in np.split(np.arange(40), [7, 30]):
        other = Sums()
        other.add(rows[some], known[some])
        parts.join(other)
    whole = summed(["all"] * 40, rows, known)["all"]
    assert (parts.documents, parts.counted) == (40, known.sum())
    np.testing.assert_allclose(parts.mean, whole.mean)
    np.testing.assert_allclose(parts.interval, whole.interval)


def test_the_topic_that_rises_moves_most_and_noise_hardly(rng):
    years = np.repeat(np.arange(2000, 2010), 100)
    weights = np.ones([1000, 4])
    weights[:, 2] += (years - 2000) / 5
    rows = np.array([rng.dirichlet(row) for row in weights])
    found = by_period(by_day(years.astype(str), rows, np.ones(1000, bool)))
    assert by_movement(found)[0]["topic"] == 2
    assert told(found, "low")[-1, 2] > told(found, "high")[0, 2]
    noise = movement(summed(rng.permutation(years).tolist(), rows, years > 0))
    assert noise.max() < 0.3 * max(topic["movement"] for topic in found["topics"])


@pytest.mark.parametrize(
    ("dates", "every", "number"),
    [
        (["2020-01-01", "2020-02-29"], "day", 60),
        (["2020-01-01", "2020-03-01"], "month", 3),
        (["2020-01-01T10:00:00", "2020-01-02"], "day", 2),
        (["2015-01-31", "2019-12-01"], "month", 60),
        (["2015-01-31", "2020-01-01"], "year", 6),
        (["2020-01-01", "2020-03"], "month", 3),
        (["2020-01-01", "2020"], "year", 1),
        (["1960", "2019-01-01"], "year", 60),
        (["1959", "2019-01-01"], "decade", 7),
        (["0800-12-25", "1215"], "decade", 42),
        (["1066-10-14", "2020-01-01"], "decade", 97),
    ],
)
def test_the_period_is_the_shortest_that_dates_tell_and_few_enough(
    dates, every, number
):
    found = by_period(by_day(dates, np.ones([2, 1]), np.ones(2, bool)))
    assert (found["every"], len(found["names"])) == (every, number)
    assert sum(found["documents"]) == 2


def test_a_date_too_inexact_for_the_period_is_left_out_and_counted():
    days = by_day(["2020", "2020-02", ""], np.ones([3, 1]), np.ones(3, bool))
    found = by_period(days, "month")
    assert (found["names"], found["documents"]) == (["2020-02"], [1])
    assert (found["inexact"], found["undated"]) == (1, 1)
    assert by_period(days, "decade")["names"] == ["2020s"]
    with pytest.raises(InputError, match="no date tells its day; take a longer"):
        by_period(days, "day")
    with pytest.raises(InputError, match="no document has a date"):
        by_period(by_day([None], np.ones([1, 1]), np.ones(1, bool)))
    far = by_day(["1020-01-01", "2020-01-01"], np.ones([2, 1]), np.ones(2, bool))
    with pytest.raises(InputError, match="365,244 days from 1020-01-01 to 2020-01-01"):
        by_period(far, "day")


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
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def make(corpus, folder, *marks):
    line = f"--format jsonl --input {corpus} --min-count 1 --topic-min-count 1"
    line += f" --topic-top-fraction 0 --processes 1 --out {folder}"
    assert preprocess([*line.split(), *marks]) == 0
    return folder


@pytest.fixture(scope="module")
def run(corpus):
    data = make(corpus, corpus.parent / "DATA", "--date", "date", "--label", "kind")
    chosen = ["--model", "lda", "--set", "num_topics=3"]
    done = call("train", data, "--out", corpus.parent / "RUN", *chosen)
    assert done.returncode == 0, done.stderr
    return corpus.parent / "RUN"


@pytest.fixture(scope="module")
def evaluation(run):
    done = call("evaluate", run)
    assert done.returncode == 0, done.stderr
    return json.loads((run / "evaluation.json").read_text())


def rising(rows):
    """Return the rows of the topic of ships, which has more of them in the end."""
    (words,) = {
        row["words"] for row in rows if row["words"].split()[0] in toy.THEMES[0]
    }
    return [row for row in rows if row["words"] == words]


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def table(run, corpus):
    files = [run.parent / name for name in ("theta.csv", "months.csv", "kinds.csv")]
    line = ["--input", corpus, "--date", "date", "--label", "kind", "--out", files[0]]
    line += ["--over-time", files[1], "--by-label", files[2]]
    done = call("infer", run, *line)
    assert done.returncode == 0, done.stderr
    return (*map(read, files), done.stdout)


def test_the_command_writes_a_row_for_every_month_and_topic(table):
    _, rows, _, said = table
    columns = "period documents without_topic_words topic words share low high"
    assert list(rows[0]) == columns.split()
    assert [row["period"] for row in rows[::3]] == [f"2020-{i:02}" for i in range(1, 9)]
    assert [row["topic"] for row in rows[:3]] == ["0", "1", "2"]
    assert {len(row["words"].split()) for row in rows} == {10}
    assert [row["documents"] for row in rows if row["share"] == ""] == ["0"] * 6
    assert "a row for every topic and month, 2020-01 to 2020-08" in said
    assert "left out, with no date: 6 documents" in said


def test_the_commands_means_are_those_of_its_own_rows(table):
    theta, rows, kinds, _ = table
    frame = pd.DataFrame(theta)
    topics = frame[[f"topic_{k}" for k in range(3)]].astype(float)
    by_month = topics.groupby(frame["date"].str[:7].replace("", np.nan)).mean()
    for row in rows:
        if row["share"]:
            expected = by_month.loc[row["period"], f"topic_{row['topic']}"]
            assert float(row["share"]) == pytest.approx(expected, rel=1e-4)
            assert float(row["low"]) < float(row["share"]) < float(row["high"])
    errors = topics.groupby(frame["label"]).sem()
    half = errors.mul(stats.t.ppf(0.975, frame.groupby("label").size() - 1), axis=0)
    for kind in kinds:
        for k in range(3):
            mean, high = (float(kind[f"topic_{k}{end}"]) for end in ("", "_high"))
            wanted = mean + half.loc[kind["label"], f"topic_{k}"]
            assert high == pytest.approx(min(wanted, 1), rel=1e-3)


def test_the_topic_that_rises_in_a_corpus_is_found_to_rise(table):
    months = [row for row in rising(table[1]) if row["share"]]
    shares = [float(row["share"]) for row in months]
    assert float(months[-1]["low"]) > float(months[0]["high"])
    assert np.polyfit(range(6), shares, 1)[0] > 0.05
    assert np.corrcoef(range(6), shares)[0, 1] > 0.9


def test_from_python_it_is_the_commands_table(run, corpus, table):
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    texts, dates = ([row[name] for row in rows] for name in ("text", "date"))
    with pytest.warns(UserWarning, match="left out, with no date: 6 documents"):
        found = tcnlm.load_run(run).over_time(texts, dates)
    expected = pd.DataFrame(table[1]).replace("", np.nan)
    for name, column in pd.DataFrame(found).items():
        exact = not pd.api.types.is_numeric_dtype(column)
        own = expected[name] if exact else expected[name].astype(float)
        assert exact or np.allclose(own, column, rtol=1e-3, equal_nan=True)
        assert not exact or own.tolist() == column.tolist()
    with pytest.raises(InputError, match="240 texts, but 239 dates"):
        tcnlm.load_run(run).over_time(texts, dates[1:])
    with pytest.raises(InputError, match="date 1: 'soon' is no date"):
        tcnlm.load_run(run).over_time(texts, ["2020", "soon"])
    with pytest.raises(InputError, match="one of day, month, year, decade, not 'week'"):
        tcnlm.load_run(run).over_time(texts, dates, "week")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT, pd.NA, "NA"])
def test_dates_of_numpy_and_pandas_are_dates_as_exact_as_they_are(run, missing):
    dates = [np.datetime64("1066-10"), pd.Period("1066-12"), np.int64(1066), missing]
    texts = ["ship sea", "ship", "bread", "court"]
    with pytest.warns(UserWarning, match="no date: 1 .*no month in their date: 1 doc"):
        rows = tcnlm.load_run(run).over_time(texts, dates, "month")
    assert [row["period"] for row in rows[::3]] == ["1066-10", "1066-11", "1066-12"]
    assert [row["documents"] for row in rows[::3]] == [1, 0, 1]


def test_the_page_has_curves_and_groups_of_all_documents(run, evaluation, table):
    text = (run / "report.html").read_text()
    found = evaluation["over_time"]
    assert (found["every"], found["undated"]) == ("month", 6)
    assert sum(found["documents"]) == 234
    inferred = {(r["period"], int(r["topic"])): r["share"] for r in table[1]}
    for topic in found["topics"]:
        for name, share in zip(found["names"], topic["share"]):
            own = inferred[name, topic["topic"]]
            assert share == (pytest.approx(float(own), rel=1e-3) if own else None)
    assert evaluation["by_group"]["names"] == ["theme 0", "theme 1", "theme 2"]
    for title, key in (
        ("Topics over time", "over_time"),
        ("Topics by group", "by_group"),
    ):
        assert f"<h2>{title}</h2>" in text
        assert len(list((run / "figures").glob(f"{key}_*.svg"))) == 3
    assert "234 documents of training, validation and test" in text
    assert evaluation["clusters"]["documents"] == 240
    assert evaluation["clusters"]["purity"] > 0.9
    assert "The largest topics of all 240 documents with a label agree with" in text
    assert "Without a date: 6." in text
    (rows,) = OverTime().tables(evaluation).values()
    assert list(rows[0]) == list(table[1][0])
    empty = [row["share"] for row in rows if row["documents"] == (0, "0")]
    assert empty == [(None, "")] * 6


def test_without_dates_and_labels_the_page_has_no_such_section(toy_data):
    data = Dataset(toy_data)
    found = evaluate(tiny.untrained("lda", data.vocabulary), data, None)
    assert found["over_time"] is found["by_group"] is found["clusters"] is None
    text = page.render([fake_run(["a", "b"], over_time=None, by_group=None)])
    assert "Topics over time" not in text
    assert "Topics by group" not in text


def test_one_period_makes_no_curve(corpus, tmp_path):
    rows = [
        {**json.loads(line), "date": 2020} for line in corpus.read_text().splitlines()
    ]
    same = tmp_path / "same.jsonl"
    same.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data = Dataset(make(same, tmp_path / "DATA", "--date", "date"))
    assert (
        evaluate(tiny.untrained("lda", data.vocabulary), data, None)["over_time"]
        is None
    )


def test_a_bad_date_stops_the_command_and_writes_nothing(run, corpus, tmp_path):
    texts = tmp_path / "a.jsonl"
    texts.write_text(
        '{"text": "ship", "date": 2020}\n{"text": "sea", "date": "soon"}\n'
    )
    line = ["--input", texts, "--date", "date", "--out", tmp_path / "o.csv"]
    done = call("infer", run, *line, "--over-time", tmp_path / "t.csv")
    assert done.returncode == 2
    assert "a.jsonl:2: field 'date': 'soon' is no date" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_model_without_topics_is_refused(toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    texts = tmp_path / "a.jsonl"
    texts.write_text('{"text": "ship", "date": 2020}\n')
    line = ["--input", texts, "--date", "date", "--out", tmp_path / "o.csv"]
    done = call("infer", run, *line, "--over-time", tmp_path / "t.csv")
    assert "--over-time: a lstm has no topics" in done.stderr


def test_of_many_labels_the_largest_are_shown(evaluation):
    found = {**evaluation["by_group"], "labels": 40}
    assert ByGroup().said(found).startswith("The 3 largest of 40 labels, 240 documents")
    (axes,) = points(["a$b$", "x" * 30, "c"], [{**found["topics"][0]}], ["a"] * 3).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [r"a\$b\$", "x" * 23 + "…", "c"]
