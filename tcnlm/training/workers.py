"""One training by several processes, on machines that see one file system.

Every worker makes the same global batch and takes a stretch of its rows; gradients and
terms are summed over all by TensorFlow's MultiWorkerMirroredStrategy, and each moves
its own copy of the weights by the same sums. Random draws are those of the global
batch, of which each takes its rows. The chief alone writes RUN.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.data.sequences import Sequences
from tcnlm.data.windows import Windows
from tcnlm.layers.graphs import graph

CLUSTER = "TF_CONFIG"
PART = "part"  # beside a batch's arrays: what `Part` is made of
ROWS_APART = (Sequences, Windows)  # what workers share out row by row
_SUM = tf.distribute.ReduceOp.SUM


class Part:
    """The rows that a worker has of a global batch, within a graph.

    numbers [6]: its first row and the number of all, then its own sequences and all,
    its own words and all: losses are means over sequences, `per_word` over words.
    total: sums tensors over all workers.
    """

    def __init__(self, numbers: tf.Tensor, total: Callable[[list], list]):
        self.total = total
        self.first, self.rows = numbers[0], numbers[1]
        of_means = tf.reshape(tf.cast(numbers[2:], tf.float32), [2, 2])
        self.sequences, self.words = tf.unstack(of_means[:, 0] / of_means[:, 1])

    def share(self, term: str, model: Any) -> tf.Tensor:
        """Return the worker's share of a term of the objective."""
        return self.words if term == model.per_word else self.sequences

    def of_all(self, own: tf.Tensor, draw: Any) -> tf.Tensor:
        """Return the rows like `own` [B, ...] of what `draw(shape)` is of all rows."""
        shape = tf.shape(own)
        drawn = draw(tf.concat([[self.rows], shape[1:]], axis=0))
        return drawn[self.first : self.first + shape[0]]

    def together(self, own: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Return [rows, H] of all workers from the rows [B, H] of each."""
        has_rows = tf.sign(self.sequences)

        def placed(states: tf.Tensor) -> tf.Tensor:
            after = self.rows - self.first - tf.shape(states)[0]
            return tf.pad(has_rows * states, [[self.first, after], [0, 0]])

        return self.total([placed(states) for states in own])


class Workers:
    """The one process of an ordinary training."""

    number, index = 1, 0
    call_steps = 20  # at most between two returns from the graph to Python

    @property
    def chief(self) -> bool:
        """Whether this process writes RUN."""
        return self.index == 0

    def signature(self, batch: dict[str, tf.TensorSpec]) -> dict[str, tf.TensorSpec]:
        """Return what the batches of one worker hold, of what a global batch does."""
        return batch

    def own(self, batch: dict[str, np.ndarray], model: Any) -> dict[str, np.ndarray]:
        """Return this worker's part of a global batch."""
        return batch

    def step(self, model: Any, batch: dict[str, tf.Tensor], optimizer: Any) -> Any:
        """Take one step with this worker's part; return the terms of all."""
        return model.train_step(batch, optimizer)

    def of_chief(self, value: float) -> float:
        """Return the chief's value, on which all then decide alike."""
        return value

    def follow(self, run: Path) -> None:
        """Let others than the chief wait for its first checkpoint and copy it."""

    def lead(self) -> None:
        """Let the others go on, where this is the chief."""

    @contextmanager
    def place(self, run: Path) -> Iterator[Path]:
        """Give the folder to train in: RUN; others than the chief have their own."""
        yield run

    def check(self, model: Any, same: Mapping[str, Any]) -> None:
        """Refuse what several workers cannot train, or were asked differently."""


class SeveralWorkers(Workers):
    """One of several processes that TF_CONFIG names."""

    call_steps = 1  # within a call TensorFlow wants slices of one shape in every step

    def __init__(self, cluster: Mapping[str, Sequence[str]], task: tuple[str, int]):
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        self.number = sum(map(len, cluster.values()))
        ahead = len(cluster.get("chief", ())) if task[0] == "worker" else 0
        self.index = ahead + task[1]

    def signature(self, batch: dict[str, tf.TensorSpec]) -> dict[str, tf.TensorSpec]:
        """Return what the batches of one worker hold, of what a global batch does."""
        return {**batch, PART: tf.TensorSpec([6], tf.int32)}

    def own(self, batch: dict[str, np.ndarray], model: Any) -> dict[str, np.ndarray]:
        """Return this worker's part of a batch; an empty one is a row of no weight."""
        rows = len(next(iter(batch.values())))
        first, last = (rows * i // self.number for i in (self.index, self.index + 1))
        taken = slice(first, last) if last > first else slice(0, 1)
        own = {name: array[taken] for name, array in batch.items()}
        counts = [
            count(each) * (last > first or each is batch)
            for count in (model.batching.sequences, model.count_words)
            for each in (own, batch)
        ]
        part = [taken.start, rows, *counts]
        return {**own, PART: np.maximum(part, [0, 1, 0, 1, 0, 1]).astype(np.int32)}

    def step(self, model: Any, batch: dict[str, tf.Tensor], optimizer: Any) -> Any:
        """Take one step with this worker's part; return the terms of all."""
        batch = dict(batch)
        part = model.part = Part(batch.pop(PART), self._sum)
        optimizer.total = lambda gradients: self._sum(gradients, part.sequences)
        terms = model.train_step(batch, optimizer)
        model.part, optimizer.total = None, None
        names = list(terms)
        shares = [part.share(name, model) for name in names]
        [summed] = self._sum([tf.stack([terms[n] for n in names])], tf.stack(shares))
        return dict(zip(names, tf.unstack(summed, len(names))))

    def _sum(self, tensors: Sequence[Any], share: Any = 1.0) -> list[Any]:
        """Return the sums over all workers of tensors or slices, times their share."""

        def summed(each: Sequence[Any]) -> list[Any]:
            # Made here, since tensors from outside have no device.
            here = [_times(tensor, share) for tensor in each]
            return tf.distribute.get_replica_context().all_reduce(_SUM, here)

        return self.strategy.run(summed, args=(list(tensors),))

    @graph
    def _total(self, values: tf.Tensor) -> tf.Tensor:
        return self._sum([values])[0]

    def of_chief(self, value: float) -> float:
        """Return the chief's value, on which all then decide alike."""
        own = value if self.chief else 0.0
        return float(self._total(tf.constant([own], tf.float64))[0])

    def _wait(self) -> None:
        self.of_chief(0.0)

    def follow(self, run: Path) -> None:
        """Let others than the chief wait for its first checkpoint and copy it."""
        if not self.chief:
            self._wait()
            shutil.copytree(self.leader / "checkpoints", run / "checkpoints")

    def lead(self) -> None:
        """Let the others go on, where this is the chief."""
        if self.chief:
            self._wait()

    @contextmanager
    def place(self, run: Path) -> Iterator[Path]:
        """Give the folder to train in: RUN; others than the chief have their own."""
        with self._together():
            if self.chief:
                yield run
            else:
                yield from self._apart(run)

    def _apart(self, run: Path) -> Iterator[Path]:
        self.leader = run
        with ExitStack() as stack:
            quiet = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(quiet))
            own = tempfile.TemporaryDirectory(prefix="tcnlm-worker-")
            yield Path(stack.enter_context(own))

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Say in one line that another worker is gone."""
        try:
            yield
        except tf.errors.OpError as error:
            reason = str(error.message).splitlines()[0]
            raise InputError(
                f"another worker has ended, or cannot be reached ({reason}); start all "
                "again, and training goes on from its last checkpoint"
            ) from None

    def check(self, model: Any, same: Mapping[str, Any]) -> None:
        """Refuse what several workers cannot train, or were asked differently."""
        takes_parts = model.takes_parts and isinstance(model.batching, ROWS_APART)
        if getattr(model.config, "mean_deviation", 0) or not takes_parts:
            raise InputError(
                f"{CLUSTER} names {self.number} workers: they train language models "
                "and neural_topics, without mean_deviation; not docnade, ntm, lda, "
                "gbn_rnn or rgbn_rnn"
            )
        own = float(zlib.crc32(json.dumps(same, sort_keys=True).encode()))
        with self._together():
            others = float(
                self._total(tf.constant(own != self.of_chief(own), tf.float64))
            )
        if others:
            raise InputError(
                f"{others:.0f} of {self.number} workers have other data, settings or "
                "another seed than the chief; start all by one command"
            )


def _times(tensor: Any, share: Any) -> Any:
    if isinstance(tensor, tf.IndexedSlices):
        values, ids = tensor.values * share, tf.identity(tensor.indices)
        return tf.IndexedSlices(values, ids, tensor.dense_shape)
    return tensor * tf.cast(share, tensor.dtype)


def named_workers() -> Workers:
    """Return the workers that TF_CONFIG names: without it, one.

    Before any other operation of TensorFlow. Raises InputError where it is none of
    TensorFlow's.
    """
    text = os.environ.get(CLUSTER)
    if not text:
        return Workers()
    try:
        config = json.loads(text)
        cluster, task = config["cluster"], config["task"]
        kind, index = task["type"], int(task["index"])
        known = set(cluster) <= {"chief", "worker"} and cluster[kind][index]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{CLUSTER}: not as TensorFlow has it ({error!r})") from None
    if not known:
        raise InputError(f"{CLUSTER}: only chief and worker train here")
    if sum(map(len, cluster.values())) == 1:
        return Workers()
    return SeveralWorkers(cluster, (kind, index))
