"""One training by several processes, or of batches in pieces.

Every worker makes the same global batch and takes a stretch of its rows, numbered by
"row" [B], by which it draws; gradients and terms are summed over all by TensorFlow's
MultiWorkerMirroredStrategy. The chief alone writes RUN.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager as Context
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

from tcnlm.common.errors import NUMBERS, InputError, interrupts
from tcnlm.data.rows import DocumentContexts, Sequences, Windows
from tcnlm.layers.tf_function import graph
from tcnlm.training.rendezvous import CLUSTER, WAIT, Cluster, meet, parse_cluster

START, SILENCE = 60, 20  # seconds to start in; without a word of a worker that is lost
ANSWER = 20  # seconds for the others to answer one that ends
PART, ROW = "part", "row"  # beside a batch's arrays: see `divide`
SIZE = 8  # numbers of a part


def check_accumulation(model: Any, accumulate: int) -> None:
    """Refuse by InputError a model whose step cannot be made of several batches."""
    reason = why_not_shardable(model)
    if isinstance(model.batching, Windows):
        reason = "its state continues from batch to batch"
    if accumulate > 1 and reason:
        raise InputError(f"accumulate={accumulate}: not with this model: {reason}")


def why_not_shardable(model: Any) -> str:
    """Return why rows of a batch cannot be learned from apart and summed, if so."""
    reason = "a row of its batches is neither a sequence nor a bag of words"
    known = isinstance(model.batching, (Sequences, Windows, DocumentContexts))
    return model.why_not_shardable or reason * (not known)


def divide(
    batch: dict[str, np.ndarray], model: Any, index: int, workers: int, pieces: int
) -> dict[str, np.ndarray]:
    """Return a worker's rows of a global batch, and the numbers of their pieces.

    [pieces, 8]: a piece's first row and the number of all, its sequences and all, its
    words and all, its bounds among the worker's rows; without a row one of no weight.
    """
    number = len(next(iter(batch.values())))
    batch = {**batch, ROW: np.arange(number, dtype=np.int32)}
    places = np.arange(index * pieces, (index + 1) * pieces + 1)
    edges = number * places // (workers * pieces)
    begin = edges[0] if edges[0] < edges[-1] else 0
    parts = []
    for first, last in zip(edges, edges[1:]):
        weight = int(last > first)
        first, last = (first, last) if weight else (begin, begin + 1)
        piece, numbers = _rows(batch, first, last), [first, number]
        for count in (model.batching.sequences, model.count_words):
            numbers += [weight * count(piece), max(count(batch), 1)]
        parts.append([*numbers, first - begin, last - begin])
    own = _rows(batch, begin, max(edges[-1], begin + 1))
    return {**own, PART: np.array(parts, np.int32)}


def _rows(batch: dict[str, Any], first: Any, last: Any) -> dict[str, Any]:
    return {name: array[first:last] for name, array in batch.items()}


def learn(
    model: Any, batch: dict[str, tf.Tensor], total: Callable[..., list]
) -> tuple[dict[str, tf.Tensor], list]:
    """Return `model.compute_gradients` of a worker's rows, piece by piece, summed.

    Losses are means over sequences, `per_word` over words: a piece's count by its
    share, so that all sum to the batch's. total: sums tensors over all workers.
    """
    batch = dict(batch)
    pieces = tf.unstack(batch.pop(PART))

    def learned(numbers: tf.Tensor) -> tuple[dict[str, tf.Tensor], list]:
        first, number, *_, begin, end = tf.unstack(numbers)
        means = tf.reshape(tf.cast(numbers[2:6], tf.float32), [2, 2])
        sequences, words = tf.unstack(means[:, 0] / means[:, 1])
        terms, gradients = model.compute_gradients(_rows(batch, begin, end))
        if model.carried is not None:
            placed = []
            for state in tf.nest.flatten(model.carried.nest):
                # At their place among all rows, with zeros around.
                around = [[first, number - first - tf.shape(state)[0]]]
                around += [[0, 0]] * (state.shape.rank - 1)
                placed.append(tf.pad(tf.sign(sequences) * state, around))
            model.carried.keep(total(placed))
        shares = {
            name: (words if name == model.per_word else sequences) * term
            for name, term in terms.items()
        }
        return shares, [_times(gradient, sequences) for gradient in gradients]

    once = graph(learned) if len(pieces) > 1 else learned  # traced once for all
    return tf.nest.map_structure(_sum, *map(once, pieces))


def _times(tensor: Any, share: tf.Tensor) -> Any:
    if isinstance(tensor, tf.IndexedSlices):
        values, ids = tensor.values * share, tf.identity(tensor.indices)
        return tf.IndexedSlices(values, ids, tensor.dense_shape)
    return tensor * tf.cast(share, tensor.dtype)


def _sum(*each: Any) -> Any:
    if isinstance(each[0], tf.IndexedSlices):
        parts = [(slices.values, slices.indices) for slices in each]
        values, ids = (tf.concat(found, axis=0) for found in zip(*parts))
        return tf.IndexedSlices(values, ids, each[0].dense_shape)
    return tf.add_n(each)


class Workers:
    """The one process of an ordinary training."""

    number, index = 1, 0
    call_steps = 20  # at most between two returns from the graph to Python

    @property
    def chief(self) -> bool:
        """Whether this process writes RUN."""
        return self.index == 0

    def signature(
        self, batch: dict[str, tf.TensorSpec], pieces: int = 1
    ) -> dict[str, tf.TensorSpec]:
        """Return what a worker's part holds, of what a global batch does."""
        if self.number * pieces == 1:
            return batch
        row = tf.TensorSpec([None], tf.int32)
        return {**batch, ROW: row, PART: tf.TensorSpec([pieces, SIZE], tf.int32)}

    def own(
        self, batch: dict[str, np.ndarray], model: Any, pieces: int = 1
    ) -> dict[str, np.ndarray]:
        """Return this worker's part of a global batch, in so many pieces."""
        if self.number * pieces == 1:
            return batch
        return divide(batch, model, self.index, self.number, pieces)

    def step(self, model: Any, batch: dict[str, tf.Tensor]) -> Any:
        """Take one step with this worker's part; return the terms of all."""
        if PART not in batch:
            return model.train_step(batch)
        return model.apply_gradients(*learn(model, batch, list))

    def of_chief(self, value: float) -> float:
        """Return the chief's value, on which all then decide alike."""
        return value

    def chief_first(self) -> Context:
        """Return a context that others than the chief enter when it has left it."""
        return nullcontext()

    def together(self) -> Context:
        """Return a context of training, in which the chief alone prints."""
        return nullcontext()

    def check(self, model: Any, same: Mapping[str, Any]) -> None:
        """Refuse what several workers cannot train, or were asked differently."""

    def steps_held(self) -> Context:
        """Return a context of steps, in which a signal waits where others go on."""
        return nullcontext()

    def after_step(self) -> None:
        """Raise `Interrupted` in all workers alike, where one is asked to end."""

    def leave(self) -> None:
        """Let the others end too, where this worker was interrupted and has saved."""


