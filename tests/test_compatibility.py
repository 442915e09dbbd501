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
    compatibility.ask(str(folder / "1"), folder / "answers.json")
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
    names = {name.split(":")[0] for name in found}
    writing = {"generate", "beam_search"}
    assert names == {*writing, "infer_topics", "topic_words", "score"}
    assert len(set(found["generate: sentences"])) > compatibility.ROWS / 2


def test_equal_answers_pass(answers, capsys):
    compatibility.compare(answers, answers)
    assert "score: perplexity: 6 values, largest relative" in capsys.readouterr().out


def test_the_last_digits_may_differ(answers, capsys):
    other = changed(answers, "score: perplexity", lambda value: value * 1.00001)
    compatibility.compare(answers, other)
    assert "score: perplexity: 6 values, largest relative" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("score: perplexity", lambda value: value * 1.001),
        ("score: perplexity", lambda _: float("nan")),
        ("score: targets", lambda value: value + 1),
        ("generate: sentences", lambda value: f"{value} sea"),
        ("topic_words: words", lambda _: "xylophone"),
    ],
)
def test_what_differs_is_named(name, change, answers):
    with pytest.raises(SystemExit, match=f"differ: {name}"):
        compatibility.compare(answers, changed(answers, name, change))


def test_an_answer_that_is_missing_is_named(answers):
    found = json.loads(answers.read_text())
    del found["answers"]["generate: sentences"]
    other = answers.with_name("missing.json")
    other.write_text(json.dumps(found))
    with pytest.raises(SystemExit, match="differ: generate: sentences"):
        compatibility.compare(answers, other)


def test_what_is_no_saved_model_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="is no SavedModel"):
        compatibility.ask(str(tmp_path), tmp_path / "answers.json")
