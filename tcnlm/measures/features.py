"""A vector of every document: what retrieval and classification read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.common.files import write_arrays
from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.dataset import Dataset, Split
from tcnlm.layers.graphs import graph

BATCH = 64


def document_vectors(model: Any, split: Split) -> np.ndarray:
    """Return the model's `features` of all documents of a split, [N, F].

    That of a document without words is zero.
    """
    rows = model.document_batching.rows(split)
    features = graph(
        model.features, input_signature=[model.document_batching.signature()]
    )
    found = features.get_concrete_function().structured_outputs
    shape = split.num_documents, found.shape[1]
    vectors = np.zeros(shape, found.dtype.as_numpy_dtype)
    bar = {"unit": " batches", "leave": False}
    for chosen in progress_bar(rows.order(BATCH, None, 0), "reading documents", **bar):
        vectors[rows.documents[chosen]] = features(rows.batch(chosen))
    return vectors


def write_features(
    path: Path, vectors: np.ndarray, split: Split, data: Dataset
) -> None:
    """Write vectors [N, F], labels [N] with their names, and ids [N] as an .npz file.

    What DATA does not have is left out.
    """
    arrays: dict[str, Any] = {"vectors": vectors}
    if split.labels is not None:
        arrays["labels"] = split.labels
        arrays["label_names"] = np.array(data.meta["labels"], np.str_)
    if split.ids is not None:
        arrays["ids"] = np.array(split.ids, np.str_)
    write_arrays(path, arrays)
