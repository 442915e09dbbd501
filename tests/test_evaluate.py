"""evaluate.py as run, its JSON and its page; bad input one by one."""

import dataclasses
import json
import math
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import tiny
import toy
from measured import fake_run, on_imdb
from trained import call

from tcnlm.coherence import count_windows, topic_coherence
from tcnlm.coherence.reference import Reference
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics import bleu
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.report import page as report
from tcnlm.report.evaluate_run import evaluate, evaluate_run, nats_file
from tcnlm.runs.run_folder import RunFolder, write_config


@pytest.fixture(scope="module")
def finished(toy_data, tmp_path_factory):
    """Make a TCNLM and an LSTM run as train.py leaves them, but untrained."""
    folder = tmp_path_factory.mktemp("evaluate")
    return {n: tiny.make_run_on(toy_data, folder / n, n) for n in ("tcnlm", "lstm")}


@pytest.fixture
def run(finished, tmp_path):
    """Return a copy of the TCNLM run for a test to spoil."""
    return Path(shutil.copytree(finished["tcnlm"], tmp_path / "run"))


@pytest.fixture(scope="module")
def evaluated(finished):
    """Return what evaluate.py prints and writes for the TCNLM run."""
    done = call("evaluate", finished["tcnlm"], "--batch-size", 7, "--samples", 2)
    assert done.returncode == 0, done.stderr
    result = json.loads((finished["tcnlm"] / "evaluation.json").read_text())
    return done.stdout, result


def test_the_command_writes_its_measurements(evaluated, toy_data):
    printed, result = evaluated
    assert f"{result['perplexity']:.2f}" in printed
    assert (result["model"], result["split"], result["samples"]) == ("tcnlm", "test", 2)
    assert result["context"] == "others"
    assert result["targets"] == Dataset(toy_data).meta["splits"]["test"]["targets"]
    assert result["perplexity"] == pytest.approx(math.exp(result["nll"]))
    assert result["elbo"].keys() >= {"reconstruction", "kl"}
    assert [len(topic["words"]) for topic in result["topics"]] == [20] * 3
    assert all(topic["sentence"] is not None for topic in result["topics"])
    rows, beginning = result["continuations"]["rows"], result["continuations"]["prefix"]
    assert len(rows) == 3
    assert all(row["sentence"].startswith(beginning) for row in rows)


def test_the_command_writes_a_page_with_all_topics_and_its_figures(evaluated, finished):
    run, (_, result) = finished["tcnlm"], evaluated
    curves = ["learning_curves", "topics_in_use", "valid_kl"]
    for name in (*curves, "document_0"):
        assert "<svg" in (run / "figures" / f"{name}.svg").read_text(), name
    page = ElementTree.fromstring((run / "report.html").read_text())
    for order, words in (("relevant", "words"), ("probable", "probable")):
        cells = [s.text for s in page.iter("span") if s.get("class") == order]
        expected = [" ".join(topic[words][:10]) for topic in result["topics"]]
        assert sorted(cells) == sorted(expected)
    assert len(list(page.iter("img"))) == 3 + len(result["documents"])
    assert not [path.name for path in run.iterdir() if path.name.startswith(".")]


def test_coherence_is_counted_on_the_training_split_by_default(evaluated, toy_data):
    _, result = evaluated
    split, words = Dataset(toy_data).split("train"), Dataset(toy_data).vocabulary.words
    documents = [
        [words[i] for sentence in split.document(row) for i in sentence]
        for row in range(split.num_documents)
    ]
    topics, relevant = (
        [topic[order] for topic in result["topics"]] for order in ("probable", "words")
    )
    counts = count_windows(documents, {word for t in topics + relevant for word in t})
    expected = [topic_coherence(counts, topic) for topic in topics]
    assert [topic["npmi"] for topic in result["topics"]] == pytest.approx(expected)
    assert result["npmi"] == pytest.approx(np.mean(expected))
    by_relevance = [topic_coherence(counts, topic) for topic in relevant]
    assert result["npmi_relevant"] == pytest.approx(np.mean(by_relevance))
    assert topics != relevant
    by_use = sum(t["proportion"] * t["npmi"] for t in result["topics"])
    assert result["npmi_by_use"] == pytest.approx(by_use, rel=1e-5)
    assert result["coherence"]["documents"] == split.num_documents
    assert result["coherence"]["window"] == 20


def test_figures_of_a_plain_lstm_that_do_not_apply_are_null(finished):
    result = evaluate_run(RunFolder(finished["lstm"]), split="valid").evaluation
    assert result["perplexity"] == pytest.approx(math.exp(result["nll"]))
    for name in ("npmi", "diversity", "topics_in_use", "topics", "elbo", "coherence"):
        assert result[name] is None
    page = ElementTree.fromstring((finished["lstm"] / "report.valid.html").read_text())
    titles = [title.text for title in page.iter("h2")]
    assert titles == ["Learning curves", "Settings"]


