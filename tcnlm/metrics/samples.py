"""One beginning under several topics, and the topics of a few documents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.generation.samples import continuations, warning
from tcnlm.metrics.base import (
    Drawing,
    Drawn,
    Evaluation,
    EvaluationContext,
    Metric,
    Shown,
    titles_of,
    topical,
)
from tcnlm.metrics.exploration import typical_documents
from tcnlm.preprocessing.data_folder import read_texts

if TYPE_CHECKING:
    from tcnlm.models.names import Names

DOCUMENTS = 5
EXCERPT = 90  # words of a document
HIGHLIGHTS = ("#1f6f9f", "#d1812a", "#4d8b57")  # the first topics of a document


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
        parts = subject.model, subject.split, subject.documents.shares
        return {"continuations": continuations(*parts, subject.beginning)}

    def unsaved(self, subject: EvaluationContext) -> Names:
        return subject.names

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Shown:
        entry = evaluation.get("continuations")
        if not entry:
            return None
        titles = titles_of(evaluation, unsaved)
        rows = [(titles[r["topic"]], r["sentence"]) for r in entry["rows"]]
        rows = [row for row in rows if row[0]]
        sentences, instead = (sentence for _, sentence in rows), "sampling in place of "
        message = warning(sentences, evaluation, f"{instead}the likeliest word")
        return {"beginning": entry["prefix"], "rows": rows, "warning": message}


class SampleDocuments(Metric):
    """Documents most typical of different topics, as in the paper's Figures 2 and 3."""

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
        proportions = subject.documents.proportions
        words, documents = subject.dataset.vocabulary.words, []
        for row in typical_documents(subject.documents)[:DOCUMENTS]:
            ids = itertools.chain(*subject.split.document(row))
            tokens = [words[i] for i in itertools.islice(ids, EXCERPT + 1)]
            text = " ".join(tokens[:EXCERPT]) + " ..." * (len(tokens) > EXCERPT)
            shares = [round(float(x), 5) for x in proportions[row]]
            documents.append({"document": row, "text": text, "proportions": shares})
        return {"documents": documents}

    def unsaved(self, subject: EvaluationContext) -> Mapping[str, Any]:
        folder = subject.dataset.path / subject.split.name
        texts = read_texts(folder, typical_documents(subject.documents)[:DOCUMENTS])
        return {"originals": texts, "names": subject.names}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Shown:
        documents = evaluation.get("documents")
        originals = unsaved and unsaved["originals"]
        beside = {"split": evaluation["split"], "originals": originals}
        return documents and {"documents": documents, **beside}

    def draw(self, evaluation: Evaluation, unsaved: Any) -> Drawn:
        titles = titles_of(evaluation, unsaved and unsaved["names"])
        for i, document in enumerate(evaluation["documents"] or ()):
            yield f"document_{i}", topic_bars(np.array(document["proportions"]), titles)


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
