"""tcnlm infer and tcnlm.load_run: what a model makes of texts, not of DATA."""

import copy
import json
import math
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy
from toy import read_csv

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.common.outputs import quoted
from tcnlm.data.dataset import Dataset
from tcnlm.generation.saved_model import Program
from tcnlm.metrics.features import infer_documents
from tcnlm.metrics.scores import score
from tcnlm.preprocessing.text import sentences
from tcnlm.programs import infer

TEXTS = [
    tiny.REVIEW,
    "",
    "The of xylophone.",
    "A judge. A trial, a court! Bread.",
    "Sea.",
]


run = tiny.run_fixture()
# Reads texts in little time: no word is predicted from others.
topics = tiny.run_fixture("neural_topics")


@pytest.fixture(scope="module")
def opened(run):
    return tcnlm.load_run(run)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Texts with labels and ids, as jsonl."""
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    labels = ["sea", "none", "none", "law", "sea"]
    rows = [
        {"text": text, "name": f"d{i}", "kind": label}
        for i, (text, label) in enumerate(zip(TEXTS, labels))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def call(*arguments):
    """Run the command in this process."""
    infer.main([*map(str, arguments)])


def text_of(dataset, split, path):
    """Write a split's documents in the format tdlm, as they were before DATA."""
    words = np.array(dataset.vocabulary.words)
    lines = [
        "\t".join(" ".join(words[sentence]) for sentence in split.document(i))
        for i in range(split.num_documents)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["lda", "lda_lstm", "lstm", "ntm", "tcnlm", "tdlm"])
def test_a_splits_raw_text_has_its_perplexity_and_topics(name, toy_data, tmp_path):
    dataset = Dataset(toy_data)
    split, out = dataset.split("test"), tmp_path / "theta.csv"
    text = text_of(dataset, split, tmp_path / "test.txt")
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", name)
    call(run, "--input", text, "--format", "tdlm", "--out", out)
    rows, model = read_csv(out), tcnlm.load(run)
    assert [int(row["document"]) for row in rows] == list(range(split.num_documents))
    bounds = split.sentences[split.documents]
    assert [int(row["words"]) for row in rows] == np.diff(bounds).tolist()
    if model.per_word == "nll":
        targets = np.diff(bounds) + np.diff(split.documents)
        nats = [math.log(float(row["perplexity"])) for row in rows]
        expected = score(model, model.batching.rows(split)).nll
        assert np.average(nats, weights=targets) == pytest.approx(expected, rel=1e-5)
    topics = [column for column in rows[0] if column.startswith("topic_")][1:]
    if model.offers("topics"):
        found = np.array([[float(row[column]) for column in topics] for row in rows])
        expected = infer_documents(model, split).proportions
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        assert [int(row["topic"]) for row in rows] == found.argmax(axis=1).tolist()
    else:
        assert not topics


def test_ids_and_labels_are_kept_and_labels_averaged(run, corpus, tmp_path, capsys):
    out, by_label = tmp_path / "theta.jsonl", tmp_path / "labels.csv"
    options = ("--id", "name", "--label", "kind", "--by-label", by_label)
    call(run, "--input", corpus, "--out", out, *options)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["d0", "d1", "d2", "d3", "d4"]
    assert [row["label"] for row in rows] == ["sea", "none", "none", "law", "sea"]
    assert list(rows[0])[:8] == (
        "document id label words unknown_words topic_words perplexity topic".split()
    )
    empty = [row["topic"] is row["topic_0"] is None for row in rows]
    assert empty == [False, True, True, False, False]
    assert [row["perplexity"] is None for row in rows] == [False, True] + [False] * 3
    assert (rows[2]["words"], rows[2]["unknown_words"]) == (4, 1)
    means = {row["label"]: row for row in read_csv(by_label)}
    assert list(means) == ["law", "none", "sea"]
    for k in range(4):
        own = [rows[i][f"topic_{k}"] for i in (0, 4)]
        assert float(means["sea"][f"topic_{k}"]) == pytest.approx(np.mean(own), 1e-4)
        assert means["none"][f"topic_{k}"] == ""
    assert means["none"]["without_topic_words"] == "2"
    printed = capsys.readouterr().out
    assert printed.startswith("5 documents, 34 words, perplexity ")
    assert "; 8.8% of the words are unknown" in printed
    assert "2 without a topic word, so without topics" in printed


