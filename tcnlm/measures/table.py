"""The table of measures: a line each, in the order of summary and page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.measures.bleu import Bleu
from tcnlm.measures.classification import Classes
from tcnlm.measures.coherences import Coherences
from tcnlm.measures.continuations import Continuations
from tcnlm.measures.contract import Figure, Measure, language
from tcnlm.measures.documents import DocumentPerplexity
from tcnlm.measures.hierarchy import Hierarchy
from tcnlm.measures.judges import Judges
from tcnlm.measures.objective import Bound, Elbo, Loss
from tcnlm.measures.over_time import ByGroup, OverTime
from tcnlm.measures.parameters import Parameters
from tcnlm.measures.perplexity import Perplexity
from tcnlm.measures.probe import Probe
from tcnlm.measures.retrieval import Retrieval
from tcnlm.measures.sample_documents import SampleDocuments
from tcnlm.measures.stability import Stability
from tcnlm.measures.topic_recovery import TopicRecovery
from tcnlm.measures.topic_worth import TopicWorth
from tcnlm.measures.topics import Topics
from tcnlm.measures.units import Units

if TYPE_CHECKING:
    from tcnlm.measures.subject import Subject
    from tcnlm.models.base import Method

MEASURES: list[Measure] = [
    Perplexity(),
    DocumentPerplexity(),
    Loss(),
    Bound(),
    Elbo(),
    Topics(),
    OverTime(),
    ByGroup(),
    Coherences(),
    Stability(),
    Judges(),
    TopicWorth(),
    TopicRecovery(),
    Probe(),
    Bleu(),
    Retrieval(),
    Classes(),
    Units(),
    Hierarchy(),
    Continuations(),
    SampleDocuments(),
    Parameters(),
]


def figures() -> list[Figure]:
    """Return the figures of all measures."""
    return [figure for measure in MEASURES for figure in measure.figures]


def asked() -> list[Measure]:
    """Return the measures that an option of evaluate.py asks for."""
    return [measure for measure in MEASURES if measure.option]


def chosen(kind: type, ask: Sequence[str] = ()) -> list[Measure]:
    """Return the measures of a kind of model; ask: keys of those with an option."""
    return [m for m in MEASURES if m.applies(kind) and (not m.option or m.key in ask)]


def owner(key: str) -> Measure:
    """Return the measure that has the figure of this key."""
    return next(m for m in MEASURES if key in [figure.key for figure in m.figures])


def figure(key: str) -> Figure:
    """Return the figure of this key."""
    return next(figure for figure in figures() if figure.key == key)


def value(key: str, subject: Subject) -> Any:
    """Return a figure of a model on a split; None where it does not apply."""
    return owner(key).figure(figure(key), subject)


def judge(kind: type, key: str = "") -> Figure:
    """Return the figure that a model's epochs are judged by: `key`, or its own.

    Raises InputError where the model has no such figure, or it has no better end.
    """
    own = "perplexity" if kind.per_word == "nll" else kind.per_word
    known = [f.key for m in MEASURES if m.applies(kind) for f in m.figures if f.better]
    if (key or own) not in known:
        raise InputError(
            f"judge={key}: a {kind.__name__} can be judged by {', '.join(known)}"
        )
    return figure(key or own)


def check_words(
    model: Method, dataset: Dataset, name: str, judged: Figure | None = None
) -> None:
    """Raise InputError where a split lacks the words that the model is measured by.

    judged: what its epochs are judged by.
    """
    split, where = dataset.split(name), dataset.path / name
    if not len(split.tokens):
        raise InputError(f"{where}: no word in it, nothing to measure")
    by_topics = not language(type(model)) or (judged and judged.of_use)
    if by_topics and not len(split.contexts.words):
        raise InputError(f"{where}: no topic word in it, nothing to measure")
    if judged:
        _check_judged(dataset, name, judged)


def _check_judged(dataset: Dataset, name: str, judged: Figure) -> None:
    owner(judged.key).check(dataset, name)
    if len(dataset.vocabulary.topic_words) < judged.topic_words:
        raise InputError(f"judge={judged.key}: needs two topic words or more")
