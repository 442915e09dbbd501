"""What models that predict no words in order are trained by: a loss or a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcnlm.metrics.base import Contract, Figure, Metric, topical

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext


def _judged_by(term: str) -> Contract:
    return staticmethod(lambda kind: kind.per_word == term)


class Loss(Metric):
    """The loss of a topic model without a bound."""

    key = "loss"
    applies = _judged_by("loss")
    figures = (
        Figure(
            "loss",
            "loss per content word",
            "{:.4f}",
            "min",
            lambda subject: subject.mean_score.nll,
            among="model",
        ),
    )


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
            lambda subject: subject.mean_score.nll,
            among="model",
        ),
    )


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