def test_text_of_mostly_unknown_words_is_warned_of(topics, tmp_path, capsys):
    (tmp_path / "de.txt").write_text("Der Richter las das Urteil, a ship.\n")
    call(topics, "--input", tmp_path / "de.txt", "--out", tmp_path / "theta.csv")
    told = capsys.readouterr().err
    assert "warning: 55.6% of the words are unknown to " in told


@pytest.mark.parametrize(
    ("labels", "column"), [(["x", "x_low"], "topic_x_low"), (["words"], "topic_words")]
)
def test_topics_that_make_equal_columns_are_refused(
    labels, column, topics, corpus, tmp_path
):
    shutil.copytree(topics, tmp_path / "RUN")
    tcnlm.load_run(tmp_path / "RUN").label(dict(enumerate(labels)))
    asked = [tmp_path / "RUN", "--input", corpus, "--label", "kind"]
    asked += ["--out", tmp_path / "theta.csv"]
    if len(labels) > 1:
        call(*asked)
        asked += ["--by-label", tmp_path / "kinds.csv"]
    with pytest.raises(InputError, match=f"topics.csv: .* '{column}'"):
        call(*asked)
    assert not (tmp_path / "kinds.csv").exists()


def test_many_batches_make_the_rows_of_one(run, corpus, tmp_path, monkeypatch):
    call(run, "--input", corpus, "--out", tmp_path / "whole.csv")
    monkeypatch.setattr(infer, "BATCH", 2)
    call(run, "--input", corpus, "--out", tmp_path / "parts.csv")
    whole, parts = (read_csv(tmp_path / name) for name in ("whole.csv", "parts.csv"))
    for row, other in zip(whole, parts):
        for name, value in row.items():
            same = value == other[name]
            assert same or float(value) == pytest.approx(float(other[name]), rel=1e-4)


