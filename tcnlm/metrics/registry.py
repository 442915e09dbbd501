"""The table of measures: a line each, in the order of summary and page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics import perplexity
from tcnlm.metrics.base import Figure, Metric, language
from tcnlm.metrics.bleu import Bleu
from tcnlm.metrics.classification import Classes, Clusters
from tcnlm.metrics.coherences import Coherences
from tcnlm.metrics.documents import DocumentPerplexity, Units
from tcnlm.metrics.features import labels_of
from tcnlm.metrics.hierarchy import Hierarchy
from tcnlm.metrics.judges import Judges
from tcnlm.metrics.over_time import ByGroup, OverTime
from tcnlm.metrics.probe import Probe
from tcnlm.metrics.retrieval import Retrieval
from tcnlm.metrics.samples import Continuations, SampleDocuments
from tcnlm.metrics.topics import Topics

if TYPE_CHECKING:
    from tcnlm.models.base import Model

METRICS: list[Metric] = [
    perplexity.Perplexity(),
    DocumentPerplexity(),
    perplexity.Loss(),
    perplexity.Bound(),
    perplexity.Elbo(),
    Topics(),
    OverTime(),
    ByGroup(),
    Clusters(),
    Coherences(),
    Judges(),
    perplexity.TopicWorth(),
    Probe(),
    Bleu(),
    Retrieval(),
    Classes(),
    Units(),
    Hierarchy(),
    Continuations(),
    SampleDocuments(),
    perplexity.Parameters(),
]


def figures() -> list[Figure]:
    """Return the figures of all measures."""
    return [figure for measure in METRICS for figure in measure.figures]


def asked() -> list[Metric]:
    """Return the measures that an option of evaluate.py asks for."""
    return [measure for measure in METRICS if measure.option]


def chosen(kind: type, ask: Sequence[str] = ()) -> list[Metric]:
    """Return the measures of a kind of model; ask: keys of those with an option."""
    return [m for m in METRICS if m.applies(kind) and (not m.option or m.key in ask)]


def owner(key: str) -> Metric:
    """Return the measure that has the figure of this key."""
    return next(m for m in METRICS if key in [figure.key for figure in m.figures])


def figure(key: str) -> Figure:
    """Return the figure of this key."""
    return next(figure for figure in figures() if figure.key == key)


def judge(kind: type, key: str = "") -> Figure:
    """Return the figure that a model's epochs are judged by: `key`, or its own.

    Raises InputError where the model has no such figure, or it has no better end.
    """
    own = "perplexity" if kind.per_word == "nll" else kind.per_word
    alone = [m for m in METRICS if m.applies(kind) and not m.takes]
    known = [f.key for m in alone for f in m.figures if f.better]
    if (key or own) not in known:
        raise InputError(
            f"judge={key}: a {kind.__name__} can be judged by {', '.join(known)}"
        )
    return figure(key or own)


def check_words(
    model: Model, dataset: Dataset, name: str, judged: Figure | None = None
) -> None:
    """Raise InputError where a split lacks the words that the model is measured by."""
    split, where = dataset.split(name), dataset.path / name
    if not len(split.tokens):
        raise InputError(f"{where}: no word in it, nothing to measure")
    by_topics = not language(type(model)) or (judged and judged.of_use)
    if by_topics and not len(split.contexts.words):
        raise InputError(f"{where}: no topic word in it, nothing to measure")
    if judged:
        owner(judged.key).check(dataset, name)
    if judged and judged.labels:
        labels_of(split)
    if judged and len(dataset.vocabulary.topic_words) < judged.topic_words:
        raise InputError(f"judge={judged.key}: needs two topic words or more")
