"""tools/compatibility.py: what is the same passes, what is not is named."""

import json

import pytest
import tiny

from tcnlm.generation.saved_model import export
from tools import compatibility


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compatibility")
    export(tiny.make_model(), folder / "1")
    found = {"tensorflow": "", "python": ""}
    found["answers"] = compatibility.asked(folder / "1", "of it")
    (folder / "answers.json").write_text(json.dumps(found))
    return folder / "answers.json"


def changed(answers, name, change):
    """Return the file of answers with one that is changed."""
    found = json.loads(answers.read_text())
    found["answers"][name][0] = change(found["answers"][name][0])
    other = answers.with_name("other.json")
    other.write_text(json.dumps(found))
    return other


def test_every_signature_is_asked(answers):
    found = json.loads(answers.read_text())["answers"]
    names = {name.split(", ")[1].split(":")[0] for name in found}
    writing = {"generate", "generate_known", "beam_search"}
    assert names == {*writing, "infer_topics", "topic_words", "score"}
    assert len(set(found["of it, generate: sentences"])) > compatibility.ROWS / 2


def test_equal_answers_pass(answers, capsys):
    compatibility.compare(answers, answers)
    printed = capsys.readouterr().out
    assert "score: perplexity: 6 values, largest relative" in printed


def test_the_last_digits_may_differ(answers, capsys):
    other = changed(answers, "of it, score: perplexity", lambda value: value * 1.00001)
    compatibility.compare(answers, other)
    printed = capsys.readouterr().out
    assert "score: perplexity: 6 values, largest relative" in printed


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("of it, score: perplexity", lambda value: value * 1.001),
        ("of it, score: perplexity", lambda _: float("nan")),
        ("of it, score: targets", lambda value: value + 1),
        ("of it, generate: sentences", lambda value: f"{value} sea"),
        ("of it, topic_words: words", lambda _: "xylophone"),
    ],
)
def test_what_differs_is_named(name, change, answers):
    with pytest.raises(SystemExit, match=f"differ: {name}"):
        compatibility.compare(answers, changed(answers, name, change))


def test_an_answer_that_is_missing_is_named(answers):
    found = json.loads(answers.read_text())
    del found["answers"]["of it, generate: sentences"]
    other = answers.with_name("missing.json")
    other.write_text(json.dumps(found))
    with pytest.raises(SystemExit, match="differ: of it, generate: sentences"):
        compatibility.compare(answers, other)


def test_a_training_that_goes_on_may_differ_more(answers):
    found = json.loads(answers.read_text())
    files = [answers.with_name(f"{number}.json") for number in (1, 2)]
    for file, perplexity in zip(files, (100.0, 100.05)):
        found["answers"] = {"trained on: perplexity": [perplexity]}
        file.write_text(json.dumps(found))
    compatibility.compare(*files)
    found["answers"] = {"the RUN: perplexity": [100.0]}
    files[0].write_text(json.dumps(found))
    found["answers"] = {"the RUN: perplexity": [100.05]}
    files[1].write_text(json.dumps(found))
    with pytest.raises(SystemExit, match="differ: the RUN: perplexity"):
        compatibility.compare(*files)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="has no RUN"):
        compatibility.ask(str(tmp_path), tmp_path / "answers.json")
