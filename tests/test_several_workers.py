"""Parts of a batch sum to the whole; two processes train as one does, killed or not."""

import json
import os
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
import tiny
import toy
from helpers import read_history
from tensorflow.core.util import event_pb2
from trained import ENVIRONMENT, last_checkpoint, trained_lstm, weights_of

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.models import MODELS
from tcnlm.training import rendezvous
from tcnlm.training.rendezvous import CLUSTER, RIGHT, Cluster, parse_cluster
from tcnlm.training.workers import (
    SeveralWorkers,
    Workers,
    check_accumulation,
    divide,
    learn,
    named_workers,
    why_not_shardable,
)

TAKE_PARTS = ("bag_lstm", "lclm", "lda_lstm", "lstm", "naive_moe", "neural_topics")
TAKE_PARTS += ("tcnlm", "topic_lstm", "topic_rnn", "transformer_xl")
TAKE_PARTS += ("topic_transformer_xl",)
LOOP = ("epochs=5", "dropout=0.3", "lazy_adam=true", "checkpoint_steps=3")
WINDOWS = {"carry": True, "window": 3}


def worker(index, number=2):
    """Return a worker as TF_CONFIG would make it, but for its strategy."""
    made = object.__new__(SeveralWorkers)
    made.index, made.number, made.ending = index, number, False
    return made


# --- Parts of a batch -----------------------------------------------------------------


def learned(model, learn):
    """Return the terms, gradients and carried states of one way to learn of a batch."""
    terms, gradients = learn()
    states = tf.nest.flatten(model.carried.nest) if model.carried else []
    values = [*map(tf.convert_to_tensor, gradients), *states]
    return [np.array([*terms.values()]), *(value.numpy() for value in values)]


@pytest.mark.parametrize(
    ("name", "chosen", "rows", "pieces"),
    [
        *((name, {}, 5, 1) for name in [*TAKE_PARTS, "tdlm"]),  # the latter's sentences
        *((name, {}, 1, 1) for name in ("lstm", "tcnlm", "neural_topics")),
        *((name, {}, 9, 2) for name in ("lstm", "tcnlm")),
        *((name, WINDOWS, 7, 1) for name in ("lstm", "topic_transformer_xl")),
        ("transformer_xl", WINDOWS, 2, 1),
        ("topic_rnn", {**WINDOWS, "cell": "gru"}, 7, 1),
    ],
)
def test_parts_of_a_batch_sum_to_the_whole_with_all_its_random_draws(
    name, chosen, rows, pieces, toy_data
):
    """Its terms, gradients and carried states; a part may have no row."""
    data, dropout = Dataset(toy_data), {"dropout": 0.4}
    dropout = {} if name == "neural_topics" else dropout
    model = tiny.untrained(name, data.vocabulary, **dropout, **chosen)
    batches = model.batching.rows(data.split("train")).batches(rows, 1)
    batch = next(batches)
    if model.carried:
        model.compute_gradients(batch)
        batch = next(batches)
        batch["fresh"][:] = np.arange(rows) == 1
        before = tf.nest.map_structure(tf.identity, model.carried.nest)
    whole, summed = learned(model, lambda: model.compute_gradients(batch)), None
    for index in range(3):
        if model.carried:
            model.carried.keep(before)
        own = divide(batch, model, index, 3, pieces)
        own = {key: tf.constant(array) for key, array in own.items()}
        part = learned(model, lambda own=own: learn(model, own, list))
        summed = part if summed is None else [a + b for a, b in zip(summed, part)]
    for ours, expected in zip(summed, whole):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=1e-6)


def stepped(name, data, pieces, rows, lazy):
    """Return terms and weights of a model after two steps of `rows` rows each."""
    chosen = {} if name == "neural_topics" else {"dropout": 0.4}
    tf.keras.utils.set_random_seed(1)
    model, one = tiny.untrained(name, data.vocabulary, **chosen), Workers()
    model.compile(GroupedAdam(model.param_groups(), clip_norm=0.1, lazy=lazy))
    batches = model.batching.rows(data.split("train")).batches(rows, 1)
    step = tf.function(
        lambda batch: one.step(model, batch),
        input_signature=[one.signature(model.batching.signature(), pieces)],
        autograph=False,
    )
    for _ in range(2):
        terms = step(one.own(next(batches), model, pieces))
    return {k: float(v) for k, v in terms.items()}, model.get_weights()


