"""RUN/topics.csv: topics called, merged and hidden by the user, and who goes by it."""

import json
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
import tensorflow as tf
import tiny
from toy import read_csv
from trained import call

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.models import names
from tcnlm.models.names import Names, Row, read_names
from tcnlm.report import page
from tcnlm.report.evaluate_run import evaluate_run
from tcnlm.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("undrawn")
AUTOMATIC = ["a, b, c", "d, e, f", "g, h, i", "j, k, l"]
TITLES, SEMICOLONS = ",".join(names.COLUMNS), ";".join(names.COLUMNS)
unnamed = tiny.run_fixture()


@pytest.fixture
def run(unnamed, tmp_path):
    return shutil.copytree(unnamed, tmp_path / "RUN")


def written(folder, *lines, start=TITLES, encoding="utf-8"):
    path = folder / names.FILE
    path.write_text("\n".join([start, *lines]), encoding=encoding)
    return path


def test_an_automatic_label_is_the_most_relevant_words_of_the_training_text(run):
    model = tcnlm.load(run)
    found = names.automatic_labels(model)
    beta, counts = model.topics().numpy(), model.vocabulary.topic_counts
    for label, row in zip(found, beta):
        lift = row * counts.sum() / counts
        order = np.argsort(-(0.5 * np.log(row) + 0.5 * np.log(lift)))
        assert label == ", ".join(tiny.TOPIC_WORDS[i] for i in order[:3])


@pytest.mark.parametrize(
    ("start", "lines", "encoding"),
    [
        (TITLES, ["3,oil,,", "1,Öl,3,", "0,sea,,yes"], "utf-8"),
        (TITLES, ["3,oil,,FALSE\r", "", ",,,", "1,Öl,3,0", "0,sea,,TRUE"], "utf-8-sig"),
        (SEMICOLONS, ["3;oil;;no", "1; Öl ;3;false", "0;sea;;1", "2;;;"], "utf-8"),
    ],
)
def test_what_spreadsheets_write_is_read_and_rows_may_be_missing(
    start, lines, encoding, tmp_path
):
    path = written(tmp_path, *lines, start=start, encoding=encoding)
    found = read_names(path, AUTOMATIC)
    assert found.rows == (
        Row("sea", None, True, given=True),
        Row("Öl", 3, given=True),
        Row("g, h, i"),
        Row("oil", given=True),
    )
    assert (found.shown, found.keys) == ([2, 3], [2, "oil"])
    found.write(tmp_path / "again.csv")
    assert read_names(tmp_path / "again.csv", AUTOMATIC) == found


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["4,oil,,"], "2: number '4': the model has topics 0 to 3"),
        (["x,oil,,"], "2: number 'x': the model has"),
        (["1,oil,9,"], "2: merged_into '9': the model has"),
        (["1,oil,,", "1,sea,,"], "3: topic 1 already has a row"),
        (["1,oil,,", "2,OIL,,"], "3: topic 1 has the label 'OIL' too"),
        (["1,7,,"], "2: label '7': must be"),
        (["1,oil: gas,,"], "2: label 'oil: gas' has U+003A, COLON: must be"),
        (["1,o\u202eil,,"], "2: label 'o\\u202eil' has U+202E, RIGHT-TO-LEFT OVERR"),
        ([f"1,{'x' * 501},,"], f"2: label '{'x' * 39} has 501 characters: "),
        (["1,caf\xe9,,", "2,cafe\u0301,,"], "3: topic 1 has the label 'cafe\u0301'"),
        (["1,=oil,,"], "2: label '=oil' has U+003D, EQUALS SIGN: must be"),
        (["1,oil,1,"], "2: topic 1 is merged into 1: "),
        (["1,oil,2,", "2,gas,3,"], "2: topic 1 is merged into 2: "),
        (["1,oil,2,", "2,gas,1,"], "2: topic 1 is merged into 2: "),
        (["1,oil,2,yes"], "2: topic 1 is merged into 2: "),
        (["1,oil,,perhaps"], "2: hidden must be yes or empty, not 'perhaps'"),
        (["1,oil"], "2: 2 cells for 4 columns"),
        (['1,"oil'], "2: not CSV: unexpected end of data"),
        ([f"{k},t{k},,yes" for k in range(4)], "2: all topics are hidden; show one"),
    ],
)
def test_what_is_not_right_in_the_file_is_refused_with_its_line(lines, said, tmp_path):
    path = written(tmp_path, *lines)
    with pytest.raises(InputError, match=re.escape(f"{path}:{said}")):
        read_names(path, AUTOMATIC)