def test_the_command_reads_standard_input_and_refuses_a_bad_line_in_one(
    topics, tmp_path
):
    command = [sys.executable, "-m", "tcnlm", "infer", str(topics), "--input", "-"]
    command += ["--out", str(tmp_path / "a.csv")]
    options = {"capture_output": True, "text": True, "cwd": toy.ROOT}
    result = subprocess.run(command, input="The sea.\nA judge.\n", **options)
    assert result.returncode == 0, result.stderr
    assert len(read_csv(tmp_path / "a.csv")) == 2
    command[-1] = str(tmp_path / "b.csv")
    lines = '{"text": "sea"}\n{"sea": 1}\n'
    result = subprocess.run([*command, "--format", "jsonl"], input=lines, **options)
    assert result.returncode == 2
    assert result.stderr.startswith("error: /dev/stdin:2: no field 'text'")
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--out theta.txt", r"theta\.txt: its name must end in \.csv or \.jsonl"),
        ("--out nowhere/theta.csv", "there is no folder nowhere"),
        ("--out theta.csv --format text --label kind", "--label, --id, --date, "),
        ("--out theta.csv --by-label l.csv", "name the field of the labels"),
        ("--out theta.csv --over-time t.csv", "name the field of the dates with --da"),
        ("--out theta.csv --format counts --vocabulary v", "is for --ids-from"),
        ("--out theta.csv --every month", "--every is for --over-time"),
    ],
)
def test_what_cannot_be_is_refused(
    run, corpus, tmp_path, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        call(run, "--input", corpus, *options.split())
    assert not list(tmp_path.iterdir())


def test_texts_that_are_empty_are_left_out_if_asked_and_counted(
    topics, tmp_path, capsys
):
    texts, out = tmp_path / "texts.csv", tmp_path / "theta.csv"
    texts.write_text("id,answer\n1,The sea.\n2,\n3,  \n4,A judge.\n")
    options = ["--input", texts, "--field", "answer", "--id", "id", "--out", out]
    with pytest.raises(InputError, match="texts.csv:3: .*missing.* --skip-empty"):
        call(topics, *options)
    call(topics, *options, "--skip-empty")
    assert [row["id"] for row in read_csv(out)] == ["1", "4"]
    assert (
        "left out by --skip-empty because they have no text: 2"
        in capsys.readouterr().out
    )


def test_shared_ids_and_labels_that_say_none_are_told_of(topics, tmp_path, capsys):
    texts, out = tmp_path / "texts.csv", tmp_path / "theta.csv"
    texts.write_text("id,kind,text\n1,NA,The sea.\n1,a,A judge.\n")
    call(topics, "--input", texts, "--id=id", "--label=kind", "--out", out)
    told = capsys.readouterr().err
    assert "warning: 2 documents share their ids with others, 2 of them '1': no" in told
    assert "texts.csv:2: field 'kind' is 'NA', taken for none\n" in told
    assert [row["label"] for row in read_csv(out)] == ["", "a"]


def test_docnade_has_units_and_a_perplexity(corpus, tmp_path):
    model, out = tiny.make_run(tmp_path / "RUN", "docnade"), tmp_path / "units.csv"
    call(tmp_path / "RUN", "--input", corpus, "--out", out)
    row = read_csv(out)[0]
    split = [word for sentence in sentences(tiny.REVIEW) for word in sentence]
    words = [tiny.TOPIC_WORDS.index(word) for word in split if word in tiny.TOPIC_WORDS]
    batch = {"words": tf.constant([words])}
    units = [float(row[f"unit_{k}"]) for k in range(model.config.units)]
    np.testing.assert_allclose(units, model.features(batch).numpy()[0], rtol=1e-4)
    nll = float(model.compute_loss(batch, training=False)["nll"])
    assert math.log(float(row["perplexity"])) == pytest.approx(nll, rel=1e-4)
    assert "topic_0" not in row


def test_from_python_texts_have_topics_perplexities_and_sentences(run):
    opened = tcnlm.load_run(run)
    proportions = opened.proportions(TEXTS)
    assert proportions.shape == (5, 4)
    without = [False, True, True, False, False]
    assert np.isnan(proportions).all(axis=1).tolist() == without
    np.testing.assert_allclose(np.nansum(proportions, axis=1), [1, 0, 0, 1, 1], 1e-5)
    perplexity = opened.perplexity(TEXTS)
    assert np.isnan(perplexity).tolist() == [False, True, False, False, False]
    assert opened.proportions([]).shape == (0, 4)
    mixture = {"topic": {3: 0.7, 1: 0.3}}
    for source in ({"topic": 3}, mixture, {"document": tiny.REVIEW}):
        written = opened.generate(**source, number=5, prompt="The sea")
        assert len(written) == 5
        assert all(sentence.startswith("the sea") for sentence in written)
    sampled = {"number": 4, "seed": 1}
    written = opened.generate(topic=3, **sampled)
    assert written == opened.generate(topic=3, **sampled)
    assert written != opened.generate(topic=1, **sampled)
    with pytest.raises(InputError, match="give a topic or a document"):
        opened.generate()
    with pytest.raises(InputError, match="a topic or a document, not both"):
        opened.generate(topic=3, document=tiny.REVIEW)
    for wrong in ({"method": "greedy", "seed": 1}, {"beam_width": 3}):
        with pytest.raises(InputError, match="has no effect with method"):
            opened.generate(topic=3, **wrong)


def test_the_python_of_the_docs_runs(run):
    (block,) = toy.python_of("python.md", "tcnlm.load_run")
    assert "runs/stories" in block
    exec(block.replace("runs/stories", str(run)), {})


def test_perplexity_in_contexts_is_the_saved_models(run):
    texts, contexts = ["The sea of a ship.", "A judge."], [tiny.REVIEW, "The court."]
    opened = tcnlm.load_run(run)
    found = opened.perplexity(texts, contexts)
    expected = Program(opened.model, 30, 300).score(
        tf.constant(texts), tf.constant(contexts)
    )
    np.testing.assert_allclose(found, expected["perplexity"], rtol=1e-6)
    assert found[0] != pytest.approx(opened.perplexity(texts, ["", ""])[0], rel=1e-4)
    with pytest.raises(InputError, match="2 texts, but 1 contexts"):
        opened.perplexity(texts, contexts[:1])


@pytest.mark.parametrize(
    ("name", "method", "message"),
    [("lstm", "proportions", "lstm has no topics"), ("lda", "perplexity", "no words")],
)
def test_what_a_model_does_not_have_is_refused(name, method, message, tmp_path):
    tiny.make_run(tmp_path / "RUN", name)
    with pytest.raises(InputError, match=message):
        getattr(tcnlm.load_run(tmp_path / "RUN"), method)(TEXTS)


HOSTILE = ["=1+1", "+4 x", "-x", "@sum(a1)", "'=1", '="a",b', "-", "--1"]
HARMLESS = ["-1", "+2.5", "-1e-3", ".5", "a=1", "x-y", "1-2"]


@pytest.mark.parametrize("asked", [[], ["--unquoted"]])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_no_spreadsheet_runs_what_others_wrote(suffix, asked, topics, tmp_path):
    texts, tables = tmp_path / "texts.jsonl", [f"out{suffix}", f"by{suffix}"]
    rows = [{"text": "the sea", "n": name} for name in HOSTILE + HARMLESS]
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out, by = (tmp_path / name for name in tables)
    marks = ["--id=n", "--label=n", "--by-label", by]
    call(topics, "--input", texts, "--out", out, *marks, *asked)
    read = read_csv if suffix == ".csv" else read_jsonl
    quote = suffix == ".csv" and not asked
    wanted = [f"'{n}" if quote and n[0] != "'" else n for n in HOSTILE] + HARMLESS
    found = read(out)
    assert [row["id"] for row in found] == [row["label"] for row in found] == wanted
    assert sorted(row["label"] for row in read(by)) == sorted(wanted)
    assert all(float(row["topic_0"]) > 0 for row in found)


@pytest.mark.parametrize("value", ["\t=1", "\r=1", "\n=1", "-1\n", "+1+1"])
def test_what_only_looks_like_a_number_is_quoted(value):
    assert (quoted(value), quoted("-1"), quoted(-7)) == (f"'{value}", "-1", -7)


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line]


