"""How well vectors of documents find documents of the same label, by cosine.

Larochelle and Lauly (NIPS 2012): test documents query all training documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics import features
from tcnlm.metrics.base import Drawing, EvaluationContext, Figure, Metric
from tcnlm.metrics.features import Vectors, labelled, labels_of
from tcnlm.preprocessing.data_folder import NO_LABEL

FRACTIONS = (0.0001, 0.0002, 0.0005, 0.002, 0.01, 0.02, 0.05, 0.2)
HEADLINE = 0.02  # the fraction that tables show; Gupta et al. 2019
DECIMALS = 6  # of cosines, so that ties are no matter of the processor
BLOCK = 2**21  # cosines at a time; some 30 bytes each with what sorts them


def precision_at_fractions(
    queries: Vectors,
    query_labels: np.ndarray,
    documents: Vectors,
    document_labels: np.ndarray,
    fractions: Sequence[float] = FRACTIONS,
) -> dict[float, float]:
    """Return the precision of the nearest documents for each fraction of all of them.

    queries [Q, F]; documents [N, F]. Of the nearest max(1, round(fraction N)) documents
    the share with the query's label, mean over queries; 0 where all cosines are. Equal
    cosines go by the order of the documents; what is labelled -1 is left out.
    """
    from sklearn.preprocessing import normalize
    from sklearn.utils import gen_batches

    rows = labelled(queries, query_labels, "queries")
    columns = labelled(documents, document_labels, "documents")
    queries, documents = normalize(queries[rows]), normalize(documents[columns])
    query_labels, labels = query_labels[rows], document_labels[columns]
    counts = {f: max(1, round(f * len(labels))) for f in fractions}
    sums = dict.fromkeys(fractions, 0.0)
    for block in gen_batches(len(rows), max(1, BLOCK // len(labels))):
        some = queries[block]
        dense = some.toarray() if sparse.issparse(some) else some
        cosines = np.round((documents @ dense.T).T, DECIMALS)
        order = np.argsort(-cosines, axis=1, kind="stable")[:, : max(counts.values())]
        hits = labels[order] == query_labels[block, None]
        hits &= cosines.any(axis=1)[:, None]
        for fraction, count in counts.items():
            sums[fraction] += float(hits[:, :count].mean(axis=1).sum())
    return {fraction: total / len(rows) for fraction, total in sums.items()}


def chance(query_labels: np.ndarray, document_labels: np.ndarray) -> float:
    """Return the precision to expect of documents drawn at random, at any fraction."""
    drawn = document_labels[document_labels != NO_LABEL]
    asked = query_labels[query_labels != NO_LABEL]
    return float(np.mean([np.mean(drawn == label) for label in asked]))


def retrieval(
    vectors: tuple[np.ndarray, np.ndarray], train: Split, test: Split
) -> dict[str, Any]:
    """Return precisions by fraction, of the model's vectors and of bags of words."""
    labels = labels_of(train), labels_of(test)
    bags = features.bag_of_words(train), features.bag_of_words(test)
    own, words = (
        precision_at_fractions(asked, labels[1], documents, labels[0])
        for documents, asked in (vectors, bags)
    )
    curves = {"model": own, "bag_of_words": words}
    return {
        "precision": own[HEADLINE],
        "bag_of_words": words[HEADLINE],
        "chance": chance(labels[1], labels[0]),
        "curves": {n: {str(f): p for f, p in c.items()} for n, c in curves.items()},
    }


class Retrieval(Metric):
    """How well its vectors find training documents of the same label."""

    key = "retrieval"
    option = "retrieval"
    purpose = "how well documents' vectors find training documents of their label"
    figures = (
        Figure("retrieval.precision", "retrieval, precision at .02", "{:.3f}", "max"),
        Figure(
            f"{key}.bag_of_words", "the same of bags of words", "{:.3f}", headline=False
        ),
    )
    entries = ("retrieval",)
    template = """
<h2>Retrieval</h2>
{{ image("retrieval", "precision by the share retrieved") }}
{{ note("Every document of the split is a query against all training documents; "
        "documents drawn at random have a precision of " ~ "%.3f"|format(chance) ~ ".")
}}"""

    def check(self, dataset: Dataset, split: str) -> None:
        for each in ("train", split):
            labels_of(dataset.split(each))

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        return {"retrieval": retrieval(subject.vectors, subject.train, subject.split)}

    def plots(self, entry: Any) -> Iterator[tuple[str, Drawing]]:
        curves = {
            name.replace("_", " "): {float(at): p for at, p in curve.items()}
            for name, curve in entry["curves"].items()
        }
        yield "retrieval", retrieval_curve(curves, entry["chance"])


def retrieval_curve(
    precisions: Mapping[str, Mapping[float, float]], chance: float
) -> Drawing:
    """Draw the precision of retrieval by the fraction of documents retrieved."""
    from tcnlm.drawing.figures import INK, LIGHT, axes_of, blank

    figure = blank(5.4, 3.4)
    x = "share of training documents retrieved (logarithmic)"
    title = "Retrieved documents of the same label"
    axes = axes_of(figure.subplots(), title, x, "precision")
    for name, curve in precisions.items():
        axes.plot(*zip(*sorted(curve.items())), "o-", ms=3, lw=1.5, label=name)
    axes.axhline(chance, color=INK, ls="--", lw=1, label=f"chance: {chance:.3f}")
    axes.set_xscale("log")
    ticks = sorted({fraction for curve in precisions.values() for fraction in curve})
    axes.set_xticks(ticks, [f"{100 * fraction:g} %" for fraction in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=LIGHT, lw=0.8)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    return figure
