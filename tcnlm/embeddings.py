"""Word embeddings to start from: a word2vec file, or made from the training text.

As a program it makes that file, so that several runs on the same data need not each
make the vectors anew: `--embeddings FILE` then starts a run as `--embeddings train`
would with the same seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors, Word2Vec

from preprocessing.errors import InputError, errors_reported
from preprocessing.vocabulary import SPECIALS
from tcnlm.dataset import Dataset
from tcnlm.files import replacing


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the vectors and write the file."""
    options = parser().parse_args(arguments)
    dataset = Dataset(options.data)
    vectors = train_vectors(dataset, options.size, options.seed)
    write_vectors(options.out, vectors, dataset.vocabulary.words)
    print(f"{options.out}: {len(vectors):,} vectors of size {options.size}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    described = "Make word2vec vectors (skip-gram) of a data folder's training text."
    parsed = argparse.ArgumentParser(
        "python -m tcnlm.embeddings", description=described
    )
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path, help="folder made by preprocessing")
    add("--out", metavar="FILE", type=Path, required=True, help="binary if named .bin")
    add(
        "--size",
        metavar="N",
        type=int,
        default=300,
        help="numbers a word (default: 300)",
    )
    add(
        "--seed", metavar="N", type=int, default=1, help="that of the runs (default: 1)"
    )
    return parsed


def starting_vectors(source: str, dataset: Any, size: int, seed: int) -> dict:
    """Return {word id: vector [size]} from `source`: "train" or a word2vec file."""
    if source == "train":
        vectors = train_vectors(dataset, size, seed)
        return {int(word): vectors[word] for word in vectors.index_to_key}
    vectors = read_vectors(Path(source), size)
    words = enumerate(dataset.vocabulary.words)
    return {i: vectors[word] for i, word in words if word in vectors}


def train_vectors(dataset: Any, size: int, seed: int) -> KeyedVectors:
    """Return skip-gram vectors of the training sentences, keyed by word id.

    One worker: gensim gives the same vectors again only without threads.
    """
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

    def __init__(self, split: Any):
        self.split = split

    def __iter__(self) -> Iterator[list[str]]:
        for index in range(self.split.num_documents):
            for sentence in self.split.document(index):
                yield [str(word) for word in sentence]


def write_vectors(path: Path, vectors: KeyedVectors, words: Sequence[str]) -> None:
    """Write vectors keyed by word id in word2vec's format, under the words."""
    named = KeyedVectors(vectors.vector_size)
    ids = vectors.index_to_key
    named.add_vectors([words[int(word)] for word in ids], vectors[ids])
    with replacing(path) as aside:
        named.save_word2vec_format(str(aside), binary=_is_binary(path))


def read_vectors(path: Path, size: int) -> KeyedVectors:
    """Read word2vec's text format, or its binary one where the name ends in .bin."""
    try:
        vectors = KeyedVectors.load_word2vec_format(str(path), binary=_is_binary(path))
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


if __name__ == "__main__":
    with errors_reported():
        main()
