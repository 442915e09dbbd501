"""Classifiers of documents by their vectors: logistic, and a small network."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.metrics.features import Vectors, labelled

if TYPE_CHECKING:
    import tensorflow as tf

STRENGTHS = (0.0001, 0.001, 0.01, 0.1, 1.0)  # C; the smaller, the more regularised
HELD_OUT = 5  # one training document in five of every label chooses C
ITERATIONS = 200
UNITS = 50  # Dieng et al. 2017, after Le and Mikolov 2014
EPOCHS, PATIENCE, BATCH = 60, 5, 32
LEARNING_RATE = 1e-3  # of Adam; the paper has none


@dataclass(frozen=True)
class Classification:
    """What a classifier gets right on the test documents, 0..1."""

    accuracy: float
    macro_f1: float  # mean over the labels that a test document has or was given
    c: float | None = None  # inverse strength of logistic regression's regularisation

    @property
    def error_rate(self) -> float:
        """The share of test documents that get another label than theirs."""
        return 1 - self.accuracy


def figures(
    labels: np.ndarray, predicted: np.ndarray, c: float | None = None
) -> Classification:
    """Return what predicted labels [N] get right."""
    from sklearn.metrics import f1_score

    return Classification(
        accuracy=float(np.mean(predicted == labels)),
        macro_f1=float(f1_score(labels, predicted, average="macro")),
        c=c,
    )


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
    train_vectors, train_labels = usable(train_vectors, train_labels, "training")
    test_vectors, test_labels = usable(test_vectors, test_labels, "test")
    c = _choose(train_vectors, train_labels, np.random.default_rng(seed))
    predicted = _fit(train_vectors, train_labels, c).predict(test_vectors)
    return figures(test_labels, predicted, c)


def usable(
    vectors: Vectors, labels: np.ndarray, name: str
) -> tuple[Vectors, np.ndarray]:
    """Return the vectors and labels of the documents that have one."""
    rows = labelled(vectors, labels, f"{name} documents")
    return vectors[rows], labels[rows]


def _choose(vectors: Vectors, labels: np.ndarray, rng: np.random.Generator) -> float:
    held = held_out(labels, rng)
    rest = np.setdiff1d(np.arange(len(labels)), held)

    def accuracy(c: float) -> float:
        predicted = _fit(vectors[rest], labels[rest], c).predict(vectors[held])
        return float(np.mean(predicted == labels[held]))

    return max(STRENGTHS, key=accuracy)


def held_out(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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


def classify_by_network(
    train_vectors: np.ndarray,
    train_labels: np.ndarray,
    test_vectors: np.ndarray,
    test_labels: np.ndarray,
    seed: int = 0,
) -> Classification:
    """Train the network on training documents and test it.

    vectors [N, F]; labels [N], where -1 is left out. A fifth of the training documents,
    drawn by the seed, says when to stop: after `PATIENCE` epochs without a lower loss
    on it; the weights of the best epoch are tested. Vectors are standardised
    by the mean and deviation of the rest, dimensions that never change left out.
    """
    train_vectors, train_labels = usable(train_vectors, train_labels, "training")
    test_vectors, test_labels = usable(test_vectors, test_labels, "test")
    held = held_out(train_labels, np.random.default_rng(seed))
    rest = np.setdiff1d(np.arange(len(train_labels)), held)
    kinds, numbers = np.unique(train_labels, return_inverse=True)
    mean, deviation = train_vectors[rest].mean(axis=0), train_vectors[rest].std(axis=0)
    moving = deviation > 0

    def standard(vectors: np.ndarray) -> np.ndarray:
        return ((vectors - mean)[:, moving] / deviation[moving]).astype(np.float32)

    model = _network(len(kinds), seed)
    vectors = standard(train_vectors)
    model.fit(
        vectors[rest],
        numbers[rest],
        BATCH,
        EPOCHS,
        verbose=0,
        validation_data=(vectors[held], numbers[held]),
        callbacks=[_stop()],
    )
    scores = model.predict(standard(test_vectors), batch_size=1024, verbose=0)
    return figures(test_labels, kinds[scores.argmax(axis=1)])


def _network(kinds: int, seed: int) -> tf.keras.Model:
    import tensorflow as tf

    tf.keras.utils.set_random_seed(seed)  # of the start and of the batches
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(UNITS, "sigmoid"), tf.keras.layers.Dense(kinds)]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    adam = tf.keras.optimizers.Adam(LEARNING_RATE)
    model.compile(adam, loss, metrics=["accuracy"])
    return model


def _stop() -> tf.keras.callbacks.Callback:
    import tensorflow as tf

    return tf.keras.callbacks.EarlyStopping(
        "val_loss", patience=PATIENCE, restore_best_weights=True
    )
