"""Topics: what they are, how coherent, how different and how much used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.coherence import TOPS, protocol
from tcnlm.coherence.table import line, shown
from tcnlm.measures.contract import Evaluation, Figure, Measure, Rows, topical
from tcnlm.measures.exploration import explore, laid_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tcnlm.measures.subject import Subject

COLUMNS = (
    ("topic", "number"),
    ("ten most probable words", ""),
    ("NPMI", "number"),
    ("documents", "number"),
    ("mean share", "number"),
    ("a sentence written from it", "sentence"),
)


def npmi_by_use(subject: Subject) -> float | None:
    """Return the mean coherence, each topic weighted by its mean share of documents."""
    if subject.coherence["npmi"] is None:
        return None
    scores = [topic["npmi"] for topic in subject.coherence["topics"]]
    return float(np.average(scores, weights=subject.documents.shares))


def angles(model: Any) -> np.ndarray:
    """Return the angles between topics, degrees, [K, K]; R is made of them."""
    from tcnlm.layers.neural_topics import topic_angles

    return np.degrees(topic_angles(model.topics()))


class Topics(Measure):
    """Coherence, diversity and use of the topics, and the topics themselves."""

    key = "topics"
    applies = staticmethod(topical)
    early = True  # a reference may turn out to be unfit
    figures = (
        Figure(
            "npmi",
            "NPMI",
            "{:.3f}",
            "max",
            lambda subject: subject.coherence["npmi"],
            topic_words=2,
        ),
        Figure(
            "npmi_by_use",
            "NPMI by use",
            "{:.3f}",
            "max",
            npmi_by_use,
            of_use=True,
            topic_words=2,
        ),
        Figure(
            "npmi_median",
            "NPMI, median",
            "{:.3f}",
            "max",
            lambda subject: subject.coherence["npmi_median"],
            headline=False,
            topic_words=2,
        ),
        Figure(
            "diversity",
            "diversity",
            "{:.2f}",
            "max",
            lambda subject: subject.coherence["diversity"],
        ),
        Figure(
            "topics_in_use",
            "topics in use",
            "{}",
            "max",
            lambda subject: subject.documents.in_use,
            of_use=True,
        ),
        Figure(
            "effective_topics",
            "effective topics",
            "{:.1f}",
            "max",
            lambda subject: subject.documents.effective,
            of_use=True,
        ),
        Figure(
            "largest_proportion",
            "mean largest proportion",
            "{:.2f}",
            compute=lambda subject: subject.documents.largest_proportion,
            of_use=True,
        ),
    )
    entries = ("coherence", "topics")
    unrecorded = ("topics",)
    template = """
{% from "exploration.html" import topic_map, topic_rows, typical_documents %}
<div class="explored">
{% if map %}{{ topic_map(map, prefix) }}{% endif %}
<h2>Topics</h2>
{{ note(counted) }}
{{ topic_rows(rows, columns, prefix) }}
{{ note(rows|length ~ " topics, the most used first. Documents: those in which it is "
        "the largest topic.") }}
{% for text in missing %}{{ note("Not measured: " ~ text ~ ".") }}{% endfor %}
<h2>Use and shape of the topics</h2>
{{ image("topic_use", "use of the topics") }}
{{ image("topic_shape", "coherence and angles of the topics") }}
{% if map and map.documents %}{{ typical_documents(map, prefix) }}{% endif %}
</div>"""

    def measure(self, subject: Subject) -> dict[str, Any]:
        """Return how coherence was counted, and every topic."""
        absent = subject.coherence["absent_words"]
        counted = {**protocol(subject.counts), "absent_words": absent}
        return {"coherence": counted, "topics": _topics(subject)}

    def lines(self, evaluation: Evaluation) -> Iterable[str]:
        """Return what is missing, and every topic with its first words."""
        found = evaluation["topics"]
        if not found:
            return []
        said = [f"  {text}" for text in missing(found)]
        said.append(line("topic", ["NPMI"], "words"))
        return [
            *said,
            *(
                line(t["topic"], [shown(t["npmi"], ".3f")], " ".join(t["words"][:10]))
                for t in found
            ),
        ]

    def unsaved(self, subject: Subject) -> Mapping[str, Any]:
        """Return the angles between topics, and what is explored."""
        explored = explore(subject.model, subject.dataset, subject.split)
        return {"angles": angles(subject.model), "exploration": explored}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the table of topics, and the map where there is one."""
        found = evaluation["topics"]
        if found is None:
            return None
        order = sorted(found, key=lambda topic: -(topic["proportion"] or 0))
        return {
            "map": laid_out(unsaved["exploration"]) if unsaved else None,
            "counted": _counted(evaluation["coherence"]),
            "columns": COLUMNS,
            "rows": list(map(_row, order)),
            "missing": missing(found),
        }

    def draw(
        self, evaluation: Evaluation, unsaved: Any
    ) -> Iterator[tuple[str, Drawing]]:
        """Yield use and shape of the topics."""
        topics, names = evaluation["topics"], ("documents", "proportion", "npmi")
        if topics is None:
            return
        documents, shares, npmi = ([t[name] for t in topics] for name in names)
        if None not in shares:
            yield "topic_use", topic_use(np.array(documents), np.array(shares))
        if None not in npmi and unsaved:
            yield "topic_shape", topic_shape(npmi, unsaved["angles"])

    def tables(self, evaluation: Evaluation) -> dict[str, Rows]:
        """Return the topics as a paper's table."""
        return {"topics": list(map(_cells, evaluation["topics"] or ()))}