def test_label_writes_the_automatic_names_then_changes_what_it_is_given(run):
    before = (run / "config.json").read_bytes()
    table = tcnlm.label(run)
    automatic = names.automatic_labels(tcnlm.load(run))
    assert list(table.columns) == list(names.COLUMNS)
    assert table.label.tolist() == automatic
    tcnlm.label(run, labels={3: "oil", 1: "gas"}, merge={1: 3}, hide=[0])
    table = tcnlm.label(run, labels={3: None, 2: " sea "})
    assert table.label.tolist() == [automatic[0], "gas", "sea", automatic[3]]
    assert table.merged_into.fillna(-1).tolist() == [-1, 3, -1, -1]
    assert table.hidden.tolist() == [True, False, False, False]
    kept = read_csv(run / names.FILE)
    assert [row["hidden"] for row in kept] == ["yes", "", "", ""]
    table = tcnlm.label(run, merge={1: None}, hide=[])
    assert not table.hidden.any()
    assert table.merged_into.isna().all()
    assert (run / "config.json").read_bytes() == before
    assert [p.name for p in run.glob(".*")] == []


def test_a_group_has_the_sum_of_shares_and_the_mean_of_words_by_use():
    found = Names((Row("a"), Row("b", 2), Row("c"), Row("d", None, True)))
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [np.nan] * 4])
    np.testing.assert_allclose(found.summed(shares), [[0.1, 0.5], [np.nan] * 2])
    beta = np.array([[1.0, 0], [0.5, 0.5], [0, 1], [1, 0]])
    mean = found.mean(beta, np.array([0.1, 0.3, 0.1, 0.5]))
    np.testing.assert_allclose(mean, [[1, 0], [0.375, 0.625], [1, 0]])
    unused = found.mean(beta, np.array([0.5, 0, 0, 0.5]))
    np.testing.assert_allclose(unused[1], [0.25, 0.75])


