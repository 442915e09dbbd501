"""Word vectors to start from: a word2vec file, or made from the training text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.files import replacing, writing
from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.dataset import Dataset, Split
from tcnlm.preprocessing.vocabulary import SPECIALS

if TYPE_CHECKING:  # gensim takes seconds to import: only where vectors are wanted
    from gensim.models import KeyedVectors

WordVectors = dict[int, np.ndarray]  # of word ids

EPOCHS = 5  # of word2vec
SMALLEST = 1e-12  # deviation of vectors; less are all the same


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


def check_source(source: str, size: int) -> None:
    """Raise InputError where a source is a file without vectors of this size.

    What it reads is kept for `starting_vectors`.
    """
    if source not in ("random", "train"):
        read_vectors(Path(source), size)


def train_vectors(dataset: Dataset, size: int, seed: int) -> KeyedVectors:
    """Return skip-gram vectors of the training sentences, keyed by word id.

    One worker: gensim gives the same vectors again only without threads. A bag of
    words is a sentence in an order drawn anew every time, whose windows then are draws
    from the whole document.
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
        self,
        split: Split,
        orders: np.random.Generator | None,
        read: Callable[[], Any],
    ):
        self.split, self.orders, self.read = split, orders, read

    def __iter__(self) -> Iterator[list[str]]:
        for index in range(self.split.num_documents):
            for sentence in self.split.document(index):
                if self.orders:
                    self.orders.shuffle(sentence)
                yield [str(word) for word in sentence]
            self.read()


def write_vectors(path: Path, vectors: KeyedVectors, words: Sequence[str]) -> None:
    """Write vectors keyed by word id in word2vec's format, under the words."""
    from gensim.models import KeyedVectors

    named = KeyedVectors(vectors.vector_size)
    ids = vectors.index_to_key
    named.add_vectors([words[int(word)] for word in ids], vectors[ids])
    with writing(path), replacing(path) as aside:
        named.save_word2vec_format(str(aside), binary=_is_binary(path))


@lru_cache(maxsize=1)
def read_vectors(path: Path, size: int) -> KeyedVectors:
    """Read word2vec's text format, or its binary one where the name ends in .bin.

    Raises InputError where it is none, or a number in it is not finite.
    """
    from gensim.models import KeyedVectors

    try:
        _check_number(path)
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=_is_binary(path))
    except (OSError, ValueError, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"--embeddings {path}: not a word2vec file: {error}") from None
    if vectors.vector_size != size:
        raise InputError(
            f"--embeddings {path}: vectors of size {vectors.vector_size}; "
            f"add --set embedding_size={vectors.vector_size}"
        )
    _check_values(path, vectors)
    return vectors


def _check_number(path: Path) -> None:
    """Raise ValueError where a file is too small for the vectors that it promises."""
    if _is_packed(path):
        return
    with path.open("rb") as file:
        numbers = file.readline(100).split()
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        raise ValueError("line 1 is not the number and the size of its vectors")
    number, size = map(int, numbers)
    least = 2 + size * (4 if _is_binary(path) else 2)  # bytes of a vector
    if number * least > path.stat().st_size + least:
        raise ValueError(
            f"line 1 promises {number} vectors of size {size}, for which the file is "
            "too short"
        )


def _check_values(path: Path, vectors: KeyedVectors) -> None:
    values, line = vectors.vectors, ""
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        word = vectors.index_to_key[int(np.argmin(finite))]
        if not _is_binary(path) and not _is_packed(path):
            with path.open(encoding="utf-8") as file:
                numbered = enumerate(file, 1)
                line = next(
                    f":{n}" for n, row in numbered if row.startswith(f"{word} ")
                )
        raise InputError(
            f"--embeddings {path}{line}: the vector of {word!r} has entries that are "
            "no finite numbers; mend or remove it"
        )
    if not values.size or float(values.min()) == float(values.max()):
        raise InputError(
            f"--embeddings {path}: all entries of all vectors are the same number; "
            "give vectors that tell words apart"
        )


def _is_binary(path: Path) -> bool:
    return ".bin" in path.suffixes


def _is_packed(path: Path) -> bool:
    return path.suffix in (".gz", ".bz2", ".xz")


def fill(table: np.ndarray, vectors: WordVectors) -> np.ndarray:
    """Return the table with the given rows put in; the specials keep their own.

    The vectors are brought to the table's scale, which decides how fast a recurrent
    layer learns and differs between word2vec files.
    """
    rows = [row for row in sorted(vectors) if row >= len(SPECIALS)]
    filled = table.copy()
    if rows:
        given = np.stack([vectors[row] for row in rows])
        filled[rows] = given * (table.std() / max(given.std(), SMALLEST))
    return filled


def similarities(vectors: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Return how near every word is to each of k-means' centres: [K, D].

    vectors [D, E], brought to length 1 before. A row is the cosines to one centre, less
    their mean and over their deviation.
    """
    from sklearn.cluster import KMeans  # takes a second to import
    from sklearn.exceptions import ConvergenceWarning

    words = _to_length_one(vectors)
    with warnings.catch_warnings():  # of words that are alike, some topics start so
        warnings.simplefilter("ignore", ConvergenceWarning)
        clustered = KMeans(clusters, n_init=3, random_state=seed).fit(words)
    cosines = _to_length_one(clustered.cluster_centers_) @ words.T
    centred = cosines - cosines.mean(axis=1, keepdims=True)
    return centred / np.maximum(centred.std(axis=1, keepdims=True), 1e-6)


def _to_length_one(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)
