"""How one beginning goes on under different topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tcnlm.generation.quality import warning
from tcnlm.measures.contract import Evaluation, Measure, topical

if TYPE_CHECKING:
    from tcnlm.measures.subject import Subject


class Continuations(Measure):
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
{{ table(("topic", "its words", "the sentence"), ("number", "", "sentence"), rows) }}"""

    def measure(self, subject: Subject) -> dict[str, Any]:
        """Return the beginning, and a row for every topic."""
        from tcnlm.generation import specimens

        parts = subject.model, subject.split, subject.documents.shares
        return {"continuations": specimens.continuations(*parts, subject.beginning)}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the rows as cells."""
        found = evaluation.get("continuations")
        if not found:
            return None
        rows = [(row["topic"], row["words"], row["sentence"]) for row in found["rows"]]
        said = warning((row["sentence"] for row in found["rows"]), evaluation)
        return {"beginning": found["prefix"], "rows": rows, "warning": said}
