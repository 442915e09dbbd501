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
    name, change, same, answers, tmp_path
):
    before = {**answers, "trained on: perplexity": [100.0]}
    first, *others = before[name]
    files = []
    for each in (before, {**before, name: [change(first), *others]}):
        files.append(tmp_path / str(len(files)))
        content = {"tensorflow": "", "python": "", "answers": each}
        files[-1].write_text(json.dumps(content))
    if same:
        compatibility.compare(*files)
    else:
        with pytest.raises(SystemExit, match=f"differ: {name}$"):
            compatibility.compare(*files)
