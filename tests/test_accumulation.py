"""Steps of several batches: those of one so many times as large."""

import numpy as np
import pytest
import tensorflow as tf
import tiny
from trained import make_trainer

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.training.parts import PART, check_accumulation, divide, learn
from tcnlm.training.workers import Workers


def stepped(name, data, pieces, rows, lazy, workers=None):
    """Return terms and weights of a model after two steps of `rows` rows each."""
    chosen = {} if name == "neural_topics" else {"dropout": 0.4}
    tf.keras.utils.set_random_seed(1)
    model = tiny.untrained(name, data.vocabulary, **chosen)
    model.compile(GroupedAdam(model.param_groups(), clip_norm=0.1, lazy=lazy))
    batches = model.batching.rows(data.split("train")).batches(rows, 1)
    workers = workers or Workers()
    signature = workers.signature(model.batching.signature(), pieces)
    step = tf.function(
        lambda batch: workers.step(model, batch),
        input_signature=[signature],
        autograph=False,
    )
    for _ in range(2):
        terms = step(workers.own(next(batches), model, pieces))
    return {k: float(v) for k, v in terms.items()}, model.get_weights()


@pytest.mark.parametrize(
    ("name", "pieces", "rows", "lazy"),
    [
        ("neural_topics", 3, 10, False),
        ("lstm", 4, 3, True),
        pytest.param("tcnlm", 3, 10, True, marks=pytest.mark.slow),
        pytest.param("tcnlm", 3, 10, False, marks=pytest.mark.slow),
        pytest.param("lstm", 4, 3, False, marks=pytest.mark.slow),
    ],
)
def test_a_step_of_pieces_is_that_of_the_whole_with_its_draws_and_clipping(
    name, pieces, rows, lazy, toy_data
):
    """Losses, norms and weights, where a piece has no row too."""
    data = Dataset(toy_data)
    found, expected = (stepped(name, data, n, rows, lazy) for n in (pieces, 1))
    assert found[0] == pytest.approx(expected[0], rel=1e-4)
    assert expected[0]["gradient_norm_0"] > 0.1
    for ours, whole in zip(found[1], expected[1]):
        np.testing.assert_allclose(ours, whole, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("rows", [13, 5, 1])
def test_the_pieces_of_all_workers_are_the_rows_of_a_batch_once(rows, toy_data):
    data = Dataset(toy_data)
    model = tiny.untrained("lstm", data.vocabulary)
    batch = next(iter(model.batching.rows(data.split("train")).batches(rows, 1)))
    taken, words = [], 0
    for index in range(2):
        own = divide(batch, model, index, workers=2, pieces=3)
        for first, number, sequences, _, own_words, _, begin, end in own[PART]:
            assert number == rows
            words += own_words
            if sequences:
                taken += list(own["targets"][begin:end])
                assert taken[-sequences].tolist() == batch["targets"][first].tolist()
    np.testing.assert_array_equal(taken, batch["targets"])
    assert words == model.count_words(batch)


@pytest.mark.parametrize(
    "name", [pytest.param("tcnlm", marks=pytest.mark.slow), "lstm"]
)
def test_the_pieces_of_two_workers_sum_to_the_whole(name, toy_data):
    data = Dataset(toy_data)
    model = tiny.untrained(name, data.vocabulary, dropout=0.4)
    batch = next(iter(model.batching.rows(data.split("train")).batches(9, 1)))
    found = []
    for index in range(2):
        own = divide(batch, model, index, workers=2, pieces=2)
        own = {name: tf.constant(rows) for name, rows in own.items()}
        found.append(learn(model, own, list))
    whole = model.compute_gradients(batch)
    for term, value in whole[0].items():
        parts = sum(float(terms[term]) for terms, _ in found)
        assert parts == pytest.approx(float(value), rel=1e-4), term
    every = zip(*(gradients for _, gradients in (*found, whole)))
    for one, other, expected in (map(tf.convert_to_tensor, each) for each in every):
        np.testing.assert_allclose(one + other, expected, rtol=2e-4, atol=1e-6)


def trained(data, run, **settings):
    """Return a model after training that begins, or goes on, as train.py does."""
    tf.keras.utils.set_random_seed(1)
    trainer = make_trainer(data, run, model="lstm", **settings)
    trainer.train()
    return trainer.model


@pytest.mark.slow
def test_a_training_is_that_of_the_larger_batch_and_goes_on_as_if_it_had_not_ended(
    toy_data, tmp_path
):
    """A checkpoint is between steps, and never within one."""
    many = {"batch_size": 8, "accumulate": 3, "evaluation_steps": 5}
    one = trained(toy_data, tmp_path / "one", epochs=2, batch_size=24)
    parts = trained(toy_data, tmp_path / "parts", epochs=2, **many)
    assert int(parts.steps) == int(one.steps) == 16
    for ours, whole in zip(parts.get_weights(), one.get_weights()):
        np.testing.assert_allclose(ours, whole, rtol=1e-3, atol=1e-5)
    trained(toy_data, tmp_path / "half", epochs=1, **many)
    rest = trained(toy_data, tmp_path / "half", epochs=2, **many)
    for ours, whole in zip(rest.get_weights(), parts.get_weights()):
        np.testing.assert_array_equal(ours, whole)


@pytest.mark.parametrize(
    ("name", "chosen"), [("docnade", {}), ("lstm", {"carry": True})]
)
def test_a_model_whose_step_cannot_be_in_pieces_is_refused(name, chosen):
    model = tiny.untrained(name, **chosen)
    check_accumulation(model, 1)
    with pytest.raises(InputError, match="accumulate=2: not with this model: "):
        check_accumulation(model, 2)
