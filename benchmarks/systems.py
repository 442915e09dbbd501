"""What is compared: ours by the trainer's step, Keras by `fit`.

Each is called with nothing and returns the seconds that its share of a round took. And
the peak of memory of training, each in a process of its own.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism

from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.batching import Batch
from tcnlm.data.dataset import Dataset
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.layers.optimization import Training
from tcnlm.metrics.scores import score
from tcnlm.models import model_class
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.training.trainer import Trainer


def configure(name: str, settings: dict[str, Any]) -> Any:
    """Return a model's configuration, with those of the settings that it has."""
    kind = model_class(name).Config
    known = {item.name for item in fields(kind)}
    return kind(**{key: value for key, value in settings.items() if key in known})


def make_model(name: str, vocabulary: Vocabulary, settings: dict[str, Any]) -> Any:
    """Return a model with random weights."""
    model = model_class(name)(configure(name, settings), vocabulary, seed=1)
    model.build_weights()
    return model


class Ours:
    """The training steps of a model of ours."""

    def __init__(self, trainer: Trainer, batches: Sequence[Batch]):
        self.model, self.step, self.batches = trainer.model, trainer.step, batches
        self.targets = sum(map(self.model.count_words, batches))

    def __call__(self) -> float:
        """Take a step with every batch."""
        start = time.perf_counter()
        for batch in self.batches:
            self.step(batch)["loss"].numpy()
        return time.perf_counter() - start


class Keras:
    """A plain Keras LSTM language model with the full softmax, trained by `fit`.

    config: our `lstm`'s, whose sizes it has.
    """

    def __init__(self, words: int, config: Any, batches: Sequence[Batch]):
        self.batches = [(batch["inputs"], batch["targets"]) for batch in batches]
        self.targets = sum(np.count_nonzero(batch["targets"]) for batch in batches)
        layers = tf.keras.layers
        self.model = tf.keras.Sequential(
            [
                layers.Embedding(words, config.embedding_size, mask_zero=True),
                layers.LSTM(config.units, return_sequences=True),
                layers.Dense(words),
            ]
        )
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile("adam", loss)
        self.watch = _Watch()

    def __call__(self) -> float:
        """Fit the batches, with the kernels that Keras takes unless told otherwise.

        Deterministic ones, which ours train with, would slow its softmax down.
        """
        disable_op_determinism()
        try:
            self.model.fit(iter(self.batches), verbose=0, callbacks=[self.watch])
        finally:
            tf.config.experimental.enable_op_determinism()
        return self.watch.end - self.watch.start


class _Watch(tf.keras.callbacks.Callback):
    """Times `fit` from its first batch to its last, without what it sets up before."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 0:
            self.start = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.end = time.perf_counter()


class Writer:
    """Writes sentences, the topics by turns, of so many words or until all end."""

    def __init__(self, model: Any, sentences: int, words: int, temperature: float):
        number = model.config.num_topics
        topics = tf.one_hot(np.arange(sentences) % number, number)
        self.context, self.rows = model.context({"topics": topics}), sentences
        options = Decoding(max_length=words, temperature=temperature)
        self.decoder = SentenceDecoder(model, options)

    def __call__(self) -> float:
        """Write one sentence a row."""
        return _seconds(lambda: self.decoder(self.context, self.rows))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_memory(
    data: Path, name: str, settings: dict[str, Any], steps: int
) -> tuple[float, float]:
    """Return megabytes: all imported, and the peak.

    The peak is that of training steps, a checkpoint and a validation.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_train, data, name, settings, steps).result()


def _train(
    data: Path, name: str, settings: dict[str, Any], steps: int
) -> tuple[float, float]:
    before, loop = _peak_so_far(), Training()
    keep_memory()
    make_reproducible(seed=1)
    dataset = Dataset(data)
    model = make_model(name, dataset.vocabulary, settings)
    with tempfile.TemporaryDirectory() as run:
        trainer = Trainer(model, dataset, Path(run), loop, seed=1)
        train = trainer.rows.batches(loop.batch_size, seed=1)
        for batch in islice(train, steps):
            trainer.step(batch)
        trainer.checkpoints.save(steps, asdict(trainer.state))
        score(model, trainer.validation.rows, loop.batch_size)
    return before, _peak_so_far()


def _peak_so_far() -> float:
    """Return this process's; getrusage may have that of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
