"""Coherences of the topics beside NPMI, and how different their ranked words are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tcnlm.coherence import TOPS, definitions
from tcnlm.coherence.definitions import COHERENCES, coherence
from tcnlm.coherence.summary import scored_words, shown
from tcnlm.metrics.base import EvaluationContext, Figure, Metric, topical

ABOUT = (
    "Defined as in gensim's CoherenceModel, and counted on the reference of NPMI. Each "
    f"is of a topic's first {max(TOPS)} words without those that the reference lacks. "
    "Compare what one reference has scored."
)


class Coherences(Metric):
    """c_v, c_npmi, c_uci and u_mass of every topic and of all, and IRBO."""

    key = "coherences"
    applies = staticmethod(topical)
    option = "coherences"
    purpose = f"IRBO and other coherences of the topics: {', '.join(COHERENCES)}"
    early = True  # counts without their text are unfit
    figures = (
        *(Figure(f"coherences.{name}", name, "{:.3f}", "max") for name in COHERENCES),
        Figure("coherences.irbo", "IRBO", "{:.3f}", "max"),
    )
    entries = ("coherences",)
    unrecorded = ("coherences.topics",)
    template = """<h2>Other coherences</h2>
{{ table(titles, ("number", ""), rows) }}{{ note(about) }}{{ note(counted) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        topics = subject.topics.topics
        words = scored_words([subject.topics])
        asked = words, [x.windows for x in COHERENCES.values()], subject.dataset
        counted = dict(zip(COHERENCES, subject.reference.kinds_counted(*asked)))
        scores = {n: coherence(n, c, topics, max(TOPS)) for n, c in counted.items()}
        found = {name: definitions.mean(values) for name, values in scores.items()}
        found["irbo"] = definitions.irbo(topics)
        found["counted"] = definitions.kinds(counted)
        found["topics"] = [
            {"topic": i, **dict(zip(scores, each)), "words": words[:10]}
            for i, (words, *each) in enumerate(zip(topics, *scores.values()))
        ]
        return {"coherences": found}

    def section(self, entry: Any) -> dict[str, Any]:
        rows = [[text for _, text in _cells(t).values()] for t in entry["topics"]]
        counted = "; ".join(f"{name}: {how}" for name, how in entry["counted"].items())
        notes = {"about": ABOUT, "counted": f"{counted}."}
        return {"titles": ["topic", "words", *COHERENCES], "rows": rows, **notes}

    def tables(self, evaluation: Mapping[str, Any]) -> dict[str, list]:
        entry = evaluation.get("coherences")
        return {"coherences": list(map(_cells, entry["topics"]))} if entry else {}


def _cells(topic: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    words = " ".join(topic["words"])
    return {
        "topic": (topic["topic"], str(topic["topic"])),
        "words": (words, words),
        **{name: (topic[name], shown(topic[name], ".3f")) for name in COHERENCES},
    }
