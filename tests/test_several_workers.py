"""Several workers: parts that sum to the whole; two processes train as one does."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
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
from trained import ENVIRONMENT, last_checkpoint, weights_of

from tcnlm.common.errors import InputError
from tcnlm.common.interrupts import Interrupted, interrupts
from tcnlm.data.dataset import Dataset
from tcnlm.models import MODELS
from tcnlm.training import rendezvous, scratch
from tcnlm.training.cluster import CLUSTER, RIGHT, Cluster, parse_cluster
from tcnlm.training.parts import PART, Part, why_not_shardable
from tcnlm.training.workers import (
    SeveralWorkers,
    Workers,
    named_workers,
)

TAKE_PARTS = ("bag_lstm", "lclm", "lda_lstm", "lstm", "naive_moe", "neural_topics")
TAKE_PARTS += ("tcnlm", "topic_lstm", "topic_rnn", "transformer_xl")
TAKE_PARTS += ("topic_transformer_xl",)
LOOP = ("epochs=5", "dropout=0.3", "lazy_adam=true", "checkpoint_steps=3")


def worker(index, number=2):
    """Return a worker as TF_CONFIG would make it, but for its strategy."""
    made = object.__new__(SeveralWorkers)
    made.index, made.number = index, number
    return made


def gradients(model, batch):
    """Return the loss's gradients in training."""
    _, found = model.compute_gradients(batch)
    return [tf.convert_to_tensor(each).numpy().astype(float) for each in found]


def test_it_is_known_of_every_model_whether_it_takes_parts():
    takes = {name for name in MODELS if not why_not_shardable(tiny.make_model(name))}
    assert takes == set(TAKE_PARTS)


@pytest.mark.parametrize("rows", [pytest.param(16, marks=pytest.mark.slow), 5, 1])
@pytest.mark.parametrize("name", [*TAKE_PARTS, "tdlm"])  # the latter's sentences
def test_parts_of_a_batch_sum_to_the_whole_with_all_its_random_draws(
    name, rows, toy_data
):
    data = Dataset(toy_data)
    dropout = {} if name == "neural_topics" else {"dropout": 0.4}
    model = tiny.untrained(name, data.vocabulary, **dropout)
    batch = next(iter(model.batching.rows(data.split("train")).batches(rows, 1)))
    whole, summed = gradients(model, batch), 0
    for index in range(3):
        own = worker(index, number=3).own(batch, model)
        part = Part(tf.constant(own.pop(PART)[0]))
        scaled = [float(part.sequences) * each for each in gradients(model, own)]
        summed = [a + b for a, b in zip(summed, scaled)] if summed else scaled
    for ours, expected in zip(summed, whole):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["lstm", "tcnlm", "neural_topics"])
def test_the_terms_of_parts_by_their_shares_are_those_of_the_whole(name, toy_data):
    data = Dataset(toy_data)
    model = tiny.untrained(name, data.vocabulary)
    batch = next(iter(model.batching.rows(data.split("train")).batches(7, 1)))
    whole, summed = model.compute_loss(batch, training=False), Counter()
    for index in range(3):
        own = worker(index, number=3).own(batch, model)
        part = Part(tf.constant(own.pop(PART)[0]))
        for term, value in model.compute_loss(own, training=False).items():
            summed[term] += float(part.share(term, model) * value)
    for term, value in whole.items():
        assert summed[term] == pytest.approx(float(value), rel=1e-4), term


def carried_states(model):
    return [state.numpy() for state in tf.nest.flatten(model.carried.nest)]


@pytest.mark.parametrize("rows", [7, 2])
@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("lstm", {}),
        ("topic_rnn", {"cell": "gru"}),
        ("transformer_xl", {}),
        ("topic_transformer_xl", {}),
    ],
)
def test_parts_of_windows_sum_to_the_whole_and_carry_its_state(
    name, chosen, rows, toy_data
):
    data = Dataset(toy_data)
    chosen = {"carry": True, "window": 3, "dropout": 0.4, **chosen}
    model = tiny.untrained(name, data.vocabulary, **chosen)
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
        part = Part(tf.constant(own.pop(PART)[0]))
        found = [float(part.sequences) * g for g in gradients(model, own)]
        states = tf.nest.flatten(model.carried.nest)
        found += [state.numpy() for state in part.together(states, list)]
        summed = [a + b for a, b in zip(summed, found)]
    for ours, expected in zip(summed, whole):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=1e-6)


