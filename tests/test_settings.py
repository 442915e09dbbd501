"""Settings from the command line: taken over, or refused naming what is right."""

import dataclasses
import re
import subprocess
import sys

import pytest
import toy

from tcnlm.models import MODELS, model_class
from tcnlm.training.settings import (
    SettingError,
    Training,
    describe,
    from_json,
    override,
)

CONFIG = model_class("tcnlm").Config


def test_values_take_their_settings_type():
    config, loop = override(
        (CONFIG(), Training()),
        ["units=900", "dropout=0.1", "cutoffs=10,20", "use_bias=False", "epochs=3"],
    )
    assert (config.units, config.dropout, config.cutoffs) == (900, 0.1, (10, 20))
    assert config.use_bias is False
    assert config.head_start_rates == CONFIG().head_start_rates
    assert loop == dataclasses.replace(Training(), epochs=3)


def test_numbers_with_a_point_are_taken_in_a_list():
    (config,) = override((CONFIG(),), ["head_start_rates=0.1,2"])
    assert config.head_start_rates == (0.1, 2.0)


def test_an_empty_list_makes_the_full_softmax():
    (config,) = override((CONFIG(),), ["cutoffs="])
    assert config.cutoffs == ()


@pytest.mark.parametrize("assignment", ["unit=900", "units", "=3"])
def test_an_unknown_name_is_refused_naming_the_known(assignment):
    with pytest.raises(SettingError, match="units") as error:
        override((CONFIG(), Training()), [assignment])
    assert "patience" in str(error.value)


@pytest.mark.parametrize(
    ("assignment", "wanted"),
    [
        ("units=many", "a whole number"),
        ("units=1.5", "a whole number"),
        ("dropout=high", "a number"),
        ("use_bias=1", "true or false"),
        ("cutoffs=1;2", "numbers with commas"),
        ("units=0", "at least 1"),
        ("dropout=1.0", "below 1"),
        ("dropout=-0.1", "at least 0"),
        ("encoder_input=words", "counts or log or frequencies"),
        ("learning_rate=nan", "a number"),
        ("alpha=0", "above 0"),
        ("passes=0", "at least 1"),
    ],
)
def test_a_bad_value_is_refused_saying_what_would_do(assignment, wanted):
    configs = (CONFIG(), model_class("lda").Config(), Training())
    with pytest.raises(SettingError, match=re.escape(assignment)) as error:
        override(configs, [assignment])
    assert wanted in str(error.value)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_settings_come_back_from_json(name):
    kind = model_class(name).Config
    assert from_json(kind, dataclasses.asdict(kind())) == kind()


def test_settings_of_another_version_are_refused():
    with pytest.raises(SettingError, match="no_such_setting"):
        from_json(CONFIG, {"no_such_setting": 1})


def test_every_setting_is_described_with_its_default():
    text = describe({"tcnlm": CONFIG()})
    for field in dataclasses.fields(CONFIG):
        assert f"  {field.name}=" in text


def test_train_refuses_bad_settings_without_a_traceback(toy_data, tmp_path):
    command = toy.train_command(toy_data, tmp_path / "RUN", settings=["unit=1"])
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("error: --set unit=1")
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "RUN").exists()


def test_train_refuses_a_folder_that_is_no_data(tmp_path):
    command = [sys.executable, str(toy.ROOT / "train.py"), str(tmp_path), "--out", "x"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 2
    assert "not a DATA directory" in result.stderr
