"""A RUN folder: written once, loaded again, refused when it is something else."""

import json

import pytest

from preprocessing.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.files import replacing
from tcnlm.models import model_class
from tcnlm.training import runs
from tcnlm.training.settings import Training


@pytest.fixture
def config(toy_data):
    settings = model_class("lstm").Config(units=4, embedding_size=3, cutoffs=(9,))
    data = Dataset(toy_data)
    return runs.new_config("lstm", settings, Training(), data, 5, "python train.py")


def test_config_has_all_that_repeats_the_run(config, toy_data):
    meta = json.loads((toy_data / "meta.json").read_text())
    assert config["settings"]["units"] == 4
    assert config["training"]["batch_size"] == 64
    assert config["seed"] == 5
    assert config["data"]["fingerprint"] == meta["fingerprint"]
    assert {"python", "tensorflow", "numpy", "gensim"} <= set(config["versions"])
    assert config["command"] == "python train.py"
    assert "git_commit" in config


def test_a_run_is_loaded_with_its_weights(config, toy_data, tmp_path):
    vocabulary = Dataset(toy_data).vocabulary
    runs.open_run(tmp_path / "RUN", config, vocabulary)
    model = runs.make_model(config, vocabulary)
    model.save_weights(tmp_path / "RUN" / runs.WEIGHTS)
    loaded = runs.load(tmp_path / "RUN")
    assert loaded.config == model.config
    assert loaded.vocabulary.words == vocabulary.words
    for ours, theirs in zip(loaded.weights, model.weights):
        assert (ours.numpy() == theirs.numpy()).all()


def test_a_run_without_weights_says_what_to_do(config, toy_data, tmp_path):
    runs.open_run(tmp_path / "RUN", config, Dataset(toy_data).vocabulary)
    with pytest.raises(InputError, match="let train.py finish an epoch"):
        runs.load(tmp_path / "RUN")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a RUN"):
        runs.load(tmp_path)


def test_a_run_of_another_version_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"format_version": 0}')
    with pytest.raises(InputError, match="format version 0"):
        runs.load(tmp_path)


def test_a_damaged_config_is_refused_by_name(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match="config.json: damaged"):
        runs.read_config(tmp_path)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("settings", "units", 0), ("training", "clip_norm", "5"), ("settings", "x", 1)],
)
def test_a_setting_that_cannot_be_is_refused_by_file_and_name(
    part, name, value, config, toy_data, tmp_path
):
    config[part][name] = value
    runs.open_run(tmp_path / "RUN", config, Dataset(toy_data).vocabulary)
    with pytest.raises(InputError, match=rf"RUN/config.json: .*{name}"):
        runs.load(tmp_path / "RUN")


def test_a_folder_with_other_things_is_not_written_into(config, toy_data, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="not empty"):
        runs.open_run(tmp_path, config, Dataset(toy_data).vocabulary)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_breaks_off_leaves_the_old_file(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("old")

    def write_half():
        with replacing(path) as aside:
            aside.write_text("ne")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