def test_the_parts_of_a_batch_are_all_its_rows_once(toy_data):
    data = Dataset(toy_data)
    model = tiny.untrained("lstm", data.vocabulary)
    batch = next(iter(model.batching.rows(data.split("train")).batches(7, 1)))
    parts = [worker(index, 3).own(batch, model) for index in range(3)]
    for name, array in batch.items():
        taken = np.concatenate([part[name] for part in parts])
        np.testing.assert_array_equal(taken, array)
    rows = np.concatenate([part[PART] for part in parts])
    words = model.count_words(batch)
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
        ("nmf", {}),
        ("tcnlm", {"mu_batchnorm_std": 1.0}),
        ("naive_moe", {"mu_batchnorm_std": 1.0}),
        ("neural_topics", {"mu_batchnorm_std": 1.0}),
    ],
)
def test_what_several_workers_cannot_train_is_refused(name, chosen, toy_data):
    model = tiny.untrained(name, Dataset(toy_data).vocabulary, **chosen)
    with pytest.raises(InputError, match="2 workers, but one alone can train this"):
        worker(0).check(model, {})


TWO = ["127.0.0.1:1", "127.0.0.1:2"]
FIRST = {"type": "worker", "index": 0}


def of_workers(*addresses):
    return {"cluster": {"worker": list(addresses)}, "task": FIRST}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "no JSON"),
        ([], "has no 'cluster'"),
        ({"cluster": TWO, "task": FIRST}, "has no 'cluster'"),
        ({"cluster": {"worker": TWO}}, "has no 'task'"),
        ({"cluster": {"worker": TWO, "ps": TWO}, "task": FIRST}, "only chief and work"),
        ({"cluster": {"worker": TWO, "chief": TWO}, "task": FIRST}, "one chief only"),
        ({"cluster": {"worker": "a:1"}, "task": FIRST}, "must be a list .* not 'a:1'"),
        ({"cluster": {"worker": {"0": "a:1"}}, "task": FIRST}, "must be a list"),
        (of_workers(), "must be a list"),
        (of_workers("a:1", 2), "2 is no address HOST:PORT"),
        (of_workers("a:1", None), "None is no address"),
        (of_workers("a:1", ["b:1"]), "is no address"),
        (of_workers("a:1", "b"), "'b' is no address"),
        (of_workers("a:1", "b:"), "'b:' is no address"),
        (of_workers("a:1", ":1"), "':1' is no address"),
        (of_workers("a:1", "b:x"), "'b:x' is no address"),
        (of_workers("a:1", "b:0"), "'b:0' is no address"),
        (of_workers("a:1", "b:65536"), "'b:65536' is no address"),
        (of_workers("a:1", "http://b:1"), "is no address"),
        (of_workers("a:1", "b:1 "), "is no address"),
        (of_workers("a:1", "b:2", "A:01"), "a:1 stands there 2 times"),
        *(
            (
                {
                    "cluster": {"worker": TWO},
                    "task": {"type": "worker", "index": index},
                },
                m,
            )
            for index, m in (
                (2, "index must be from 0 to 1, not 2"),
                (-1, "index must be from 0 to 1, not -1"),
                (None, "not None"),
                (True, "not True"),
                (0.5, "not 0.5"),
                ("first", "not 'first'"),
            )
        ),
        *(
            (
                {**of_workers(*TWO), "task": {**FIRST, "type": kind}},
                "task's type must be",
            )
            for kind in ("chief", "evaluator", None, ["worker"])
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_refused_with_what_is_right(config, message):
    text = config if isinstance(config, str) else json.dumps(config)
    with pytest.raises(InputError, match=message) as raised:
        parse_cluster(text)
    assert str(raised.value).endswith(f"right is for example {RIGHT}")
    assert parse_cluster(RIGHT.replace("PORT", "1", 1).replace("PORT", "2")).index == 0


def test_the_chief_is_the_first_of_a_cluster_and_addresses_may_be_of_ipv6():
    cluster = {"worker": ["B.example:3", "[::1]:4"], "chief": ["a:1"]}
    task = {"type": "worker", "index": "1"}
    found = parse_cluster(json.dumps({"cluster": cluster, "task": task, "x": 1}))
    assert found.addresses == (("a", 1), ("b.example", 3), ("::1", 4))
    assert (found.index, found.leader) == (2, "/job:chief/task:0")
    assert found.name(2) == "worker 2 at [::1]:4"


@pytest.mark.parametrize(
    "config",
    [
        of_workers("a:1"),
        {"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}},
        {"cluster": {"master": ["a:0"]}, "task": {"type": "master", "index": 0}},
        {"cluster": {}, "task": {}},
        {"environment": "cloud"},
        {},
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


def test_all_meet_whenever_they_come_and_leave_their_ports_free(monkeypatch, capsys):
    monkeypatch.setattr(rendezvous, "FIRST_LINE", 0)
    cluster = local_cluster(3)
    with ThreadPoolExecutor(3) as pool:
        for late in (0, 1):  # whose port another program has at first
            others = [each for each in cluster if each.index != late]
            with socket.create_server(cluster[late].addresses[late]) as stranger:
                stranger.settimeout(20)
                meeting = [pool.submit(rendezvous.meet, each, 20) for each in others]
                with stranger.accept()[0] as caller:
                    caller.sendall(b"HTTP/1.1 400 Bad Request\r\n")
                assert not any(each.done() for each in meeting)
            rendezvous.meet(cluster[late], 20)
            for each in meeting:
                each.result(timeout=20)
            for address in cluster[late].addresses:
                socket.create_server(address).close()
    assert f"waiting for {cluster[0].name(0)} (" in capsys.readouterr().err


def test_a_worker_that_does_not_come_is_named_when_time_is_up(monkeypatch, capsys):
    monkeypatch.setattr(rendezvous, "FIRST_LINE", 0)
    first, _ = local_cluster(2)
    with pytest.raises(InputError, match="worker 1 at 127.* not there within 0.2 sec"):
        rendezvous.meet(first, 0.2)
    assert "waiting for worker 1 at 127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_waiting_for_a_worker(number):
    first, _ = local_cluster(2)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    begin = time.monotonic()
    with interrupts.listen():
        timer.start()
        with pytest.raises(Interrupted):
            rendezvous.meet(first, 60)
    assert time.monotonic() - begin < 5


def test_workers_that_were_told_otherwise_are_refused():
    first, second = local_cluster(2)
    other = replace(second, addresses=(("localhost", 1), second.addresses[1]))
    with rendezvous._listening(other):
        with pytest.raises(InputError, match="worker 1 at .* another cluster or index"):
            rendezvous.meet(first, 20)
        with pytest.raises(InputError, match="cannot listen as worker 1"):
            rendezvous.meet(second, 20)


def test_a_killed_workers_folder_goes_and_a_living_ones_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, link = tmp_path / f"{scratch.PREFIX}dead", tmp_path / f"{scratch.PREFIX}link"
    (dead / "RUN").mkdir(parents=True)
    (tmp_path / "others").mkdir()
    link.symlink_to(tmp_path / "others")
    with scratch.own_folder() as first, scratch.own_folder() as second:
        assert set(tmp_path.iterdir()) == {first, second, link, tmp_path / "others"}
    assert set(tmp_path.iterdir()) == {link, tmp_path / "others"}


def test_what_does_not_return_after_a_signal_is_ended_in_one_line():
    program = "import signal, time\n"
    program += "from tcnlm.common.interrupts import Watch\n"
    program += "signal.signal(signal.SIGTERM, lambda *_: None)\n"
    program += "Watch(9, 'early').close()\nWatch(0.1, 'no answer')\n"
    program += "signal.raise_signal(signal.SIGTERM)\ntime.sleep(60)\n"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=toy.ROOT
    )
    assert (ended.returncode, ended.stderr) == (143, "no answer\n")


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


def stop_all_when_at(step, run, asked, other):
    """Ask one worker to end once there is a checkpoint; both save and say the same."""
    while other.poll() is None and not list(run.glob(f"checkpoints/{step:08}*")):
        time.sleep(0.005)
    asked.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    said = [process.communicate(timeout=60)[1] for process in (asked, other)]
    assert time.monotonic() - begin < 15
    last = int(last_checkpoint(run).name)
    assert last >= step
    for process, line in zip((asked, other), said):
        assert process.returncode == 143
        assert line.endswith(f"goes on from step {last}\n"), line


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
    assert "another worker has ended" in kill_when_at(6, run, other, chief)
    chief, other = start_two(command)
    assert "another worker has ended" in kill_when_at(12, run, chief, other)
    chief, other = start_two(command)
    stop_all_when_at(int(last_checkpoint(run).name) + 3, run, other, chief)
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
