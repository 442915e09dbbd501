"""DATA of bags of words: which models learn from it, and what measures say of it."""

import json
import random

import numpy as np
import pandas as pd
import pytest
import tiny
import toy
from trained import call

from tcnlm.coherence.reference import Reference
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.models import MODELS, model_class
from tcnlm.preprocessing.collect import SPLITS
from tcnlm.programs import train
from tcnlm.programs.preprocess import main as preprocess

pytestmark = pytest.mark.usefixtures("undrawn")

WORDS = [word for theme in toy.THEMES for word in theme]
FROM_BAGS = ("docnade", "lda", "neural_topics", "nmf", "ntm")


def bags_of(number, seed):
    """Return lines of bags of three themes, each theme's number its label."""
    draw, lines = random.Random(seed), []
    for index in range(number):
        theme = index % len(toy.THEMES)
        chosen = draw.sample(range(8 * theme, 8 * theme + 8), 5)
        pairs = " ".join(f"{word}:{draw.randint(1, 3)}" for word in chosen)
        lines.append(f"{theme} {pairs}")
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bags")
    (folder / "words.txt").write_text("\n".join([*WORDS, "never"]) + "\n")
    for seed, (part, number) in enumerate(zip(SPLITS, (60, 15, 15))):
        (folder / f"{part}.txt").write_text(bags_of(number, seed))
    return folder


@pytest.fixture(scope="module")
def data(files):
    command = ["--format", "counts", "--ids-from", "0", "--out", files / "DATA"]
    command += ["--vocabulary", files / "words.txt", "--processes", 1]
    for part in SPLITS:
        command += [f"--{part}", files / f"{part}.txt"]
    assert preprocess([*map(str, command)]) == 0
    return files / "DATA"


def test_documents_keep_their_counts_and_labels_and_are_one_row_each(data, files):
    dataset = Dataset(data)
    assert not dataset.word_order
    assert dataset.vocabulary.topic_counts[-1] == 0  # of the word that never occurs
    for part in SPLITS:
        split = dataset.split(part)
        rows = model_class("lda").batching.rows(split)
        assert len(rows) == split.num_documents
        batch = rows.batch(np.arange(len(rows)))
        for i, line in enumerate((files / f"{part}.txt").read_text().splitlines()):
            label, *pairs = line.split()
            pairs = (pair.split(":") for pair in pairs)
            expected = {WORDS[int(word)]: int(n) for word, n in pairs}
            for ids in (split.content(i), batch["context"][i]):
                words = [dataset.vocabulary.topic_words[w] for w in ids if w >= 0]
                assert {word: words.count(word) for word in words} == expected
            assert dataset.meta["labels"][split.labels[i]] == label


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_that_needs_an_order_of_words_is_refused_at_once(name, data, tmp_path):
    if name in FROM_BAGS:
        assert not model_class(name).reads_order
        return
    result = call("train", data, "--out", tmp_path / "RUN", "--model", name)
    assert result.returncode == 2
    assert f"DATA: holds bags of words, and {name} learns" in result.stderr
    assert result.stderr.endswith(f"train one of {', '.join(FROM_BAGS)}\n")
    assert not (tmp_path / "RUN").exists()


SETTINGS = {
    "docnade": ["units=4", "log_counts=false"],
    "lda": ["num_topics=3"],
    "neural_topics": ["num_topics=3", "topic_start=vectors", "embedding_size=4"],
    "nmf": ["num_topics=3"],
    "ntm": ["num_topics=3", "embedding_size=4"],
}


SLOW = {name: [pytest.mark.slow] for name in FROM_BAGS if name != "neural_topics"}
EACH = [pytest.param(name, marks=SLOW.get(name, [])) for name in FROM_BAGS]


@pytest.fixture(scope="module", params=EACH)
def run(request, data, tmp_path_factory):
    run = tmp_path_factory.mktemp(request.param) / "RUN"
    loop = ["--set", "epochs=2", "batch_size=16", "checkpoint_minutes=99"]
    chosen = ["--model", request.param, *loop, *SETTINGS[request.param]]
    result = call("train", data, "--out", run, *chosen)
    assert result.returncode == 0, result.stderr
    return run


def test_every_such_model_is_measured_with_its_labels(run):
    result = call("evaluate", run, "--retrieval", "--classify")
    assert result.returncode == 0, result.stderr
    found = json.loads((run / "evaluation.json").read_text())
    assert found["retrieval"]["chance"] == pytest.approx(1 / 3)
    assert found["retrieval"]["bag_of_words"] == 1
    assert found["model"] == json.loads((run / "config.json").read_text())["model"]


def test_every_such_model_reads_other_bags_by_their_labels(run, files, tmp_path):
    table, groups = tmp_path / "theta.csv", tmp_path / "groups.csv"
    line = [run, "--input", files / "test.txt", "--format", "counts", "--ids-from", 0]
    line += ["--vocabulary", files / "words.txt", "--out", table, "--by-label", groups]
    result = call("infer", *line)
    assert result.returncode == 0, result.stderr
    rows, groups = pd.read_csv(table), pd.read_csv(groups)
    assert list(rows.label) == [i % 3 for i in range(15)]
    assert list(groups.label) == [0, 1, 2]
    assert list(groups.documents) == [5, 5, 5]
    assert "id" not in rows
    assert not rows.unknown_words.any()
    assert rows.iloc[:, -1].notna().all()


def test_a_model_of_texts_reads_no_bags(files, tmp_path):
    tiny.make_run(tmp_path / "RUN")
    line = [tmp_path / "RUN", "--input", files / "test.txt", "--format", "counts"]
    line += ["--ids-from", "0", "--vocabulary", files / "words.txt"]
    result = call("infer", *line, "--out", tmp_path / "theta.csv")
    assert result.returncode == 2
    assert "RUN: a tcnlm reads words in their order, of which" in result.stderr
    assert not (tmp_path / "theta.csv").exists()


def test_coherence_of_bags_is_counted_in_whole_documents(data):
    dataset = Dataset(data)
    counts = Reference().window_counts(["ship", "sea", "oven"], dataset=dataset)
    bags = [set(dataset.split("train").document(i)[0]) for i in range(60)]
    ids = dataset.vocabulary.ids(["ship", "sea"])
    assert counts.window == 0
    assert counts.windows == counts.documents == 60
    assert counts.pairs[0, 1] == sum(bag.issuperset(ids) for bag in bags)
    assert counts.pairs[0, 2] == 0


def test_other_contexts_than_all_words_are_refused(data):
    with pytest.raises(InputError, match="context=others is about sentences"):
        Dataset(data, "others")
    line = [str(data), "--out", "RUN", "--model", "nmf", "--set", "context=others"]
    with pytest.raises(InputError, match="context=others is about sentences"):
        train.begun(train.options_of(line), "")
