"""One training by several processes, on machines that see one file system.

Every worker makes the same global batch and takes a stretch of its rows; gradients and
terms are summed over all by TensorFlow's MultiWorkerMirroredStrategy, and each moves
its own copy of the weights by the same sums. Random draws are those of the global
batch, of which each takes its rows. The chief alone writes RUN.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

from tcnlm.common.errors import NUMBERS, InputError, interrupts
from tcnlm.layers.tf_function import graph
from tcnlm.training.parts import PART, ROW, SIZE, divide, learn, why_not_shardable
from tcnlm.training.rendezvous import CLUSTER, WAIT, Cluster, meet, parse_cluster

START, SILENCE = 60, 20  # seconds to start in; without a word of a worker that is lost
ANSWER = 20  # seconds for the others to answer one that ends
_SUM = tf.distribute.ReduceOp.SUM


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

    def chief_first(self) -> AbstractContextManager:
        """Return a context that others than the chief enter when it has left it."""
        return nullcontext()

    def together(self) -> AbstractContextManager:
        """Return a context of training, in which the chief alone prints."""
        return nullcontext()

    def check(self, model: Any, same: Mapping[str, Any]) -> None:
        """Refuse what several workers cannot train, or were asked differently."""

    def steps_held(self) -> AbstractContextManager:
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
        """Take one step with this worker's part; return the terms of all."""
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
            return tf.distribute.get_replica_context().all_reduce(_SUM, here)

        return self.strategy.run(summed, args=(list(tensors),))

    @graph
    def _total(self, values: tf.Tensor) -> tf.Tensor:
        return self._sum([values])[0]

    def of_chief(self, value: float) -> float:
        """Return the chief's value, on which all then decide alike."""
        return self._agree(value if self.chief else 0.0)

    def _agree(self, value: float) -> float:
        """Return the sum of all workers' values; all end where one is asked to."""
        asked = float(interrupts.waiting is not None)
        total, ending = self._total(tf.constant([value, asked], tf.float64)).numpy()
        self._end_if(ending)
        return float(total)

    def _end_if(self, ending: float) -> None:
        if ending:
            self.ending = True
            interrupts.end(interrupts.waiting or signal.SIGTERM)

    def steps_held(self) -> AbstractContextManager:
        """Return a context of steps, in which a signal waits where others go on."""
        return interrupts.held()

    def after_step(self) -> None:
        """Raise `Interrupted` in all workers alike, where one is asked to end."""
        self._end_if(float(self.agreed))
        self.asked.assign(float(interrupts.waiting is not None))

    def leave(self) -> None:
        """Let the others end too, where this worker was interrupted and has saved."""
        # From a thread: the call into TensorFlow may never return.
        alone = threading.Timer(ANSWER, _end_alone)
        alone.daemon = True
        alone.start()
        with suppress(tf.errors.OpError):
            for _ in range(1 if self.ending else 2):  # once more until all have saved
                self._total(tf.constant([0.0, 1.0], tf.float64))
        alone.cancel()

    @contextmanager
    def chief_first(self) -> Iterator[None]:
        """Return a context that others than the chief enter when it has left it."""
        if not self.chief:
            self.of_chief(0.0)
        yield
        if self.chief:
            self.of_chief(0.0)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Return a context of training, in which the chief alone prints."""
        quiet = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        out = sys.stdout if self.chief else quiet
        with quiet, _together(), redirect_stdout(out):
            yield

    def check(self, model: Any, same: Mapping[str, Any]) -> None:
        """Refuse what several workers cannot train, or were asked differently."""
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


def _end_alone() -> None:
    line = f"interrupted: the other workers did not answer for {ANSWER} s"
    print(line, file=sys.stderr, flush=True)
    os._exit(128 + signal.SIGTERM)


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
    """Return the strategy of workers that are all there, with limits to its waiting.

    TensorFlow's runtime takes SIGTERM for itself as it starts; it is given back.
    """
    handlers = {number: signal.getsignal(number) for number in NUMBERS}
    job = context.coordination_config_pb2.CoordinatedJob  # where every release has it
    jobs = [job(name=kind, num_tasks=count) for kind, count in cluster.jobs.items()]
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=cluster.leader,
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

    Before any other operation of TensorFlow. wait: for the others, in seconds. Raises
    InputError where it is none of TensorFlow's, or one is not there in time.
    """
    text = os.environ.get(CLUSTER)
    cluster = parse_cluster(text) if text else None
    if cluster is None:
        return Workers()
    meet(cluster, wait)
    return SeveralWorkers(cluster)
