"""What every registered method must do, whatever it is."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import assert_close
from loops import vocabulary_of

import tcnlm.models
from tcnlm.common.settings import names
from tcnlm.models import MODELS, model_class
from tcnlm.models.base import Model
from tcnlm.models.starts import check_starts

VOCABULARY = vocabulary_of(range(8, 20), size=30)
STEPS = 5  # more than a Transformer-XL for tests remembers
every_model = pytest.mark.parametrize("name", sorted(MODELS))
language_models = pytest.mark.parametrize(
    "name", [n for n in sorted(MODELS) if model_class(n).offers("step")]
)
topic_models = pytest.mark.parametrize(
    "name", [n for n in sorted(MODELS) if model_class(n).offers("topics")]
)


def make(name, **settings):
    kind = model_class(name)
    chosen = {k: value for k, value in settings.items() if k in names(kind.Config)}
    return tiny.untrained(name, VOCABULARY, **chosen)


# One for all tests that change nothing of it: to build it takes most of these.
made = cache(make)


def make_batch(rng, rows=4, steps=STEPS):
    """Return a batch of words that differ within a row, some rows padded."""
    words = np.stack([rng.permutation(np.arange(4, 30))[:steps] for _ in range(rows)])
    lengths = rng.integers(1, steps + 1, rows)
    lengths[0] = steps
    real = np.arange(steps) < lengths[:, None]
    inputs = np.concatenate([np.ones((rows, 1), int), words[:, :-1]], axis=1)
    context = rng.integers(-1, 12, (rows, 9))
    preceding = rng.integers(-1, 30, (rows, 3, 6))
    arrays = {"inputs": inputs * real, "targets": words * real, "context": context}
    arrays |= {"preceding": preceding, "words": context}
    arrays["siblings"] = rng.integers(1, 9, rows)
    batch = {key: tf.constant(value, tf.int32) for key, value in arrays.items()}
    return {**batch, "vote": tf.constant(rng.uniform(size=rows), tf.float32)}


def rows_of(model, batch):
    """Return sequences as what the model's batching calls rows: groups of them too."""
    arrays = model.batching.arrays
    return {key: _grouped(ids, arrays.get(key)) for key, ids in batch.items()}


def _grouped(ids, array):
    if array is None or len(array.shape) == len(ids.shape) - 1:
        return ids
    size, missing = array.shape[0], -len(ids) % array.shape[0]
    ids = tf.pad(ids, [[0, missing], [0, 0]], constant_values=array.padding)
    return tf.reshape(ids, [-1, size, ids.shape[1]])


def widen(batch):
    """Return the batch with five more columns of padding."""
    padding = {"inputs": 0, "targets": 0, "context": -1, "preceding": -1, "words": -1}
    return {
        key: tf.concat([ids, tf.fill([*ids.shape[:-1], 5], padding[key])], axis=-1)
        if key in padding
        else ids
        for key, ids in batch.items()
    }


def test_every_file_of_models_is_registered():
    others = {*"__init__ base names seeds settings starts topics".split()}
    files = {p.stem for p in Path(tcnlm.models.__file__).parent.glob("*.py")} - others
    assert files == {entry.split(":")[0].split(".")[-1] for entry in MODELS.values()}


@language_models
def test_step_by_step_gives_the_same_probabilities(name, rng):
    model, batch = made(name), make_batch(rng)
    state, constants = model.initial_state(model.context(batch), 4)
    expected = model(batch).numpy()
    for m in range(STEPS):
        word, state = model.step(batch["inputs"][:, m], state, constants)
        log_probs = word.log_probs()
        assert_close(tf.reduce_sum(tf.exp(log_probs), axis=1), np.ones(4, "float32"))
        target = batch["targets"][:, m].numpy()
        chosen = log_probs.numpy()[np.arange(4), target]
        assert_close(np.where(target > 0, chosen, 0), expected[:, m])


