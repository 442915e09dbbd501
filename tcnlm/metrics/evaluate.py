"""Everything that is measured of a model, as the contents of evaluation.json.

The table of measures says what applies to it; an entry that does not is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tcnlm.coherence.reference import Reference
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.metrics.registry import METRICS, check_words, chosen, figures


def evaluate(
    model: Any,
    dataset: Dataset,
    reference: Reference,
    split: str = "test",
    ask: Sequence[str] = (),
    **options: Any,
) -> dict[str, Any]:
    """Measure a model on a split of its data; every value is ready for JSON.

    ask: keys of the measures that take an option; options: see `subject_of`.
    """
    return measured(subject_of(model, dataset, reference, split, ask, **options), ask)


def subject_of(
    model: Any,
    dataset: Dataset,
    reference: Reference | None = None,
    split: str = "test",
    ask: Sequence[str] = (),
    **options: Any,
) -> EvaluationContext:
    """Return a model on a split of its data; InputError where it cannot be measured.

    options: of `EvaluationContext`; ask: keys of the measures that take an option.
    """
    check_words(model, dataset, split)
    for metric in chosen(type(model), ask):
        metric.check(dataset, split)
    rows = model.batching.rows(dataset.split(split))
    return EvaluationContext(model, dataset, rows, reference, **options)


def measured(subject: EvaluationContext, ask: Sequence[str] = ()) -> dict[str, Any]:
    """Return the figures and entries of all measures that apply."""
    applying = chosen(type(subject.model), ask)
    for metric in sorted(applying, key=lambda metric: not metric.early):
        subject.entries(metric)
    result = {
        "split": subject.split.name,
        **{f.key: None for f in figures() if "." not in f.key},
        **{name: None for metric in METRICS for name in metric.entries},
    }
    for metric in applying:
        single = (f for f in metric.figures if f.compute)  # that no entry holds
        result.update({f.key: metric.figure(f, subject) for f in single})
        result.update(subject.entries(metric))
    return result
