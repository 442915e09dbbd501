"""How well vectors of documents find documents of the same label, by cosine.

Larochelle and Lauly, "A Neural Autoregressive Topic Model" (NIPS 2012):
every test document is a query against all training documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics.base import Drawn, Figure, Metric, Shown
from tcnlm.metrics.features import (
    UNLABELLED,
    Vectors,
    bag_of_words,
    labelled,
    labels_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tcnlm.metrics.evaluation_context import EvaluationContext

FRACTIONS = (0.0001, 0.0002, 0.0005, 0.002, 0.01, 0.02, 0.05, 0.2)
HEADLINE = 0.02  # the fraction that tables show; Gupta et al. 2019
QUERIES, NEIGHBOURS = 5, 3  # shown on the page
# Cosines that differ less are equal, so that ties are no matter of the processor.
DECIMALS = 6
# Cosines at a time; some 30 bytes each with what sorts them.
BLOCK = 2**21


def precision_at_fractions(
    queries: Vectors,
    query_labels: np.ndarray,
    documents: Vectors,
    document_labels: np.ndarray,
    fractions: Sequence[float] = FRACTIONS,
) -> dict[float, float]:
    """Return the precision of the nearest documents for each fraction of all of them.

    queries [Q, F]; documents [N, F]. Of the nearest max(1, round(fraction N)) documents
    (a half goes to the even number) the share with the query's label, mean over the
    queries. Equal cosines go by the order of the documents. What is labelled -1 is left
    out, and N counts without it. A document of zeros has the cosine 0 to every query; a
    query with the cosine 0 to all documents, as one of zeros, has the precision 0.
    """
    rows = labelled(queries, query_labels, "queries")
    columns = labelled(documents, document_labels, "documents")
    for fraction in fractions:
        if not 0 < fraction <= 1:
            raise InputError(
                f"a fraction of the documents is in (0, 1], got {fraction}"
            )
    counts = {f: max(1, round(f * len(columns))) for f in fractions}
    sums = dict.fromkeys(fractions, 0.0)
    for block, cosines in _blocks(queries, documents, rows):
        nearest = _descending(cosines[:, columns])[:, : max(counts.values())]
        hits = document_labels[columns[nearest]] == query_labels[block, None]
        hits &= cosines.any(axis=1)[:, None]
        for fraction, count in counts.items():
            sums[fraction] += float(hits[:, :count].mean(axis=1).sum())
    return {fraction: total / len(rows) for fraction, total in sums.items()}


def chance(query_labels: np.ndarray, document_labels: np.ndarray) -> float:
    """Return the precision to expect of documents drawn at random, at any fraction."""
    drawn = document_labels[document_labels != UNLABELLED]
    asked = query_labels[query_labels != UNLABELLED]
    return float(np.mean([np.mean(drawn == label) for label in asked]))


def nearest(
    queries: Vectors, documents: Vectors, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest documents of every query and their cosines, [Q, count] each.

    The nearest first; equal cosines go by the order of the documents. With vectors of
    zeros the cosine is 0. There are fewer columns where there are fewer documents.
    """
    parts = []
    for _, cosines in _blocks(queries, documents, np.arange(queries.shape[0])):
        best = _descending(cosines)[:, :count]
        parts.append((best, np.take_along_axis(cosines, best, axis=1)))
    places, cosines = zip(*parts)
    return np.concatenate(places), np.concatenate(cosines)