def missing(topics: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which figures are not there, and why."""
    said = []
    if any(topic["proportion"] is None for topic in topics):
        said.append("no document of this split has a topic word: no use of topics")
    if any(topic["npmi"] is None for topic in topics):
        said.append("topics of one word have no pairs: no coherence")
    return said


def _topics(subject: Subject) -> list[dict[str, Any]]:
    from tcnlm.generation.specimens import topic_sentences

    scored, inferred = subject.coherence["topics"], subject.documents
    documents = np.bincount(inferred.largest, minlength=len(scored))
    shares = inferred.shares.tolist() if inferred.any else [None] * len(scored)
    sentences = topic_sentences(subject.model) or [None] * len(scored)
    return [
        {
            "topic": i,
            "words": topic["words"][: max(TOPS)],
            "npmi": topic["npmi"],
            "documents": int(documents[i]),  # that have it as their largest
            "proportion": shares[i],  # mean over documents
            "sentence": sentences[i],
        }
        for i, topic in enumerate(scored)
    ]


def _counted(coherence: Mapping[str, Any]) -> str:
    from tcnlm.drawing.markup import local

    size = f"{coherence['documents']:,} documents, {coherence['tokens']:,} tokens"
    tops = "/".join(map(str, coherence["tops"]))
    window = f"windows of {coherence['window']} tokens"
    return (
        f"NPMI counted on {local(str(coherence['reference']))} ({size}), "
        f"{window if coherence['window'] else 'whole documents as windows'}, "
        f"{coherence['zero']}, mean over the first {tops} words. "
        f"Topic words absent from the reference: {len(coherence['absent_words'])}. "
        "The published figures were counted on English Wikipedia: only figures "
        "from the same reference can be compared."
    )


def _row(topic: Mapping[str, Any]) -> tuple:
    return (
        topic["topic"],
        " ".join(topic["words"][:10]),
        shown(topic["npmi"], ".3f"),
        f"{topic['documents']:,}",
        shown(topic["proportion"], ".3f"),
        topic["sentence"] or "",
    )


def _cells(topic: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    """Return the values of a topic, and their texts."""
    words = topic["words"]
    return {
        "topic": (topic["topic"], str(topic["topic"])),
        "words": (" ".join(words), " ".join(words[:10])),
        "NPMI": (topic["npmi"], shown(topic["npmi"], ".3f")),
        "documents": (topic["documents"], f"{topic['documents']:,}"),
        "mean share": (topic["proportion"], shown(topic["proportion"], ".3f")),
    }


def topic_use(documents: np.ndarray, proportions: np.ndarray) -> Drawing:
    """Draw how much every topic is used, the most used first.

    documents [K]: how many have it as their largest; proportions [K]: mean share.
    """
    order = np.argsort(-proportions, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    from tcnlm.drawing.figures import BLUE, INK, RED, axes_of, blank, whole_numbers

    figure = blank(9, 2.8)
    left, right = figure.subplots(1, 2)
    axes_of(left, "Largest topic of how many documents", "topics by use", "documents")
    left.bar(ranks, documents[order], color=BLUE, width=0.85)
    left.yaxis.set_major_locator(whole_numbers())
    axes_of(right, "Mean proportion", "topics by use", "share of a document")
    right.bar(ranks, proportions[order], color=BLUE, width=0.85)
    right.axhline(1 / len(ranks), color=RED, lw=1, label="all topics even")
    right.legend(fontsize=8, frameon=False, labelcolor=INK)
    for axes in (left, right):
        axes.set_xlim(0.2, len(ranks) + 0.8)
        axes.xaxis.set_major_locator(whole_numbers())
    return figure


def topic_shape(npmi: Sequence[float], angles: np.ndarray) -> Drawing:
    """Draw the topics' coherence, and the angles between them [K, K], degrees.

    90 degrees: two topics without a common word.
    """
    from tcnlm.drawing.figures import BLUE, INK, RED, axes_of, blank, whole_numbers

    figure = blank(9, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    axes_of(left, "Coherence", "NPMI", "topics")
    left.hist(npmi, bins=12, color=BLUE, rwidth=0.92)
    mean = float(np.mean(npmi))
    left.axvline(mean, color=RED, lw=1.2, label=f"mean {mean:.3f}")
    left.locator_params(axis="x", nbins=6)
    left.yaxis.set_major_locator(whole_numbers())
    left.legend(fontsize=8, frameon=False, labelcolor=INK)
    axes_of(right, "Angles between topics", "topic", "topic")
    image = right.imshow(angles, cmap="viridis", vmin=0, vmax=90)
    right.xaxis.set_major_locator(whole_numbers())
    right.yaxis.set_major_locator(whole_numbers())
    bar = figure.colorbar(image, ax=right, ticks=[0, 30, 60, 90])
    bar.set_label("degrees", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    return figure
