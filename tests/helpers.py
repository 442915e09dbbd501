"""What several test files need: comparisons, finite differences, random weights."""

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from tcnlm.layers.noise import Noise

TOLERANCES = {  # relative, absolute; by the precision of the value under test
    "float32": (2e-5, 2e-6),
    "float64": (1e-10, 1e-11),
}


def _eager(function):
    return function


eager_and_graph = pytest.mark.parametrize(
    "wrap", [_eager, tf.function], ids=["eager", "graph"]
)
every_way = pytest.mark.parametrize(
    ("wrap", "dtype"),
    [(_eager, "float32"), (_eager, "float64"), (tf.function, "float32")],
    ids=["eager-32", "eager-64", "graph-32"],
)
both_precisions = pytest.mark.parametrize("dtype", ["float32", "float64"])


def assert_close(actual, expected):
    """Compare arrays, or lists of arrays, at the precision of the first."""
    if isinstance(actual, (list, tuple)):
        assert len(actual) == len(expected)
        for pair in zip(actual, expected):
            assert_close(*pair)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    rtol, atol = TOLERANCES[actual.dtype.name]
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def randomise(layer, rng, scale=0.7):
    """Give what a built layer or model trains values that no test passes by symmetry.

    Return it.
    """
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(scale=scale, size=weight.shape))
    return layer


def assert_weight_gradients(function, weights, rng, delta=1e-5):
    """Hold the gradients of the scalar `function()` to central differences.

    Each weight, float64, is moved along one random direction.
    """
    with tf.GradientTape() as tape:
        value = function()
    for weight, gradient in zip(weights, tape.gradient(value, weights)):
        direction, start = rng.normal(size=weight.shape), weight.numpy()
        exact = np.sum(np.asarray(tf.convert_to_tensor(gradient)) * direction)
        ends = []
        for sign in (1, -1):
            weight.assign(start + sign * delta * direction)
            ends.append(float(function()))
        weight.assign(start)
        assert exact != 0, weight.name
        np.testing.assert_allclose(
            exact, (ends[0] - ends[1]) / (2 * delta), rtol=1e-6, atol=1e-8
        )


def read_history(run):
    """Return RUN/history.csv to the last digit, which pandas itself does not."""
    return pd.read_csv(run / "history.csv", dtype=str).astype(float)


def fix_draws(monkeypatch, values):
    """Make these values of every normal draw."""
    drawn = tf.constant(values, tf.float32)
    monkeypatch.setattr(Noise, "normal", lambda noise, shape: drawn)
