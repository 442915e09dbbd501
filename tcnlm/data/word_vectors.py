"""Word vectors to start from: a word2vec file, or made from the training text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from preprocessing.vocabulary import SPECIALS
from tcnlm.common.errors import InputError
from tcnlm.common.files import writing
from tcnlm.common.replacing import replacing
from tcnlm.data.dataset import Dataset, Split

if TYPE_CHECKING:  # gensim takes seconds to import: only where vectors are wanted
    from gensim.models import KeyedVectors


def starting_vectors(source: str, dataset: Dataset, size: int, seed: int) -> dict:
    """Return {word id: vector [size]} from `source`: "train" or a word2vec file."""
    if source == "train":
        vectors = train_vectors(dataset, size, seed)
        return {int(word): vectors[word] for word in vectors.index_to_key}
    vectors = read_vectors(Path(source), size)
    words = enumerate(dataset.vocabulary.words)
    return {i: vectors[word] for i, word in words if word in vectors}


def check_source(source: str, size: int) -> None:
    """Raise InputError where a source is a file without vectors of this size."""
    if source not in ("random", "train"):
        read_vectors(Path(source), size, limit=1)


def train_vectors(dataset: Dataset, size: int, seed: int) -> KeyedVectors:
    """Return skip-gram vectors of the training sentences, keyed by word id.

    One worker: gensim gives the same vectors again only without threads.
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        Sentences(dataset.split("train")),
        vector_size=size,
        min_count=1,
        sg=1,
        epochs=5,
        seed=seed,
        workers=1,
    )
    return model.wv


class Sentences:
    """The sentences of a split, again and again, as lists of id strings."""

    def __init__(self, split: Split):
        self.split = split

    def __iter__(self) -> Iterator[list[str]]:
        for index in range(self.split.num_documents):
            for sentence in self.split.document(index):
                yield [str(word) for word in sentence]


def write_vectors(path: Path, vectors: KeyedVectors, words: Sequence[str]) -> None:
    """Write vectors keyed by word id in word2vec's format, under the words."""
    from gensim.models import KeyedVectors

    named = KeyedVectors(vectors.vector_size)
    ids = vectors.index_to_key
    named.add_vectors([words[int(word)] for word in ids], vectors[ids])
    with writing(path), replacing(path) as aside:
        named.save_word2vec_format(str(aside), binary=_is_binary(path))


def read_vectors(path: Path, size: int, limit: int | None = None) -> KeyedVectors:
    """Read word2vec's text format, or its binary one where the name ends in .bin.

    limit: only so many vectors.
    """
    from gensim.models import KeyedVectors

    try:
        vectors = KeyedVectors.load_word2vec_format(
            str(path), binary=_is_binary(path), limit=limit
        )
    except (OSError, ValueError, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"--embeddings {path}: not a word2vec file: {error}") from None
    if vectors.vector_size != size:
        raise InputError(
            f"--embeddings {path}: vectors of size {vectors.vector_size}; "
            f"add --set embedding_size={vectors.vector_size}"
        )
    return vectors


def _is_binary(path: Path) -> bool:
    return ".bin" in path.suffixes


def fill(table: np.ndarray, vectors: dict[int, np.ndarray]) -> np.ndarray:
    """Return the table with the given rows put in; the specials keep their own.

    The vectors are brought to the table's scale, which decides how fast a recurrent
    layer learns and differs between word2vec files.
    """
    rows = [row for row in sorted(vectors) if row >= len(SPECIALS)]
    filled = table.copy()
    if rows:
        given = np.stack([vectors[row] for row in rows])
        filled[rows] = given * (table.std() / given.std())
    return filled
