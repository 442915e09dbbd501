"""How well a model predicts a split, and what it makes of texts of no DATA.

Corpus perplexity is exp(total nats / total targets), every word, `<unk>` and `<eos>` a
target once and no KL in it (TCNLM, Table 2). The batch size is of no account.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.data.batching import Batch, Rows
from tcnlm.data.dataset import NO_WORD, Split, Tokens, split_of
from tcnlm.layers.noise import Noise
from tcnlm.layers.tf_function import graph
from tcnlm.models.base import Model
from tcnlm.preprocessing.vocabulary import PAD, UNK

BATCH = 64  # documents whose units are computed at a time


@dataclass(frozen=True)
class Score:
    """How well a model predicts a split."""

    nll: float  # nats per target; for topics alone, their loss per content word
    targets: int
    sequences: int
    terms: dict[str, float] = field(default_factory=dict)  # of the bound; nats/sequence

    @property
    def perplexity(self) -> float:
        """The exponential of the nats per target; infinite where that overflows."""
        return math.exp(self.nll) if self.nll < 700 else math.inf


def score(model: Model, rows: Rows, batch_size: int = 64) -> Score:
    """Score the rows of a split with t = g(mu), the topics' posterior mean.

    `terms`, "reconstruction" among them, are at that t too, means over the sequences.
    """
    totals: dict[str, float] = defaultdict(float)
    targets = sequences = padded = 0
    for batch in _batches(model, rows, batch_size):
        count, size = model.count_words(batch), model.batching.sequences(batch)
        for name, value in model.evaluated(batch).items():
            totals[name] += float(value) * (count if name == model.per_word else size)
        targets += count
        sequences, padded = sequences + _filled(model, batch), padded + size
    nll = totals.pop(model.per_word) / max(targets, 1)
    terms = {name: total / sequences for name, total in totals.items()}
    if "diversity" in terms:  # of the topics, whatever the rows are
        terms["diversity"] = totals["diversity"] / padded
    return Score(nll, targets, sequences, terms)


def sampled_score(
    model: Model, rows: Rows, samples: int, batch_size: int = 64
) -> Score:
    """Score rows with each sequence's likelihood averaged over draws of t ~ q(t|d).

    log p(y | d) ~ log 1/S sum_s p(y | t_s), S = `samples`: log-mean-exp over whole
    sequences, since one t serves all words of a sequence (eq. 17).
    """
    if samples < 1:
        raise InputError(f"samples must be 1 or more, got {samples}")
    if not model.draws_topics:
        raise InputError("samples: this model has no topics to draw; leave it out")
    if "fresh" in model.batching.arrays:
        raise InputError("samples: this model carries its state, one for all draws")

    def likelihoods(batch, number):
        def drawn(sample):
            noise = Noise(0, number * samples + sample, "samples")
            log_probs = model(batch, context=model.context(batch, noise))
            return tf.reduce_sum(tf.cast(log_probs, tf.float64), axis=-1)

        kind = {"parallel_iterations": 1, "fn_output_signature": tf.float64}
        every = tf.map_fn(drawn, tf.range(samples), **kind)
        return tf.reduce_logsumexp(every, axis=0) - math.log(samples)

    return summed(model, rows, likelihoods, batch_size)


def summed(
    model: Model,
    rows: Rows,
    log_probs: Callable[[Batch, tf.Tensor], tf.Tensor],
    batch_size: int = 64,
    seed: int | None = None,
) -> Score:
    """Score rows by the log p, nats, that a function gives of their words or sequences.

    log_probs: (batch, its number) -> log p; seed: of the batches, by default in order.
    """
    signature = [model.batching.signature(), tf.TensorSpec([], tf.int32)]

    @partial(graph, input_signature=signature)
    def score(batch, number):
        return tf.reduce_sum(tf.cast(log_probs(batch, number), tf.float64))

    total, targets, sequences = 0.0, 0, 0
    for number, batch in enumerate(_batches(model, rows, batch_size, seed)):
        total -= float(score(batch, tf.constant(number)))
        targets += int(np.count_nonzero(batch["targets"]))
        sequences += _filled(model, batch)
    return Score(total / targets, targets, sequences)


def _filled(model: Model, batch: Batch) -> int:
    """Return the number of sequences; a carried row may have run out of documents."""
    if "fresh" in batch:
        return int(np.count_nonzero(batch["targets"][:, 0]))
    return model.batching.sequences(batch)


def _batches(
    model: Model, rows: Rows, batch_size: int, seed: int | None = None
) -> Iterator[Batch]:
    if batch_size < 1:
        raise InputError(f"the batch size must be 1 or more, got {batch_size}")
    if len(rows) == 0:
        raise InputError("this split has nothing to score")
    total, bar = rows.num_batches(batch_size), {"unit": " batches", "leave": False}
    with model.state_apart():
        batches = rows.batches(batch_size, seed)
        yield from progress_bar(batches, "scoring", total, **bar)


class DocumentNats(NamedTuple):
    """Of every document of a split [N]; zero where a document has no target."""

    nats: np.ndarray  # minus log p of its targets
    targets: np.ndarray


class DocumentScorer:
    """A split -> -ln p of every document [N], and how many words that is a sum over."""

    def __init__(self, model: Any, batch_size: int = 64):
        self.model, self.batch_size = model, batch_size
        signature = [model.batching.signature()]
        self._score = graph(self._of_rows, input_signature=signature)

    def __call__(self, split: Split) -> DocumentNats:
        rows = self.model.batching.rows(split)
        nats, words = np.zeros([2, split.num_documents])
        order = rows.order(self.batch_size, None, 0)
        with self.model.state_apart():
            for chosen, batch in zip(order, rows.batches(self.batch_size)):
                documents = rows.documents[chosen]
                for sums, found in zip((nats, words), self._score(batch)):
                    np.add.at(sums, documents, found.numpy())
        return DocumentNats(nats, words.astype(int))

    def _of_rows(self, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        log_probs = tf.cast(self.model(batch), tf.float64)
        if self.model.documental:
            predicted = self.model.read(batch["words"]) != NO_WORD
        else:
            predicted = batch["targets"] != PAD
        rows = [tf.shape(log_probs)[0], -1]
        nats = -tf.reduce_sum(tf.reshape(log_probs, rows), axis=1)
        return nats, tf.math.count_nonzero(tf.reshape(predicted, rows), axis=1)


class Reading(NamedTuple):
    """What a model makes of N documents; None where it says no such thing.

    A document without a topic word has no vector: NaN, not what an empty bag gives.
    """

    words: np.ndarray  # [N] tokens
    unknown: np.ndarray  # [N] of these that are not in the vocabulary
    topic_words: np.ndarray  # [N] of these that are in the topic vocabulary
    nats: np.ndarray | None  # [N] -ln p
    predicted: np.ndarray | None  # [N] words that the nats are a sum over
    vectors: np.ndarray | None  # [N, K] topic proportions or a document model's units

    @property
    def perplexity(self) -> np.ndarray:
        """The exponential of the nats a predicted word, [N]; NaN without a word."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.exp(self.nats / self.predicted)


