"""BLEU of what a model writes: test-BLEU, its likeness to real text, and self-BLEU.

The protocol of Texygen (Zhu et al. 2018), which Guo et al. (ICML 2020) use: the mean
over sentences of nltk's `sentence_bleu`, smoothed by its method 1, against all
references at once; in self-BLEU the references are the other sentences. What it leaves
open is `Protocol`, kept beside the figures. High test-BLEU and low self-BLEU are good;
real sentences, scored in the same way, tell what there is to reach.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from nltk.translate.bleu_score import (
    Fraction,
    SmoothingFunction,
    brevity_penalty,
    closest_ref_length,
)
from nltk.util import ngrams

from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Dataset, Split
from tcnlm.data.stream import cut, pad
from tcnlm.measures.bleu_protocol import Protocol
from tcnlm.models.base import TopicModel

ORDERS = (2, 3, 4)  # the longest n-grams of each BLEU, weighted alike
SENTENCES = 500
ROWS = 100  # sentences that are written at a time

Sentence = Sequence[str]
Scores = dict[str, float]  # by the order, a string as in JSON


class References:
    """Sentences that others are scored against, their n-grams counted once."""

    def __init__(self, sentences: Sequence[Sentence]):
        self.lengths = list(map(len, sentences))
        # Of every n-gram the two largest counts, and the sentence of the largest.
        self.most: dict[tuple, tuple[int, int, int]] = {}
        for place, sentence in enumerate(sentences):
            for gram, count in _counts(sentence).items():
                first, second, owner = self.most.get(gram, (0, 0, -1))
                if count > first:
                    first, second, owner = count, first, place
                elif count > second:
                    second = count
                self.most[gram] = first, second, owner

    def bleu(self, sentence: Sentence, without: int | None = None) -> Scores:
        """Return nltk's `sentence_bleu` of every order; without one of the references.

        A sentence without a word of the references has 0.
        """
        found, clipped = _counts(sentence), Counter()
        for gram, count in found.items():
            first, second, owner = self.most.get(gram, (0, 0, -1))
            most = second if owner == without else first
            clipped[len(gram)] += min(count, most)
        if not clipped[1]:
            return {str(order): 0.0 for order in ORDERS}
        length = len(sentence)
        precisions = SmoothingFunction().method1(
            [
                Fraction(clipped[n], max(1, length - n + 1), _normalize=False)
                for n in range(1, max(ORDERS) + 1)
            ]
        )
        lengths = map(range, self._lengths(without))  # nltk takes len() of each
        closest = closest_ref_length(lengths, length)
        brevity = brevity_penalty(closest, length)
        logs = list(map(math.log, precisions))
        return {str(n): brevity * math.exp(math.fsum(logs[:n]) / n) for n in ORDERS}

    def _lengths(self, without: int | None) -> list[int]:
        lengths = self.lengths
        return (
            lengths if without is None else lengths[:without] + lengths[without + 1 :]
        )


def _counts(sentence: Sentence) -> Counter:
    """Count the n-grams of every order up to the highest."""
    orders = range(1, max(ORDERS) + 1)
    return Counter(gram for n in orders for gram in ngrams(sentence, n))


def bleu(sentences: Sequence[Sentence], references: Sequence[Sentence]) -> Scores:
    """Return the mean BLEU of sentences against all references, by order."""
    against = References(references)
    return _mean([against.bleu(sentence) for sentence in sentences])


def self_bleu(sentences: Sequence[Sentence]) -> Scores:
    """Return the mean BLEU of sentences, each against all the others."""
    against = References(sentences)
    return _mean([against.bleu(s, without=i) for i, s in enumerate(sentences)])


def _mean(scores: Sequence[Scores]) -> Scores:
    return {n: float(np.mean([score[n] for score in scores])) for n in scores[0]}


def measure_bleu(model: Any, dataset: Dataset, split: Split) -> dict[str, Any]:
    """Return the scores of what a model writes, those of real text, and the protocol.

    References and real sentences are drawn from the split, none of them twice; where it
    has fewer than twice `SENTENCES`, half are references and as many are written.
    """
    real = [s for d in range(split.num_documents) for s in split.document(d) if s]
    number = min(SENTENCES, len(real) // 2)
    topical = isinstance(model, TopicModel)
    source = "the topics of training documents, a document each" if topical else ""
    protocol = Protocol(split.name, number, topics=source)
    rng, names = np.random.default_rng(protocol.seed), model.vocabulary.words
    drawn = [
        [names[word] for word in real[i][: protocol.max_length]]
        for i in rng.permutation(len(real))[: 2 * number]
    ]
    references, others = drawn[:number], drawn[number:]
    written = write(model, dataset.split("train"), protocol)
    return {
        "test": bleu(written, references),
        "self": self_bleu(written),
        "real": {"test": bleu(others, references), "self": self_bleu(others)},
        **asdict(protocol),
    }


def write(model: Any, train: Split, protocol: Protocol) -> list[list[str]]:
    """Return sampled sentences, of a topic model from training documents' topics.

    A model of no topics starts from an empty context.
    """
    # Here, since no other measure needs the decoder and its package.
    from tcnlm.generation.decoding import Decoding, SentenceDecoder

    rng, written = np.random.default_rng(protocol.seed), []
    options = Decoding(temperature=protocol.temperature, max_length=protocol.max_length)
    decoder, documents = SentenceDecoder(model, options), np.arange(protocol.sentences)
    if isinstance(model, TopicModel):
        known = np.flatnonzero(train.contexts.lengths())
        few = len(known) < protocol.sentences
        documents = rng.choice(known, protocol.sentences, replace=few)
    parts = cut(documents, ROWS)
    for rows in progress_bar(parts, "writing sentences", leave=False):
        context, copies = _contexts(model, train, rows)
        seed = int(rng.integers(2**31))
        found = decoder(context, len(rows) // copies, copies, seed=seed)
        written += [sentence.words for group in found for sentence in group]
    return written


def _contexts(model: Any, train: Split, rows: np.ndarray) -> tuple[Any, int]:
    """Return contexts of these documents' topics, and how many to write of each."""
    if not isinstance(model, TopicModel):
        return model.context(model.batching.empty(1)), len(rows)
    size = train.contexts.size
    content = [train.content(row)[:size] for row in rows]
    topics = model.infer_context(pad(content, NO_WORD, size))
    return model.context_from_topics(topics), 1