WRONG = {  # what is asked of a RUN in Python, and what is said
    "a text": (lambda run: run.proportions("one text"), "give a list of texts"),
    "none": (lambda run: run.proportions([None]), "text 0 must be a text, not None"),
    "a context": (lambda run: run.perplexity(["a"], "b"), "give a list of texts"),
    "no prompt": (lambda run: run.generate(0, prompt=None), "prompt must be a text"),
    "half a word": (lambda run: run.generate(0, top_k=5.0), "top_k must be a whole"),
    "no UTF-8": (
        lambda run: run.perplexity(["\ud800"]),
        "text 0 must be a text, not .*ud800",
    ),
    "a list": (lambda run: run.generate([1]), r"^topic \[1\]: give a topic's number"),
    "above K": (lambda run: run.generate(4), "^topic 4: the model has topics 0 to 3$"),
    "of a layer": (
        lambda run: run.generate((1, 2)),
        r"^topic \(1, 2\): give a topic's",
    ),
    "no weight": (lambda run: run.generate({0: -1}), "^topic 0: give a topic's"),
    "a copy": (copy.deepcopy, "neither copied nor pickled: tcnlm.load_run.* opens it"),
    "a pickle": (pickle.dumps, "neither copied nor pickled: tcnlm.load_run.* opens it"),
    "a word": (lambda run: run.generate("x"), "no topic is called 'x'; labels"),
    "a seed": (lambda run: run.generate(0, seed=2**70), "seed must be a whole number"),
    "a misprint": (lambda run: run.generate(0, temprature=1), "those of decoding are "),
    "no run": (lambda _: tcnlm.load_run(None), "given as a str or Path, not None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_python_is_told_what_is_wanted(name, opened):
    call, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        call(opened)