def test_generate_writes_from_labels_a_merged_one_from_its_topics_alike(run):
    tcnlm.label(run, labels={3: "oil", 0: "sea bass"}, merge={1: 3})
    asked = ["--topic", "OIL:3", "--topic", "sea bass", "--json", "--seed", 4]
    done = call("generate", run, *asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    weights = {(t["topic"], t.get("label")): t["weight"] for t in found["topics"]}
    expected = {(3, "oil"): 0.375, (1, None): 0.375, (0, "sea bass"): 0.25}
    assert weights == pytest.approx(expected)
    numbers = "--topic 3:3 --topic 1:3 --topic 0:2 --seed 4".split()
    done = call("generate", run, *numbers)
    assert done.stdout.splitlines()[-1].strip(" .") == found["sentence"].strip(" .")
    assert done.stdout.startswith(("topic 3 oil (0.38): ", "topic 1 (0.38): "))
    opened = tcnlm.load_run(run)
    written = opened.generate({"oil": 3, "sea bass": 1}, seed=4)
    assert written == [found["sentence"]]
    assert opened.generate("sea bass", seed=4) == opened.generate(0, seed=4)
    done = call("generate", run, "--topic", "coal:0.5")
    assert "--topic coal:0.5: no topic is called 'coal'; labels are " in done.stderr
    assert "'sea bass'" in done.stderr


def test_infer_has_labels_for_columns_sums_and_says_what_is_hidden(run, tmp_path):
    texts = tmp_path / "texts.jsonl"
    rows = [{"text": text, "kind": "a"} for text in (tiny.REVIEW, "A judge.", "No.")]
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    whole = tcnlm.load_run(run).proportions([row["text"] for row in rows])
    tcnlm.label(run, labels={3: "oil", 0: "sea", 2: "law"}, merge={1: 3}, hide=[0])
    out, kinds = tmp_path / "theta.jsonl", tmp_path / "kinds.jsonl"
    asked = ["--input", texts, "--label", "kind", "--out", out, "--by-label", kinds]
    done = call("infer", run, *asked)
    assert done.returncode == 0, done.stderr
    assert "topics.csv hides 1 topic: 0 sea\n" in done.stdout
    *found, empty = [json.loads(line) for line in out.read_text().splitlines()]
    columns = [c for c in empty if c.startswith("topic_")]
    assert columns[1:] == ["topic_law", "topic_oil"]
    assert empty["topic"] is empty["topic_law"] is empty["hidden"] is None
    for row, shares in zip(found, whole):
        oil, law = shares[1] + shares[3], shares[2]
        assert row["topic_oil"] == pytest.approx(oil, rel=1e-4)
        assert row["topic_law"] == pytest.approx(law, rel=1e-4)
        assert row["topic"] == ("oil" if oil > law else "law")
        assert row["hidden"] == pytest.approx(shares[0], abs=1e-5)
    mean = json.loads(kinds.read_text())
    assert mean["topic_law"] == pytest.approx(np.nanmean(whole[:, 2]), rel=1e-4)
    opened = tcnlm.load_run(run)
    np.testing.assert_array_equal(opened.proportions([tiny.REVIEW]).shape, [1, 4])


@pytest.fixture(scope="module")
def measured(toy_data, tmp_path_factory):
    """The same RUN without names and with them."""
    tf.keras.utils.set_random_seed(1)
    folder = tmp_path_factory.mktemp("named") / "RUN"
    tiny.make_run_on(toy_data, folder, num_topics=4)
    plain = evaluate_run(RunFolder(folder))
    given = {"labels": {3: "Oil & gas", 0: "sea"}, "merge": {1: 3}, "hide": [2]}
    tcnlm.label(folder, **given)
    return plain, evaluate_run(RunFolder(folder))


def test_no_figure_depends_on_names(measured):
    plain, named = (
        {k: v for k, v in each.evaluation.items() if k != "seconds"}
        for each in measured
    )
    assert plain == named


def topics_table(measured):
    """Return the page, and the cells of its table of topics by row."""
    tree = ElementTree.fromstring(page.render([measured]))
    (table,) = (t for t in tree.iter("table") if t.get("class") == "topics")
    return tree, [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_the_page_goes_by_names_and_says_what_is_merged_and_hidden(measured):
    plain, named = measured
    tree, (titles, *rows) = topics_table(named)
    text = "".join(tree.itertext())
    assert titles[:2] == ["topic", "name"]
    cells = {row[0]: dict(zip(titles, row)) for row in rows}
    called = {k: row["name"] for k, row in cells.items()}
    assert called == {"3": "Oil & gas", "0": "sea"}
    shares = [topic["proportion"] for topic in plain.evaluation["topics"]]
    assert cells["3"]["mean test share"] == f"{shares[1] + shares[3]:.3f}"
    assert cells["3"]["NPMI"] == "-"
    assert "topics.csv hides 1 topic: 2 " in text
    assert "Merged by topics.csv: 3 is 3 + 1." in text
    drawn = {each.text for each in tree.iter("text")}
    assert drawn == {"3 Oil & gas", "0 sea"}
    numbers = {e.get("data-topic") for e in tree.iter() if e.get("data-topic")}
    assert numbers == {"3", "0"}
    colours = {e.get("title") for e in tree.iter("span") if e.get("style")}
    assert colours <= {"topic 3", "topic 0"}
    assert "name" not in topics_table(plain)[1][0]


def test_a_label_of_words_alone_takes_those_that_a_label_may_have():
    words = [["http://sea", "@sea", "ship", "sail"], ["a:b"], ["ship", "sail"]]
    assert names.labels_of_words(words) == ["ship, sail (0)", "topic", "ship, sail (2)"]
