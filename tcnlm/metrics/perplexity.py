"""Perplexity: how well words are predicted, in sentences or documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tcnlm.metrics.base import (
    Evaluation,
    Figure,
    Metric,
    language,
    predicting,
    topical,
)

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext


class Perplexity(Metric):
    """The exponential of the nats a target, and what it is taken over."""

    key = "perplexity"
    applies = staticmethod(predicting)
    figures = (
        Figure(
            "perplexity",
            "perplexity",
            "{:.2f}",
            "min",
            lambda subject: subject.score.perplexity,
            among="targets",
        ),
        Figure(
            "nll",
            "nats per target",
            "{:.4f}",
            "min",
            lambda subject: subject.score.nll,
            headline=False,  # the perplexity says it
            among="targets",
        ),
        Figure(
            "targets",
            "targets",
            "{:,}",
            compute=lambda subject: subject.score.targets,
            headline=False,
        ),
    )
    entries = ("sequences", "samples", "context")
    template = "{{ note(how) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return over how many sequences, how many draws and which contexts."""
        model = subject.model
        if not language(type(model)):
            return {}
        reads = topical(type(model)) or model.reads_document
        return {
            "sequences": subject.score.sequences,
            "samples": subject.samples or None,
            "context": subject.split.contexts.rule if reads else None,
        }

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return in words what the perplexity is taken over."""
        if evaluation["perplexity"] is None or evaluation.get("document_perplexity"):
            return None
        how = f"{evaluation['targets']:,} targets, <eos> and <unk> counted, no KL"
        if evaluation["samples"]:
            how += f"; likelihood averaged over {evaluation['samples']} draws of t"
        elif evaluation["topics"]:
            how += "; topics at their posterior mean"
        if evaluation.get("context"):
            how += f"; contexts by the rule {evaluation['context']}"
        return {"how": f"Perplexity over {how}."}
