"""BLEU of what a model writes: test-BLEU, its likeness to real text, and self-BLEU.

The protocol of Texygen (Zhu et al. 2018), which Guo et al. (ICML 2020) use: the mean
over sentences of nltk's `sentence_bleu`, smoothed by its method 1, against all
references at once; in self-BLEU the references are the other sentences. What it leaves
open is `Protocol`, kept beside the figures. High test-BLEU and low self-BLEU are good;
real sentences, scored in the same way, tell what there is to reach.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.dataset import NO_WORD, Dataset, Split, cut, pad
from tcnlm.generation.methods import MAX_LENGTH
from tcnlm.metrics.base import Evaluation, Figure, Metric, language, topical

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tcnlm.metrics.evaluation_context import EvaluationContext

ORDERS = (2, 3, 4)  # the longest n-grams of each BLEU, weighted alike
SENTENCES = 500
ROWS = 100  # sentences that are written at a time
LEAST = 4  # of a split: two to refer to and two to be scored, each by the other

Sentence = Sequence[str]
Scores = dict[str, float]  # by the order, a string as in JSON


@dataclass(frozen=True)
class Protocol:
    """How many sentences, how they are drawn and scored."""

    split: str
    sentences: int  # written, references and held out: as many of each
    max_length: int  # words; what is longer is cut, real text as well
    seed: int = 1
    temperature: float = 1.0
    smoothing: str = "method1"
    topics: str = ""  # what the sentences are written from

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Protocol:
        """Return that of the section of an evaluation.json."""
        return cls(**{field.name: section[field.name] for field in fields(cls)})

    def __str__(self) -> str:
        source = f" from {self.topics}" if self.topics else ""
        return (
            f"BLEU of {self.sentences} sentences sampled{source} (temperature "
            f"{self.temperature:g}, seed {self.seed}, at most {self.max_length} words) "
            f"against {self.sentences} of the {self.split} split; self-BLEU against "
            f"the others; nltk's sentence_bleu, {self.smoothing}. Real: as many other "
            f"sentences of the split, scored alike."
        )


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
        bleu_score = _nltk().translate.bleu_score
        found, clipped = _counts(sentence), Counter()
        for gram, count in found.items():
            first, second, owner = self.most.get(gram, (0, 0, -1))
            most = second if owner == without else first
            clipped[len(gram)] += min(count, most)
        if not clipped[1]:
            return {str(order): 0.0 for order in ORDERS}
        length = len(sentence)
        precisions = bleu_score.SmoothingFunction().method1(
            [
                bleu_score.Fraction(
                    clipped[n], max(1, length - n + 1), _normalize=False
                )
                for n in range(1, max(ORDERS) + 1)
            ]
        )
        lengths = map(range, self._lengths(without))  # nltk takes len() of each
        closest = bleu_score.closest_ref_length(lengths, length)
        brevity = bleu_score.brevity_penalty(closest, length)
        logs = list(map(math.log, precisions))
        return {str(n): brevity * math.exp(math.fsum(logs[:n]) / n) for n in ORDERS}

    def _lengths(self, without: int | None) -> list[int]:
        lengths = self.lengths
        return (
            lengths if without is None else lengths[:without] + lengths[without + 1 :]
        )


def _nltk() -> Any:
    import nltk.translate.bleu_score

    return nltk


def _counts(sentence: Sentence) -> Counter:
    """Count the n-grams of every order up to the highest."""
    orders = range(1, max(ORDERS) + 1)
    return Counter(gram for n in orders for gram in _nltk().ngrams(sentence, n))


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
    from_topics = topical(type(model))
    source = "the topics of training documents, a document each" if from_topics else ""
    protocol = Protocol(split.name, number, MAX_LENGTH, topics=source)
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
    from tcnlm.generation.decoding import Decoding, SentenceDecoder

    rng, written = np.random.default_rng(protocol.seed), []
    options = Decoding(
        temperature=protocol.temperature,
        max_length=protocol.max_length,
        allow_unknown=True,  # real sentences have it
    )
    decoder, documents = SentenceDecoder(model, options), np.arange(protocol.sentences)
    if topical(type(model)):
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
    if not topical(type(model)):
        return model.context(model.batching.empty(1)), len(rows)
    size = train.contexts.size
    content = [train.content(row)[:size] for row in rows]
    topics = model.infer(pad(content, NO_WORD, size))
    return model.context({"topics": topics}), 1


def check_sentences(split: Split) -> None:
    """Raise InputError where a split is too small for references and real text."""
    with_words = int(np.count_nonzero(np.diff(split.sentences)))
    if with_words < LEAST:
        raise InputError(
            f"--bleu: the {split.name} split has {with_words} sentences; it takes "
            f"{LEAST}"
        )


REAL = "real sentences"
ALT = "self-BLEU against test-BLEU"


def _figures() -> Iterator[Figure]:
    """Yield every BLEU of what is written, and of real sentences."""
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
{{ table(titles, kinds, rows) }}{{ note(protocol) }}{{ image("bleu", alt) }}"""

    def check(self, dataset: Dataset, split: str) -> None:
        """Refuse a split of too few sentences."""
        check_sentences(dataset.split(split))

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return the scores and their protocol."""
        return {"bleu": measure_bleu(subject.model, subject.dataset, subject.split)}

    def lines(self, evaluation: Evaluation) -> Iterable[str]:
        """Return the protocol."""
        found = evaluation.get("bleu")
        return [f"  {Protocol.of(found)}"] if found else []

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return a row of scores of the model, and one of real sentences."""
        found = evaluation.get("bleu")
        if not found:
            return None
        kinds = [(kind, n) for kind in ("test", "self") for n in found["test"]]
        rows = {evaluation["model"]: found, REAL: found["real"]}
        return {
            "titles": ["sentences", *(f"{kind}-BLEU-{n}" for kind, n in kinds)],
            "kinds": ["", *["number"] * len(kinds)],
            "rows": [
                [name, *(f"{each[kind][n]:.3f}" for kind, n in kinds)]
                for name, each in rows.items()
            ],
            "protocol": str(Protocol.of(found)),
            "alt": ALT,
        }

    def draw(
        self, evaluation: Evaluation, unsaved: Any
    ) -> Iterator[tuple[str, Drawing]]:
        """Yield the planes of the one run."""
        for figure in self.draw_compared({evaluation["model"]: evaluation}):
            yield "bleu", figure

    def draw_compared(self, runs: Mapping[str, Evaluation]) -> Iterator[Drawing]:
        """Yield a figure of all runs that are set against the same real sentences."""
        groups: dict[str, dict[str, Any]] = {}
        for name, evaluation in runs.items():
            found = evaluation.get("bleu")
            if found:
                groups.setdefault(json.dumps(found["real"]), {})[name] = found
        for found in groups.values():
            yield bleu_planes(found, next(iter(found.values()))["real"])


def bleu_planes(
    runs: Mapping[str, Mapping[str, Any]], real: Mapping[str, Any]
) -> Drawing:
    """Draw self-BLEU against test-BLEU, a panel an order: better is down, to the right.

    runs: by name, each with scores by order as "test" and "self"; real: those of text.
    """
    from tcnlm.drawing.figures import INK, LIGHT, axes_of, blank

    figure = blank(9, 3.6)
    for axes, order in zip(figure.subplots(1, len(real["test"])), real["test"]):
        axes_of(axes, f"BLEU-{order}", "test-BLEU (right is better)", "self-BLEU")
        for name, scores in runs.items():
            axes.plot(scores["test"][order], scores["self"][order], "o", label=name)
        axes.plot(
            real["test"][order], real["self"][order], "*", color=INK, ms=10, label=REAL
        )
        axes.margins(0.2)
        axes.grid(color=LIGHT, lw=0.8)
    figure.axes[0].set_ylabel("self-BLEU (down is better)", fontsize=9, color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    return figure
