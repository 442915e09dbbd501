"""Models as Keras has them: compile, fit, configs, weights."""

import json
import logging

import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy
from trained import make_trainer

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.models import MODELS, model_class

STEPS = 10


class Losses(tf.keras.callbacks.Callback):
    """The loss of every step by itself, not Keras's mean."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(logs["loss"])


def fitted_as_trained(name, data, run, **settings):
    """Return the losses of fit and of train.py's loop, from the same weights."""
    trainer = make_trainer(data, run, model=name, batch_size=8, **settings)
    dataset, model = Dataset(data), trainer.model
    start = model.get_weights()
    batches = model.batching.tf_data(dataset.split("train"), 8, seed=1).take(STEPS)
    losses = Losses()
    model.fit(batches, verbose=0, callbacks=[losses])
    model.set_weights(start)
    trainer = make_trainer(data, run, model=name, batch_size=8, **settings)
    trainer.model.set_weights(start)
    taken = trainer.take(iter(trainer.batches()), STEPS)
    return losses.seen, taken["loss"].to_numpy()


@pytest.mark.parametrize("name", ["tcnlm", "lstm", "neural_topics"])
def test_fit_has_the_losses_of_train_py(name, toy_data, tmp_path):
    fit, loop = fitted_as_trained(name, toy_data, tmp_path / "RUN")
    assert len(fit) == STEPS
    np.testing.assert_allclose(fit, loop, rtol=1e-5)


@pytest.mark.parametrize("name", ["tcnlm", "lstm", "tdlm"])
def test_any_optimizer_of_keras_trains_without_a_warning(name, toy_data, monkeypatch):
    warnings, dataset = [], Dataset(toy_data)
    monkeypatch.setattr(logging.getLogger("tensorflow"), "handle", warnings.append)
    model = tiny.untrained(name, dataset.vocabulary)
    model.compile(tf.keras.optimizers.legacy.Adam(1e-2))
    batches = model.batching.tf_data(dataset.split("train"), 16, seed=1)
    history = model.fit(batches, epochs=3, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    assert np.isfinite(model.evaluate(batches, verbose=0, return_dict=True)["nll"])
    assert not [line.getMessage() for line in warnings]


def test_two_models_stepped_apart_refuse_an_optimizer_that_cannot(toy_data):
    dataset = Dataset(toy_data)
    model = tiny.untrained("tdlm", dataset.vocabulary)
    model.compile("adam")
    batch = next(model.trained_on.rows(dataset.split("train")).batches(4))
    with pytest.raises(InputError, match="by an Adam each: compile.. without an opt"):
        model.train_step(batch)


def test_the_page_s_cell_in_a_model_of_one_s_own_runs(rng):
    (block,) = toy.python_of("python.md", "TopicCompositionalLSTMCell")
    assert len(block.strip().splitlines()) == 8
    exec(block, space := {})
    words = rng.integers(0, 5000, [3, 7])
    shares = space["model"]([words, rng.dirichlet(np.ones(20), 3)])
    np.testing.assert_allclose(np.sum(shares, axis=1), np.ones(3), rtol=1e-5)


def test_the_page_s_training_by_keras_runs(toy_data, tmp_path, monkeypatch):
    (block,) = toy.python_of("a-model.md", "model.fit(")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "stories").symlink_to(toy_data)
    monkeypatch.chdir(tmp_path)
    exec(block.replace("units=100", "units=8, topic_pretrain_steps=9"), {})
    assert (tmp_path / "model.weights.h5").exists()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_is_made_again_of_its_config_and_weights(name, tmp_path):
    model = tiny.make_model(name)
    config = json.loads(json.dumps(model.get_config()))
    again = model_class(name).from_config(config)
    again.build_weights()
    assert again.config == model.config
    assert again.vocabulary.digest == model.vocabulary.digest
    model.save_weights(tmp_path / "model.weights.h5")
    again.load_weights(tmp_path / "model.weights.h5")
    for ours, theirs in zip(again.get_weights(), model.get_weights()):
        np.testing.assert_array_equal(ours, theirs)
