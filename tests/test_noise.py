"""Random draws of a step that know the rows they are for."""

import numpy as np
import pytest
import tensorflow as tf

from tcnlm.layers.noise import Noise


@pytest.mark.parametrize("shape", [[10, 7], [10, 3, 4], [10, 1], [10]])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_a_piece_of_a_batch_draws_what_the_whole_would_have_drawn(shape, kind):
    whole = getattr(Noise(3, 5, "words"), kind)(shape).numpy()
    for first, last in ((0, 4), (4, 10), (9, 10)):
        noise = Noise(3, 5, "words", row=first)
        part = getattr(noise, kind)([last - first, *shape[1:]])
        np.testing.assert_array_equal(part, whole[first:last])


def test_draws_differ_by_seed_step_name_and_number():
    first = Noise(3, 5, "words")
    others = [Noise(4, 5, "words"), Noise(3, 6, "words"), Noise(3, 5, "topics"), first]
    drawn = first.uniform([50, 9]).numpy()
    for noise in others:
        other = noise.uniform([50, 9]).numpy()
        assert not np.isin(drawn, other).any()


def test_draws_have_the_moments_of_their_laws():
    noise = Noise(1, 0, "words")
    uniform, normal = noise.uniform([500, 200]).numpy(), noise.normal([500, 200])
    assert uniform.min() >= 0
    assert uniform.max() < 1
    np.testing.assert_allclose([uniform.mean(), uniform.var()], [1 / 2, 1 / 12], 5e-3)
    np.testing.assert_allclose(
        [np.mean(normal), np.std(normal)], [0, 1], atol=5e-3, rtol=5e-3
    )


def test_dropout_keeps_the_mean_and_is_one_for_all_rows_where_it_is_shared():
    ones = tf.ones([1000, 30])
    dropped = Noise(1, 0, "words").dropout(ones, 0.4).numpy()
    assert set(np.unique(dropped)) == {0, np.float32(1 / 0.6)}
    assert dropped.mean() == pytest.approx(1, abs=0.02)
    shared = [
        Noise(1, 0, "words", row=row).dropout(ones, 0.4, shared=True) for row in (0, 7)
    ]
    np.testing.assert_array_equal(*shared)


def test_nothing_is_drawn_outside_training():
    noise, ones = Noise(1, 0, "words", training=False), tf.ones([3, 4])
    assert noise.dropout(ones, 0.4) is ones
    assert noise.gaussian(ones, ones) is ones
