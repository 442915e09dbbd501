"""What is read of documents: topic proportions, vectors, bags of words and labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np
from scipy import sparse
from scipy.special import entr

from tcnlm.common.errors import InputError
from tcnlm.common.files import write_arrays
from tcnlm.common.process import progress_bar
from tcnlm.data.dataset import Dataset, Split
from tcnlm.preprocessing.data_folder import NO_LABEL

Vectors = Union[np.ndarray, sparse.csr_matrix]  # a row for each document
BATCH = 64


@dataclass(frozen=True)
class DocumentTopics:
    """The topic proportions of all documents of a split."""

    proportions: np.ndarray  # [N, K], rows on the simplex
    has_words: np.ndarray  # [N] bool: with no topic word, the row is the model's prior

    @property
    def any(self) -> bool:
        """Whether a document has a topic word: else nothing can be said of topics."""
        return bool(self.has_words.any())

    @property
    def known(self) -> np.ndarray:
        """The proportions, NaN of documents without a topic word."""
        return np.where(self.has_words[:, None], self.proportions, np.nan)

    @property
    def largest(self) -> np.ndarray:
        """The largest topic of every document that has words, [n]."""
        return self.proportions[self.has_words].argmax(axis=1)

    @property
    def shares(self) -> np.ndarray:
        """The mean proportion of every topic, [K]; without topic words the prior's."""
        counted = self.has_words if self.any else ~self.has_words
        return self.proportions[counted].mean(axis=0)

    @property
    def in_use(self) -> int:
        """The number of topics that are the largest of at least one document."""
        return len(np.unique(self.largest))

    @property
    def effective(self) -> float:
        """The effective number of topics: exp(entropy of the mean shares), 1 .. K."""
        return float(np.exp(entr(self.shares).sum()))

    @property
    def largest_proportion(self) -> float:
        """The mean over documents of the largest proportion; 1/K if all are even."""
        real = self.proportions[self.has_words]
        return float(real.max(axis=1).mean()) if len(real) else 0.0


def infer_documents(model: Any, split: Split, batch_size: int = 256) -> DocumentTopics:
    """Return the proportions of every document of a split, from its content words."""
    rows, has_words = [], []
    batches = split.document_contexts(batch_size)
    total = math.ceil(split.num_documents / batch_size)
    for contexts in progress_bar(batches, "inferring topics", total, leave=False):
        rows.append(np.asarray(model.infer(contexts)))
        has_words.append((contexts >= 0).any(axis=1))
    return DocumentTopics(np.concatenate(rows), np.concatenate(has_words))


def document_vectors(model: Any, split: Split) -> np.ndarray:
    """Return the model's `features` of all documents of a split, [N, F]."""
    from tcnlm.data.rows import DocumentContexts, Documents, WholeDocuments
    from tcnlm.layers.tf_function import graph

    reads_all = model.offers("step") and model.offers("features")
    batching = Documents() if model.documental else DocumentContexts()
    batching = WholeDocuments() if reads_all else batching
    rows = batching.rows(split)
    features = graph(model.features, input_signature=[batching.signature()])
    found = features.get_concrete_function().structured_outputs
    vectors = np.zeros([split.num_documents, found.shape[1]], found.dtype.name)
    bar = {"unit": " batches", "leave": False}
    for chosen in progress_bar(rows.order(BATCH, None, 0), "reading documents", **bar):
        vectors[rows.documents[chosen]] = features(rows.batch(chosen))
    return vectors


def write_features(
    path: Path, vectors: np.ndarray, split: Split, data: Dataset
) -> None:
    """Write vectors [N, F], labels [N] with their names and ids [N], as .npz."""
    arrays: dict[str, Any] = {"vectors": vectors}
    if split.labels is not None:
        arrays["labels"] = split.labels
        arrays["label_names"] = np.array(data.meta["labels"], np.str_)
    if split.ids is not None:
        arrays["ids"] = np.array(split.ids, np.str_)
    write_arrays(path, arrays)


def labels_of(split: Split) -> np.ndarray:
    """Return the labels of a split; InputError where its DATA has none."""
    if split.labels is None:
        raise InputError(
            "this DATA has no labels: make it again, with the option --label FIELD of "
            "python -m preprocessing"
        )
    return split.labels


def labelled(vectors: Vectors, labels: np.ndarray, name: str) -> np.ndarray:
    """Return the rows of vectors that have a label; name: what they are, for errors."""
    if vectors.shape[0] != len(labels):
        raise InputError(f"{vectors.shape[0]} {name} have {len(labels)} labels")
    rows = np.flatnonzero(labels != NO_LABEL)
    if not len(rows):
        raise InputError(f"none of the {len(labels)} {name} has a label")
    numbers = vectors.data if sparse.issparse(vectors) else vectors
    if not np.isfinite(numbers).all():
        raise InputError(f"the vectors of {name} must be finite numbers")
    return rows


def count_vectors(documents: Sequence[np.ndarray], size: int) -> sparse.csr_matrix:
    """Return how often each of `size` words is in every document, [N, size]."""
    lengths = [len(document) for document in documents]
    words = np.concatenate([np.zeros(0, np.int64), *documents]).astype(np.int64)
    places = np.repeat(np.arange(len(documents)), lengths), words
    return sparse.csr_matrix((np.ones(len(words)), places), (len(documents), size))


def log_count_vectors(documents: Sequence[np.ndarray], size: int) -> sparse.csr_matrix:
    """Return round(ln(1 + n)) of counts n, what Larochelle and Lauly's data hold."""
    vectors = count_vectors(documents, size)
    vectors.data = np.rint(np.log1p(vectors.data))
    return vectors


def bag_of_words(split: Split) -> sparse.csr_matrix:
    """Return the `log_count_vectors` [N, D] of a split's content words."""
    contents = [split.content(i) for i in range(split.num_documents)]
    return log_count_vectors(contents, split.num_topic_words)