class SeveralWorkers(Workers):
    """One of several processes that TF_CONFIG names."""

    call_steps = 1  # within a call TensorFlow wants slices of one shape in every step

    def __init__(self, cluster: Cluster):
        self.number, self.index = len(cluster.addresses), cluster.index
        self.strategy = _strategy(cluster)
        self.asked = tf.Variable(0.0, trainable=False)  # this worker, to end
        self.agreed = tf.Variable(0.0, trainable=False)  # how many were
        self.ending = False

    def step(self, model: Any, batch: dict[str, tf.Tensor]) -> Any:
        terms, gradients = learn(model, batch, self._sum)
        gradients = self._sum(gradients)
        [summed] = self._sum([tf.stack([*terms.values(), self.asked])])
        self.agreed.assign(summed[-1])
        terms = dict(zip(terms, tf.unstack(summed[:-1], len(terms))))
        return model.apply_gradients(terms, gradients)

    def _sum(self, tensors: Sequence[Any]) -> list[Any]:
        def summed(each: Sequence[Any]) -> list[Any]:
            # Made here, since tensors from outside have no device.
            here = tf.nest.map_structure(tf.identity, each, expand_composites=True)
            return tf.distribute.get_replica_context().all_reduce(
                tf.distribute.ReduceOp.SUM, here
            )

        return self.strategy.run(summed, args=(list(tensors),))

    @graph
    def _total(self, values: tf.Tensor) -> tf.Tensor:
        return self._sum([values])[0]

    def of_chief(self, value: float) -> float:
        return self._agree(value if self.chief else 0.0)

    def _agree(self, value: float) -> float:
        asked = float(interrupts.waiting is not None)
        total, ending = self._total(tf.constant([value, asked], tf.float64)).numpy()
        self._end_if(ending)
        return float(total)

    def _end_if(self, ending: float) -> None:
        if ending:
            self.ending = True
            interrupts.end(interrupts.waiting or signal.SIGTERM)

    def steps_held(self) -> Context:
        return interrupts.held()

    def after_step(self) -> None:
        self._end_if(float(self.agreed))
        self.asked.assign(float(interrupts.waiting is not None))

    def leave(self) -> None:
        def end_alone() -> None:
            line = f"interrupted: the other workers did not answer for {ANSWER} s"
            print(line, file=sys.stderr, flush=True)
            os._exit(128 + signal.SIGTERM)

        # From a thread: the call into TensorFlow may never return.
        alone = threading.Timer(ANSWER, end_alone)
        alone.daemon = True
        alone.start()
        with suppress(tf.errors.OpError):
            for _ in range(1 if self.ending else 2):  # once more until all have saved
                self._total(tf.constant([0.0, 1.0], tf.float64))
        alone.cancel()

    @contextmanager
    def chief_first(self) -> Iterator[None]:
        if not self.chief:
            self.of_chief(0.0)
        yield
        if self.chief:
            self.of_chief(0.0)

    @contextmanager
    def together(self) -> Iterator[None]:
        quiet = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        out = sys.stdout if self.chief else quiet
        with quiet, _together(), redirect_stdout(out):
            yield

    def check(self, model: Any, same: Mapping[str, Any]) -> None:
        reason = why_not_shardable(model)
        if reason:
            raise InputError(
                f"{CLUSTER} names {self.number} workers, but only one can train this "
                f"model: {reason}"
            )
        own = float(zlib.crc32(json.dumps(same, sort_keys=True).encode()))
        with _together():
            others = self._agree(float(own != self.of_chief(own)))
        if others:
            raise InputError(
                f"{others:.0f} of {self.number} workers have other data, settings or "
                "another seed than the chief; use the same command for all"
            )


