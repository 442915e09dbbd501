"""tools/compatibility.py: what is the same passes, what is not is named."""

import json

import pytest
import tiny

from tcnlm.generation.saved_model import export
from tools import compatibility


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compatibility") / "1"
    export(tiny.make_model(), folder)
    return compatibility.asked(folder, "of it")


@pytest.fixture
def compare(tmp_path):
    """Return what compares answers of two stacks."""

    def go(*found):
        files = [tmp_path / str(number) for number in range(len(found))]
        for file, each in zip(files, found):
            content = {"tensorflow": "", "python": "", "answers": each}
            file.write_text(json.dumps(content))
        compatibility.compare(*files)

    return go


def test_every_signature_is_asked(answers):
    names = {name.split(", ")[1].split(":")[0] for name in answers}
    writing = {"generate", "generate_known", "beam_search"}
    assert names == {*writing, "infer_topics", "topic_words", "score"}
    assert len(set(answers["of it, generate: sentences"])) > compatibility.ROWS / 2


@pytest.mark.parametrize(
    ("name", "change", "same"),
    [
        ("of it, score: perplexity", lambda value: value, True),
        ("of it, score: perplexity", lambda value: value * 1.00001, True),
        ("of it, score: perplexity", lambda value: value * 1.001, False),
        ("trained on: perplexity", lambda value: value * 1.0005, True),
        ("of it, score: perplexity", lambda _: float("nan"), False),
        ("of it, score: targets", lambda value: value + 1, False),
        ("of it, generate: sentences", lambda value: f"{value} sea", False),
        ("of it, topic_words: words", lambda _: "xylophone", False),
    ],
)
def test_what_differs_by_more_than_the_last_digits_is_named(
    name, change, same, answers, compare, capsys
):
    before = {**answers, "trained on: perplexity": [100.0]}
    first, *others = before[name]
    after = {**before, name: [change(first), *others]}
    if same:
        compare(before, after)
        printed = capsys.readouterr().out
        assert "score: perplexity: 6 values, largest relative" in printed
    else:
        with pytest.raises(SystemExit, match=f"differ: {name}$"):
            compare(before, after)
