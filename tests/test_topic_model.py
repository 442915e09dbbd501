"""tcnlm.TopicModel: texts to topics by the programs, by scikit-learn's conventions."""

import pickle
import random

import numpy as np
import pandas as pd
import pytest
import toy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.models import MODELS, model_class

LINES = {"min_count": 1, "topic_min_count": 1, "topic_top_fraction": 0}
SIZES = {"units": 8, "embedding_size": 6, "cutoffs": (15,), "epochs": 2}
SIZES |= {"batch_size": 16, "num_topics": 4, "topic_pretrain_steps": 9}

pytestmark = [
    pytest.mark.filterwarnings("ignore:only 24 topic words"),
    pytest.mark.filterwarnings("ignore:the topic model has collapsed"),
]


def make_model(**options):
    given = {"model": "tcnlm", "recipe": "paper-small", "threads": 1, **SIZES}
    return tcnlm.TopicModel(**{**given, "preprocessing": LINES, **options})


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    file = toy.write_corpus(tmp_path_factory.mktemp("texts") / "toy.txt")
    return [line.replace("\t", " ") for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def fitted(texts, tmp_path_factory):
    run = tmp_path_factory.mktemp("fitted") / "runs" / "RUN"
    return make_model(run=run).fit(pd.Series(texts, index=range(7, 67)))


def test_texts_become_proportions_and_topics_words(fitted, texts):
    found = fitted.transform(texts[:5])
    assert found.shape == (5, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    assert np.isnan(fitted.transform(["Nothing of it."])).all()
    words = {word for theme in toy.THEMES for word in theme}
    assert [len(topic) for topic in fitted.topics_] == [10] * 4
    assert {word for topic in fitted.topics_ for word in topic} <= words
    assert fitted.run_.generate(topic=1, seed=1)
    assert list(fitted.get_feature_names_out()) == [f"topic_{k}" for k in range(4)]


def test_components_and_topic_info_are_of_the_texts_that_were_fitted(fitted, texts):
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1, rtol=1e-5)
    found, shares = fitted.topic_info(), fitted.transform(texts)
    assert list(found) == "number name words weights share documents".split()
    assert found.words.tolist() == fitted.topics_
    np.testing.assert_allclose(found.share, shares.mean(axis=0), rtol=1e-5)
    assert found.documents.sum() == len(texts)
    vocabulary = fitted.run_.model.vocabulary.topic_words
    for k, (words, weights) in enumerate(zip(found.words, found.weights)):
        ids = [vocabulary.index(word) for word in words]
        np.testing.assert_allclose(weights, fitted.components_[k, ids])
        assert found.name[k].startswith(words[0])
    share = shares[:, 2]
    most = [texts[i] for i in np.argsort(-share, kind="stable")[:4]]
    assert fitted.representative_documents(2, number=4) == most
    with pytest.raises(InputError, match="topic 4: there are 0 to 3"):
        fitted.representative_documents(4)


def test_the_run_is_that_of_the_programs(fitted):
    config = fitted.run_.config
    found = {**config["settings"], **config["training"]}
    assert {name: found[name] for name in SIZES} == {**SIZES, "cutoffs": [15]}
    assert config["command"].startswith("tcnlm-train ")
    made = config["data"]["splits"].values()
    assert [split["documents"] for split in made] == [48, 6, 6]
    assert (fitted.run_.path.with_name("RUN.data") / "meta.json").is_file()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_whatever_was_drawn_before(fitted, texts):
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    again = clone(fitted).set_params(run=None).fit(texts)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    assert again.run_.path != fitted.run_.path
    # Who reads first stays: nltk keeps a traceback of where it was imported.
    np.testing.assert_array_equal(fitted.transform(texts), again.transform(texts))
    assert again.topics_ == fitted.topics_
    folder = again.run_.path
    assert folder.is_dir()
    del again
    assert not folder.exists()


@pytest.mark.slow
def test_it_works_in_a_pipeline_and_the_same_run_is_not_trained_twice(fitted, texts):
    weights = fitted.run_.path / "model.weights.h5"
    written = weights.stat().st_mtime_ns
    model = clone(fitted).set_output(transform="pandas")
    pipeline = make_pipeline(model, LogisticRegression())
    assert len(pipeline.fit(texts, [0, 1, 2] * 20).predict(texts)) == 60
    assert list(model.transform(texts[:2]).columns[:2]) == ["topic_0", "topic_1"]
    assert weights.stat().st_mtime_ns == written


@pytest.mark.slow
def test_the_python_of_the_docs_runs(fitted, texts, monkeypatch):
    shown = toy.python_of("python.md", "tcnlm.TopicModel")
    assert len(shown) == 2
    monkeypatch.setattr(tcnlm, "TopicModel", lambda **_: clone(fitted), raising=False)
    names = {"texts": texts, "labels": [0, 1, 2] * 20, "others": texts[:3]}
    for block in shown:
        exec(block, names)
    assert names["proportions"].shape == (60, 4)


@pytest.mark.slow
def test_other_texts_or_settings_are_refused_where_a_run_is(fitted, texts):
    shown = fitted.representative_documents(0)
    with pytest.raises(InputError, match="was made from other texts"):
        fitted.fit(texts[:-1])
    assert fitted.representative_documents(0) == shown
    with pytest.raises(InputError, match="units"):
        clone(fitted).set_params(units=9).fit(texts)


def test_it_is_saved_as_its_run_and_not_pickled(fitted):
    assert pickle.loads(pickle.dumps(clone(fitted))).get_params()["units"] == 8
    with pytest.raises(InputError, match="tcnlm.load_run"):
        pickle.dumps(fitted)


def test_arguments_and_settings_are_parameters():
    model = tcnlm.TopicModel("lda", num_topics=20, passes=3)
    assert (model.get_params()["num_topics"], model.get_params()["model"]) == (
        20,
        "lda",
    )
    model.set_params(num_topics=30, seed=7, alpha=0.1)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied.settings == {"num_topics": 30, "passes": 3, "alpha": 0.1}
    assert copied.seed == 7
    assert "num_topics=30" in repr(copied)
    with pytest.raises(InputError, match="num_topicz: is neither an argument"):
        model.set_params(num_topicz=3)


def test_settings_of_models_are_told_from_its_own_arguments():
    settings = {name for kind in MODELS for name in vars(model_class(kind).Config())}
    assert not settings & set(tcnlm.TopicModel._get_param_names())
    with pytest.raises(NotFittedError):
        make_model().transform(["A text."])


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("A text.", "give a list of texts"),
        ([1, 2], "text 0 must be a text, not 1"),
        (["A text.", float("nan")], "text 1 must be a text, not nan"),
        (["A text.", "None"], "text 1 is 'None', taken for none; leave it out"),
        (pd.DataFrame({"text": ["A text."]}), "one column of a table"),
    ],
)
def test_what_is_no_texts_is_refused(texts, said):
    with pytest.raises(InputError, match=said):
        make_model().fit(texts)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"num_topicz": 3}, "num_topicz=3: did you mean num_topics"),
        ({"num_topics": 0}, "num_topics=0: must be at least"),
        ({"model": "lstm"}, "model='lstm': has no topics"),
        ({"model": "lbl"}, "no model 'lbl'"),
        ({"recipe": "no-such"}, "no-such: no such recipe"),
        ({"recipe": None}, "recipe=None: must be a name"),
        ({"held_out": 1}, "held_out=1: must be a share"),
        ({"run": 3}, "run=3: must be a folder's path"),
        ({"preprocessing": {"split": 3}}, "split is set by fit itself"),
        ({"preprocessing": {"min_count": 0}}, "--min-count: must be a whole number"),
        ({"seed": -1}, "--seed: must be a whole number"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, said):
    with pytest.raises(InputError, match=said):
        make_model(**arguments).fit(["A text.", "Another one."])
