"""Several workers: parts that sum to the whole; two processes train as one does."""

import json
import os
import signal
import socket
import subprocess
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
import toy
from helpers import read_history
from tensorflow.core.util import event_pb2
from trained import ENVIRONMENT, last_checkpoint, weights_of

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.data.sequences import Sequences
from tcnlm.models import MODELS, model_class
from tcnlm.training.workers import (
    CLUSTER,
    PART,
    Part,
    SeveralWorkers,
    Workers,
    named_workers,
)

TAKE_PARTS = ("bag_lstm", "lclm", "lda_lstm", "lstm", "naive_moe", "neural_topics")
TAKE_PARTS += ("tcnlm", "tdlm", "topic_lstm", "topic_rnn")
LOOP = ("epochs=5", "dropout=0.3", "lazy_adam=true", "checkpoint_steps=3")


def worker(index, number=2):
    """Return a worker as TF_CONFIG would make it, but for its strategy."""
    made = object.__new__(SeveralWorkers)
    made.index, made.number = index, number
    return made


def make(name, data, **chosen):
    kind = model_class(name)
    model = kind(kind.Config(**{**kind.TINY, **chosen}), data.vocabulary, seed=3)
    model.build_weights()
    return model


def gradients(model, batch, part=None):
    """Return the loss's gradients in training, from the same random state each time."""
    model.noise.reset_from_seed(5)
    model.part = part
    with tf.GradientTape() as tape:
        loss = model.objective(batch, training=True)["loss"]
    found = tape.gradient(loss, model.trainable_variables)
    model.part = None
    return [tf.convert_to_tensor(each).numpy().astype(float) for each in found]


def test_it_is_known_of_every_model_whether_it_takes_parts():
    takes = {
        name
        for name in MODELS
        if model_class(name).takes_parts
        and isinstance(model_class(name).batching, Sequences)
    }
    assert takes == set(TAKE_PARTS)


@pytest.mark.parametrize("rows", [16, 5, 1])
@pytest.mark.parametrize("name", TAKE_PARTS)
def test_parts_of_a_batch_sum_to_the_whole_with_all_its_random_draws(
    name, rows, toy_data
):
    data = Dataset(toy_data)
    model = make(name, data, **{"dropout": 0.4} if name != "neural_topics" else {})
    batch = next(iter(model.batching.rows(data.split("train")).batches(rows, 1)))
    whole, summed = gradients(model, batch), 0
    for index in range(3):
        own = worker(index, number=3).own(batch, model)
        part = Part(tf.constant(own.pop(PART)), list)
        scaled = [float(part.sequences) * each for each in gradients(model, own, part)]
        summed = [a + b for a, b in zip(summed, scaled)] if summed else scaled
    for ours, expected in zip(summed, whole):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["lstm", "tcnlm", "neural_topics"])
def test_the_terms_of_parts_by_their_shares_are_those_of_the_whole(name, toy_data):
    data = Dataset(toy_data)
    model = make(name, data)
    batch = next(iter(model.batching.rows(data.split("train")).batches(7, 1)))
    whole, summed = model.objective(batch, training=False), Counter()
    for index in range(3):
        own = worker(index, number=3).own(batch, model)
        part = Part(tf.constant(own.pop(PART)), list)
        for term, value in model.objective(own, training=False).items():
            summed[term] += float(part.share(term, model) * value)
    for term, value in whole.items():
        assert summed[term] == pytest.approx(float(value), rel=1e-4), term


def carried_states(model):
    return [state.numpy() for state in tf.nest.flatten(model.carried.nest)]


@pytest.mark.parametrize("rows", [7, 2])
@pytest.mark.parametrize(("name", "cell"), [("lstm", "lstm"), ("topic_rnn", "gru")])
def test_parts_of_windows_sum_to_the_whole_and_carry_its_state(
    name, cell, rows, toy_data
):
    data = Dataset(toy_data)
    chosen = {"carry": True, "window": 3, "cell": cell, "dropout": 0.4}
    model = make(name, data, **chosen)
    batches = model.batching.rows(data.split("train")).batches(rows, 1)
    first, batch = next(batches), next(batches)
    batch["fresh"][:] = np.arange(rows) == 1
    gradients(model, first)
    before = carried_states(model)
    whole = [*gradients(model, batch), *carried_states(model)]
    summed = [0.0] * len(whole)
    for index in range(3):
        model.carried.keep(before)
        own = worker(index, number=3).own(batch, model)
        part = Part(tf.constant(own.pop(PART)), list)
        found = [float(part.sequences) * g for g in gradients(model, own, part)]
        found += carried_states(model)
        summed = [a + b for a, b in zip(summed, found)]
    for ours, expected in zip(summed, whole):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=1e-6)


