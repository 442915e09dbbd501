"""A classifier with one hidden layer of 50 sigmoid units on vectors of documents."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tcnlm.measures.classification import Classification, figures, held_out, usable

UNITS = 50  # Dieng et al. 2017, after Le and Mikolov 2014
EPOCHS, PATIENCE, BATCH = 60, 5, 32
LEARNING_RATE = 1e-3  # of Adam; the paper has none


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
    tf.keras.utils.set_random_seed(seed)  # of the start and of the batches
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(UNITS, "sigmoid"), tf.keras.layers.Dense(kinds)]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    adam = tf.keras.optimizers.Adam(LEARNING_RATE)
    model.compile(adam, loss, metrics=["accuracy"])
    return model


def _stop() -> tf.keras.callbacks.Callback:
    return tf.keras.callbacks.EarlyStopping(
        "val_loss", patience=PATIENCE, restore_best_weights=True
    )
