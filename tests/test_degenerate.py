"""Splits without sentences or topic words, and a topic vocabulary of one word."""

import json

import pytest
import tiny

from tcnlm.common import process
from tcnlm.common.errors import InputError
from tcnlm.programs import train
from tcnlm.programs.preprocess import main as preprocess
from tcnlm.report.evaluate_run import evaluate_run, summary
from tcnlm.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("undrawn")

SENTENCES = "the ship of the sea .\tthe captain of the wave .\tthe harbour ."
NO_TOPIC = "the of the .\tof the of ."


@pytest.fixture
def make_data(tmp_path, monkeypatch):
    # TensorFlow's threads cannot be set any more once it has worked.
    monkeypatch.setattr(process, "make_reproducible", lambda *_: None)

    def make(valid=SENTENCES, test=SENTENCES, *options, train=SENTENCES):
        texts = {"train": [train] * 12, "valid": [valid] * 2, "test": [test] * 2}
        line = ["--format", "tdlm", "--out", str(tmp_path / "DATA")]
        line += "--processes 1 --min-count 1 --topic-min-count 1".split()
        for name, documents in texts.items():
            (tmp_path / f"{name}.txt").write_text("\n".join(documents) + "\n")
            line += [f"--{name}", str(tmp_path / f"{name}.txt")]
        assert preprocess([*line, "--topic-top-fraction", "0", *options]) == 0
        return tmp_path / "DATA"

    return make


def start(data, *options):
    line = [str(data), "--out", str(data.parent / "RUN"), *options]
    train.train(train.options_of(line), "")


def figures(run):
    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    return json.loads((run / "evaluation.json").read_text(), parse_constant=refuse)


def test_a_test_split_without_topic_words_has_a_perplexity_and_no_use_of_topics(
    make_data, tmp_path
):
    run = tiny.make_run_on(make_data(test=NO_TOPIC), tmp_path / "RUN")
    summary(evaluate_run(RunFolder(run)).evaluation)
    found = figures(run)
    assert found["perplexity"] > 1
    assert found["npmi"] is not None
    for name in ("npmi_by_use", "topics_in_use", "effective_topics"):
        assert found[name] is None
    assert {topic["proportion"] for topic in found["topics"]} == {None}
    assert {topic["documents"] for topic in found["topics"]} == {0}


def test_a_model_of_one_topic_word_is_measured_but_for_its_coherence(
    make_data, tmp_path
):
    (tmp_path / "words").write_text("sea\n")
    options = "--vocabulary", str(tmp_path / "words")
    run = tiny.make_run_on(make_data(SENTENCES, SENTENCES, *options), tmp_path / "RUN")
    summary(evaluate_run(RunFolder(run)).evaluation)
    found = figures(run)
    assert found["perplexity"] > 1
    assert {topic["npmi"] for topic in found["topics"]} == {None}
    for name in ("npmi", "npmi_by_use"):
        assert found[name] is None


@pytest.mark.parametrize(
    ("valid", "options", "complaint"),
    [
        (" ", "--model lstm", "DATA/valid: no word"),
        (NO_TOPIC, "--model neural_topics", "DATA/valid: no topic word"),
        (NO_TOPIC, "--model docnade", "DATA/valid: no topic word"),
        (NO_TOPIC, "--set judge=npmi_by_use", "DATA/valid: no topic word"),
    ],
)
def test_a_validation_split_that_judges_nothing_is_refused_before_training(
    valid, options, complaint, make_data
):
    data = make_data(valid=valid)
    with pytest.raises(InputError, match=complaint):
        start(data, *options.split())
    assert not (data.parent / "RUN").exists()


ALONE = "the ship of the sea ."


def test_lda_on_documents_of_one_sentence_has_no_loss_and_says_why(make_data, tmp_path):
    data = make_data(ALONE, ALONE, train=ALONE)
    start(data, "--model", "lda", "--set", "num_topics=2", "passes=1")
    printed = summary(evaluate_run(RunFolder(tmp_path / "RUN")).evaluation)
    assert figures(tmp_path / "RUN")["loss"] is None
    for text in (printed, (tmp_path / "RUN" / "report.html").read_text()):
        assert "no context has a topic word" in text
