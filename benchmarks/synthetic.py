"""A DATA folder as large as the paper's IMDB (Table 1), of words without a meaning.

What decides the speed is drawn as measured on the 75,000 training reviews: the lengths
of sentences and documents (log-normal), and the words' frequencies (Zipf-Mandelbrot),
which set how many targets fall into each tail of the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preprocessing.encode import FORMAT_VERSION, write_meta
from preprocessing.vocabulary import SPECIALS, Vocabulary

# Mean and deviation of the logarithms.
SENTENCE = (2.832, 0.734)  # words
DOCUMENT = (2.336, 0.623)  # sentences
EXPONENT, SHIFT = 1.25, 5.0  # p(word of rank r) ~ (r + SHIFT)^-EXPONENT
LENGTH, CONTEXT = 30, 300  # of a sequence, targets; of its context, content words


@dataclass(frozen=True)
class Corpus:
    """How much to make."""

    sentences: int = 944_197
    words: int = 34_256  # V
    topic_words: int = 8_713  # D
    stop_words: int = 400  # so many most frequent words are no topic's


def write_data(folder: Path, corpus: Corpus, seed: int = 0) -> Path:
    """Write the folder, its validation split a thousandth of the training split."""
    rng = np.random.default_rng(seed)
    frequencies = _frequencies(corpus)
    for split, sentences in (
        ("train", corpus.sentences),
        ("valid", max(1, corpus.sentences // 1000)),
    ):
        (folder / split).mkdir(parents=True)
        for name, array in _arrays(rng, sentences, frequencies).items():
            np.save(folder / split / f"{name}.npy", array)
    _vocabulary(corpus, frequencies).save(folder)
    settings = {
        "sequence_length": LENGTH,
        "context_words": CONTEXT,
        "context": "others",
    }
    write_meta(folder, {"format_version": FORMAT_VERSION, "settings": settings})
    return folder


def _frequencies(corpus: Corpus) -> np.ndarray:
    """Return every word's probability; no text has a special symbol."""
    weights = (np.arange(1, corpus.words + 1) + SHIFT) ** -EXPONENT
    shifted = np.concatenate([np.zeros(len(SPECIALS)), weights[: -len(SPECIALS)]])
    return shifted / shifted.sum()


def _arrays(
    rng: np.random.Generator, sentences: int, frequencies: np.ndarray
) -> dict[str, np.ndarray]:
    lengths = _lengths(rng, SENTENCE, sentences)
    tokens = rng.choice(len(frequencies), lengths.sum(), p=frequencies)
    bounds = _bounds(_lengths(rng, DOCUMENT, sentences))
    return {
        "tokens": tokens.astype(np.int32),
        "sentences": _bounds(lengths),
        "documents": np.append(bounds[bounds < sentences], sentences),
    }


def _lengths(rng: np.random.Generator, log_normal: tuple, number: int) -> np.ndarray:
    return np.maximum(1, rng.lognormal(*log_normal, number).round().astype(np.int64))


def _bounds(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])


def _vocabulary(corpus: Corpus, frequencies: np.ndarray) -> Vocabulary:
    names = [f"w{rank}" for rank in range(corpus.words - len(SPECIALS))]
    counts = 1 + (1e7 * frequencies).astype(np.int64)
    first = corpus.stop_words
    topic_words = names[first : first + corpus.topic_words]
    return Vocabulary([*SPECIALS, *names], counts, topic_words)
