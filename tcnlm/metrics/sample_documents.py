"""The topics of a few documents, as in the paper's Figures 2 and 3."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.metrics.base import Evaluation, Metric, titles_of, topical
from tcnlm.metrics.exploration import typical_documents
from tcnlm.metrics.proportions import DocumentTopics
from tcnlm.preprocessing.data_folder import read_texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tcnlm.metrics.evaluation_context import EvaluationContext

DOCUMENTS = 5
EXCERPT = 90  # words of a document
HIGHLIGHTS = ("#1f6f9f", "#d1812a", "#4d8b57")  # the first topics of a document


class SampleDocuments(Metric):
    """Documents most typical of different topics, and their topics."""

    key = "documents"
    applies = staticmethod(topical)
    entries = ("documents",)
    unrecorded = ("documents",)
    template = """
<h2>Topics of documents</h2>
{{ note("For each of the most used topics the document of the " ~ split ~ " split "
        "that has most of it (paper, Figures 2 and 3): clearer than most are.") }}
{% for document in documents %}
<div class="document"><div><b>Document {{ document.document }}</b>
<blockquote>{{ document.text }}</blockquote>
{{ image("document_" ~ loop.index0, "topic proportions of the document") }}</div>
{% if originals %}
<p class="original"><b>As it came:</b> {{ originals[loop.index0] }}</p>
{% endif %}</div>
{% endfor %}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return how the documents begin, and their proportions."""
        inferred, words = subject.documents, subject.dataset.vocabulary.words
        found = [
            {
                "document": row,
                "text": _excerpt(words, subject.split.document(row)),
                "proportions": [round(float(x), 5) for x in inferred.proportions[row]],
            }
            for row in _chosen(inferred)
        ]
        return {"documents": found}

    def unsaved(self, subject: EvaluationContext) -> Mapping[str, Any]:
        """Return how the documents begin as they came, if kept, and topics' names."""
        folder = subject.dataset.path / subject.split.name
        texts = read_texts(folder, _chosen(subject.documents))
        return {"originals": texts, "names": subject.names}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the documents, and of which split they are."""
        found = evaluation.get("documents")
        originals = unsaved and unsaved["originals"]
        own = {"split": evaluation["split"], "originals": originals}
        return found and {"documents": found, **own}

    def draw(
        self, evaluation: Evaluation, unsaved: Any
    ) -> Iterator[tuple[str, Drawing]]:
        """Yield every document's proportions."""
        titles = titles_of(evaluation, unsaved and unsaved["names"])
        for i, document in enumerate(evaluation["documents"] or ()):
            yield f"document_{i}", topic_bars(np.array(document["proportions"]), titles)


def _chosen(inferred: DocumentTopics) -> list[int]:
    return typical_documents(inferred)[:DOCUMENTS]


def _excerpt(words: Sequence[str], sentences: Iterable[Sequence[int]]) -> str:
    tokens = [
        words[i] for i in itertools.islice(itertools.chain(*sentences), EXCERPT + 1)
    ]
    return " ".join(tokens[:EXCERPT]) + (" ..." if len(tokens) > EXCERPT else "")


def topic_bars(proportions: np.ndarray, titles: Sequence[str]) -> Drawing:
    """Draw a document's topic proportions [K], as in the paper's Figure 2.

    The largest topics are coloured and named below the chart; those without a title
    are not.
    """
    from tcnlm.drawing.figures import GREY, INK, PANEL, axes_of, blank, whole_numbers

    figure = blank(*PANEL)
    axes = axes_of(figure.subplots(), "", "topic", "proportion")
    axes.bar(range(len(proportions)), proportions, color=GREY, width=0.85)
    order = (k for k in np.argsort(-proportions, kind="stable") if titles[k])
    for colour, topic in zip(HIGHLIGHTS, order):
        label, share = titles[topic], proportions[topic]
        axes.bar(topic, share, color=colour, width=0.85, label=label)
    axes.set_ylim(0, max(0.25, 1.08 * float(proportions.max())))
    axes.set_xlim(-0.8, len(proportions) - 0.2)
    axes.xaxis.set_major_locator(whole_numbers())
    below = {"loc": "outside lower left", "fontsize": 8, "frameon": False}
    figure.legend(*axes.get_legend_handles_labels(), labelcolor=INK, **below)
    return figure