@pytest.mark.usefixtures("undrawn")
def test_contexts_that_leak_are_told_of_and_documents_nats_are_kept(run, tmp_path):
    page = tmp_path / "page.html"
    done = call("evaluate", run, "--context", "all", "--report", page)
    told = "context=all: contexts hold the words themselves"
    assert f"  warning: {told}" in done.stdout
    assert told in (run / "report.html").read_text()
    assert told in page.read_text()
    result = json.loads((run / "evaluation.json").read_text())
    with np.load(nats_file(run, "test"), allow_pickle=False) as file:
        nats, targets = file["nats"], file["targets"]
    assert targets.sum() == result["targets"]
    assert nats.sum() / targets.sum() == pytest.approx(result["nll"], rel=1e-5)
    assert (nats > 0).all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--retrieval", "this DATA has no labels"),
        ("--data nowhere", "nowhere: "),
        ("--record x.json", "--record takes one RUN"),
        ("--features x.npz", "--features takes one RUN"),
        ("--baseline nowhere", "--baseline nowhere: is none of the RUNs"),
    ],
)
def test_what_runs_cannot_have_is_refused_before_their_reference_is_counted(
    asked, said, finished, monkeypatch
):
    monkeypatch.setattr(
        Reference, "window_counts", lambda *_, **__: pytest.fail("counted")
    )
    done = call("evaluate", finished["tcnlm"], finished["lstm"], *asked.split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {said.format(**finished)}")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [("classification", "no labels"), ("retrieval", "no labels"), ("bleu", "10000")],
)
def test_what_the_data_cannot_tell_is_refused_before_any_work(
    finished, toy_data, asked, said, monkeypatch
):
    monkeypatch.setattr(bleu, "LEAST", 10_000)
    monkeypatch.setattr(EvaluationContext, "__init__", lambda *_: pytest.fail("work"))
    model = RunFolder(finished["tcnlm"]).load()
    with pytest.raises(InputError, match=said):
        evaluate(model, Dataset(toy_data), Reference(), ask=[asked])


def test_bad_input_leaves_the_last_evaluation_alone(run, tmp_path):
    (run / "evaluation.json").write_text("earlier")
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(InputError, match="bad.jsonl:1"):
        evaluate_run(RunFolder(run), reference=Reference((tmp_path / "bad.jsonl",)))
    assert (run / "evaluation.json").read_text() == "earlier"
    done = call("evaluate", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path}: not a RUN")


def test_data_that_moved_is_found_in_its_new_place_alone(run, toy_data, tmp_path):
    assert RunFolder(run).data().path == toy_data
    config = RunFolder(run).config
    write_config(run, {**config, "data": {**config["data"], "path": "/nowhere"}})
    with pytest.raises(InputError, match="nowhere: not a DATA.*--data"):
        RunFolder(run).data()
    assert RunFolder(run).data(toy_data).path == toy_data
    other = toy.make_data(tmp_path, documents=30)
    with pytest.raises(InputError, match="not the data that this run was trained on"):
        RunFolder(run).data(other)


def test_the_page_shows_text_as_text_and_needs_no_network():
    words = ["<script>alert(1)</script>", "&amp;", '"', "'s", "a", "b"]
    page = report.render([fake_run(words)])
    tree = ElementTree.fromstring(page)
    assert not list(tree.iter("script"))
    assert " ".join(words) in [span.text for span in tree.iter("span")]
    assert "12.35" in [number.text for number in tree.iter("b")]
    assert [quote.text for quote in tree.iter("blockquote")] == ["</p><script>"]
    sources = re.findall(r'(?:src|href|url)\s*[=(]\s*"?([^")]{4})', page)
    assert sources == ["data"]


def test_a_run_of_the_papers_size_shows_the_published_figures():
    run = on_imdb()
    page = report.render([run])
    assert "perplexity 63.98 (Wang et al. 2018, Table 2)" in page
    line = "npmi 0.106 (Wang et al. 2018, Table 4), here 0.100: -5.7%"
    assert line in page
    assert line in run.beside
    plain = fake_run(["a", "b"])
    assert "Published: same corpus" not in report.render([plain, plain])
    assert "Published: same corpus" in report.render([plain, run])
    other = dataclasses.replace(run, config={"settings": {"num_topics": 30}})
    assert "Nothing is published for imdb at this size." in report.render([other])


@pytest.mark.parametrize(
    ("words", "topic_words", "said"),
    [
        (34_227, 8_721, ""),
        (14_468, 8_721, "14,468 words here, 34,256 there"),
        (34_227, 5_450, "5,450 topic words here, 8,713 there"),
    ],
)
def test_a_published_figure_of_other_data_is_marked(words, topic_words, said):
    run = on_imdb(vocabulary_size=words, topic_vocabulary_size=topic_words)
    alone, compared = report.render([run]), report.render([run, run])
    assert (f"Not of the same data: {said}." in alone) == bool(said)
    assert ('<td class="number">63.98 ≠ (Table 2)</td>' in compared) == bool(said)
    assert ('<td class="number">63.98 (Table 2)</td>' in compared) != bool(said)
    assert (f"≠ on other data: {said}." in compared) == bool(said)
