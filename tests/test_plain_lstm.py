"""The LSTM with a gradient of its own is Keras's LSTM."""

import numpy as np
import pytest
import tensorflow as tf

from tcnlm.layers.lstm import LSTM

SHAPE, UNITS = (3, 5, 4), 6  # sentences, words, numbers a word


def drawn(*shape, rng=None):
    return tf.constant(rng.normal(size=shape), tf.float32)


def results(kind, with_start, mask=None):
    """Return outputs and state, and the gradients of all that goes in."""
    rng = np.random.default_rng(1)
    layer = kind(UNITS, return_sequences=True, return_state=True)
    layer.build((None, None, SHAPE[-1]))
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    inputs, weighing = drawn(*SHAPE, rng=rng), drawn(*SHAPE[:2], UNITS, rng=rng)
    start = [drawn(SHAPE[0], UNITS, rng=rng) for _ in range(2)]
    with tf.GradientTape() as tape:
        tape.watch([inputs, *start])
        state = start if with_start else None
        outputs, h, c = layer(inputs, initial_state=state, mask=mask)
        loss = tf.reduce_sum(outputs * weighing) + tf.reduce_sum(h * start[1] - c)
    sources = [inputs, *layer.trainable_variables, *(start if with_start else [])]
    return [outputs, h, c, *tape.gradient(loss, sources)]


@pytest.mark.parametrize("with_start", [False, True])
def test_outputs_state_and_every_gradient_are_those_of_keras(with_start):
    ours, theirs = (results(kind, with_start) for kind in (LSTM, tf.keras.layers.LSTM))
    for found, expected in zip(ours, theirs):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


def test_with_a_mask_it_keeps_the_state_after_the_last_real_word_as_keras_does():
    mask = tf.sequence_mask([5, 2, 3], SHAPE[1])
    ours, theirs = (results(k, True, mask) for k in (LSTM, tf.keras.layers.LSTM))
    for found, expected in zip(ours, theirs):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


def test_without_its_states_it_returns_the_outputs_alone():
    outputs = LSTM(UNITS, return_sequences=True)(tf.ones(SHAPE))
    assert outputs.shape == (*SHAPE[:2], UNITS)
