"""What a hierarchy of topics is: its tree, how it moves, and what its LSTM does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from preprocessing.vocabulary import GO, SPECIALS, UNK
from tcnlm.data.dataset import Dataset, Split
from tcnlm.measures.topics import DocumentTopics
from tcnlm.models.base import TopicHierarchy
from tcnlm.models.sentence_topics import theta_of_sentences
from tcnlm.models.topics import top_words

SHOWN_WORDS = 10  # of a topic
SHOWN_LINKS = 4  # of a topic: the topics below it, and those that follow
MOST_SENTENCES = 30  # of the sample document
FEWEST_SENTENCES = 5
SENTENCE = range(8, 31)  # words of the sample sentence
ROWS = 64

Link = list[float]  # a topic and a weight


def hierarchy(model: TopicHierarchy, dataset: Dataset, split: Split) -> dict[str, Any]:
    """Return the layers' topics, the lowest first, and a sample document's weights.

    Every topic has its words by Phi^1 ... Phi^l, "use", its mean proportion of theta^l
    over the split's documents, "below", the largest of its column of Phi^l, "next", the
    largest of its column of Pi^l but itself, and "stays", itself.
    """
    layers = [_layer(model, n, use) for n, use in enumerate(_use(model, split), 1)]
    names, sample = model.vocabulary.words, _sample(split)
    document = [[names[word] for word in s] for s in split.document(sample) if s]
    document = document[:MOST_SENTENCES]
    settings = {**dataset.meta["settings"], "context": split.contexts.rule}
    theta = theta_of_sentences(model, document, settings)
    return {
        "layers": layers,
        "document": {
            "document": sample,
            "sentences": [" ".join(words) for words in document],
            "proportions": [_rounded(_shares(each)) for each in theta],
        },
        "norms": _norms(model, document, theta),
    }


def _use(model: TopicHierarchy, split: Split) -> list[np.ndarray]:
    """Return the mean proportions of every layer's topics over documents."""
    rows, has_words = [], []
    for contexts in split.document_contexts(ROWS):
        rows.append(map(_shares, model.theta(contexts)))
        has_words.append((contexts >= 0).any(axis=1))
    known = np.concatenate(has_words)
    layers = map(np.concatenate, zip(*rows))
    return [DocumentTopics(layer, known).shares for layer in layers]


def _layer(model: TopicHierarchy, layer: int, use: np.ndarray) -> list[dict[str, Any]]:
    Phi = model.network.Phi[layer - 1].numpy() if layer > 1 else None
    Pi = model.network.Pi[layer - 1].numpy() if model.over_sentences else None
    return [
        {
            "topic": k,
            "words": words,
            "use": float(use[k]),
            "below": [] if Phi is None else _largest(Phi[:, k]),
            "next": [] if Pi is None else _largest(Pi[:, k], without=k),
            "stays": None if Pi is None else float(Pi[k, k]),
        }
        for k, words in enumerate(top_words(model, SHOWN_WORDS, layer))
    ]


def _largest(column: np.ndarray, without: int | None = None) -> list[Link]:
    """Return the largest entries of a column, with their rows."""
    order = [int(k) for k in np.argsort(-column, kind="stable") if k != without]
    return [[k, float(column[k])] for k in order[:SHOWN_LINKS] if column[k] > 0]


def _sample(split: Split) -> int:
    """Return the first document of several sentences, or else the longest."""
    sizes = np.diff(split.documents)
    enough = np.flatnonzero(sizes >= FEWEST_SENTENCES)
    return int(enough[0] if len(enough) else np.argmax(sizes))


def _norms(
    model: Any, document: Sequence[Sequence[str]], theta: Sequence[tf.Tensor]
) -> dict[str, Any]:
    """Return the norm of every LSTM's state, after each word of one sentence.

    Of h, before it is coupled (Guo et al., figure 4).
    """
    chosen = _readable(document)
    context = model.context_of_theta([each[chosen : chosen + 1] for each in theta])
    words = document[chosen][: SENTENCE.stop - 1]
    outputs, norms = (
        model.embedding(tf.constant([[GO, *model.vocabulary.ids(words)]])),
        [],
    )
    for layer, weights in zip(model.recurrent, context):
        norms.append(_rounded(tf.norm(layer.lstm(outputs)[0, 1:], axis=-1)))
        outputs = layer((outputs, weights))
    return {"words": list(words), "norms": norms}


def _readable(document: Sequence[Sequence[str]]) -> int:
    """Return the sentence with the fewest unknown words, of those of fitting length."""
    fitting = [j for j, words in enumerate(document) if len(words) in SENTENCE]
    unknown = SPECIALS[UNK]
    return min(fitting or [0], key=lambda j: document[j].count(unknown))


def _shares(theta: tf.Tensor) -> np.ndarray:
    return (theta / tf.reduce_sum(theta, axis=-1, keepdims=True)).numpy()


def _rounded(values: Any) -> list:
    return np.round(np.asarray(values, float), 5).tolist()