@pytest.mark.parametrize(
    ("name", "pieces", "rows", "lazy"),
    [
        ("neural_topics", 3, 10, False),
        ("lstm", 4, 3, True),
        pytest.param("tcnlm", 3, 10, True, marks=pytest.mark.slow),
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


@pytest.mark.slow
def test_a_training_is_that_of_the_larger_batch_and_goes_on_as_if_it_had_not_ended(
    toy_data, tmp_path
):
    """A checkpoint is between steps, and never within one."""
    many = {"batch_size": 8, "accumulate": 3}
    one = trained_lstm(toy_data, tmp_path / "one", epochs=2, batch_size=24).model
    parts = trained_lstm(toy_data, tmp_path / "parts", epochs=2, **many).model
    assert int(parts.steps) == int(one.steps) == 16
    for ours, whole in zip(parts.get_weights(), one.get_weights()):
        np.testing.assert_allclose(ours, whole, rtol=1e-3, atol=1e-5)
    trained_lstm(toy_data, tmp_path / "half", epochs=1, **many)
    rest = trained_lstm(toy_data, tmp_path / "half", epochs=2, **many).model
    for ours, whole in zip(rest.get_weights(), parts.get_weights()):
        np.testing.assert_array_equal(ours, whole)


def test_it_is_known_of_every_model_whether_it_takes_parts():
    models = {name: tiny.make_model(name) for name in MODELS}
    takes = {name for name, model in models.items() if not why_not_shardable(model)}
    assert takes == set(TAKE_PARTS)
    models["mu"] = tiny.untrained("tcnlm", mu_batchnorm_std=1.0)
    for name in models.keys() - takes:
        with pytest.raises(InputError, match="2 workers, but only one can train this"):
            worker(0).check(models[name], {})
        check_accumulation(models[name], 1)
        with pytest.raises(InputError, match="accumulate=2: not with this model: "):
            check_accumulation(models[name], 2)
    with pytest.raises(InputError, match="accumulate=2: .* from batch to batch"):
        check_accumulation(tiny.untrained("lstm", carry=True), 2)


# --- Who trains together --------------------------------------------------------------

TWO = ["127.0.0.1:1", "127.0.0.1:2"]
FIRST = {"type": "worker", "index": 0}


def of_workers(*addresses, **task):
    return {"cluster": {"worker": [*addresses]}, "task": {**FIRST, **task}}


@pytest.mark.parametrize(
    "config",
    [
        "{",
        [],
        {"cluster": TWO, "task": FIRST},
        {"cluster": {"worker": TWO}},
        {"cluster": {"worker": TWO, "ps": TWO}, "task": FIRST},
        {"cluster": {"worker": TWO, "chief": ["a:1", "b:1"]}},
        {"cluster": {"worker": "a:1"}, "task": FIRST},
        of_workers(),
        *(
            of_workers("a:1", other)
            for other in (2, None, "b", ":1", "b:x", "b:1 ", "b:0", "b:65536")
        ),
        of_workers("a:1", "http://b:1"),
        of_workers("a:1", "b:2", "A:01"),
        *(of_workers(*TWO, index=i) for i in (2, -1, None, True, 0.5, "first")),
        *(of_workers(*TWO, type=k) for k in ("chief", "evaluator", ["worker"])),
    ],
)
def test_a_cluster_that_cannot_be_is_refused_with_what_is_right(config):
    text = config if isinstance(config, str) else json.dumps(config)
    with pytest.raises(InputError, match=CLUSTER) as raised:
        parse_cluster(text)
    assert str(raised.value).endswith(f"it must be like {RIGHT}")
    assert parse_cluster(RIGHT.replace("PORT", "1", 1).replace("PORT", "2")).index == 0


@pytest.mark.parametrize(
    "config",
    [
        of_workers("a:1"),
        {"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}},
        {"cluster": {"master": ["a:0"]}, "task": {"type": "master", "index": 0}},
        {"cluster": {}, "task": {}},
        {"environment": "cloud"},
        None,
    ],
)
def test_one_machine_trains_alone_however_a_platform_says_so(config, monkeypatch):
    monkeypatch.delenv(CLUSTER, raising=False)
    if config is not None:
        monkeypatch.setenv(CLUSTER, json.dumps(config))
    assert type(named_workers()) is Workers


def free_ports(number):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


def local_cluster(number):
    """Return a cluster on this machine, as each of its workers has it."""
    addresses = tuple(("127.0.0.1", port) for port in free_ports(number))
    return [Cluster({"worker": number}, addresses, index) for index in range(number)]


@pytest.mark.parametrize("late", [0, 1])
def test_all_meet_whenever_they_come_and_leave_their_ports_free(
    late, monkeypatch, capsys
):
    """Though another program has the chief's port at first, or one calls and dies."""
    monkeypatch.setattr(rendezvous, "FIRST_LINE", 0)
    cluster = local_cluster(3)
    with ThreadPoolExecutor(3) as pool:
        others = [each for each in cluster if each.index != late]
        if late:
            meeting = [pool.submit(rendezvous.meet, cluster[0], 20)]
            time.sleep(0.3)
            for line in (b"HTTP/1.1 400 Bad Request\r\n", cluster[0].hello(late)):
                with socket.create_connection(cluster[0].addresses[0]) as caller:
                    caller.sendall(line)
            time.sleep(0.3)
            meeting.append(pool.submit(rendezvous.meet, cluster[2], 20))
            time.sleep(0.3)
        else:
            with socket.create_server(cluster[0].addresses[0]) as stranger:
                meeting = [pool.submit(rendezvous.meet, each, 20) for each in others]
                stranger.settimeout(20)
                stranger.accept()[0].close()
        assert not any(each.done() for each in meeting)
        rendezvous.meet(cluster[late], 20)
        for each in meeting:
            each.result(timeout=20)
        for address in cluster[late].addresses:
            socket.create_server(address).close()
    assert f"waiting for {cluster[late].name(late)} (" in capsys.readouterr().err


@pytest.mark.parametrize(("index", "missing"), [(0, 1), (1, 0)])
def test_a_worker_that_does_not_come_is_named_when_time_is_up(index, missing):
    message = f"worker {missing} at 127.* not there within 0.2 seconds"
    with pytest.raises(InputError, match=message):
        rendezvous.meet(local_cluster(2)[index], 0.2)


def test_workers_that_were_told_otherwise_are_refused():
    first, second = local_cluster(2)
    [(own, *_)] = [each.addresses for each in local_cluster(1)]
    other = replace(second, addresses=(first.addresses[0], own))
    with ThreadPoolExecutor(1) as pool:
        chief = pool.submit(rendezvous.meet, first, 2)
        time.sleep(0.3)
        with pytest.raises(InputError, match="worker 0 at .* another cluster or index"):
            rendezvous.meet(other, 20)
        with pytest.raises(InputError, match="worker 1 at .* not there within"):
            chief.result(timeout=20)


# --- Two processes --------------------------------------------------------------------


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


def wait_for(step, run, process):
    """Wait for a checkpoint."""
    while process.poll() is None and not list(run.glob(f"checkpoints/{step:08}*")):
        time.sleep(0.005)


def kill_when_at(step, run, victim, survivor):
    """Kill a worker once there is a checkpoint; the other ends in a line."""
    wait_for(step, run, survivor)
    os.kill(victim.pid, signal.SIGKILL)
    _, error = survivor.communicate(timeout=200)
    victim.communicate()
    assert survivor.returncode == 2
    assert "another worker has ended" in error
    assert "Traceback" not in error


def stop_all_when_at(step, run, asked, other):
    """Ask one worker to end once there is a checkpoint; both save and say the same."""
    wait_for(step, run, other)
    asked.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    lines = [process.communicate(timeout=60)[1] for process in (asked, other)]
    assert time.monotonic() - begin < 15
    last = int(last_checkpoint(run).name)
    assert last >= step
    for process, line in zip((asked, other), lines):
        assert process.returncode == 143
        assert line.endswith(f"continues from step {last}\n"), line


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


@pytest.mark.slow
def test_two_workers_take_the_steps_of_one_though_killed_and_stopped(
    toy_data, tmp_path
):
    """Losses of single steps agree to 1e-5, with dropout and lazy Adam."""
    run, alone = tmp_path / "RUN", tmp_path / "ALONE"
    every_step = (*LOOP[:-1], "checkpoint_steps=1")  # so that it reports each
    one = toy.train_command(toy_data, alone, settings=every_step)
    apart = subprocess.Popen(one, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    command = toy.train_command(toy_data, run, settings=LOOP)
    chief, other = start_two(command)
    kill_when_at(6, run, other, chief)
    chief, other = start_two(command)
    kill_when_at(12, run, chief, other)
    chief, other = start_two(command)
    stop_all_when_at(int(last_checkpoint(run).name) + 3, run, other, chief)
    step = int(last_checkpoint(run).name)
    chief, other = start_two(command)
    output, error = chief.communicate(timeout=200)
    assert (chief.returncode, other.wait()) == (0, 0), error
    assert f"continuing from step {step}" in output
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
