"""Settings from the command line: taken over, or refused naming what is right."""

import dataclasses
import re

import pytest

from tcnlm.common.settings import SettingError, from_json, override
from tcnlm.layers.optimization import Training
from tcnlm.models import MODELS, model_class
from tcnlm.programs import train

CONFIG = model_class("tcnlm").Config


def test_values_take_their_settings_type():
    config, loop = override(
        (CONFIG(), Training()),
        ["units=900", "dropout=0.1", "cutoffs=10,20", "use_bias=False", "epochs=3"],
    )
    assert (config.units, config.dropout, config.cutoffs) == (900, 0.1, (10, 20))
    assert config.use_bias is False
    assert config.topic_pretrain_rates == CONFIG().topic_pretrain_rates
    assert loop == dataclasses.replace(Training(), epochs=3)


@pytest.mark.parametrize(
    ("assignment", "wanted"),
    [
        ("units=many", "a whole number"),
        ("units=1e12", "a whole number in digits, 2147483647 at most"),
        ("dropout=high", "a number"),
        ("use_bias=1", "true or false"),
        ("cutoffs=1;2", "numbers with commas"),
        ("units=0", "at least 1"),
        ("dropout=1.0", "below 1"),
        ("encoder_input=words", "counts or log or frequencies"),
        ("cutoffs=1000,500", "rising numbers"),
        ("prior_variance=0", "above 0"),
        ("topic_pretrain_rates=0.1", "2 numbers"),
        ("topic_pretrain_rates=1,nan", "numbers with commas"),
        ("learning_rate=nan", "a number"),
        ("factor_lr_multiplier=1e12", "at most 10000 in size"),
        ("topic_pretrain_rates=1,1e12", "at most 10000 in size"),
        ("clip_norm=1e39", "at most 3.40282e+38 in size"),
    ],
)
def test_a_bad_value_is_refused_saying_what_would_do(assignment, wanted):
    configs = (CONFIG(), model_class("lda").Config(), Training())
    with pytest.raises(SettingError, match=re.escape(assignment)) as error:
        override(configs, [assignment])
    assert wanted in str(error.value)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"units": 2**31}, "units=2147483648: must be a number that 32 bits"),
        ({"dropout": 10**400}, "dropout=10*: must be a number that 32 bits"),
        ({"units": True}, "units=true: must be a whole number"),
        ({"units": 1e3}, "units=1000.0: must be a whole number in digits"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: must be a number"),
    ],
)
def test_bounds_hold_for_python_and_config_json_too(values, complaint):
    with pytest.raises(SettingError, match=complaint):
        from_json(CONFIG, values)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--seed", "-1"), ("--seed", "1.5"), ("--threads", "-1"), ("--threads", "100000")],
)
def test_a_seed_or_number_of_threads_out_of_bounds_is_refused(option, value, capsys):
    with pytest.raises(SystemExit):
        train.parser().parse_args(["D", "--out", "R", option, value])
    assert "must be a whole number from 0 to" in capsys.readouterr().err


# --- All settings of all models -------------------------------------------------------


def every_setting():
    """Return (model or "training", settings, field) of all there are."""
    kinds = {name: model_class(name).Config for name in sorted(MODELS)}
    return [
        pytest.param(kind, field, id=f"{name}-{field.name}")
        for name, kind in {**kinds, "training": Training}.items()
        for field in dataclasses.fields(kind)
    ]


def outside(field):
    """Return values of the field's type that its bounds exclude."""
    bounds, value = field.metadata["bounds"], field.default
    if isinstance(value, str):
        return ["no such choice"] if bounds.choices else []
    if isinstance(value, bool):
        return ["neither"]
    numbers = [bounds.least - 1, bounds.above, bounds.below, bounds.most + 1]
    wrong = [number for number in numbers if abs(number) < float("inf")]
    wrong = [type(value)(n) if isinstance(value, int) else n for n in wrong]
    if isinstance(value, tuple):
        wrong = [tuple(number for _ in value) for number in wrong]
    return [*wrong, float("nan"), None]


@pytest.mark.parametrize(("kind", "field"), every_setting())
def test_no_setting_of_any_model_can_be_out_of_its_bounds(kind, field):
    assert field.metadata["text"]
    for value in outside(field):
        with pytest.raises(SettingError, match=f"^{field.name}="):
            kind(**{field.name: value})
