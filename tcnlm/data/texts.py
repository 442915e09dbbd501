"""Tokenized documents, not of a DATA folder, as a split: in memory, by a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tcnlm.data.dataset import Split
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.vocabulary import Vocabulary

Tokens = list[list[str]]  # a document: sentences of words


def split_of(
    documents: Sequence[Tokens],
    vocabulary: Vocabulary,
    preprocessing: Mapping[str, Any],
) -> Split:
    """Return documents as a split; words that a vocabulary lacks are unknown.

    preprocessing: sequence_length, context and context_words, as in DATA/meta.json.
    """
    sentences = [sentence for document in documents for sentence in document]
    words = [word for sentence in sentences for word in sentence]
    arrays = Arrays(
        np.array(vocabulary.ids(words), np.int32),
        np.cumsum([0, *map(len, sentences)]),
        np.cumsum([0, *map(len, documents)]),
    )
    return Split(arrays, vocabulary, preprocessing)
