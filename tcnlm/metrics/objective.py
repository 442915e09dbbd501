"""What models that predict no words in order are trained by: a loss or a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tcnlm.metrics.base import Contract, Evaluation, Figure, Metric, topical

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext


NO_WORDS = "no context has a topic word: no loss and no bound"


def _judged_by(term: str) -> Contract:
    return staticmethod(lambda kind: kind.per_word == term)


def _a_word(subject: EvaluationContext) -> float | None:
    return subject.mean_score.nll if subject.mean_score.targets else None


class Loss(Metric):
    """The loss of a topic model without a bound."""

    key = "loss"
    entries = ("content_words",)
    template = "{{ note(missing) }}"
    applies = _judged_by("loss")
    figures = (
        Figure(
            "loss",
            "loss per content word",
            "{:.4f}",
            "min",
            _a_word,
            among="model",
        ),
    )

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return how many words it is a mean over."""
        return {"content_words": subject.mean_score.targets}

    def lines(self, evaluation: Evaluation) -> Iterable[str]:
        """Return why there is no figure."""
        return [f"  {NO_WORDS}"] if evaluation.get("content_words") == 0 else []

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the same for the page."""
        missing = evaluation.get("content_words") == 0
        return {"missing": f"Not measured: {NO_WORDS}."} if missing else None


class Bound(Metric):
    """The variational bound on a document's words."""

    key = "bound"
    applies = _judged_by("bound")
    figures = (
        Figure(
            "bound",
            "minus the bound, nats per content word",
            "{:.4f}",
            "min",
            _a_word,
            among="model",
        ),
    )
    measure = Loss.measure  # of which Loss tells


class Elbo(Metric):
    """The terms of the bound, where the objective is one: it has a KL."""

    key = "elbo"
    applies = staticmethod(topical)
    figures = (Figure("elbo.kl", "KL, nats per sequence", "{:.2f}"),)
    entries = ("elbo",)

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return the terms, nats a sequence."""
        terms = subject.mean_score.terms
        return {"elbo": terms if "kl" in terms else None}
