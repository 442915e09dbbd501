"""How much can K numbers about a document's other sentences help a trained LSTM?

A measure of what topic proportions could be worth beside it, not a bound on what both
can be when they learn together. The LSTM of RUN is frozen. An encoder like TCNLM's, but
without noise, simplex or prior, turns the context's bag into c = tanh(mu) [K], which
scales and shifts the LSTM's outputs: h' = h (1 + G c) + A c. Encoder, G and A are
trained for the perplexity alone, on documents that the LSTM has not seen, where its
outputs are as uncertain as on the validation documents. Part of what is saved owes
nothing to the context: scaling the outputs cools an LSTM that is too sure of itself.
`--blind` measures that part, with the same bag of one word for all; the difference is
what the context is worth.

    python -m experiments.context_gain RUN DATA --documents 7500 52500
    python -m experiments.context_gain RUN DATA --documents 7500 52500 --blind

RUN: a plain LSTM. DATA: a larger part of RUN's corpus with the same seed, made with
`--min-count 1`, so that RUN's vocabulary can be put in; the documents that RUN was
trained on are its first.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from experiments import record
from preprocessing.errors import errors_reported
from preprocessing.vocabulary import PAD, UNK, Vocabulary
from tcnlm import runs
from tcnlm.dataset import Batch, Dataset, Split
from tcnlm.layers import bag_of_words
from tcnlm.perplexity import signature
from tcnlm.training import make_reproducible

WIDTH = 256  # of the encoder's two layers, as TCNLM's
DROPOUT = 0.5, 0.2  # of the words that the encoder sees, and of c
BATCH = 256
RATE = 1e-3  # Adam


class Gain(tf.keras.layers.Layer):
    """The frozen LSTM's loss with c put in; see the module."""

    def __init__(self, model: Any, size: int, blind: bool):
        super().__init__()
        dense = tf.keras.layers.Dense
        layers = [dense(WIDTH, "relu"), dense(WIDTH, "relu"), dense(size, "tanh")]
        self.model = model
        self.blind = blind
        self.encoder = tf.keras.Sequential(layers)
        self.scale, self.shift = (
            dense(model.config.units, kernel_initializer="zeros", use_bias=False)
            for _ in range(2)
        )

    def weights_to_train(self) -> list[tf.Variable]:
        """Return all weights but the LSTM's."""
        parts = self.encoder, self.scale, self.shift
        return [weight for part in parts for weight in part.trainable_variables]

    def call(self, batch: Batch, training: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the nats of a batch's targets, and their number."""
        model, (words, c) = self.model, self._rates(training)
        context = tf.zeros([1, 1], tf.int32) if self.blind else batch["context"]
        bow = bag_of_words(context, len(model.vocabulary.topic_words))
        c = tf.nn.dropout(self.encoder(tf.nn.dropout(tf.math.log1p(bow), words)), c)
        hidden = model.hidden(batch["inputs"], (), False)
        hidden = hidden * (1 + self.scale(c)[:, None]) + self.shift(c)[:, None]
        real = tf.where(batch["targets"] != PAD)
        targets = tf.gather_nd(batch["targets"], real)
        log_probs = model.softmax(tf.gather_nd(hidden, real), targets)
        return -tf.reduce_sum(log_probs), tf.cast(tf.size(targets), tf.float32)

    def _rates(self, training: bool) -> tuple[float, float]:
        return DROPOUT if training else (0.0, 0.0)


def unseen(data: Path, folder: Path, trained: Dataset, number: int) -> Split:
    """Write `number` documents after those of a dataset, in its vocabulary, and open.

    data: the larger DATA; folder: where to write them.
    """
    names = {word: i for i, word in enumerate(trained.vocabulary.words)}
    words = Vocabulary.load(data).words
    renamed = np.array([names.get(word, UNK) for word in words], np.int32)
    arrays = ("documents", "sentences", "tokens")
    documents, sentences, tokens = (
        np.load(data / "train" / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in arrays
    )
    first = trained.split("train").num_documents
    documents = documents[first : first + number + 1]
    sentences = sentences[documents[0] : documents[-1] + 1]
    tokens = renamed[tokens[sentences[0] : sentences[-1]]]
    folder.mkdir()
    for name, array in zip(
        arrays, (documents - documents[0], sentences - sentences[0], tokens)
    ):
        np.save(folder / f"{name}.npy", array)
    return Split(folder, trained.vocabulary, trained.meta["settings"])


def endless(split: Split, seed: int) -> Iterator[Batch]:
    """Yield a split's batches, pass after pass."""
    epoch = 0
    while True:
        yield from split.batches(BATCH, seed, epoch)
        epoch += 1


def train(
    model: Any, train: Split, valid: Split, options: argparse.Namespace
) -> list[dict[str, float]]:
    """Train the encoder; print the gain as it grows, and return it in rows."""
    gain = Gain(model, options.size, options.blind)
    optimizer = tf.keras.optimizers.legacy.Adam(RATE)
    arrays = [signature(model)]
    evaluate = tf.function(lambda b: gain(b, False), input_signature=arrays)

    @tf.function(input_signature=arrays)
    def step(batch):
        with tf.GradientTape() as tape:
            nats, targets = gain(batch, True)
            loss = nats / targets
        weights = gain.weights_to_train()
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

    def validate() -> float:
        total = sum(np.array(evaluate(batch)) for batch in valid.batches(BATCH))
        return total[0] / total[1]

    alone, rows = validate(), []
    print(f"LSTM alone: perplexity {np.exp(alone):.2f}", flush=True)
    for number, batch in zip(range(1, options.steps + 1), endless(train, options.seed)):
        step(batch)
        if number % options.every == 0:
            saved, passes = alone - validate(), number / train.num_batches(BATCH)
            rows.append({"steps": number, "alone": alone, "saved": saved})
            print(
                f"{train.num_documents} documents, {passes:.2f} passes: "
                f"{saved:.4f} nats a target, {1 - np.exp(-saved):.2%} of perplexity",
                flush=True,
            )
    return rows


def main(options: argparse.Namespace) -> None:
    """Measure the gain for each number of documents, in nats a target."""
    make_reproducible(options.seed, options.threads)
    config = runs.read_config(options.run)
    model, trained = runs.load(options.run), Dataset(config["data"]["path"])
    figures = {}
    for number in options.documents:
        folder = Path(tempfile.mkdtemp())
        try:
            documents = unseen(options.data, folder / "train", trained, number)
            rows = train(model, documents, trained.split("valid"), options)
        finally:
            shutil.rmtree(folder)
        figures[str(number)] = rows
    record.write(options.record, parser(), config["data"], {"figures": figures})


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.recording_parser("context_gain", __doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="of a plain LSTM")
    data = "a larger part of RUN's corpus, same seed, made with --min-count 1"
    add("data", metavar="DATA", type=Path, help=data)
    documents = "that the encoder learns from, a trial each (default: 7500)"
    add("--documents", metavar="N", type=int, nargs="+", default=[7500], help=documents)
    add("--size", metavar="K", type=int, default=50, help="of c (default: 50)")
    add("--blind", action="store_true", help="with the same bag for all")
    add("--steps", type=int, default=2280, help="of 256 sequences (default: 2280)")
    every = "steps between validations (default: 456)"
    add("--every", type=int, default=456, help=every)
    add("--seed", type=int, default=1, help="default: 1")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
