"""What is compared: ours by the trainer's step, Keras by `fit`, and bare products.

Each is called with nothing and returns the seconds that its share of a round took.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism

from benchmarks.floor import Product
from tcnlm.data.batching import Batch
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.layers.mixed_precision import products_in
from tcnlm.layers.optimization import GroupedAdam, Training
from tcnlm.layers.tf_function import graph
from tcnlm.models import model_class
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.training.trainer import Trainer

TRIES = 3  # of a product, the fastest counts: a ceiling is what the machine can do
SWEPT = 25_000_000  # weights, more than any cache holds


def configure(name: str, settings: dict[str, Any]) -> Any:
    """Return a method's configuration, with those of the settings that it has."""
    kind = model_class(name).Config
    known = {item.name for item in fields(kind)}
    return kind(**{key: value for key, value in settings.items() if key in known})


def make_model(name: str, vocabulary: Vocabulary, settings: dict[str, Any]) -> Any:
    """Return a model with random weights."""
    model = model_class(name)(configure(name, settings), vocabulary, seed=1)
    model.build_weights()
    return model


class Ours:
    """The training steps of a method of ours."""

    def __init__(self, model: Any, batches: Sequence[Batch], training: Training):
        self.model, self.batches = model, batches
        self.targets = sum(map(model.count_words, batches))
        optimizer = GroupedAdam(
            model.param_groups(), training.clip_norm, training.lazy_adam
        )

        def step(batch: Batch) -> dict[str, tf.Tensor]:
            with products_in(training.precision):
                return model.train_step(batch, optimizer)

        self.step = graph(step, input_signature=[model.batching.signature()])

    def __call__(self) -> float:
        """Take a step with every batch."""
        start = time.perf_counter()
        for batch in self.batches:
            self.step(batch)["loss"].numpy()
        return time.perf_counter() - start


class Loop:
    """The trainer's own loop, with batches as they are made or with the same at hand.

    It takes `steps` steps a call, and can be called `calls` times.
    """

    def __init__(self, trainer: Trainer, steps: int, calls: int, at_hand: bool):
        self.trainer, self.steps = trainer, steps
        data = self.trainer.batches().take(steps * calls)
        if at_hand:
            data = data.cache()
            for _ in data:  # the first pass fills the cache
                pass
        self.batches = iter(data)

    def __call__(self) -> float:
        """Take the next steps."""
        return _seconds(lambda: self.trainer.take(self.batches, self.steps))


class Keras:
    """A plain Keras LSTM language model with the full softmax, trained by `fit`."""

    def __init__(
        self, words: int, units: int, embedding: int, batches: Sequence[Batch]
    ):
        self.batches = [(batch["inputs"], batch["targets"]) for batch in batches]
        self.targets = count_targets(batches)
        self.model = tf.keras.Sequential(
            [
                tf.keras.layers.Embedding(words, embedding, mask_zero=True),
                tf.keras.layers.LSTM(units, return_sequences=True),
                tf.keras.layers.Dense(words),
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
        self.context, self.rows = model.context_from_topics(topics), sentences
        options = Decoding(max_length=words, temperature=temperature)
        self.decoder = SentenceDecoder(model, options)

    def __call__(self) -> float:
        """Write one sentence a row."""
        return _seconds(lambda: self.decoder(self.context, self.rows))


class Products:
    """Matrix products alone, by TensorFlow: the ceiling of whatever is made of them."""

    def __init__(self, products: Sequence[Product]):
        self.times = Counter()
        for product in products:
            self.times[product[:3]] += product.times

    def __call__(self) -> float:
        """Multiply each shape a few times; return what all of them would have taken."""
        return sum(times * fastest(shape) for shape, times in self.times.items())


def fastest(shape: tuple[int, int, int]) -> float:
    """Return the seconds of the fastest of a few products of a shape."""
    rows, inner, columns = shape
    a, b = _matrix(rows, inner), _matrix(inner, columns)
    return min(_seconds(lambda: tf.matmul(a, b)) for _ in range(TRIES))


@cache
def _matrix(rows: int, columns: int) -> tf.Tensor:
    return tf.random.stateless_normal([rows, columns], [rows, columns])


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def sweep_rate() -> float:
    """Return the bytes per second of adding one large variable to another."""
    x, y = (tf.Variable(tf.ones([SWEPT])) for _ in range(2))
    seconds = min(_seconds(lambda: x.assign_add(y)) for _ in range(TRIES))
    return 3 * SWEPT * x.dtype.size / seconds


def count_targets(batches: Sequence[Batch]) -> int:
    """Return the number of real targets."""
    return sum(np.count_nonzero(batch["targets"]) for batch in batches)
