"""Perplexity: how well words are predicted, in sentences or documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def reads_context(model: Any) -> bool:
    """Whether words are predicted from contexts: not from the sentences before."""
    kind, before = type(model), model.batching.reads_before
    return language(kind) and (topical(kind) or (model.reads_document and not before))


def leak(model: Any, rule: str) -> str:
    """Say what contexts by a rule tell a model of its own answers; "" if nothing.

    It reads a unit of text, a sentence or a document, from its first word on. What its
    contexts hold of the words that are yet to come there is no part of what it reads.
    """
    unit = model.batching.unit
    later = rule in ("leak", "all") or (rule == "others" and unit == "document")
    if not (later and reads_context(model)):
        return ""
    words = "the words themselves" if rule == "all" else "words that are yet to come"
    return (
        f"context={rule}: contexts hold {words} of the {unit} that is predicted, which "
        "flatters the perplexity; context=read holds none of them"
    )


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
    entries = ("sequences", "samples", "context", "leak")
    unrecorded = ("leak",)
    template = "{{ note(how) }}{% if leak %}{{ note(leak) }}{% endif %}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return over how many sequences, how many draws and which contexts."""
        model, rule = subject.model, subject.split.contexts.rule
        if not language(type(model)):
            return {}
        return {
            "sequences": subject.score.sequences,
            "samples": subject.samples or None,
            "context": rule if reads_context(model) else None,
            "leak": leak(model, rule) or None,
        }

    def lines(self, evaluation: Evaluation) -> Iterable[str]:
        """Return a warning of what the contexts tell of the answers."""
        told = evaluation.get("leak")
        return [f"  warning: {told}"] if told else []

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
        return {"how": f"Perplexity over {how}.", "leak": evaluation.get("leak")}
