"""How well vectors of documents tell their labels to a linear classifier."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from preprocessing.errors import InputError
from tcnlm.evaluation.retrieval import Vectors, labelled

STRENGTHS = (0.0001, 0.001, 0.01, 0.1, 1.0)  # C; the smaller, the more regularised
HELD_OUT = 5  # one training document in five of every label chooses C
ITERATIONS = 200


@dataclass(frozen=True)
class Classification:
    """What a classifier gets right on the test documents, 0..1."""

    accuracy: float
    macro_f1: float  # mean over the labels that a test document has or was given
    c: float  # inverse strength of the regularisation, chosen on training documents

    @property
    def error_rate(self) -> float:
        """The share of test documents that get another label than theirs."""
        return 1 - self.accuracy


def classify(
    train_vectors: Vectors,
    train_labels: np.ndarray,
    test_vectors: Vectors,
    test_labels: np.ndarray,
    seed: int = 0,
) -> Classification:
    """Fit scikit-learn's logistic regression to training documents and test it.

    vectors [N, F]; labels [N], where -1 is left out. Of `STRENGTHS` the one of highest
    accuracy on a fifth of the training documents, drawn by the seed, is taken, of
    equals the smallest; then it is fitted to all of them. Vectors are standardised by
    the mean and deviation of what is fitted; sparse ones are scaled only, not centred.
    """
    from sklearn.metrics import f1_score

    rows = labelled(train_vectors, train_labels, "training documents")
    train_vectors, train_labels = train_vectors[rows], train_labels[rows]
    rows = labelled(test_vectors, test_labels, "test documents")
    test_vectors, test_labels = test_vectors[rows], test_labels[rows]
    c = _choose(train_vectors, train_labels, np.random.default_rng(seed))
    predicted = _fit(train_vectors, train_labels, c).predict(test_vectors)
    return Classification(
        accuracy=float(np.mean(predicted == test_labels)),
        macro_f1=float(f1_score(test_labels, predicted, average="macro")),
        c=c,
    )


def _choose(vectors: Vectors, labels: np.ndarray, rng: np.random.Generator) -> float:
    held = _held_out(labels, rng)
    rest = np.setdiff1d(np.arange(len(labels)), held)

    def accuracy(c: float) -> float:
        predicted = _fit(vectors[rest], labels[rest], c).predict(vectors[held])
        return float(np.mean(predicted == labels[held]))

    return max(STRENGTHS, key=accuracy)


def _held_out(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one document in `HELD_OUT` of every label, rounded down."""
    kinds = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    if len(kinds) < 2 or max(map(len, kinds)) < HELD_OUT:
        sizes = f"{len(kinds)} labels, the most frequent with {max(map(len, kinds))}"
        raise InputError(
            f"a classifier needs training documents of two labels, {HELD_OUT} of one; "
            f"there are {sizes}"
        )
    return np.concatenate(
        [rng.permutation(kind)[: len(kind) // HELD_OUT] for kind in kinds]
    )


def _fit(vectors: Vectors, labels: np.ndarray, c: float) -> Any:
    """Return a fitted classifier; after `ITERATIONS` steps it is taken as it is."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(vectors))
    model = LogisticRegression(C=c, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(scaler, model).fit(vectors, labels)