def test_the_parts_of_a_batch_are_all_its_rows_once(toy_data):
    data = Dataset(toy_data)
    model = make("lstm", data)
    batch = next(iter(model.batching.rows(data.split("train")).batches(7, 1)))
    parts = [worker(index, 3).own(batch, model) for index in range(3)]
    for name, array in batch.items():
        taken = np.concatenate([part[name] for part in parts])
        np.testing.assert_array_equal(taken, array)
    words, rows = model.count_words(batch), np.array([part[PART] for part in parts])
    assert rows[:, 0].tolist() == [0, 2, 4]
    assert (rows[:, [1, 3]] == 7).all()
    assert (rows[:, 5] == words).all()
    assert (rows[:, 2].sum(), rows[:, 4].sum()) == (7, words)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("rgbn_rnn", {}),
        ("gbn_rnn", {}),
        ("ntm", {}),
        ("docnade", {}),
        ("lda", {}),
        ("tcnlm", {"mean_deviation": 1.0}),
        ("naive_moe", {"mean_deviation": 1.0}),
        ("neural_topics", {"mean_deviation": 1.0}),
    ],
)
def test_what_several_workers_cannot_train_is_refused(name, chosen, toy_data):
    model = make(name, Dataset(toy_data), **chosen)
    with pytest.raises(InputError, match="TF_CONFIG names 2 workers: .* not docnade"):
        worker(0).check(model, {})


CLUSTER_OF_TWO = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "not as TensorFlow has it"),
        ({"cluster": CLUSTER_OF_TWO}, "not as TensorFlow has it"),
        (
            {"cluster": CLUSTER_OF_TWO, "task": {"type": "worker", "index": 2}},
            "not as TensorFlow has it",
        ),
        (
            {
                "cluster": {**CLUSTER_OF_TWO, "ps": ["127.0.0.1:3"]},
                "task": {"type": "worker", "index": 0},
            },
            "only chief and worker train here",
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(config, message, monkeypatch):
    text = config if isinstance(config, str) else json.dumps(config)
    monkeypatch.setenv(CLUSTER, text)
    with pytest.raises(InputError, match=message):
        named_workers()


def test_a_cluster_of_one_is_an_ordinary_training(monkeypatch):
    config = {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv(CLUSTER, json.dumps(config))
    assert type(named_workers()) is Workers
    monkeypatch.delenv(CLUSTER)
    assert type(named_workers()) is Workers


def free_ports(number):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


def start_two(command):
    """Start two workers; return their processes, the chief's first."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    processes = []
    for index in (0, 1):
        config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        environment = {**ENVIRONMENT, CLUSTER: json.dumps(config)}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen(command, env=environment, **output))
    return processes


def kill_when_at(step, run, victim, survivor):
    """Kill a worker once there is a checkpoint; return what the other says of it."""
    while survivor.poll() is None and not list(run.glob(f"checkpoints/{step:08}*")):
        time.sleep(0.005)
    os.kill(victim.pid, signal.SIGKILL)
    _, error = survivor.communicate(timeout=200)
    victim.communicate()
    assert survivor.returncode == 2
    assert "Traceback" not in error
    return error


def step_losses(run):
    """Return the steps and losses that TensorBoard has of a training, as they came."""
    losses = []
    for file in sorted(map(str, (run / "tensorboard").iterdir())):
        for record in tf.data.TFRecordDataset(file):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                if value.tag == "train/loss":
                    losses.append((event.step, float(tf.make_ndarray(value.tensor))))
    return losses


def test_two_workers_take_the_steps_of_one_though_both_are_killed_in_turn(
    toy_data, tmp_path
):
    """Losses of single steps agree to 1e-5, with dropout and lazy Adam."""
    run, alone = tmp_path / "RUN", tmp_path / "ALONE"
    every_step = (*LOOP[:-1], "checkpoint_steps=1")  # so that it reports each
    one = toy.train_command(toy_data, alone, settings=every_step)
    apart = subprocess.Popen(one, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    command = toy.train_command(toy_data, run, settings=LOOP)
    chief, other = start_two(command)
    assert "another worker has ended" in kill_when_at(6, run, other, chief)
    chief, other = start_two(command)
    assert "another worker has ended" in kill_when_at(12, run, chief, other)
    step = int(last_checkpoint(run).name)
    chief, other = start_two(command)
    said, error = chief.communicate(timeout=200)
    assert (chief.returncode, other.wait()) == (0, 0), error
    assert f"going on from step {step}" in said
    assert other.communicate()[0] == ""
    assert apart.wait() == 0
    expected, losses = dict(step_losses(alone)), step_losses(run)
    assert len({step for step, _ in losses}) >= 50
    for step, loss in losses:
        assert loss == pytest.approx(expected[step], rel=1e-5), step
    ours, theirs = (read_history(each).drop(columns="seconds") for each in (run, alone))
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-5)
    for name, value in weights_of(run).items():
        expected = weights_of(alone)[name]
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-5, err_msg=name)
    assert {path.name for path in run.iterdir()} == {p.name for p in alone.iterdir()}
