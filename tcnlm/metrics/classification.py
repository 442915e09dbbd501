"""How well classifiers tell labels by documents' vectors, and topics by themselves."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics import features
from tcnlm.metrics.base import Drawing, EvaluationContext, Figure, Metric, topical
from tcnlm.metrics.features import Vectors, labels_of
from tcnlm.preprocessing.data_folder import NO_LABEL

STRENGTHS = (0.0001, 0.001, 0.01, 0.1, 1.0)  # C; the smaller, the more regularised
HELD_OUT = 5  # one training document in five of every label chooses C
ITERATIONS = 200
UNITS = 50  # Dieng et al. 2017, after Le and Mikolov 2014
EPOCHS, PATIENCE, BATCH = 60, 5, 32
LEARNING_RATE = 1e-3  # of Adam; the paper has none
HIGHER = "{:.3f}", "max"  # form of figures that are better so
PICTURED = 10_000  # documents of the picture; Dieng et al. 2017


def scores(labels: np.ndarray, predicted: np.ndarray, **chosen: float) -> dict:
    """Return accuracy and error rate of predicted labels [N]; chosen: beside them."""
    accuracy = float(np.mean(predicted == labels))
    return {"accuracy": accuracy, **chosen, "error_rate": 1 - accuracy}


def classify(
    train: Vectors, train_labels: np.ndarray, test: Vectors, test_labels: np.ndarray
) -> dict[str, float]:
    """Return the `scores` of scikit-learn's logistic regression, and its strength "c".

    vectors [N, F], standardised; labels [N], where -1 is left out. "c" is the smallest
    of `STRENGTHS` with the highest accuracy on a fifth of the training documents.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    vectors, labels = _usable(train, train_labels, "training")
    scaler = StandardScaler(with_mean=not sparse.issparse(vectors))
    logistic = LogisticRegression(max_iter=ITERATIONS)
    pipeline = Pipeline([("scaler", scaler), ("logistic", logistic)])
    how = {"scoring": "accuracy", "cv": [held_out(labels)]}
    search = GridSearchCV(pipeline, {"logistic__C": STRENGTHS}, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(vectors, labels)
    vectors, labels = _usable(test, test_labels, "test")
    return scores(labels, search.predict(vectors), c=search.best_params_["logistic__C"])


def _usable(
    vectors: Vectors, labels: np.ndarray, name: str
) -> tuple[Vectors, np.ndarray]:
    rows = features.labelled(vectors, labels, f"{name} documents")
    return vectors[rows], labels[rows]


def held_out(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rest, and one document in `HELD_OUT` of each label, rounded down."""
    rng = np.random.default_rng(0)
    kinds = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    if len(kinds) < 2 or max(map(len, kinds)) < HELD_OUT:
        most = max(map(len, kinds), default=0)
        sizes = f"{len(kinds)} labels, the most frequent with {most}"
        raise InputError(
            "a classifier needs training documents with two labels, "
            f"{HELD_OUT} with one of them; there are {sizes}"
        )
    held = [rng.permutation(kind)[: len(kind) // HELD_OUT] for kind in kinds]
    held = np.concatenate(held)
    return np.setdiff1d(np.arange(len(labels)), held), held


def classify_by_network(
    train: np.ndarray,
    train_labels: np.ndarray,
    test: np.ndarray,
    test_labels: np.ndarray,
) -> dict[str, float]:
    """Return the `scores` of a network of one layer of `UNITS` sigmoid units.

    vectors [N, F], standardised; labels [N], where -1 is left out. A fifth of the
    training documents says when to stop, after `PATIENCE` epochs without a lower loss.
    """
    import tensorflow as tf

    train, train_labels = _usable(train, train_labels, "training")
    test, test_labels = _usable(test, test_labels, "test")
    rest, held = held_out(train_labels)
    kinds, numbers = np.unique(train_labels, return_inverse=True)
    mean, deviation = train[rest].mean(axis=0), train[rest].std(axis=0)
    moving = deviation > 0

    def standard(vectors: np.ndarray) -> np.ndarray:
        return ((vectors - mean)[:, moving] / deviation[moving]).astype(np.float32)

    tf.keras.utils.set_random_seed(0)  # of the start and of the batches
    Dense = tf.keras.layers.Dense
    network = tf.keras.Sequential([Dense(UNITS, "sigmoid"), Dense(len(kinds))])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(tf.keras.optimizers.Adam(LEARNING_RATE), loss)
    stop = tf.keras.callbacks.EarlyStopping(
        "val_loss", patience=PATIENCE, restore_best_weights=True
    )
    vectors, valid = standard(train[rest]), (standard(train[held]), numbers[held])
    how = {"validation_data": valid, "callbacks": [stop], "verbose": 0}
    network.fit(vectors, numbers[rest], BATCH, EPOCHS, **how)
    logits = network.predict(standard(test), batch_size=1024, verbose=0)
    return scores(test_labels, kinds[logits.argmax(axis=1)])


def classification(
    vectors: Sequence[np.ndarray],
    splits: Sequence[Split],
    parts: Mapping[str, int],
    data: Dataset,
) -> dict[str, Any]:
    """Return what two classifiers on the vectors get right of the last split.

    They are fitted to the labelled documents of all others; beside the vectors stand
    their `parts`, by size, and log counts of words.
    """
    labels = [labels_of(split) for split in splits]
    fitted, wanted = np.concatenate(labels[:-1]), labels[-1]
    tables = {"vector": (np.concatenate(vectors[:-1]), vectors[-1])}
    ends = np.cumsum([0, *parts.values()])
    for name, low, high in zip(parts, ends, ends[1:]):
        tables[name] = tuple(table[:, low:high] for table in tables["vector"])
    words = [_all_words(split, len(data.vocabulary)) for split in splits]
    topic_words = list(map(features.bag_of_words, splits))
    for name, bags in ("bag of words", words), ("bag of topic words", topic_words):
        tables[name] = sparse.vstack(bags[:-1]).tocsr(), bags[-1]
    rows: dict[str, Any] = {}
    for name, (train, test) in tables.items():
        rows[name] = {"logistic": classify(train, fitted, test, wanted)}
        if not sparse.issparse(train):
            rows[name]["network"] = classify_by_network(train, fitted, test, wanted)
    picture = {**plane(vectors[-1], wanted), "names": data.meta["labels"]}
    return {**rows["vector"]["logistic"], "rows": rows, "picture": picture}


def _all_words(split: Split, size: int) -> sparse.csr_matrix:
    bounds = split.sentences[split.documents]
    documents = [split.tokens[a:b] for a, b in zip(bounds[:-1], bounds[1:])]
    return features.log_count_vectors(documents, size)


def plane(vectors: np.ndarray, labels: np.ndarray) -> dict[str, list]:
    """Return the places of labelled documents on their two main axes (PCA)."""
    rows = np.random.default_rng(0).permutation(np.flatnonzero(labels >= 0))
    rows = np.sort(rows[:PICTURED])
    centred = vectors[rows] - vectors[rows].mean(axis=0)
    deviation = centred.std(axis=0)
    standard = centred / np.where(deviation > 0, deviation, 1)
    _, axes = np.linalg.eigh(standard.T @ standard)  # the main axis last
    x, y = (standard @ axes[:, [-1, -min(2, len(axes))]]).T.round(3).tolist()
    return {"x": x, "y": y, "labels": labels[rows].tolist()}


class Classes(Metric):
    """How well classifiers tell labels by its vectors."""

    key = "classification"
    option = "classify"
    purpose = "how well logistic regression and a small network on the vectors tell "
    purpose += "the labels"
    figures = (
        Figure("classification.accuracy", "classification, accuracy", "{:.3f}", "max"),
    )
    entries = ("classification",)
    unrecorded = ("classification.picture",)
    template = """
<h2>Classification</h2>
{{ table(("from", "logistic regression", "50 sigmoid units"), ("",), rows) }}
{{ note("Documents of the split that get another label than theirs, by classifiers "
        "fitted to all other labelled documents. Bag of words: log counts.") }}
{{ image("vectors", "documents by their vectors, coloured by label") }}"""

    def check(self, dataset: Dataset, split: str) -> None:
        labels_of(dataset.split(split))
        others = ("train",) if split == "valid" else ("train", "valid")
        fitted = np.concatenate([labels_of(dataset.split(each)) for each in others])
        held_out(fitted[fitted != NO_LABEL])

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        train, measured = subject.vectors
        splits, vectors = [subject.train, subject.split], [train, measured]
        if subject.split.name == "test":
            splits.insert(1, subject.dataset.split("valid"))
            vectors.insert(1, features.document_vectors(subject.model, splits[1]))
        parts = subject.model.feature_parts, subject.dataset
        return {"classification": classification(vectors, splits, *parts)}

    def section(self, entry: Any) -> dict[str, Any]:
        rows = []
        for name, row in entry["rows"].items():
            found = (row.get(kind) for kind in ("logistic", "network"))
            errors = (f"{each['error_rate']:.2%}" if each else "–" for each in found)
            rows.append((name, *errors))
        return {"rows": rows}

    def plots(self, entry: Any) -> Iterator[tuple[str, Drawing]]:
        yield "vectors", draw_vectors(**entry["picture"])


def draw_vectors(
    x: Sequence[float], y: Sequence[float], labels: Sequence[int], names: Sequence[str]
) -> Drawing:
    """Draw documents' vectors on their two main axes, their labels as colours."""
    from tcnlm.drawing.figures import INK, axes_of, blank, colours, verbatim

    figure = blank(6, 4.4)
    title = f"Vectors of {len(labels):,} documents on their two main axes"
    axes = axes_of(figure.subplots(), title, "first axis", "second axis")
    of_label = colours(len(names))
    dots = {"s": 3, "alpha": 0.4, "lw": 0, "rasterized": True}  # there may be many
    axes.scatter(x, y, color=[of_label[i] for i in labels], **dots)
    for colour, name in zip(of_label, names):
        axes.scatter([], [], s=12, color=colour, label=verbatim(name))
    beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
    axes.legend(fontsize=8, labelcolor=INK, **beside)
    return figure


class Clusters(Metric):
    """NMI, AMI and purity of the largest topic of all documents that have a label."""

    key = "clusters"
    applies = staticmethod(topical)
    figures = (
        Figure("clusters.nmi", "NMI with labels", *HIGHER, labels=True),
        Figure("clusters.ami", "AMI with labels", *HIGHER, headline=False, labels=True),
        Figure(
            "clusters.purity", "purity by labels", *HIGHER, headline=False, labels=True
        ),
    )
    entries = ("clusters",)
    template = "{{ note(said) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        if subject.split.labels is None:
            return {"clusters": None}
        labels = np.concatenate([split.labels for split in subject.splits])
        told = subject.all_documents.has_words & (labels != NO_LABEL)
        if not told.any():
            return {"clusters": None}
        largest = subject.all_documents.proportions[told].argmax(axis=1)
        return {"clusters": agreement(largest, labels[told])}

    def section(self, entry: Any) -> dict[str, Any]:
        found = {"clusters": entry}
        nmi, ami, purity = (figure.text(found) for figure in self.figures)
        return {
            "said": f"The largest topics of all {entry['documents']:,} documents with "
            f"a label agree with the labels by NMI {nmi}; by AMI {ami}, which takes "
            f"chance off. Both are 1 where they are the same. Purity {purity} is the "
            "share of documents that have the commonest label of their topic."
        }


def agreement(clusters: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return NMI, AMI and purity of clusters [N] by labels [N], and N."""
    from sklearn import metrics

    counts = metrics.cluster.contingency_matrix(labels, clusters)
    return {
        "nmi": float(metrics.normalized_mutual_info_score(labels, clusters)),
        "ami": float(metrics.adjusted_mutual_info_score(labels, clusters)),
        "purity": float(counts.max(axis=0).sum() / counts.sum()),
        "documents": len(labels),
    }
