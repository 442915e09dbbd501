"""What evaluate.py --export writes for judges: word intrusion and ProxAnn's input."""

import configparser
import csv
import json

import numpy as np
import pytest
import tiny

from tcnlm.data.dataset import Dataset
from tcnlm.metrics.judges import intruders, write_intrusion
from tcnlm.metrics.proportions import infer_documents
from tcnlm.models.topics import top_words
from tcnlm.programs import evaluate
from tcnlm.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("undrawn")

APART = [[f"t{k}w{i}" for i in range(60)] for k in range(8)]


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_intruder_is_of_another_topic_s_best_and_each_topic_gives_one(rng):
    found = list(intruders(APART, rng))
    assert sorted(topic for topic, _ in found) == list(range(8)) or len(found) == 7
    owners = [int(word[1]) for _, word in found]
    assert len(set(owners)) == len(owners)
    for (topic, word), owner in zip(found, owners):
        assert owner != topic
        assert word in APART[owner][:5]


def test_an_intruder_is_none_of_the_topic_s_first_words_nor_shared_best(rng):
    # The second topic's best words are the first's from the 40th on, and the other way.
    first = [f"a{i}" for i in range(60)]
    second = [*first[40:45], *(f"b{i}" for i in range(50))]
    found = dict(intruders([first, second], rng))
    assert found[0] in second[:5]  # among the first 50 all are, so the first 10 count
    assert found[1] in first[:5]
    assert dict(intruders([first, first], rng)) == {}
    assert dict(intruders([first], rng)) == {}


def test_questions_have_the_intruder_once_and_the_answers_are_apart(tmp_path):
    write_intrusion(APART, tmp_path / "a")
    write_intrusion(APART, tmp_path / "b")
    asked, answers = (
        rows(tmp_path / "a" / f"{n}.csv") for n in ("questions", "answers")
    )
    assert len(asked) == len(answers) >= 7
    places = set()
    for question, answer in zip(asked, answers):
        words = [question[f"word {i}"] for i in range(1, 7)]
        own = APART[int(answer["topic"])][:5]
        assert sorted(words) == sorted([*own, answer["intruder"]])
        places.add(words.index(answer["intruder"]))
    assert len(places) > 1  # not always the last
    for name in ("questions.csv", "answers.csv", "topics.txt"):
        assert (tmp_path / "a" / name).read_bytes() == (
            tmp_path / "b" / name
        ).read_bytes()
    assert (tmp_path / "a" / "topics.txt").read_text().split("\n")[1].split() == APART[
        1
    ]


@pytest.fixture(scope="module")
def exported(toy_data, tmp_path_factory):
    place = tmp_path_factory.mktemp("judges")
    names = ("neural_topics", "lstm")
    runs = [tiny.make_run_on(toy_data, place / name, name) for name in names]
    line = [*map(str, runs), "--export", str(place / "out")]
    evaluate.main(evaluate.parser().parse_args(line), "evaluate.py")
    return place


def test_proxann_s_input_is_as_its_loader_reads_it(exported, toy_data):
    folder = exported / "out" / "neural_topics" / "proxann"
    config = configparser.ConfigParser()
    config.read(folder / "config.conf")
    section = config["topics"]
    thetas = np.load(folder / section["thetas_path"])
    betas = np.load(folder / section["betas_path"])
    vocabulary = json.loads((folder / section["vocab_path"]).read_text())
    lines = (folder / section["corpus_path"]).read_text().splitlines()
    corpus = [json.loads(line) for line in lines]
    model, split = (
        RunFolder(exported / "neural_topics").load(),
        Dataset(toy_data).split("test"),
    )
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
        names = Dataset(toy_data).vocabulary.words
        ids = [i for sentence in split.document(row) for i in sentence]
        tokens = corpus[row][config["all"]["text_column"]].split()
        assert tokens == [names[i] for i in ids]
    assert f"; {len(thetas)} documents, of 500" in (folder / "config.conf").read_text()


def test_a_model_without_topics_has_nothing_for_judges(exported):
    assert (
        exported / "out" / "neural_topics" / "word_intrusion" / "questions.csv"
    ).exists()
    assert not (exported / "out" / "lstm" / "proxann").exists()
    assert not (exported / "out" / "lstm" / "word_intrusion").exists()
