"""Test-BLEU, the likeness to real text of what a model writes, and self-BLEU.

By Texygen's protocol (Zhu et al. 2018), which Guo et al. (ICML 2020) use: the mean over
sentences of nltk's `sentence_bleu`, smoothed by its method 1, against all references.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.data.dataset import NO_WORD, Dataset, Split, cut, pad
from tcnlm.generation.methods import MAX_LENGTH
from tcnlm.metrics.base import EvaluationContext, Figure, Metric, language, topical

ORDERS = (2, 3, 4)  # the longest n-grams of each BLEU, weighted alike
SENTENCES = 500
ROWS = 100  # sentences that are written at a time
LEAST = 4  # of a split: two to refer to and two to be scored, each by the other
SEED, TEMPERATURE = 1, 1.0
REAL = "real sentences"

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
        """Return nltk's `sentence_bleu` of every order; without: a reference."""
        from nltk.translate import bleu_score

        clipped, lengths, length = Counter(), self.lengths, len(sentence)
        for gram, count in _counts(sentence).items():
            first, second, owner = self.most.get(gram, (0, 0, -1))
            most = second if owner == without else first
            clipped[len(gram)] += min(count, most)
        if not clipped[1]:
            return {str(order): 0.0 for order in ORDERS}
        fractions = [
            bleu_score.Fraction(clipped[n], max(1, length - n + 1), _normalize=False)
            for n in range(1, max(ORDERS) + 1)
        ]
        precisions = bleu_score.SmoothingFunction().method1(fractions)
        if without is not None:
            lengths = lengths[:without] + lengths[without + 1 :]
        # nltk takes len() of each reference.
        closest = bleu_score.closest_ref_length(map(range, lengths), length)
        brevity = bleu_score.brevity_penalty(closest, length)
        logs = list(map(math.log, precisions))
        return {str(n): brevity * math.exp(math.fsum(logs[:n]) / n) for n in ORDERS}


def _counts(sentence: Sentence) -> Counter:
    orders = range(1, max(ORDERS) + 1)
    return Counter(
        gram for n in orders for gram in zip(*(sentence[i:] for i in range(n)))
    )


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
    """Return the scores of what a model writes and of real text, and the protocol."""
    real = [s for d in range(split.num_documents) for s in split.document(d) if s]
    number = min(SENTENCES, len(real) // 2)
    rng, words = np.random.default_rng(SEED), model.vocabulary.words
    drawn = [
        [words[i] for i in real[row][:MAX_LENGTH]]
        for row in rng.permutation(len(real))[: 2 * number]
    ]
    references, others = drawn[:number], drawn[number:]
    written = write(model, dataset.split("train"), number)
    source = "the topics of training documents, a document each"
    return {
        "test": bleu(written, references),
        "self": self_bleu(written),
        "real": {"test": bleu(others, references), "self": self_bleu(others)},
        "split": split.name,
        "sentences": number,  # written, references and held out: as many of each
        "max_length": MAX_LENGTH,  # words; what is longer is cut, real text as well
        "seed": SEED,
        "temperature": TEMPERATURE,
        "smoothing": "method1",
        "topics": source if topical(type(model)) else "",
    }


def protocol(entry: Mapping[str, Any]) -> str:
    """Say how the sentences of an evaluation.json were drawn and scored."""
    source = f" from {entry['topics']}" if entry["topics"] else ""
    return (
        f"BLEU of {entry['sentences']} sentences sampled{source} (temperature "
        f"{entry['temperature']:g}, seed {entry['seed']}, at most "
        f"{entry['max_length']} words) against {entry['sentences']} of the "
        f"{entry['split']} split; self-BLEU against the others; nltk's sentence_bleu, "
        f"{entry['smoothing']}. Real: as many other sentences of the split, scored "
        "alike."
    )


def write(model: Any, train: Split, number: int) -> list[list[str]]:
    """Return sampled sentences, of a topic model from training documents' topics."""
    from tcnlm.generation.decoding import Decoding, SentenceDecoder

    # Real sentences have <unk>.
    options = Decoding(temperature=TEMPERATURE, allow_unknown=True)
    rng, written = np.random.default_rng(SEED), []
    decoder, documents = SentenceDecoder(model, options), np.arange(number)
    from_topics, size = topical(type(model)), train.contexts.size
    if from_topics:
        known = np.flatnonzero(train.contexts.lengths())
        documents = rng.choice(known, number, replace=len(known) < number)
    for rows in progress_bar(cut(documents, ROWS), "writing sentences", leave=False):
        if from_topics:
            content = [train.content(row)[:size] for row in rows]
            topics = model.infer(pad(content, NO_WORD, size))
            context, copies = model.context({"topics": topics}), 1
        else:
            context, copies = model.context(model.batching.empty(1)), len(rows)
        seed = int(rng.integers(2**31))
        groups = decoder(context, len(rows) // copies, copies, seed=seed)
        written += [sentence.words for group in groups for sentence in group]
    return written


def _figures() -> Iterator[Figure]:
    for kind, better in (("test", "max"), ("self", "min")):
        for order in ORDERS:
            title = f"{kind}-BLEU-{order}"
            yield Figure(f"bleu.{kind}.{order}", title, "{:.3f}", better)
            real = f"bleu.real.{kind}.{order}"
            yield Figure(real, f"{title} of {REAL}", "{:.3f}", headline=False)


class Bleu(Metric):
    """How like real sentences, and how like each other, those written are."""

    key = "bleu"
    applies = staticmethod(language)
    option = "bleu"
    purpose = "test-BLEU and self-BLEU of sentences it writes, and of real ones"
    figures = tuple(_figures())
    entries = ("bleu",)
    template = """
<h2>BLEU</h2>
{{ table(titles, ("",), rows) }}{{ note(protocol) }}"""

    def check(self, dataset: Dataset, split: str) -> None:
        sentences = int(np.count_nonzero(np.diff(dataset.split(split).sentences)))
        if sentences < LEAST:
            raise InputError(
                f"--bleu: the {split} split has {sentences} sentences; it takes {LEAST}"
            )

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        return {"bleu": measure_bleu(subject.model, subject.dataset, subject.split)}

    def lines(self, evaluation: Mapping[str, Any]) -> Iterable[str]:
        entry = evaluation.get("bleu")
        return [f"  {protocol(entry)}"] if entry else []

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        entry = evaluation.get("bleu")
        if not entry:
            return None
        kinds = [(kind, n) for kind in ("test", "self") for n in entry["test"]]
        rows = (evaluation["model"], entry), (REAL, entry["real"])
        return {
            "titles": ["sentences", *(f"{kind}-BLEU-{n}" for kind, n in kinds)],
            "rows": [
                [name, *(f"{each[kind][n]:.3f}" for kind, n in kinds)]
                for name, each in rows
            ],
            "protocol": protocol(entry),
        }
