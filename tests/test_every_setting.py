"""All settings of all models at once: within their bounds, they train."""

import dataclasses

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import GroupedAdam, Training
from tcnlm.models import MODELS, model_class

pytestmark = pytest.mark.slow

SIZES = 5  # whole numbers go so far above their least: a model is quick to build
MAGNITUDES = (2**-7, 3.0)  # of other numbers
RATES = (2**-7, 2**-4)  # of Adam; above, a single step may well diverge
DROPPED = 2**-4  # above, a word may lose all; layer norms of 0 overflow its gradient
KINDS = {name: model_class(name).Config for name in sorted(MODELS)}


def within_bounds(field):
    """Return a strategy of the values that a setting may have, as `Bounds` states."""
    bounds, value = field.metadata["bounds"], field.default
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, str):
        return st.sampled_from(bounds.choices or [value])
    if not isinstance(value, tuple):
        return _numbers(bounds, type(value), field.name)
    each, length = _numbers(bounds, type(value[0]), field.name), bounds.length
    most = 3 if length is None else length
    lists = st.lists(each, min_size=length or 0, max_size=most, unique=bounds.rising)
    return lists.map(sorted if bounds.rising else list).map(tuple)


def _numbers(bounds, kind, name):
    low, high = max(bounds.least, bounds.above), min(bounds.most, bounds.below)
    if kind is int:
        return st.integers(int(low), int(min(high, low + SIZES)))
    least, most = RATES if "rate" in name else MAGNITUDES
    most = DROPPED if "dropout" in name else most
    least, most = max(low, least), min(high, most)
    positive = st.floats(least, most, exclude_max=most == bounds.below)
    zero = st.nothing() if bounds.complaint(0.0) else st.just(0.0)
    negative = positive.map(lambda number: -number) if low < 0 else st.nothing()
    return positive | zero | negative


def all_within_bounds(kind):
    """Return a strategy of settings of this type, all of them drawn."""
    fields = {field.name: within_bounds(field) for field in dataclasses.fields(kind)}
    return st.builds(kind, **fields)


def made(name, config, vocabulary):
    """Return a model as train.py makes it, or how it refuses, before it writes."""
    try:
        model = model_class(name)(config, vocabulary, seed=3)
        model.build_weights()
    except InputError as error:
        return str(error)
    return model


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8, phases=[Phase.generate])  # a shrunk one takes minutes
@given(data=st.data())
def test_settings_within_bounds_train_or_are_refused_by_name(name, toy_data, data):
    config, loop = data.draw(all_within_bounds(KINDS[name])), Training()
    dataset = Dataset(toy_data)
    model = made(name, config, dataset.vocabulary)
    if isinstance(model, str):  # settings that do not go together
        assert model.partition("=")[0] in vars(config)
        return
    if not model.trainable_variables:  # nothing is left to learn after a fit
        return
    model.prepare(dataset)
    model.compile(GroupedAdam(model.param_groups(), loop.clip_norm))
    rows = (model.trained_on or model.batching).rows(dataset.split("train"))
    terms = model.train_step(next(iter(rows.batches(4, 1, 0, 0))))
    assert int(model.steps) == 1
    assert all(np.isfinite(term) for term in terms.values())


def test_a_head_start_that_diverges_is_refused_before_a_checkpoint(toy_data):
    dataset, kind = Dataset(toy_data), model_class("tcnlm")
    wild = {"topic_pretrain_rates": (1e3, 1e3), "encoder_units": (256, 256)}
    config = KINDS["tcnlm"](**{**kind.test_config, **wild})
    model = made("tcnlm", config, dataset.vocabulary)
    with pytest.raises(InputError, match="pretrain_rates=1000.0,1000.0: .* lower"):
        model.prepare(dataset)