def _blocks(
    queries: Vectors, documents: Vectors, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield some of the rows [q] of queries, and their cosines to documents [q, N]."""
    queries, documents = (
        vectors.astype(np.result_type(vectors.dtype, np.float32), copy=False)
        for vectors in (queries, documents)
    )
    scale = _inverse_norms(documents)
    step = max(1, BLOCK // len(scale))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        some = queries[block]
        dense = some.toarray() if sparse.issparse(some) else some
        cosines = (documents @ (dense * _inverse_norms(some)[:, None]).T).T
        cosines *= scale
        yield block, np.round(cosines, DECIMALS, out=cosines)


def _inverse_norms(vectors: Vectors) -> np.ndarray:
    """Return 1 / the Euclidean norms [N] of rows, and 0 for rows of zeros."""
    if sparse.issparse(vectors):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", vectors, vectors)
    if not np.isfinite(squares).all():
        raise InputError("vectors of documents must be finite numbers")
    norms = np.sqrt(squares)
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)


def _descending(cosines: np.ndarray) -> np.ndarray:
    return np.argsort(-cosines, axis=1, kind="stable")


def retrieval(
    vectors: tuple[np.ndarray, np.ndarray], train: Split, test: Split
) -> dict[str, Any]:
    """Return precisions by fraction, of the model's vectors and of bags of words.

    Every document of `test` is a query against all of `train`.
    """
    labels = labels_of(train), labels_of(test)
    bags = bag_of_words(train), bag_of_words(test)
    found = {
        name: precision_at_fractions(own[1], labels[1], own[0], labels[0])
        for name, own in (("model", vectors), ("bag_of_words", bags))
    }
    return {
        "precision": found["model"][HEADLINE],
        "bag_of_words": found["bag_of_words"][HEADLINE],
        "chance": chance(labels[1], labels[0]),
        "curves": {n: {str(f): p for f, p in c.items()} for n, c in found.items()},
    }


def neighbours(
    vectors: tuple[np.ndarray, np.ndarray], train: Split, test: Split, data: Dataset
) -> list[dict[str, Any]]:
    """Return some queries with the nearest training documents, to be read."""
    full = np.flatnonzero(test.contexts.lengths())  # of all labels, where it is sorted
    queries = full[np.linspace(0, len(full) - 1, QUERIES).astype(int)]
    places, cosines = nearest(vectors[1][queries], vectors[0], NEIGHBOURS)
    return [
        {
            **_shown(test, query, data),
            "nearest": [
                {**_shown(train, place, data), "cosine": round(float(cosine), 4)}
                for place, cosine in zip(row, likeness)
            ],
        }
        for query, row, likeness in zip(queries, places, cosines)
    ]


def _shown(split: Split, document: int, data: Dataset) -> dict[str, Any]:
    words, topic_words = split.content(document)[:12], data.vocabulary.topic_words
    label = None if split.labels is None else int(split.labels[document])
    named = label is not None and label >= 0
    return {
        "document": int(document),
        "label": data.meta["labels"][label] if named else None,
        "words": " ".join(topic_words[i] for i in words),
    }


class Retrieval(Metric):
    """How well its vectors find training documents of the same label."""

    key = "retrieval"
    option = "retrieval"
    purpose = "how well documents' vectors find training documents of their label"
    figures = (
        Figure("retrieval.precision", "retrieval, precision at .02", "{:.3f}", "max"),
        Figure(
            "retrieval.bag_of_words",
            "the same of bags of words",
            "{:.3f}",
            headline=False,
        ),
    )
    entries = ("retrieval",)
    unrecorded = ("retrieval.queries",)
    template = """
<h2>Retrieval</h2>
{{ image("retrieval", "precision by the share retrieved") }}
{{ note("Every document of the split is a query against all training documents; "
        "documents drawn at random have a precision of " ~ "%.3f"|format(chance) ~ ".")
}}
{{ table(("label", "cosine", "its first topic words"), ("", "number", ""), rows) }}"""

    def check(self, dataset: Dataset, split: str) -> None:
        """Refuse data without labels."""
        for each in ("train", split):
            labels_of(dataset.split(each))

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return precisions, and some queries with what they found."""
        parts = subject.vectors, subject.train, subject.split
        queries = neighbours(*parts, subject.dataset)
        return {"retrieval": {**retrieval(*parts), "queries": queries}}

    def section(self, entry: Any) -> Shown:
        """Return the queries, each above what it found."""
        rows = []
        for query in entry["queries"]:
            rows.append((query["label"] or "", "query", query["words"]))
            for near in query["nearest"]:
                cosine = f"{near['cosine']:.3f}"
                rows.append((near["label"] or "", cosine, near["words"]))
        return {"rows": rows, "chance": entry["chance"]}

    def plots(self, entry: Any) -> Drawn:
        """Yield the precision by the fraction retrieved."""
        curves = {
            name.replace("_", " "): {float(at): p for at, p in curve.items()}
            for name, curve in entry["curves"].items()
        }
        yield "retrieval", retrieval_curve(curves, entry["chance"])


def retrieval_curve(
    precisions: Mapping[str, Mapping[float, float]], chance: float
) -> Drawing:
    """Draw the precision of retrieval by the fraction of documents retrieved.

    precisions: by the name of the vectors, then by fraction; chance: of random ones.
    """
    from tcnlm.drawing.figures import INK, LIGHT, axes_of, blank

    figure = blank(5.4, 3.4)
    x = "share of training documents retrieved (logarithmic)"
    title = "Retrieved documents of the same label"
    axes = axes_of(figure.subplots(), title, x, "precision")
    for name, curve in precisions.items():
        fractions = sorted(curve)
        values = [curve[fraction] for fraction in fractions]
        axes.plot(fractions, values, "o-", ms=3, lw=1.5, label=name)
    axes.axhline(chance, color=INK, ls="--", lw=1, label=f"chance: {chance:.3f}")
    axes.set_xscale("log")
    ticks = sorted({fraction for curve in precisions.values() for fraction in curve})
    axes.set_xticks(ticks, [f"{100 * fraction:g} %" for fraction in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=LIGHT, lw=0.8)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure
