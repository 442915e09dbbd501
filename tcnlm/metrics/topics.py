"""Topics: what they are, how coherent, how different and how much used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np
from markupsafe import Markup

from tcnlm.coherence import TOPS, protocol
from tcnlm.coherence.summary import line, shown
from tcnlm.metrics.base import EvaluationContext, Figure, Metric, topical
from tcnlm.metrics.exploration import explore, laid_out
from tcnlm.metrics.samples import topic_sentences, warning
from tcnlm.models.seeds import seeds_of
from tcnlm.models.topics import RELEVANCE

COLUMNS = (
    ("topic", "number"),
    ("name", ""),
    ("ten words", ""),
    ("NPMI", "number"),
    ("{split} documents", "number"),
    ("mean {split} share", "number"),
    ("generated sentence", "sentence"),
)
ORDERS = Markup('<span class="relevant">{}</span><span class="probable">{}</span>')
SEED = Markup('<b title="a seed word">{}</b>')
ABSENT = ("", "-")  # cells that say nothing; a column of them is left out


def npmi_by_use(subject: EvaluationContext) -> float | None:
    """Return the mean coherence, each topic weighted by its mean share of documents."""
    if subject.coherence["npmi"] is None:
        return None
    scores = [topic["npmi"] for topic in subject.coherence["topics"]]
    return float(np.average(scores, weights=subject.documents.shares))


def _scored(
    key: str, title: str, form: str = "{:.3f}", part: str = "coherence", **more: Any
) -> Figure:
    def compute(subject: EvaluationContext) -> Any:
        return getattr(subject, part)[key.partition("_")[0]]

    return Figure(key, title, form, "max", compute, **more)


def _used(
    key: str, title: str, form: str, name: str = "", better: str = "max"
) -> Figure:
    compute = attrgetter(f"documents.{name or key}")
    return Figure(key, title, form, better, compute, of_use=True)


RELEVANT = {"part": "relevant_coherence", "headline": False}
BY_USE = {"of_use": True, "topic_words": 2}


class Topics(Metric):
    """Coherence, diversity and use of the topics, and the topics themselves."""

    key = "topics"
    applies = staticmethod(topical)
    early = True  # a reference may turn out to be unfit
    figures = (
        _scored("npmi", "NPMI", topic_words=2),
        Figure("npmi_by_use", "NPMI by use", "{:.3f}", "max", npmi_by_use, **BY_USE),
        _scored("diversity", "diversity", "{:.2f}"),
        _scored("npmi_relevant", "NPMI, words by relevance", **RELEVANT, topic_words=2),
        _scored(
            "diversity_relevant", "diversity, words by relevance", "{:.2f}", **RELEVANT
        ),
        _used("topics_in_use", "topics in use", "{}", "in_use"),
        _used("effective_topics", "effective topics", "{:.1f}", "effective"),
        _used("largest_proportion", "mean largest proportion", "{:.2f}", better=""),
    )
    entries = ("coherence", "topics", "unknown_share")
    unrecorded = ("topics",)
    template = """
{% from "exploration.html" import topic_map, topic_rows, typical_documents %}
<div class="explored">
{% if map %}{{ topic_map(map, split, prefix) }}{% endif %}
<h2>Topics</h2>
{% if warning %}{{ note(warning) }}{% endif %}
{{ note(relevance) }}
<label class="switch"><input type="checkbox"/> the most probable words instead</label>
{{ topic_rows(rows, columns, prefix) }}
{{ note(rows|length ~ " topics, the most used first. Documents: how many of the "
        ~ split ~ " split have it as their largest topic. Share: its mean over all.") }}
{{ note(counted) }}
{% for text in named %}{{ note(text) }}{% endfor %}
{% if map and map.documents %}{{ typical_documents(map, prefix) }}{% endif %}
</div>"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        absent = subject.coherence["absent_words"]
        train = subject.dataset.meta["splits"]["train"]
        return {
            "coherence": {**protocol(subject.counts), "absent_words": absent},
            "topics": _topics(subject),
            "unknown_share": train["unknown"] / max(train["tokens"], 1),
        }

    def lines(self, evaluation: Mapping[str, Any]) -> Iterable[str]:
        rows = [("topic", "NPMI", "words")] if evaluation["topics"] else []
        for t in evaluation["topics"] or ():
            npmi, words = shown(t["npmi"], ".3f"), " ".join(t["words"][:10])
            rows.append((t["topic"], npmi, words))
        return [line(topic, [npmi], words) for topic, npmi, words in rows]

    def unsaved(self, subject: EvaluationContext) -> Mapping[str, Any]:
        return explore(subject.model, subject.dataset, subject.split, subject.names)

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        found = evaluation["topics"]
        if found is None:
            return None
        explored = unsaved or {}
        told = list(_named(found, explored)) if explored else found
        order = sorted(told, key=lambda topic: -(topic["proportion"] or 0))
        split, rows = evaluation["split"], list(map(_row, order))
        said = [any(cell not in ABSENT for cell in cells) for cells in zip(*rows)]
        columns = ((title.format(split=split), kind) for title, kind in COLUMNS)
        sentences = (topic["sentence"] for topic in found)
        remedy = "sampling at a higher temperature"
        return {
            "map": laid_out(explored) if explored else None,
            "named": list(_said_of_names(explored)),
            "split": split,
            "counted": _counted(evaluation["coherence"]),
            "relevance": _of_words(evaluation),
            "warning": warning(sentences, evaluation, remedy),
            "columns": list(compress(columns, said)),
            "rows": [list(compress(row, said)) for row in rows],
        }

    def tables(self, evaluation: Mapping[str, Any]) -> dict[str, list]:
        return {"topics": list(map(_cells, evaluation["topics"] or ()))}


def _named(
    found: Sequence[Mapping[str, Any]], explored: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    for topic in explored["topics"]:
        own = {**found[topic["topic"]], "documents": topic["documents"]}
        if explored["named"]:
            own["label"] = topic["label"]
        if len(topic["members"]) > 1:
            shares = [found[k]["proportion"] for k in topic["members"]]
            own["proportion"] = None if None in shares else sum(shares)
            by_p = sorted(topic["words"], key=lambda word: -word[1])
            own |= {"npmi": None, "words": [word for word, *_ in topic["words"]]}
            own["probable"] = [word for word, *_ in by_p]
        yield own


def _said_of_names(explored: Mapping[str, Any]) -> Iterator[str]:
    if explored.get("hidden"):
        yield f"{explored['hidden']}."
    merged = [
        f"{t['topic']} is {' + '.join(map(str, t['members']))}"
        for t in explored.get("topics", ())
        if len(t["members"]) > 1
    ]
    if merged:
        yield (
            f"Merged by topics.csv: {'; '.join(merged)}. Shares are summed, words are "
            "those of the mean distribution, weighted by the shares; the sentence and "
            "all figures are of single topics."
        )


def _topics(subject: EvaluationContext) -> list[dict[str, Any]]:
    scored, inferred = subject.coherence["topics"], subject.documents
    relevant = subject.relevant.topics
    documents = np.bincount(inferred.largest, minlength=len(scored))
    shares = inferred.shares.tolist() if inferred.any else [None] * len(scored)
    sentences = topic_sentences(subject.model) or [None] * len(scored)
    seeds = seeds_of(subject.model.config, subject.model.vocabulary)
    given = [*(seed.words for seed in seeds), *[[]] * (len(scored) - len(seeds))]
    return [
        {
            "topic": i,
            "words": relevant[i][: max(TOPS)],
            "probable": topic["words"][: max(TOPS)],
            "seeds": given[i],
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


def _of_words(evaluation: Mapping[str, Any]) -> str:
    said = "Words are ranked by relevance: frequent in the topic, and more so than "
    said += f"elsewhere (Sievert and Shirley 2014, λ = {RELEVANCE})."
    figures = {f.key: f.text(evaluation) for f in Topics.figures}
    npmi, diversity = figures["npmi_relevant"], figures["diversity_relevant"]
    if npmi and diversity:
        said += f" Their NPMI is {npmi}, their diversity {diversity}; all other "
        said += "figures are of the most probable words, as published ones are."
    return said


def _row(topic: Mapping[str, Any]) -> tuple:
    by_p = topic.get("probable", topic["words"])  # absent from an old evaluation
    seeds = topic.get("seeds", ())
    orders = (
        Markup(" ").join(SEED.format(w) if w in seeds else w for w in words[:10])
        for words in (topic["words"], by_p)
    )
    return (
        topic["topic"],
        topic.get("label", ""),
        ORDERS.format(*orders),
        shown(topic["npmi"], ".3f"),
        f"{topic['documents']:,}",
        shown(topic["proportion"], ".3f"),
        topic["sentence"] or "",
    )


def _cells(topic: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    words = topic["words"]
    return {
        "topic": (topic["topic"], str(topic["topic"])),
        "words": (" ".join(words), " ".join(words[:10])),
        "NPMI": (topic["npmi"], shown(topic["npmi"], ".3f")),
        "documents": (topic["documents"], f"{topic['documents']:,}"),
        "mean share": (topic["proportion"], shown(topic["proportion"], ".3f")),
    }
