"""How one beginning goes on under different topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tcnlm.generation.samples import continuations, warning
from tcnlm.metrics.base import Evaluation, Metric, titles_of, topical

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext
    from tcnlm.models.names import Names


class Continuations(Metric):
    """One beginning, gone on with from the most used topics."""

    key = "continuations"
    applies = staticmethod(topical)
    entries = ("continuations",)
    unrecorded = entries
    template = """
<h2>One beginning, different topics</h2>
{{ note("“" ~ beginning ~ " …” continued greedily under the most used topics: only the "
        "topic differs from row to row.") }}
{% if warning %}{{ note(warning) }}{% endif %}
{{ table(("topic", "the sentence"), ("", "sentence"), rows) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return the beginning, and a row for every topic."""
        parts = subject.model, subject.split, subject.documents.shares
        return {"continuations": continuations(*parts, subject.beginning)}

    def unsaved(self, subject: EvaluationContext) -> Names:
        """Return what the topics are called."""
        return subject.names

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the rows as cells; those of hidden topics are left out."""
        found = evaluation.get("continuations")
        if not found:
            return None
        titles = titles_of(evaluation, unsaved)
        rows = [(titles[r["topic"]], r["sentence"]) for r in found["rows"]]
        rows = [row for row in rows if row[0]]
        sentences = (sentence for _, sentence in rows)
        said = warning(sentences, evaluation, "sampling in place of the likeliest word")
        return {"beginning": found["prefix"], "rows": rows, "warning": said}
