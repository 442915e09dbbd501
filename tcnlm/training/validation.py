"""What the validation split says of a model in training; whether that diverged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tcnlm.common.errors import NotFiniteError
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.metrics.features import DocumentTopics
from tcnlm.metrics.registry import judge, owner
from tcnlm.models.base import Model

if TYPE_CHECKING:
    import pandas as pd

MOST_NATS = 88.0  # a word: exp(88) is of the largest order that 32 bits hold
COLLAPSE = 0.1  # share of topics in use at which the topic model has collapsed
FEW = 10  # documents: fewer may well have one topic as their largest
EVEN = 1.5  # largest proportion, in units of 1/K, below which topics say nothing


def check_steps(taken: pd.DataFrame, first: int) -> None:
    """Raise NotFiniteError for the first of these steps with such a term."""
    broken = ~np.isfinite(taken)
    if broken.any(axis=None):
        row = int(broken.any(axis=1).argmax())
        raise _error(f"step {first + row}", taken.columns[broken.iloc[row]])


def _error(place: str, names: Iterable[str]) -> NotFiniteError:
    return NotFiniteError(
        f"{place}: {', '.join(names)} is not finite; the last good checkpoint is kept; "
        "try a lower learning_rate or clip_norm in another --out"
    )


class Validation:
    """Scores a model on the validation split, by its own figure and the judge's."""

    def __init__(self, model: Model, dataset: Dataset, training: Training):
        self.model, self.dataset = model, dataset
        self.batch_size = training.batch_size
        self.rows = model.batching.rows(dataset.split("valid"))
        self.measure = judge(type(model)).key
        self.judge = judge(type(model), training.judge)

    def subject(self) -> EvaluationContext:
        """Return the model as it stands now, on the split."""
        rows, size = self.rows, self.batch_size
        return EvaluationContext(self.model, self.dataset, rows, batch_size=size)

    def scores(self, valid: EvaluationContext) -> dict[str, float]:
        """Return the split's figures, no loss without words, or raise NotFiniteError"""
        scored, found = valid.mean_score, {}
        if scored.targets:
            terms = {self.model.per_word: scored.nll, **scored.terms}
            broken = [name for name, term in terms.items() if not math.isfinite(term)]
            if self.measure == "perplexity" and scored.nll > MOST_NATS:
                broken = broken or ["perplexity"]
            if broken:
                raise _error(f"validation after step {int(self.model.steps)}", broken)
            found = {self.measure: self.measured(scored.nll), **terms}
        if self.judge.key != self.measure:
            found[self.judge.key] = owner(self.judge.key).figure(self.judge, valid)
        return {f"valid_{name}": figure for name, figure in found.items()}

    def measured(self, per_word: float) -> float:
        """Return what an epoch is judged by: the perplexity, or the loss as it is."""
        if self.measure != "perplexity":
            return per_word
        return math.exp(min(per_word, MOST_NATS))

    def topics_in_use(self, valid: EvaluationContext, epochs: int) -> dict[str, float]:
        """Return how many topics documents use; warn if that is a collapse.

        epochs: evaluations before this one; topics need one, or a head start, or a fit.
        """
        if not self.model.offers("topics"):
            return {}
        used, model = valid.documents, self.model
        pretrained = getattr(model.config, "topic_pretrain_steps", 0)
        had_time = epochs or pretrained or not model.trainable_variables
        complaint = collapse(used)
        if complaint and had_time:
            print(f"warning: the topic model has collapsed: {complaint}")
        return {
            "topics_in_use": used.in_use,
            "largest_proportion": used.largest_proportion,
        }


def collapse(used: DocumentTopics) -> str:
    """Return what is wrong with the topics that documents use, or nothing."""
    count, documents = used.proportions.shape[1], len(used.largest)
    # One topic is the cell without topics, a baseline: nothing that could collapse.
    if count == 1 or not documents:
        return ""
    least = max(1, COLLAPSE * min(count, documents))
    if used.in_use <= least and documents >= FEW:
        return f"only {used.in_use} of {count} topics are the largest of any document"
    if used.largest_proportion < EVEN / count:
        return (
            f"all documents mix all {count} topics alike (the largest proportion is "
            f"{used.largest_proportion:.3f} on average, even ones are {1 / count:.3f})"
        )
    return ""
