"""Sentences that a model writes, to be read, and the topics of a few documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.generation.methods import Decoding
from tcnlm.metrics.base import Drawing, EvaluationContext, Metric, titles_of, topical
from tcnlm.metrics.exploration import typical_documents
from tcnlm.preprocessing.data_folder import read_texts
from tcnlm.preprocessing.vocabulary import UNK

if TYPE_CHECKING:
    from tcnlm.models.names import Names

DRAWS = 5  # sentences of a topic to take one from
PREFIX = 3  # words of a beginning
CONTINUED = 6  # topics that it is continued under
# Of real sentences .005 have so many bigrams that they had before, and two at least.
REPEATED, MOST_REPEATING = 0.15, 0.02
MOST_UNKNOWN = 0.09  # of the words of the training text
HIGHEST_PERPLEXITY = 150.0
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
        how = subject.documents.shares, subject.beginning
        return {"continuations": continuations(subject.model, subject.split, *how)}

    def unsaved(self, subject: EvaluationContext) -> Names:
        return subject.names

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        entry = evaluation.get("continuations")
        if not entry:
            return None
        titles = titles_of(evaluation, unsaved)
        rows = [(titles[r["topic"]], r["sentence"]) for r in entry["rows"]]
        rows = [row for row in rows if row[0]]
        remedy = "sampling in place of the likeliest word"
        message = warning((sentence for _, sentence in rows), evaluation, remedy)
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

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        documents = evaluation.get("documents")
        originals = unsaved and unsaved["originals"]
        beside = {"split": evaluation["split"], "originals": originals}
        return documents and {"documents": documents, **beside}

    def draw(self, evaluation: Mapping[str, Any], unsaved: Any) -> Iterator[tuple]:
        titles = titles_of(evaluation, unsaved and unsaved["names"])
        for i, document in enumerate(evaluation["documents"] or ()):
            yield f"document_{i}", topic_bars(np.array(document["proportions"]), titles)


def topic_bars(proportions: np.ndarray, titles: Sequence[str]) -> Drawing:
    """Draw proportions [K] as in Figure 2; the largest that have titles are named."""
    from tcnlm.drawing import figures as draw

    figure = draw.blank(*draw.PANEL)
    axes = draw.axes_of(figure.subplots(), "", "topic", "proportion")
    axes.bar(range(len(proportions)), proportions, color=draw.GREY, width=0.85)
    order = (k for k in np.argsort(-proportions, kind="stable") if titles[k])
    for colour, topic in zip(HIGHLIGHTS, order):
        label, share = draw.verbatim(titles[topic]), proportions[topic]
        axes.bar(topic, share, color=colour, width=0.85, label=label)
    axes.set_ylim(0, max(0.25, 1.08 * float(proportions.max())))
    axes.set_xlim(-0.8, len(proportions) - 0.2)
    axes.xaxis.set_major_locator(draw.whole_numbers())
    below = {"loc": "outside lower left", "fontsize": 8, "frameon": False}
    figure.legend(*axes.get_legend_handles_labels(), labelcolor=draw.INK, **below)
    return figure


def topic_sentences(model: Any) -> list[str] | None:
    """Return a sentence sampled from each topic alone (section 5.3)."""
    if not model.offers("step"):
        return None
    drawn = _write(model, range(len(model.topics())), Decoding(), DRAWS)
    return [next(filter(None, map(str, sentences)), "") for sentences in drawn]


def continuations(
    model: Any, split: Any, shares: np.ndarray, beginning: str = ""
) -> dict | None:
    """Return how topics of the largest shares [K] go on, greedily, from a beginning.

    By default it is the split's first of known words.
    """
    chosen = np.argsort(-shares, kind="stable")[:CONTINUED]
    vocabulary = model.vocabulary
    prefix = vocabulary.ids(vocabulary.beginning(beginning)) or _beginning(split)
    if prefix is None or not model.offers("step"):
        return None
    written = _write(model, chosen, Decoding("greedy"), 1, prefix)
    return {
        "prefix": " ".join(vocabulary.words[i] for i in prefix),
        "rows": [
            {"topic": int(k), "sentence": str(sentence)}
            for k, (sentence,) in zip(chosen, written)
        ],
    }


def _beginning(split: Any) -> list[int] | None:
    for document in range(split.num_documents):
        for sentence in split.document(document):
            if len(sentence) > 2 * PREFIX and UNK not in sentence[:PREFIX]:
                return sentence[:PREFIX]
    return None


def _write(
    model: Any, topics: Sequence[int], options: Decoding, number: int, prompt: Any = ()
) -> list:
    import tensorflow as tf

    from tcnlm.generation.decoding import SentenceDecoder

    context = model.context({"topics": tf.one_hot(topics, len(model.topics()))})
    return SentenceDecoder(model, options)(context, len(topics), number, prompt)


def _repeats_itself(sentence: str) -> bool:
    words = sentence.split()
    pairs = list(zip(words, words[1:]))
    return len(pairs) - len(set(pairs)) >= max(2, REPEATED * len(pairs))


def warning(
    sentences: Iterable[str | None], evaluation: Mapping[str, Any], remedy: str
) -> str:
    """Say why sentences read badly and what would help; nothing where they don't."""
    written, why = list(filter(None, sentences)), []
    unknown = evaluation.get("unknown_share") or 0
    perplexity = evaluation.get("perplexity") or 0
    repeating = sum(map(_repeats_itself, written))
    if repeating > MOST_REPEATING * len(written):
        why.append(
            f"{repeating} of {len(written)} repeat their own pairs of words (more "
            f"epochs help, and {remedy})"
        )
    if unknown > MOST_UNKNOWN:
        why.append(
            f"{unknown:.0%} of the training text are words too rare for the "
            "vocabulary (more text helps)"
        )
    if perplexity > HIGHEST_PERPLEXITY:
        why.append(
            f"the model hesitates as if among {perplexity:.0f} words at every word "
            "(its perplexity; more text and more epochs help)"
        )
    bad = written and why
    return f"These sentences may read badly: {'; '.join(why)}." if bad else ""