@contextmanager
def _together() -> Iterator[None]:
    try:
        yield
    except tf.errors.OpError as error:
        reason = str(error.message).splitlines()[0]
        raise InputError(
            f"another worker has ended, or cannot be reached ({reason}); start all "
            "again, and training continues from its last checkpoint"
        ) from None


def _strategy(cluster: Cluster) -> Any:
    """Return the strategy, with limits to its waiting, and give SIGTERM back."""
    handlers = {number: signal.getsignal(number) for number in NUMBERS}
    job = context.coordination_config_pb2.CoordinatedJob  # where every release has it
    jobs = [job(name=kind, num_tasks=count) for kind, count in cluster.jobs.items()]
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=f"/job:{next(iter(cluster.jobs))}/task:0",
        cluster_register_timeout_in_ms=1000 * START,
        heartbeat_timeout_in_ms=1000 * SILENCE,
        shutdown_barrier_timeout_in_ms=1000 * START,
        coordinated_jobs=jobs,
    )
    with _together():
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return strategy


def named_workers(wait: float = WAIT) -> Workers:
    """Return the workers that TF_CONFIG names, once all are there: without it, one.

    Before any other operation of TensorFlow; wait: for the others, in seconds. Raises
    InputError where it is none of TensorFlow's, or one is not there in time.
    """
    text = os.environ.get(CLUSTER)
    cluster = parse_cluster(text) if text else None
    if cluster is None:
        return Workers()
    meet(cluster, wait)
    return SeveralWorkers(cluster)