class Reader:
    """Tokenized documents, one at least -> `Reading`."""

    def __init__(self, model: Any, preprocessing: Mapping[str, Any]):
        self.model, self.preprocessing = model, preprocessing
        self.vectors_of = None  # what an entry of a vector is: "topic" or "unit"
        if model.offers("topics"):
            self.vectors_of, self._vectors = "topic", self._proportions
            contexts = tf.TensorSpec([None, None], tf.int32)
            self._infer = graph(model.infer, input_signature=[contexts])
        elif model.documental:
            self.vectors_of, self._vectors = "unit", self._units
        self.score = DocumentScorer(model) if model.offers("call") else None

    def __call__(self, documents: Sequence[Tokens]) -> Reading:
        split = split_of(documents, self.model.vocabulary, self.preprocessing)
        bounds = split.sentences[split.documents]
        unknown = np.cumsum([0, *(split.tokens == UNK)])
        return Reading(
            np.diff(bounds),
            np.diff(unknown[bounds]),
            split.contexts.lengths(),
            *(self.score(split) if self.score else (None, None)),
            self._vectors(split) if self.vectors_of else None,
        )

    def _proportions(self, split: Split) -> np.ndarray:
        (contexts,) = split.document_contexts(split.num_documents)
        proportions = self._infer(contexts).numpy()
        proportions[split.contexts.lengths() == 0] = np.nan
        return proportions

    def _units(self, split: Split) -> np.ndarray:
        rows, features = self.model.batching.rows(split), self.model.features
        width = features(self.model.batching.empty(1)).shape[1]
        units = np.full([split.num_documents, width], np.nan)
        for chosen in rows.order(BATCH, None, 0):
            units[rows.documents[chosen]] = features(rows.batch(chosen))
        return units


def read_texts(
    reader: Reader, sentences: Callable[[str], Tokens], texts: Sequence[str]
) -> Reading:
    """Read raw documents, of which `sentences` makes tokens."""
    return reader([sentences(text) for text in texts])


def joined(readings: Sequence[Reading]) -> Reading:
    """Return what was read of several batches of documents as one reading."""
    return Reading(
        *(None if f[0] is None else np.concatenate(f) for f in zip(*readings))
    )
