"""Word vectors to start from: a word2vec file, or made from the training text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.data.dataset import Dataset, Split
from tcnlm.preprocessing.vocabulary import SPECIALS

if TYPE_CHECKING:  # gensim takes seconds to import: only where vectors are wanted
    from gensim.models import KeyedVectors

WordVectors = dict[int, np.ndarray]  # of word ids

EPOCHS = 5  # of word2vec
SMALLEST = 1e-12  # deviation or length of vectors; less are all the same


def starting_vectors(
    source: str, dataset: Dataset, size: int, seed: int
) -> WordVectors:
    """Return {word id: vector [size]} from `source`: "train" or a word2vec file."""
    if source == "train":
        vectors = train_vectors(dataset, size, seed)
        return {int(word): vectors[word] for word in vectors.index_to_key}
    vectors = read_vectors(Path(source), size)
    read_vectors.cache_clear()  # millions of words, of which few are wanted
    words = enumerate(dataset.vocabulary.words)
    return {i: vectors[word] for i, word in words if word in vectors}


def check_source(source: str, size: int, words: Sequence[str]) -> None:
    """Raise InputError where a source is a file without such vectors of any words."""
    if source not in ("random", "train"):
        vectors = read_vectors(Path(source), size)  # kept for `starting_vectors`
        if not any(word in vectors for word in words):
            raise InputError(
                f"--embeddings {source}: has none of the {len(words):,} words of DATA, "
                f"such as {words[0]!r}; its first is {vectors.index_to_key[0]!r}"
            )


def train_vectors(dataset: Dataset, size: int, seed: int) -> KeyedVectors:
    """Return skip-gram vectors of the training sentences, keyed by word id.

    One worker: with threads gensim gives others every time. A bag of words is a
    sentence in an order drawn anew, whose windows are draws from the whole document.
    """
    from gensim.models import Word2Vec

    orders = None if dataset.word_order else np.random.default_rng(seed)
    split, passes = dataset.split("train"), EPOCHS + 1  # the first counts words
    total = passes * split.num_documents
    with progress_bar(total=total, desc="word vectors", leave=False) as bar:
        model = Word2Vec(
            Sentences(split, orders, bar.update),
            vector_size=size,
            min_count=1,
            sg=1,
            epochs=EPOCHS,
            seed=seed,
            workers=1,
        )
    return model.wv


class Sentences:
    """The sentences of a split, again and again, as lists of id strings.

    orders: draws the order of their words, None leaves the text's; read: called after
    every document.
    """

    def __init__(
        self, split: Split, orders: np.random.Generator | None, read: Callable[[], Any]
    ):
        self.split, self.orders, self.read = split, orders, read

    def __iter__(self) -> Iterator[list[str]]:
        for index in range(self.split.num_documents):
            for sentence in self.split.document(index):
                if self.orders:
                    self.orders.shuffle(sentence)
                yield [str(word) for word in sentence]
            self.read()


@lru_cache(maxsize=1)
def read_vectors(path: Path, size: int) -> KeyedVectors:
    """Read word2vec's text format, or its binary one (.bin); InputError if damaged."""
    from gensim.models import KeyedVectors

    said, binary = f"--embeddings {path}", ".bin" in path.suffixes
    try:
        vectors = KeyedVectors.load_word2vec_format(path, binary=binary)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise InputError(f"{said}: not a word2vec file: {error}") from None
    if vectors.vector_size != size:
        raise InputError(
            f"{said}: vectors of size {vectors.vector_size}; add --set "
            f"embedding_size={vectors.vector_size}"
        )
    finite = np.isfinite(vectors.vectors).all(axis=1)
    if not finite.all():
        word = vectors.index_to_key[int(np.argmin(finite))]
        raise InputError(f"{said}: the vector of {word!r} is not finite")
    if not np.ptp(vectors.vectors):
        raise InputError(f"{said}: all entries of all vectors are equal")
    return vectors


def fill(table: np.ndarray, vectors: WordVectors) -> np.ndarray:
    """Return the table with the given rows put in, at its scale, but for the specials.

    The scale decides how fast a recurrent layer learns; word2vec files differ in it.
    """
    rows = [row for row in sorted(vectors) if row >= len(SPECIALS)]
    filled = table.copy()
    if rows:
        given = np.stack([vectors[row] for row in rows])
        filled[rows] = given * (table.std() / max(given.std(), SMALLEST))
    return filled


def similarities(vectors: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Return how near words [D, E], of length 1, are to each k-means centre: [K, D].

    A row is the cosines to one centre, less their mean and over their deviation.
    """
    from sklearn.cluster import KMeans  # takes a second to import
    from sklearn.exceptions import ConvergenceWarning

    words = to_length_one(vectors)
    with warnings.catch_warnings():  # of words that are alike, some topics start so
        warnings.simplefilter("ignore", ConvergenceWarning)
        clustered = KMeans(clusters, n_init=3, random_state=seed).fit(words)
    cosines = to_length_one(clustered.cluster_centers_) @ words.T
    centred = cosines - cosines.mean(axis=1, keepdims=True)
    return centred / np.maximum(centred.std(axis=1, keepdims=True), 1e-6)


def to_length_one(vectors: np.ndarray) -> np.ndarray:
    """Return vectors [N, E] over their lengths."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, SMALLEST)
