"""The neural topic model of Cao et al. (AAAI 2015): topics, and no sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Contexts, Dataset
from tcnlm.data.rows import Documents
from tcnlm.data.word_vectors import SMALLEST, starting_vectors, to_length_one
from tcnlm.layers.mixed_precision import MixedDense, matmul
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.models.base import Model, Terms
from tcnlm.preprocessing.vocabulary import Vocabulary

START = 2.0  # deviation of a topic's logits before training; docs/deviations.md


@dataclass(frozen=True)
class Config(Settings):
    """Settings of NTM; the paper could not be opened, so all are open."""

    num_topics: int = setting(100, "TCNLM, Table 4: 50, 100 and 150 topics", least=1)
    embedding_size: int = setting(300, "size of word vectors", least=1)
    embeddings: str = setting(
        "train", 'word vectors: "train" (word2vec) or a word2vec file'
    )
    margin: float = setting(
        0.5, "margin of the hinge loss; theirs, not verified", above=0
    )
    learning_rate: float = setting(1e-3, "Adam's", above=0)


class NTM(Model):
    """Words and documents have topics; a word's are its documents' more than others'.

        lt(g) = sigmoid(le(g) W2)              topics of a word, le its word2vec vector
        ld(d) = softmax(d W1 / |d|)            topics of a document of words d [D]
        s(g, d) = lt(g) . ld(d)
        loss = max(0, 1/2 - s(g, d) + s(g, d'))          g in d and not in d'

    a mean over the words g of all documents; d' is another document of the batch, and
    a word that is in both counts as nought. The topics are lt, each divided by its sum
    over the words. At random starts all topics are one of two: before training W2 and
    W1 are put at clusters of the vectors, a topic each (`start_at_clusters`).

    Of the published model only a summary was to be had: there W1 has a row for each
    training document. Here W1 [D, K] has one for each word and a document takes the
    mean of its words' rows: any document has topics. Words stand for n-grams.
    """

    Config = Config
    test_config = {"num_topics": 3, "embedding_size": 5}
    reads_order, per_word, batching = False, "loss", Documents()
    why_not_shardable = "a row's negative example is another row of the batch"
    least_rows = 2

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        if config.embeddings == "random":
            raise InputError("embeddings=random: ntm starts at vectors of words")
        self.num_words = len(vocabulary.topic_words)
        K, size = config.num_topics, config.embedding_size
        self.words = WordTopics(self.num_words, size, K, name="words")
        self.documents = MixedDense(K, "softmax", use_bias=False, name="W1")

    def prepare(self, dataset: Dataset) -> None:
        """Start at the words' vectors; a word that has none keeps its draw."""
        c, seed = self.config, self.initial_seed
        vectors = starting_vectors(c.embeddings, dataset, c.embedding_size, seed)
        table = self.words.le.numpy()
        for row, word in enumerate(self.vocabulary.ids(self.vocabulary.topic_words)):
            table[row] = vectors.get(word, table[row])
        start_at_clusters(self, table, dataset.split("train").contexts)

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return ld [B, K] of topic-word ids [B, N], -1 padding."""
        return self._of_bags(bag_of_words(context, self.num_words))

    def _of_bags(self, bow: tf.Tensor) -> tf.Tensor:
        length = tf.reduce_sum(bow, axis=1, keepdims=True)
        return self.documents(tf.math.divide_no_nan(bow, length))

    def topics(self) -> tf.Tensor:
        """Return lt as distributions over the words: [K, D]."""
        by_topic = tf.transpose(self.words(tf.range(self.num_words)))
        return by_topic / tf.reduce_sum(by_topic, axis=1, keepdims=True)

    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the content words; a document alone has none to be compared with."""
        return super().count_words(batch) * (len(batch["words"]) >= self.least_rows)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": the hinge, a content word}; d' is drawn or else the next."""
        bow = bag_of_words(batch["words"], self.num_words)
        scores = matmul(
            self._of_bags(bow), self.words(tf.range(self.num_words)), transpose_b=True
        )
        noise = self.noise("negatives", batch, training)
        shift = noise.integer(tf.shape(bow)[0]) if training else 1
        other_bow, other_scores = (tf.roll(x, shift, axis=0) for x in (bow, scores))
        hinge = tf.nn.relu(self.config.margin - scores + other_scores)
        counted = tf.where(other_bow > 0, 0.0, bow * hinge)
        total = tf.reduce_sum(counted)
        return {"loss": tf.math.divide_no_nan(total, tf.reduce_sum(bow))}


def start_at_clusters(model: NTM, vectors: np.ndarray, contexts: Contexts) -> None:
    """Give a model words' vectors [D, E], and start each topic at a cluster of them.

    With c_k the centre of the k-th of K clusters of le, every word weighing as often as
    it stands in the training documents, the logits of lt are le . c_k by their
    deviation over the running words, those of ld the same centred over documents by
    their deviation there, both times `START`. Topics beyond the words that there are
    keep their draws.
    """
    from sklearn.cluster import KMeans  # takes a second to import

    bags = contexts.counts(len(vectors))
    counts = np.bincount(contexts.words, minlength=len(vectors))
    le = to_length_one(vectors - np.average(vectors, axis=0, weights=counts))
    used = le[counts > 0]
    number = min(model.config.num_topics, len(np.unique(used, axis=0)))
    clusters = KMeans(number, n_init=1, random_state=model.initial_seed)
    centres = clusters.fit(used, sample_weight=counts[counts > 0]).cluster_centers_.T
    near = le @ centres
    lengths = np.diff(contexts.first)
    filled = lengths > 0
    by_document = (bags @ near)[filled] / lengths[filled, None]
    W1, W2 = model.documents.kernel.numpy(), model.words.W2.numpy()
    started = centres.shape[1]
    W2[:, :started] = START * centres / _deviation(near, counts)
    W1[:, :started] = near - by_document.mean(axis=0)
    W1[:, :started] *= START / _deviation(by_document)
    model.words.le.assign(le)
    model.words.W2.assign(W2)
    model.documents.kernel.assign(W1)


def _deviation(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    from_mean = values - np.average(values, axis=0, weights=weights)
    variance = np.average(from_mean**2, axis=0, weights=weights)
    return np.maximum(np.sqrt(variance), SMALLEST)


class WordTopics(tf.keras.layers.Layer):
    """lt(g) = sigmoid(le(g) W2): every word's topics, [D, K], each in 0..1.

    `le` [D, E], the words' vectors, is given and not trained: centred over the running
    words, each of length one. `W2` [E, K].
    """

    def __init__(self, num_words: int, size: int, num_topics: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.shapes = [num_words, size], [size, num_topics]

    def build(self, input_shape: Any) -> None:
        given = {"initializer": "normal", "trainable": False}
        self.le = self.add_weight("le", self.shapes[0], **given)
        self.W2 = self.add_weight("W2", self.shapes[1])
        self.built = True

    def call(self, words: tf.Tensor) -> tf.Tensor:
        """Return lt [N, K] of topic-word ids [N]."""
        return tf.sigmoid(matmul(tf.gather(self.le, words), self.W2))
