"""The measures: one row each, for summary, page, comparison, tables, early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.measures.document_sections import labels_of
from tcnlm.measures.subject import Subject
from tcnlm.models.base import DocumentModel, LanguageModel, Method, TopicModel

Contract = Callable[[type], bool]


def any_model(kind: type) -> bool:
    """Every model."""
    return True


def language(kind: type) -> bool:
    """Models of sentences."""
    return issubclass(kind, LanguageModel)


def documental(kind: type) -> bool:
    """Models of documents' words."""
    return issubclass(kind, DocumentModel)


def predicting(kind: type) -> bool:
    """Models of words, in sentences or documents."""
    return language(kind) or documental(kind)


def topical(kind: type) -> bool:
    """Models with topics."""
    return issubclass(kind, TopicModel)


def both(kind: type) -> bool:
    """Models that write sentences from topics."""
    return language(kind) and topical(kind)


def _judged_by(term: str) -> Contract:
    return lambda kind: kind.per_word == term


@dataclass(frozen=True)
class Measure:
    """One figure of a model on a split."""

    key: str  # its place in evaluation.json; a dot leads into a section
    title: str
    form: str
    applies: Contract
    compute: Callable[[Subject], Any]
    better: str = ""  # "min", "max"; "" where neither is better
    headline: bool = True  # on the page; else in the summary alone
    of_use: bool = False  # of the topics that documents use: these need topic words

    @property
    def worst(self) -> float:
        """What every finite value is better than."""
        return -math.inf if self.better == "max" else math.inf

    def improves(self, value: float, best: float) -> bool:
        """Return whether a value is better than the best so far."""
        return value > best if self.better == "max" else value < best

    def of(self, subject: Subject) -> Any:
        """Return the figure; None where it does not apply."""
        applies = self.applies(type(subject.model))
        if not applies or (self.of_use and not subject.documents.any):
            return None
        return self.compute(subject)

    def value(self, evaluation: Mapping[str, Any]) -> Any:
        """Return the figure in an evaluation.json; None where it is not there."""
        found: Any = evaluation
        for part in self.key.split("."):
            found = (found or {}).get(part)
        return found

    def text(self, evaluation: Mapping[str, Any]) -> str | None:
        """Return the same in its format."""
        value = self.value(evaluation)
        return None if value is None else self.form.format(value)


def _by_use(subject: Subject) -> float | None:
    if subject.coherence["npmi"] is None:
        return None
    scores = [topic["npmi"] for topic in subject.coherence["topics"]]
    return float(np.average(scores, weights=subject.documents.shares))


def _bleu(kind: str, order: int) -> Iterator[Measure]:
    """Yield a BLEU of what is written, and of real sentences."""
    better, at = {"test": "max", "self": "min"}[kind], str(order)
    title, form = f"{kind}-BLEU-{order}", "{:.3f}"
    yield Measure(
        f"bleu.{kind}.{at}", title, form, language, lambda s: s.bleu[kind][at], better
    )
    yield Measure(
        f"bleu.real.{kind}.{at}",
        f"{title} of real sentences",
        form,
        language,
        lambda s: s.bleu["real"][kind][at],
        headline=False,
    )


