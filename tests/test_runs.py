"""A RUN folder: written once, loaded again, refused when it is something else."""

import json
import os

import pytest
import tiny

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.common.files import locked, owned, replacing
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.programs import export
from tcnlm.runs import new_run
from tcnlm.runs.run_folder import RunFolder


@pytest.fixture
def config(toy_data):
    settings = model_class("lstm").Config(units=4, embedding_size=3, cutoffs=(9,))
    data = Dataset(toy_data)
    return new_run.new_config("lstm", settings, Training(), data, 5, "python train.py")


def test_config_has_all_that_repeats_the_run(config, toy_data):
    meta = json.loads((toy_data / "meta.json").read_text())
    assert config["settings"]["units"] == 4
    assert config["training"]["batch_size"] == 64
    assert config["seed"] == 5
    assert config["data"]["fingerprint"] == meta["fingerprint"]
    assert {"python", "tensorflow", "numpy", "gensim"} <= set(config["versions"])
    assert config["command"] == "python train.py"
    assert "git_commit" in config


@pytest.mark.parametrize(
    "ask",
    [
        lambda run: run.proportions(["the sea"]),
        lambda run: run.perplexity(["the sea"]),
        lambda run: run.generate(topic=0),
        lambda run: tcnlm.load_run(run.path),
        lambda run: tcnlm.TopicModel().fit(["the sea"]),
    ],
)
def test_a_process_forked_after_a_run_was_opened_is_refused(ask, tmp_path, monkeypatch):
    """TensorFlow would wait for ever for threads that no fork has."""
    tiny.make_run(tmp_path / "RUN")
    run = tcnlm.load_run(tmp_path / "RUN")
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        with pytest.raises(InputError, match="forked after a model was opened"):
            ask(run)


def test_a_run_without_weights_says_what_to_do(config, toy_data, tmp_path):
    new_run.open_run(tmp_path / "RUN", config, Dataset(toy_data).vocabulary)
    with pytest.raises(InputError, match="let train.py finish an epoch"):
        RunFolder(tmp_path / "RUN").load()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "not a RUN .*train one with train.py"),
        ({"seed-2/a": "", "seed-10/a": ""}, "give .*seed-2, .*seed-10$"),
        ({"config.json": '{"format_version": 0}'}, "format version 0"),
        ({"config.json": "{"}, "config.json: damaged"),
    ],
)
def test_what_is_no_run_is_refused_with_what_to_do(files, message, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        RunFolder(tmp_path).load()


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("settings", "units", 0), ("training", "clip_norm", "5"), ("settings", "x", 1)],
)
def test_a_setting_that_cannot_be_is_refused_by_file_and_name(
    part, name, value, config, toy_data, tmp_path
):
    config[part][name] = value
    new_run.open_run(tmp_path / "RUN", config, Dataset(toy_data).vocabulary)
    with pytest.raises(InputError, match=rf"RUN/config.json: .*{name}"):
        RunFolder(tmp_path / "RUN").load()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("thesis.tex", "", "not empty"),
        ("config.json", '{"architectures": []}', "config.json: format version None"),
    ],
)
def test_what_is_another_s_is_not_written_into(
    name, text, message, config, toy_data, tmp_path
):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        new_run.open_run(tmp_path, config, Dataset(toy_data).vocabulary)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == text


@pytest.mark.parametrize(
    "left",
    [
        {},
        {"vocabulary.txt": "the\t1\n"},
        {"vocabulary.txt": "the\t1\n", "topic_vocabulary.txt": ""},
        {"tensorboard": None, "checkpoints": None, "config.json": "old"},
    ],
)
def test_what_a_kill_at_the_beginning_leaves_is_taken(left, config, toy_data, tmp_path):
    run = tmp_path / "RUN"
    run.mkdir()
    old = {**config, "settings": {**config["settings"], "units": 7}}
    for name, text in left.items():
        if text is None:
            (run / name).mkdir()
        else:
            (run / name).write_text(json.dumps(old) if text == "old" else text)
    new_run.open_run(run, config, Dataset(toy_data).vocabulary)
    assert RunFolder(run).config == config
    assert Vocabulary.load(run).words == Dataset(toy_data).vocabulary.words


def test_weights_without_a_checkpoint_are_not_trained_over(config, toy_data, tmp_path):
    vocabulary = Dataset(toy_data).vocabulary
    new_run.open_run(tmp_path / "RUN", config, vocabulary)
    (tmp_path / "RUN" / new_run.WEIGHTS).write_text("weights")
    with pytest.raises(InputError, match="no checkpoint to continue from"):
        new_run.open_run(tmp_path / "RUN", config, vocabulary)


def test_a_folder_is_replaced_by_way_of_aside(tmp_path, monkeypatch):
    """So that nothing is ever half removed."""
    path, seen = tmp_path / "saved_model", []
    path.mkdir()
    (path / "old").write_text("")
    rename = os.replace

    def watched(source, target):
        seen.append(sorted(p.name for p in tmp_path.glob("*/*")))
        rename(source, target)

    monkeypatch.setattr(os, "replace", watched)
    with replacing(path) as aside:
        aside.mkdir()
        (aside / "new").write_text("")
    assert seen == [["new", "old"], ["new", "old"]]
    assert [p.name for p in tmp_path.glob("*/*")] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_has_one_owner(tmp_path):
    refused = pytest.raises(InputError, match=f"process {os.getpid()} is writing it")
    with owned(tmp_path / "RUN", ()), refused, owned(tmp_path / "RUN", ()):
        pass


def test_an_export_into_a_run_in_training_is_refused(tmp_path):
    tiny.make_run(tmp_path / "RUN", "lstm")
    with locked(tmp_path / "RUN"):
        with pytest.raises(InputError, match=f"RUN: process {os.getpid()} is writing"):
            export.main([str(tmp_path / "RUN")])
        export.main([str(tmp_path / "RUN"), "--out", str(tmp_path / "elsewhere")])
    assert not (tmp_path / "RUN" / "saved_model").exists()
    assert (tmp_path / "elsewhere" / "saved_model.pb").exists()
