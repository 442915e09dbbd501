"""How well a model predicts a split: nats of all its words, and of each document's.

Corpus perplexity is exp(total nats / total targets), every word, `<unk>` and `<eos>` a
target once and no KL in it (TCNLM, Table 2). Sums, not means of batch means: the batch
size is of no account.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.batching import Batch, Rows
from tcnlm.data.dataset import NO_WORD, Split
from tcnlm.layers.noise import Noise
from tcnlm.layers.tf_function import graph
from tcnlm.models.base import Model
from tcnlm.preprocessing.vocabulary import PAD

Pair = tuple[tf.Tensor, tf.Tensor]


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

    `terms` are the model's other terms ("reconstruction", "kl" ...), averages over the
    sequences; "reconstruction" is taken at that t too, not averaged over its posterior.
    """
    totals: dict[str, float] = defaultdict(float)
    targets = sequences = 0
    for batch in _batches(model, rows, batch_size):
        count, size = model.count_words(batch), model.batching.sequences(batch)
        for name, value in model.evaluated(batch).items():
            totals[name] += float(value) * (count if name == model.per_word else size)
        targets += count
        sequences += size
    nll = totals.pop(model.per_word) / max(targets, 1)
    terms = {name: total / sequences for name, total in totals.items()}
    return Score(nll, targets, sequences, terms)


def sampled_score(
    model: Model,
    rows: Rows,
    samples: int,
    batch_size: int = 64,
    seed: int = 0,
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
    numbers = tf.TensorSpec([], tf.int32)
    evaluate = graph(
        lambda batch, number: _log_mean_likelihood(
            model, batch, samples, (seed, number)
        ),
        input_signature=[model.batching.signature(), numbers],
    )
    total, targets, sequences = 0.0, 0, 0
    for number, batch in enumerate(_batches(model, rows, batch_size)):
        total -= float(tf.reduce_sum(evaluate(batch, tf.constant(number))))
        targets += int(np.count_nonzero(batch["targets"]))
        sequences += model.batching.sequences(batch)
    return Score(total / targets, targets, sequences)


def _log_mean_likelihood(
    model: Any, batch: dict, samples: int, seed: tuple[int, tf.Tensor]
) -> tf.Tensor:
    """Return log 1/S sum_s p(sequence | t_s) for each sequence, [...] float64.

    seed: and the number of the batch.
    """

    def drawn(sample: tf.Tensor) -> tf.Tensor:
        step = seed[1] * samples + sample
        context = model.context(batch, Noise(seed[0], step, "samples"))
        log_probs = model(batch, context=context)
        return tf.reduce_sum(tf.cast(log_probs, tf.float64), axis=-1)

    kind = {"parallel_iterations": 1, "fn_output_signature": tf.float64}
    likelihoods = tf.map_fn(drawn, tf.range(samples), **kind)
    return tf.reduce_logsumexp(likelihoods, axis=0) - math.log(samples)


def _batches(model: Model, rows: Rows, batch_size: int) -> Iterator[Batch]:
    if batch_size < 1:
        raise InputError(f"the batch size must be 1 or more, got {batch_size}")
    if len(rows) == 0:
        raise InputError("this split has nothing to score")
    total, bar = rows.num_batches(batch_size), {"unit": " batches", "leave": False}
    with model.state_apart():
        yield from progress_bar(rows.batches(batch_size), "scoring", total, **bar)


class DocumentNats(NamedTuple):
    """Of every document of a split [N]; zero where a document has no target."""

    nats: np.ndarray  # minus log p of its targets
    targets: np.ndarray


class DocumentScorer:
    """A split -> -ln p of every document [N], and how many words that is a sum over.

    A language model predicts every word and `<eos>`, with its topics at their posterior
    mean, as `score` does; a model of documents the content words that it
    counts, in one order for all. The batch size is of no account.
    """

    def __init__(self, model: Any, batch_size: int = 64):
        self.model, self.batch_size = model, batch_size
        self._score = graph(
            self._of_bags if model.documental else self._of_sentences,
            input_signature=[model.batching.signature()],
        )

    def __call__(self, split: Split) -> DocumentNats:
        """Return nats and words; both are zero for a document without a word."""
        rows = self.model.batching.rows(split)
        nats, words = np.zeros([2, split.num_documents])
        order = rows.order(self.batch_size, None, 0)
        with self.model.state_apart():
            for chosen, batch in zip(order, rows.batches(self.batch_size)):
                documents = rows.documents[chosen]
                for sums, found in zip((nats, words), self._score(batch)):
                    np.add.at(sums, documents, found.numpy())
        return DocumentNats(nats, words.astype(int))

    def _of_bags(self, batch: dict[str, tf.Tensor]) -> Pair:
        read = self.model.read(batch["words"]) != NO_WORD
        return _of_rows(self.model(batch), read)

    def _of_sentences(self, batch: dict[str, tf.Tensor]) -> Pair:
        return _of_rows(self.model(batch), batch["targets"] != PAD)


def _of_rows(log_probs: tf.Tensor, predicted: tf.Tensor) -> Pair:
    """Return the nats and the words of every row, whatever a row's shape: [B], [B]."""
    rows = [tf.shape(log_probs)[0], -1]
    nats = -tf.reduce_sum(tf.reshape(tf.cast(log_probs, tf.float64), rows), axis=1)
    return nats, tf.math.count_nonzero(tf.reshape(predicted, rows), axis=1)
