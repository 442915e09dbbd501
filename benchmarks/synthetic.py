"""A DATA folder as large as the paper's IMDB (Table 1), of words without a meaning.

What decides the speed is drawn as measured on the 75,000 training reviews: the lengths
of sentences and documents (log-normal), and the words' frequencies (Zipf-Mandelbrot),
which set how many targets fall into each tail of the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tcnlm.preprocessing.collect import Arrays, counts_of
from tcnlm.preprocessing.data_folder import fingerprint, save_arrays, write_meta
from tcnlm.preprocessing.vocabulary import EOS, SPECIALS, Vocabulary

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
    """Write the folder, its held-out splits a thousandth of the training split."""
    rng = np.random.default_rng(seed)
    frequencies = _frequencies(corpus)
    held_out = max(1, corpus.sentences // 1000)
    sizes = {"train": corpus.sentences, "valid": held_out, "test": held_out}
    splits = {name: _arrays(rng, size, frequencies) for name, size in sizes.items()}
    folder.mkdir(parents=True)
    vocabulary = _vocabulary(corpus, splits["train"])
    vocabulary.save(folder)
    for name, arrays in splits.items():
        save_arrays(folder / name, arrays)
    settings = {
        "sequence_length": LENGTH,
        "context": "others",
        "context_words": CONTEXT,
    }
    meta = {
        "command": "benchmarks/synthetic.py",
        "settings": settings,
        "vocabulary_size": len(vocabulary),
        "topic_vocabulary_size": len(vocabulary.topic_words),
        "fingerprint": fingerprint(folder, settings),
    }
    counts = {name: counts_of(arrays, LENGTH) for name, arrays in splits.items()}
    write_meta(folder, {**meta, "splits": counts})
    return folder


def _frequencies(corpus: Corpus) -> np.ndarray:
    """Return every word's probability; no text has a special symbol."""
    weights = (np.arange(1, corpus.words + 1) + SHIFT) ** -EXPONENT
    shifted = np.concatenate([np.zeros(len(SPECIALS)), weights[: -len(SPECIALS)]])
    return shifted / shifted.sum()


def _arrays(
    rng: np.random.Generator, sentences: int, frequencies: np.ndarray
) -> Arrays:
    lengths = _lengths(rng, SENTENCE, sentences)
    tokens = rng.choice(len(frequencies), lengths.sum(), p=frequencies)
    bounds = _bounds(_lengths(rng, DOCUMENT, sentences))
    documents = np.append(bounds[bounds < sentences], sentences)
    return Arrays(tokens.astype(np.int32), _bounds(lengths), documents)


def _lengths(rng: np.random.Generator, log_normal: tuple, number: int) -> np.ndarray:
    return np.maximum(1, rng.lognormal(*log_normal, number).round().astype(np.int64))


def _bounds(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])


def _vocabulary(corpus: Corpus, train: Arrays) -> Vocabulary:
    names = [f"w{rank}" for rank in range(corpus.words - len(SPECIALS))]
    counts = np.bincount(train.tokens, minlength=corpus.words)
    counts[EOS] = len(train.sentences) - 1
    first = corpus.stop_words
    topic_words = names[first : first + corpus.topic_words]
    return Vocabulary([*SPECIALS, *names], counts, topic_words)