MEASURES = (
    Measure(
        "perplexity",
        "perplexity",
        "{:.2f}",
        predicting,
        lambda s: s.score.perplexity,
        "min",
    ),
    Measure(
        "nll",
        "nats per target",
        "{:.4f}",
        predicting,
        lambda s: s.score.nll,
        "min",
        headline=False,  # the perplexity says it
    ),
    Measure(
        "document_perplexity.published",
        "perplexity, mean over documents",
        "{:.1f}",
        documental,
        lambda s: s.document_perplexity["published"],
        "min",
    ),
    Measure(
        "document_perplexity.unigram",
        "the same of the unigram model",
        "{:.1f}",
        documental,
        lambda s: s.document_perplexity["unigram"],
    ),
    Measure(
        "document_perplexity.ratio",
        "ratio of the two",
        "{:.3f}",
        documental,
        lambda s: s.document_perplexity["ratio"],
        "min",
    ),
    Measure(
        "retrieval.precision",
        "retrieval, precision at .02",
        "{:.3f}",
        any_model,
        lambda s: s.retrieval["precision"],
        "max",
    ),
    Measure(
        "retrieval.bag_of_words",
        "the same of bags of words",
        "{:.3f}",
        any_model,
        lambda s: s.retrieval["bag_of_words"],
        headline=False,
    ),
    Measure(
        "classification.accuracy",
        "classification, accuracy",
        "{:.3f}",
        any_model,
        lambda s: s.classification["accuracy"],
        "max",
    ),
    Measure(
        "classification.macro_f1",
        "classification, macro F1",
        "{:.3f}",
        any_model,
        lambda s: s.classification["macro_f1"],
        "max",
        headline=False,
    ),
    Measure(
        "loss",
        "loss per content word",
        "{:.4f}",
        _judged_by("loss"),
        lambda s: s.mean_score.nll,
        "min",
    ),
    Measure(
        "bound",
        "minus the bound, nats per content word",
        "{:.4f}",
        _judged_by("bound"),
        lambda s: s.mean_score.nll,
        "min",
    ),
    Measure(
        "elbo.kl",
        "KL, nats per sequence",
        "{:.2f}",
        topical,
        lambda s: (s.elbo or {}).get("kl"),
    ),
    Measure("npmi", "NPMI", "{:.3f}", topical, lambda s: s.coherence["npmi"], "max"),
    Measure(
        "npmi_by_use", "NPMI by use", "{:.3f}", topical, _by_use, "max", of_use=True
    ),
    Measure(
        "npmi_median",
        "NPMI, median",
        "{:.3f}",
        topical,
        lambda s: s.coherence["npmi_median"],
        "max",
        headline=False,
    ),
    Measure(
        "diversity",
        "diversity",
        "{:.2f}",
        topical,
        lambda s: s.coherence["diversity"],
        "max",
    ),
    Measure(
        "topics_in_use",
        "topics in use",
        "{}",
        topical,
        lambda s: s.documents.in_use,
        "max",
        of_use=True,
    ),
    Measure(
        "effective_topics",
        "effective topics",
        "{:.1f}",
        topical,
        lambda s: s.documents.effective,
        "max",
        of_use=True,
    ),
    Measure(
        "largest_proportion",
        "mean largest proportion",
        "{:.2f}",
        topical,
        lambda s: s.documents.largest_proportion,
        of_use=True,
    ),
    Measure(
        "topic_worth.mean",
        "perplexity, mean topics",
        "{:.2f}",
        both,
        lambda s: s.topic_worth["mean"],
    ),
    Measure(
        "topic_worth.other",
        "perplexity, another document's topics",
        "{:.2f}",
        both,
        lambda s: s.topic_worth["other"],
    ),
    Measure(
        "topic_recovery.share",
        "topics recovered from their sentences",
        "{:.1%}",
        both,
        lambda s: s.topic_recovery["share"],
        "max",
    ),
    *(row for kind in ("test", "self") for n in (2, 3, 4) for row in _bleu(kind, n)),
    Measure(
        "targets",
        "targets",
        "{:,}",
        predicting,
        lambda s: s.score.targets,
        headline=False,
    ),
    Measure(
        "parameters",
        "parameters",
        "{:,}",
        any_model,
        lambda s: sum(int(np.prod(w.shape)) for w in s.model.parameters()),
    ),
)
LABELLED = {"retrieval", "classification"}  # sections that go by documents' labels
BY_KEY = {measure.key: measure for measure in MEASURES}


def judge(kind: type, key: str = "") -> Measure:
    """Return the measure that a model's epochs are judged by: `key`, or its own.

    Raises InputError where the model has no such measure, or it has no better end.
    """
    own = "perplexity" if kind.per_word == "nll" else kind.per_word
    known = [m.key for m in MEASURES if m.better and m.applies(kind)]
    if (key or own) not in known:
        raise InputError(
            f"judge={key}: a {kind.__name__} can be judged by {', '.join(known)}"
        )
    return BY_KEY[key or own]


def check_words(
    model: Method, dataset: Dataset, name: str, measure: Measure | None = None
) -> None:
    """Raise InputError where a split lacks the words that the model is measured by.

    measure: what its epochs are judged by.
    """
    split, where = dataset.split(name), dataset.path / name
    if not len(split.tokens):
        raise InputError(f"{where}: no word in it, nothing to measure")
    by_topics = not isinstance(model, LanguageModel) or (measure and measure.of_use)
    if by_topics and not len(split.contexts.words):
        raise InputError(f"{where}: no topic word in it, nothing to measure")
    if measure and measure.key.partition(".")[0] in LABELLED:
        check_labels(dataset, name)
    by_pairs = measure and measure.key.startswith("npmi")
    if by_pairs and len(dataset.vocabulary.topic_words) < 2:
        raise InputError(f"judge={measure.key}: needs two topic words or more")


def check_labels(dataset: Dataset, name: str) -> None:
    """Raise InputError where a split, or the training one, has no labels to go by."""
    for each in ("train", name):
        labels_of(dataset.split(each))


def missing(evaluation: Mapping[str, Any]) -> list[str]:
    """Say which figures are not there, and why."""
    topics, said = evaluation["topics"] or [], []
    if any(topic["proportion"] is None for topic in topics):
        said.append("no document of this split has a topic word: no use of topics")
    if any(topic["npmi"] is None for topic in topics):
        said.append("topics of one word have no pairs: no coherence")
    return said
