"""What evaluate.py --export writes for judges: word intrusion and ProxAnn's input."""

import configparser
import json

import numpy as np
import pandas as pd
import pytest
import tiny

from tcnlm.data.dataset import Dataset
from tcnlm.metrics.features import infer_documents
from tcnlm.metrics.judges import intruders, write_intrusion
from tcnlm.models.topics import top_words
from tcnlm.programs import evaluate
from tcnlm.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("undrawn")

APART = [[f"t{k}w{i}" for i in range(60)] for k in range(8)]


def test_an_intruder_is_of_another_topic_s_best_and_each_topic_gives_one(rng):
    found = dict(intruders(APART, rng))
    assert len(found) >= 7
    owners = {int(word[1]): topic for topic, word in found.items()}
    assert len(owners) == len(found)
    for owner, topic in owners.items():
        assert owner != topic
        assert found[topic] in APART[owner][:5]


def test_an_intruder_is_none_of_the_topic_s_first_words_nor_shared_best(rng):
    # The second topic's best words are the first's from the 40th on, and the other way.
    first = [f"a{i}" for i in range(60)]
    second = [*first[40:45], *(f"b{i}" for i in range(50))]
    found = dict(intruders([first, second], rng))
    assert found[0] in second[:5]  # among the first 50 all are, so the first 10 count
    assert found[1] in first[:5]
    assert dict(intruders([first, first], rng)) == dict(intruders([first], rng)) == {}


def test_questions_have_the_intruder_once_and_the_answers_are_apart(tmp_path):
    for name in "ab":
        write_intrusion(APART, tmp_path / name)
    questions = pd.read_csv(tmp_path / "a" / "questions.csv", index_col="question")
    answers = pd.read_csv(tmp_path / "a" / "answers.csv", index_col="question")
    assert list(questions.index) == list(answers.index)
    places = set()
    for words, (topic, intruder) in zip(questions.values.tolist(), answers.values):
        assert sorted(words) == sorted([*APART[topic][:5], intruder])
        places.add(words.index(intruder))
    assert len(places) > 1  # not always the last
    for name in ("questions.csv", "answers.csv", "topics.txt"):
        first, second = ((tmp_path / x / name).read_bytes() for x in "ab")
        assert first == second
    assert (tmp_path / "a" / "topics.txt").read_text().split("\n")[1] == " ".join(
        APART[1]
    )


def test_proxann_s_input_is_as_its_loader_reads_it(toy_data, tmp_path):
    names = ("neural_topics", "lstm")
    runs = [tiny.make_run_on(toy_data, tmp_path / name, name) for name in names]
    line = [*map(str, runs), "--export", str(tmp_path / "out")]
    evaluate.main(line)
    files = {path.name for path in (tmp_path / "out" / "lstm").iterdir()}
    assert not files & {"proxann", "word_intrusion"}  # it has no topics
    out = tmp_path / "out" / "neural_topics"
    assert (out / "word_intrusion" / "questions.csv").exists()
    folder, config = out / "proxann", configparser.ConfigParser()
    config.read(folder / "config.conf")
    section = config["topics"]
    thetas = np.load(folder / section["thetas_path"])
    betas = np.load(folder / section["betas_path"])
    vocabulary = json.loads((folder / section["vocab_path"]).read_text())
    lines = (folder / section["corpus_path"]).read_text().splitlines()
    corpus = [json.loads(line) for line in lines]
    model, data = RunFolder(runs[0]).load(), Dataset(toy_data)
    split = data.split("test")
    assert section["trained_with_thetas_eval"] == "false"
    expected = infer_documents(model, split).proportions
    np.testing.assert_allclose(thetas, expected, rtol=1e-5)
    assert len(corpus) == len(thetas) == split.num_documents
    words = sorted(vocabulary, key=vocabulary.get)
    best = [[words[i] for i in np.argsort(-row, kind="stable")[:5]] for row in betas]
    assert best == top_words(model, 5, weight=1.0)
    texts = (toy_data / "test" / "texts.jsonl").read_text().splitlines()
    for row in (0, len(corpus) - 1):
        assert corpus[row][config["all"]["text_column_disp"]] == json.loads(texts[row])
        tokens = corpus[row][config["all"]["text_column"]].split()
        assert data.vocabulary.ids(tokens) == [
            i for sentence in split.document(row) for i in sentence
        ]
    assert f"; {len(thetas)} documents, of 500" in (folder / "config.conf").read_text()
