"""--phrases: found as gensim finds them, kept as text, read alike by every program."""

import json
import random
import shutil
from functools import cache

import numpy as np
import pytest
import tiny
from gensim.models.phrases import ENGLISH_CONNECTOR_WORDS
from gensim.models.phrases import Phrases as Counted
from hypothesis import given
from hypothesis import strategies as st

import tcnlm
from tcnlm.coherence import load_counts
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.generation.graph_texts import Texts
from tcnlm.preprocessing.data_folder import load_arrays
from tcnlm.preprocessing.languages import languages
from tcnlm.preprocessing.phrases import ENGLISH_CONNECTORS, FILE, Phrases, learn
from tcnlm.preprocessing.text import sentences
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.programs import coherence, evaluate, export
from tcnlm.programs.preprocess import main
from tcnlm.runs.new_run import open_run
from tcnlm.runs.run_folder import RunFolder

WORDS = "new york bank of the england los angeles sea ship".split()
SCORES = {"new york": 20.5, "bank of england": 11.0, "york bank": 10.5}
OPTIONS = "--format text --split 0.6 0.2 0.2 --min-count 2 --topic-min-count 2".split()
OPTIONS += "--topic-top-fraction 0 --seed 1 --processes 1 --phrases 0.05".split()
TEXT = "New York saw the ship. It left for New York."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A text where "new york" and "bank of england" stand among other words."""
    file, draw = tmp_path_factory.mktemp("corpus") / "text", random.Random(1)
    kinds = ["New York is far.", "The Bank of England said so.", "A ship left the sea."]
    kinds += ["The sea is new.", "A bank said it is far."]
    lines = (" ".join(draw.choices(kinds, k=6)) for _ in range(60))
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def data(corpus, tmp_path_factory):
    """DATA with phrases."""
    out = tmp_path_factory.mktemp("data") / "DATA"
    assert main([*OPTIONS, "--input", str(corpus), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "RUN"
    run = tiny.make_run_on(data, folder, "neural_topics")
    export.main([str(run)])
    return run


def spoken(number, seed=0):
    draw = random.Random(seed)
    return [draw.choices(WORDS, k=draw.randint(1, 12)) for _ in range(number)]


@pytest.mark.parametrize("connectors", [False, True])
def test_sentences_are_joined_as_gensim_joins_them(connectors):
    assert ENGLISH_CONNECTORS == ENGLISH_CONNECTOR_WORDS
    connectors = ENGLISH_CONNECTORS if connectors else frozenset()
    theirs = Counted(spoken(300), 2, 0.0045, connector_words=connectors)
    ours = learn(spoken(300), 2, 0.0045, connectors, lambda words: True)
    assert len(ours) > 5
    assert {p.replace(" ", "_"): s for p, s in ours.scores.items()} == (
        theirs.export_phrases()
    )
    others = spoken(300, seed=1)
    assert [ours.join(sentence) for sentence in others] == list(theirs[others])
    of_two = Phrases(SCORES).join("new york bank of england the new".split())
    assert of_two == ["new_york", "bank_of_england", "the", "new"]


@cache
def graph():
    known = tiny.VOCABULARY
    words = known.words, known.counts, known.topic_words
    return Texts(Vocabulary(*words, "en", Phrases(SCORES)), 300)


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9), max_size=5))
def test_the_graph_joins_the_same(texts):
    joined = graph().tokens([" ".join(words) for words in texts])
    found = [[w.decode() for w in row] for row in joined.to_list()]
    assert found == [Phrases(SCORES).join(words) for words in texts]


def test_phrases_are_words_of_both_vocabularies_and_of_every_split(data):
    dataset = Dataset(data)
    vocabulary = dataset.vocabulary
    assert {"new_york", "bank_of_england"} <= set(vocabulary.topic_words)
    assert "york" not in vocabulary.words
    phrases = [phrase.split(" ") for phrase in vocabulary.phrases.scores]
    assert all(word.isalpha() for phrase in phrases for word in phrase)
    stop_words = languages()["en"].stop_words
    assert not any(stop_words.issuperset(phrase) for phrase in phrases)
    for name in ("train", "valid", "test"):
        tokens = load_arrays(data / name).tokens
        assert vocabulary.index["new_york"] in tokens
    assert set(vocabulary.phrases.scores) == {
        line.split("\t")[0] for line in (data / FILE).read_text().splitlines()
    }


def test_phrases_are_learned_from_the_training_documents_alone(tmp_path):
    """Of files given as they are: the test file alone has "los angeles"."""
    parts = {"train": "New York is far.", "valid": "A ship is far."}
    parts["test"] = "Los Angeles is far. New York is far."
    for name, text in parts.items():
        lines = [text, "The ship is far.", "The sea is far."] * 9
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = [word for n in parts for word in (f"--{n}", str(tmp_path / n))]
    options = [*OPTIONS[:2], *OPTIONS[6:], *files, "--out", str(tmp_path / "DATA")]
    assert main(options) == 0
    found = Phrases.load(tmp_path / "DATA").scores
    assert "new york" in found
    assert "los angeles" not in found


def test_a_run_reads_new_texts_with_the_phrases_of_its_data(run, data):
    opened = tcnlm.load_run(str(run))
    read = opened.model.vocabulary.reading()(TEXT)
    assert read == [Phrases.load(data).join(words) for words in sentences(TEXT)]
    assert sum(words.count("new_york") for words in read) == 2
    assert opened.model.vocabulary.beginning("In New York")[-1] == "new_york"
    alone = opened.proportions(["New York"])
    assert not np.isnan(alone).any()
    assert np.isnan(opened.proportions(["York new"])).all()


def test_the_saved_model_reads_them_too(run):
    import tensorflow as tf

    signatures = tf.saved_model.load(str(run / "saved_model")).signatures
    found = signatures["infer_topics"](documents=tf.constant(["New York", "York new"]))
    assert found["topic_words"].numpy().tolist() == [1, 0]
    opened = tcnlm.load_run(str(run)).proportions(["New York"])
    np.testing.assert_allclose(found["topics"][:1], opened, rtol=1e-5)


def test_a_reference_is_split_as_the_texts_of_the_run_were(run, data, tmp_path):
    text, topics = tmp_path / "reference.txt", tmp_path / "topics.txt"
    text.write_text("New York saw a ship.\nThe ship left New York.\n")
    topics.write_text("new_york ship\n")
    line = f"{topics} --reference {text} --save-counts {tmp_path / 'counts.npz'}"
    coherence.main(f"{line} --vocabulary {data}".split())
    assert load_counts(tmp_path / "counts.npz").absent(["new_york", "ship"]) == []
    evaluate.main([str(run), "--reference", str(text)])
    found = json.loads((run / "evaluation.json").read_text())["coherence"]
    assert {"new_york", "ship"}.isdisjoint(found["absent_words"])
    assert "bank_of_england" in found["absent_words"]
    with pytest.raises(InputError, match="the texts of .* are en"):
        coherence.main(f"{run} --reference {text} --language fr".split())


@pytest.mark.parametrize(
    "content", ["new york", "york\t3\n", "new york\tx\n", "a b\t3\na b\t3\n"]
)
def test_a_damaged_file_of_phrases_is_refused(content, tmp_path):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match=f"{FILE}:[12]: not a phrase"):
        Phrases.load(tmp_path)
    (tmp_path / FILE).unlink()
    assert not Phrases.load(tmp_path)  # as of most DATA


def test_a_run_whose_phrases_are_gone_is_refused(run, tmp_path):
    copied = shutil.copytree(run, tmp_path / "RUN")
    (copied / FILE).unlink()
    with pytest.raises(InputError, match="is not of the data"):
        tcnlm.load(str(copied))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--format counts --phrases", "bags of words"),
        ("--format text --phrases nan", "must be a number from 0 to"),
    ],
)
def test_phrases_that_cannot_be_are_refused(options, said, tmp_path, capsys):
    line = [*options.split(), "--input", "text", "--out", str(tmp_path / "DATA")]
    with pytest.raises(SystemExit, match="2"):
        raise SystemExit(main(line))
    assert said in capsys.readouterr().err


def test_a_run_that_was_killed_at_its_beginning_begins_again(run, data, tmp_path):
    config, begun = RunFolder(run).config, tmp_path / "RUN"
    open_run(begun, config, Vocabulary.load(data))
    assert (begun / FILE).exists()
    open_run(begun, {**config, "seed": 9}, tiny.VOCABULARY)
    assert RunFolder(begun).config["seed"] == 9
    assert not (begun / FILE).exists()
