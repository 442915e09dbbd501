"""Transformer-XL against Dai et al. 2019 in loops; its memory, and topics beside it."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import randomise
from loops import (
    VOCABULARY,
    B,
    K,
    array,
    assert_loss_is_minus_J,
    draw_batch,
    of_targets,
    word_log_probs,
)

from tcnlm.layers.noise import Noise
from tcnlm.layers.relative_attention import TransformerXLLayer, sinusoids
from tcnlm.models import transformer_xl
from tcnlm.models.transformer_xl import TopicTransformerXL, TransformerXL

HEADS, REACH = 2, 3
CHOSEN = {"heads": HEADS, "memory": REACH, "layers": 2}


def make_model(rng, kind=TransformerXL, vocabulary=VOCABULARY, **settings):
    return loops.make_model(kind, rng, vocabulary, **{**CHOSEN, **settings})


# --- The oracle: section 3.3 and appendix B of the paper ------------------------------


def position(distance, d):
    """R_n: sines of all frequencies, then cosines, cut to d numbers."""
    angles = [distance / 10000 ** (2 * c / d) for c in range((d + 1) // 2)]
    return np.array([*map(np.sin, angles), *map(np.cos, angles)])[:d]


def layer_norm(x, norm):
    scale, offset = (array(w) for w in norm.weights)
    return scale * (x - x.mean()) / np.sqrt(x.var() + 1e-5) + offset


def attend(layer, h, i, reach):
    """a_i of all heads: the softmax over word i and as many before it as it reaches."""
    d, seen = h.shape[1], range(max(0, i - reach), i + 1)
    Wq, Wk, Wv, Wr = (array(getattr(layer, f"W{x}").kernel).T for x in "qkvr")
    u, v = array(layer.u), array(layer.v)
    d_h, found = d // len(u), []
    for n in range(len(u)):
        own = slice(n * d_h, (n + 1) * d_h)
        q, scores = (Wq @ h[i])[own], []
        for j in seen:
            k, r = (Wk @ h[j])[own], (Wr @ position(i - j, d))[own]
            scores.append((q @ k + q @ r + u[n] @ k + v[n] @ r) / np.sqrt(d_h))
        shares = oracle.softmax(np.array(scores))
        found.append(sum(a * (Wv @ h[j])[own] for a, j in zip(shares, seen)))
    return np.concatenate(found)


def layer_outputs(layer, h, reach):
    """The outputs [T, d] for all words of a text, of which h [T, d] goes in."""
    W1, b1, W2, b2 = (array(w) for w in (*layer.W1.weights, *layer.W2.weights))
    found = []
    for i in range(len(h)):
        attended = array(layer.Wo.kernel).T @ attend(layer, h, i, reach)
        o = layer_norm(h[i] + attended, layer.norms[0])
        inner = np.maximum(0, W1.T @ o + b1)
        found.append(layer_norm(o + W2.T @ inner + b2, layer.norms[1]))
    return np.array(found)


def outputs(model, words):
    """h^N [T, d] of a whole text at once, where nothing is cut or carried."""
    h = np.sqrt(model.config.embedding_size) * array(model.embedding.embeddings)[words]
    for layer in model.recurrent:
        h = layer_outputs(layer, h, model.config.memory)
    return h


def sentence(model, batch, b):
    return batch["inputs"][b, : loops.LENGTHS[b]]


def alone(model, batch, b):
    h = outputs(model, sentence(model, batch, b))
    return of_targets(word_log_probs(model.softmax, h), batch, b)


def beside(model, batch, b, t):
    h = outputs(model, sentence(model, batch, b))
    seen = np.concatenate([h, np.tile(t, [len(h), 1])], axis=1)
    return of_targets(word_log_probs(model.softmax, seen), batch, b)


# --- The layer ------------------------------------------------------------------------


def make_layer(rng, size=4, dtype="float64"):
    layer = TransformerXLLayer(HEADS, 7, REACH, dtype=dtype)
    layer.build((None, None, size))
    return randomise(layer, rng)


def run(layer, h, memory, filled):
    keys = h.shape[1] + memory.shape[1]
    R = tf.cast(sinusoids(keys, h.shape[2]), h.dtype)
    return layer(h, memory, tf.constant(filled, h.dtype)[:, None], R)


@pytest.mark.parametrize("length", [1, 3, 8])
@pytest.mark.parametrize("slots", [0, 3, 5])
def test_a_layer_is_the_loops_whatever_part_of_its_memory_is_filled(slots, length, rng):
    layer, filled = make_layer(rng, dtype="float32"), [0, min(2, slots), slots]
    h = rng.normal(size=[3, length, 4]).astype("float32")
    memory = rng.normal(size=[3, slots, 4]).astype("float32")
    found = run(layer, tf.constant(h), tf.constant(memory), filled).numpy()
    for b, real in enumerate(filled):
        text = np.concatenate([memory[b, slots - real :], h[b]]).astype(float)
        expected = layer_outputs(layer, text, REACH)[real:]
        np.testing.assert_allclose(found[b], expected, rtol=2e-4, atol=2e-5)


# --- The language model ---------------------------------------------------------------


def test_the_words_of_a_sentence_have_the_oracle_s_probabilities(rng):
    model, batch = make_model(rng), draw_batch(rng)
    found = model(batch).numpy()
    expected = [alone(model, batch, b) for b in range(B)]
    for row, values in zip(found, expected):
        np.testing.assert_allclose(row[: len(values)], values, rtol=2e-4, atol=2e-5)
    words = sum(map(len, expected))
    nll = model.compute_loss(batch, training=False)["nll"]
    np.testing.assert_allclose(nll, -np.sum(np.concatenate(expected)) / words, 1e-4)


@pytest.mark.parametrize("window", [2, 5])
def test_with_a_memory_a_document_has_the_oracle_s_probabilities_in_windows(
    window, rng
):
    model = make_model(rng, carry=True, window=window)
    words = rng.integers(4, loops.V, 12)
    found = []
    for first in range(0, 11, window):
        rows = [words[None, i : i + window] for i in (first, first + 1)]
        inputs, targets = (r[:, : min(window, 11 - first)] for r in rows)
        batch = {"inputs": inputs, "targets": targets, "fresh": [int(first == 0)]}
        batch = {key: tf.constant(value, tf.int32) for key, value in batch.items()}
        found.extend(model(batch)[0].numpy())
    rows = word_log_probs(model.softmax, outputs(model, words[:-1]))
    expected = [row[word] for row, word in zip(rows, words[1:])]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_a_window_learns_nothing_through_its_memory_though_it_reads_it(rng):
    model, losses = make_model(rng, carry=True, window=2), []
    read, now = [[[4, word]] for word in (5, 6)], {"inputs": [[7, 8]]}
    now |= {"targets": [[8, 9]], "fresh": [0]}
    for before in read:
        first = {"inputs": before, "targets": before, "fresh": [1]}
        for batch in (first, now):
            rows = {key: tf.constant(value) for key, value in batch.items()}
            with tf.GradientTape() as tape:
                loss = model.compute_loss(rows, training=False)["loss"]
        losses.append(float(loss))
        table = tape.gradient(loss, model.embedding.embeddings)
        moved = tf.reduce_any(tf.convert_to_tensor(table) != 0, axis=1)
        assert tf.where(moved)[:, 0].numpy().tolist() == [7, 8]
    assert abs(losses[0] - losses[1]) > 1e-4


@pytest.mark.parametrize("kind", [TransformerXL, TopicTransformerXL])
def test_what_is_written_has_the_probability_that_scoring_gives_it(kind, rng):
    """Word by word, far beyond the memory, and going on from a window."""
    model = make_model(rng, kind, carry=True, window=7)
    words = tf.constant(rng.integers(4, loops.V, [2, 11]), tf.int32)
    has_topics = kind is TopicTransformerXL
    context = tf.one_hot([1, 3], K) if has_topics else ()
    state, constants = model.initial_state(context, 2)
    noise = Noise(0, 0, "words", training=False)
    _, state = transformer_xl.attend(model, words[:, :4], state, noise)
    batch = {"inputs": words[:, :-1], "targets": words[:, 1:]}
    expected = model(batch, context=context)
    for m in range(4, 10):
        word, state = model.step(words[:, m], state, constants)
        chosen = tf.gather(word.log_probs(), words[:, m + 1], batch_dims=1)
        np.testing.assert_allclose(chosen, expected[:, m], rtol=2e-4, atol=2e-5)


# --- Topics beside its output ---------------------------------------------------------


def test_with_topics_the_loss_is_minus_J_for_the_sampled_ones(rng, monkeypatch):
    model = make_model(rng, TopicTransformerXL)
    assert_loss_is_minus_J(model, rng, monkeypatch, beside)
