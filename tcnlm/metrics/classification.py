"""How well classifiers tell the labels of documents by their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics.base import Evaluation, Figure, Metric
from tcnlm.metrics.classifiers import (
    Classification,
    classify,
    classify_by_network,
)
from tcnlm.metrics.features import (
    bag_of_words,
    document_vectors,
    labels_of,
    log_count_vectors,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tcnlm.metrics.evaluation_context import EvaluationContext

PICTURED = 10_000  # documents of the picture; Dieng et al. 2017


def classification(
    vectors: Sequence[np.ndarray],
    splits: Sequence[Split],
    parts: Mapping[str, int],
    data: Dataset,
) -> dict[str, Any]:
    """Return what two classifiers on the vectors get right of the last split.

    They are fitted to the labelled documents of all others. Beside the whole vectors
    stand their `parts`, by size, and the log counts of all words and of topic words,
    which most models see alone, for logistic regression. "picture": the vectors in two
    dimensions.
    """
    labels = [labels_of(split) for split in splits]
    fitted = np.concatenate(labels[:-1])
    tables = {"vector": (np.concatenate(vectors[:-1]), vectors[-1])}
    ends = np.cumsum([0, *parts.values()])
    for name, low, high in zip(parts, ends, ends[1:]):
        tables[name] = tuple(table[:, low:high] for table in tables["vector"])
    rows = {
        name: {
            "logistic": _figures(classify(train, fitted, test, labels[-1])),
            "network": _figures(classify_by_network(train, fitted, test, labels[-1])),
        }
        for name, (train, test) in tables.items()
    }
    bags = {
        "bag of words": [_all_words(split, len(data.vocabulary)) for split in splits],
        "bag of topic words": [bag_of_words(split) for split in splits],
    }
    for name, found in bags.items():
        train, test = sparse.vstack(found[:-1]).tocsr(), found[-1]
        logistic = classify(train, fitted, test, labels[-1])
        rows[name] = {"logistic": _figures(logistic)}
    picture = {**plane(vectors[-1], labels[-1]), "names": data.meta["labels"]}
    return {**rows["vector"]["logistic"], "rows": rows, "picture": picture}


def _figures(found: Classification) -> dict[str, float]:
    stated = {name: value for name, value in asdict(found).items() if value is not None}
    return {**stated, "error_rate": found.error_rate}


def _all_words(split: Split, size: int) -> sparse.csr_matrix:
    """Return the log counts [N, V] of all words of a split's documents."""
    bounds = split.sentences[split.documents]
    documents = [split.tokens[a:b] for a, b in zip(bounds[:-1], bounds[1:])]
    return log_count_vectors(documents, size)


def plane(vectors: np.ndarray, labels: np.ndarray) -> dict[str, list]:
    """Return the places of labelled documents on their two main axes (PCA).

    By NumPy, since a topic model that has collapsed gives vectors without any axis.
    """
    rows = np.random.default_rng(0).permutation(np.flatnonzero(labels >= 0))
    rows = np.sort(rows[:PICTURED])
    centred = vectors[rows] - vectors[rows].mean(axis=0)
    deviation = centred.std(axis=0)
    standard = centred / np.where(deviation > 0, deviation, 1)
    _, axes = np.linalg.eigh(standard.T @ standard)  # the main axis last
    x, y = (standard @ axes[:, [-1, -min(2, len(axes))]]).T.round(3).tolist()
    return {"x": x, "y": y, "labels": labels[rows].tolist()}


class Classes(Metric):
    """How well classifiers tell labels by its vectors.

    To test they are fitted to the validation documents too: none was learned from.
    """

    key = "classification"
    option = "classify"
    purpose = "how well logistic regression and a small network on the vectors tell "
    purpose += "the labels"
    figures = (
        Figure("classification.accuracy", "classification, accuracy", "{:.3f}", "max"),
        Figure(
            "classification.macro_f1",
            "classification, macro F1",
            "{:.3f}",
            "max",
            headline=False,
        ),
    )
    entries = ("classification",)
    unrecorded = ("classification.picture",)
    template = """
<h2>Classification</h2>
{{ table(("from", "logistic regression", "50 sigmoid units"), ("", "number", "number"),
         rows) }}
{{ note("Documents of the split that get another label than theirs, by classifiers "
        "fitted to all other labelled documents. Bag of words: log counts.") }}
{{ image("vectors", "documents by their vectors, coloured by label") }}"""

    def check(self, dataset: Dataset, split: str) -> None:
        """Refuse data without labels."""
        for each in ("train", split):
            labels_of(dataset.split(each))

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return what the classifiers get right."""
        train, measured = subject.vectors
        splits, vectors = [subject.train, subject.split], [train, measured]
        if subject.split.name == "test":
            splits.insert(1, subject.dataset.split("valid"))
            vectors.insert(1, document_vectors(subject.model, splits[1]))
        parts = subject.model.feature_parts
        found = classification(vectors, splits, parts, subject.dataset)
        return {"classification": found}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the errors by what is read, a column a classifier."""
        found = evaluation.get("classification")
        if not found:
            return None
        kinds = ("logistic", "network")
        rows = found["rows"].items()
        return {"rows": [(n, *(_percent(r.get(k)) for k in kinds)) for n, r in rows]}

    def draw(
        self, evaluation: Evaluation, unsaved: Any
    ) -> Iterator[tuple[str, Drawing]]:
        """Yield the vectors in the plane."""
        found = evaluation.get("classification")
        if found:
            yield "vectors", draw_vectors(**found["picture"])


def _percent(found: Mapping[str, float] | None) -> str:
    return f"{found['error_rate']:.2%}" if found else "–"


def draw_vectors(
    x: Sequence[float], y: Sequence[float], labels: Sequence[int], names: Sequence[str]
) -> Drawing:
    """Draw documents' vectors on their two main axes, their labels as colours."""
    from tcnlm.drawing.figures import INK, axes_of, blank, colours

    figure = blank(6, 4.4)
    title = f"Vectors of {len(labels):,} documents on their two main axes"
    axes = axes_of(figure.subplots(), title, "first axis", "second axis")
    of_label = colours(len(names))
    dots = {"s": 3, "alpha": 0.4, "lw": 0, "rasterized": True}  # there may be many
    axes.scatter(x, y, color=[of_label[i] for i in labels], **dots)
    for colour, name in zip(of_label, names):
        axes.scatter([], [], s=12, color=colour, label=name)
    beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
    axes.legend(fontsize=8, labelcolor=INK, **beside)
    return figure