@every_model
def test_padding_changes_no_objective(name, rng):
    model = made(name)
    batch = rows_of(model, make_batch(rng))
    terms = model.compute_loss(widen(batch), training=False)
    for key, value in model.compute_loss(batch, training=False).items():
        assert_close(terms[key], value)


@every_model
@pytest.mark.parametrize(("rows", "steps"), [(1, 1), (5, 12)])
def test_any_batch_and_length_goes(name, rows, steps, rng):
    model, batch = make(name), make_batch(rng, rows, steps)
    if model.offers("step"):
        assert model(batch).shape == (rows, steps)
    batch = rows_of(model, batch)
    assert np.isfinite(model.compute_loss(batch, training=True)["loss"])


@every_model
def test_every_weight_gets_a_finite_gradient(name, rng):
    model = make(name)
    batch = rows_of(model, make_batch(rng, 16))
    with tf.GradientTape() as tape:
        loss = model.compute_loss(batch, training=True)["loss"]
    weights = model.trainable_variables
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        assert gradient is not None, weight.name
        values = tf.convert_to_tensor(gradient).numpy()
        assert np.isfinite(values).all(), weight.name
        assert values.any(), weight.name


@every_model
def test_every_weight_is_in_one_parameter_group_or_in_those_of_its_batches(name):
    model = made(name)
    grouped = [id(w) for weights, _ in model.param_groups() for w in weights]
    if (model.trained_on or model.batching) != model.batching:  # of several kinds
        grouped = set(grouped)
    assert sorted(grouped) == sorted(id(w) for w in model.trainable_variables)


@every_model
def test_a_few_steps_lower_the_loss(name, rng):
    chosen = {"learning_rate": 0.01, "kl_warmup_steps": 0, "topic_batches": "sentences"}
    model = make(name, dropout=0.0, **chosen)
    batch = rows_of(model, make_batch(rng, 16, 7))
    if not model.trainable_variables:
        pytest.skip("is fitted before training")
    model.compile()
    before = model.compute_loss(batch, training=False)["loss"]
    for _ in range(8):
        model.train_step(batch)
    assert model.compute_loss(batch, training=False)["loss"] < before
    assert int(model.steps) == 8


@every_model
def test_a_model_is_a_keras_model_or_a_variant_of_one_in_its_own_file(name):
    check_starts(made(name))
    kind, *parents = model_class(name).__mro__[: -len(Model.__mro__)]
    assert len(parents) <= 1
    assert all(parent.__module__ == kind.__module__ for parent in parents)
    assert kind.offers("step") or kind.offers("topics") or kind.documental


@every_model
def test_what_an_epoch_is_judged_by_is_in_the_objective(name, rng):
    model = made(name)
    batch = rows_of(model, make_batch(rng))
    assert model.per_word in model.compute_loss(batch, training=False)
    arrays = {key: ids.numpy() for key, ids in batch.items()}
    assert 0 < model.count_words(arrays) <= arrays["context"].size


@topic_models
def test_topics_and_proportions_are_on_the_simplex(name, rng):
    model = made(name)
    words = rng.integers(-1, 12, (5, 9)).astype("int32")
    words[0] = -1  # a document without content words
    for rows in (model.infer(words), model.topics()):
        assert (rows.numpy() >= 0).all()
        assert_close(rows.numpy().sum(axis=1), np.ones(len(rows), "float32"))


@topic_models
def test_given_topics_drive_the_words(name):
    model = made(name)
    if not model.offers("step"):
        pytest.skip("writes no words")
    first, second = (
        model.step(
            tf.constant([1]), *model.initial_state(model.context({"topics": topics}), 1)
        )[0].log_probs()
        for topics in (tf.constant([[1.0, 0.0, 0.0]]), tf.constant([[0.0, 0.0, 1.0]]))
    )
    assert np.abs(first.numpy() - second.numpy()).max() > 1e-4
