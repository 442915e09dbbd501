"""A classifier on documents' vectors: what a linear model can read off them."""

from __future__ import annotations

import numpy as np

from preprocessing.errors import InputError
from tcnlm.evaluation.retrieval import labelled

ITERATIONS = 2000  # at most, of the solver


def classify(
    train: np.ndarray, labels: np.ndarray, test: np.ndarray, test_labels: np.ndarray
) -> dict[str, float]:
    """Return accuracy and macro F1 of a logistic regression on vectors [N, F].

    scikit-learn's, with its settings, on features brought to mean 0 and deviation 1 in
    training: else the scale of a model's units would set the penalty. Documents
    without a label are left out.
    """
    # Only where it is asked for: it takes a second to import.
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train, labels = labelled("training documents", train, labels)
    test, test_labels = labelled("test documents", test, test_labels)
    if len(np.unique(labels)) < 2:
        raise InputError("training documents: all have the same label")
    regression = LogisticRegression(max_iter=ITERATIONS)
    model = make_pipeline(StandardScaler(), regression).fit(train, labels)
    found = model.predict(test)
    return {
        "accuracy": float(accuracy_score(test_labels, found)),
        "macro_f1": float(f1_score(test_labels, found, average="macro")),
    }
