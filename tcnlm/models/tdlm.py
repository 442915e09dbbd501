"""TDLM, the topically driven language model (Lau, Baldwin and Cohn, ACL 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.batching import Batching
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Dataset
from tcnlm.data.sequences import SequencesAndStretches
from tcnlm.layers.mixed_precision import Conv1D, Dense
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.models import lstm
from tcnlm.models.base import Terms, TopicModel, language_terms, without
from tcnlm.preprocessing.vocabulary import Vocabulary

TOPIC_TARGETS = 3  # words that a topic vector predicts together; m1, released code
MOMENTUM = 0.99  # of the running mean of documents' vectors
STEP_TERMS = ("nll", "topic_model", "gradient_norm_0", "gradient_norm_1")


@dataclass(frozen=True)
class Config(lstm.RecurrentConfig):
    """Settings of TDLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    num_topics: int = setting(
        100, "k; Lau et al. 2017: 50, 100 and 150 topics", least=1
    )
    topic_size: int = setting(
        50, "b, numbers of a topic's vector; Lau et al. 2017", least=1
    )
    filters: int = setting(20, "a, of the convolution; released code", least=1)
    filter_width: int = setting(2, "h, words of a filter; released code", least=1)
    topic_batches: str = setting(
        "published",
        "of the topic model: three words of a whole document each, mixed with those of "
        "sentences; or the sentences' own",
        choices=("published", "sentences"),
    )
    center_documents: bool = setting(
        False,
        "take the running mean off documents' vectors: topics part; published: no",
    )
    topic_dropout: float = setting(
        0.6,
        "dropout of document embeddings and topic vector; released code",
        least=0,
        below=1,
    )


class TDLM(TopicModel, lstm.LSTMLanguageModel):
    """An LSTM language model gated with the topic vector of a convolved document.

    A document's content words, in order, are embedded and convolved; d [a] is each
    filter's maximum over time. Then, with A [a, k], B [k, b] and W [b, V],

        p = softmax(A^T d)       attention over topics
        s = B^T p                topic vector
        p(w | s) = softmax(W^T s + c)       of content words w

    and the LSTM's output h is fused with s before the softmax; see `TopicGate`. The
    paper's equations are without numbers here: its text could not be opened, and the
    released code speaks for it.

    As there, the topic model learns from batches of its own, mixed at random with those
    of the language model: one s of a whole document predicts three of its words in a
    row, which the document holds (`SequencesAndStretches`). Each model has an Adam of
    its own, the language model's for all weights but W and c; the topic model's
    gradients are not clipped. The language model's document is the context, without the
    sentence itself. With topic_batches=sentences one batch serves both: s of a
    sentence's context predicts its content words too, the loss is the sum, and the
    topic model's weights are moved by one Adam.

    Published so, A^T d is mostly one constant for all documents; the attention falls
    on one topic alone early in training. With center_documents=true A sees d less
    its running mean.

    Departs from the published model: filters don't see padding; documents have
    an embedding for topic words only, no others being left; the language model ends in
    the adaptive softmax that all systems have here.
    """

    Config = Config
    TINY = {**lstm.LSTM.TINY, "num_topics": 3, "topic_size": 4, "filters": 5}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.topic_words = vocabulary.ids(vocabulary.topic_words)
        self.encoder = DocumentEncoder(
            len(vocabulary.topic_words),
            config.embedding_size,
            config.embedding_scale,
            config.filters,
            config.filter_width,
            config.center_documents,
        )
        self.attention = Dense(config.num_topics, "softmax", use_bias=False, name="A")
        self.vectors = Dense(config.topic_size, use_bias=False, name="B")
        self.words = Dense(len(vocabulary.words), name="W")
        self.gate = TopicGate(config.units, name="gate")

    def fuse(self, hidden: tf.Tensor, context: Any) -> Any:
        """Return h fused with s."""
        return self.gate(hidden, context)

    def infer_context(self, context: tf.Tensor) -> tf.Tensor:
        """Return p [B, K] of ordered topic-word ids [B, C], where -1 is padding."""
        return self.attention(self.encoder(context))

    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return p [B, K] of bags [B, D], their words in the vocabulary's order.

        A bag has lost its own order; `infer_context` is the one to ask for documents.
        """
        return self.infer_context(words_of(bow))

    def topics(self) -> tf.Tensor:
        """Return softmax(B W + c) over the topic vocabulary alone, [K, D]."""
        logits = self.words(self.vectors.kernel)
        return tf.nn.softmax(tf.gather(logits, self.topic_words, axis=1))

    def context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the topic vector s [B, b]."""
        return self.context_from_topics(self.infer_context(batch["context"]))

    def context_from_topics(self, topics: tf.Tensor) -> tf.Tensor:
        """Return s of attention p [B, K]; of one topic alone, its row of B."""
        return self.vectors(topics)

    @property
    def trained_on(self) -> Batching:
        """Sequences, and stretches of documents between them unless set otherwise."""
        if self.config.topic_batches == "sentences":
            return self.batching
        return SequencesAndStretches(size=TOPIC_TARGETS)

    def train_step(self, batch: dict[str, tf.Tensor], optimizer: GroupedAdam) -> Terms:
        """Take one step, of the model that the batch is for; for sentences of both.

        The terms and gradient norms of the other model are zero.
        """
        if "content" not in batch:
            return super().train_step(batch, optimizer)

        def topic() -> Terms:
            vector = self._topic_vector(batch["context"], True)
            loss = self._topic_loss(vector, batch["content"])
            return {"loss": loss, "topic_model": loss}

        def language() -> Terms:
            vector = self._topic_vector(batch["context"], True)
            return self._language_terms(batch, vector, True)

        def down(objective: Callable[[], Terms], **chosen: Any) -> Terms:
            with tf.GradientTape() as tape:
                terms = objective()
            norms = optimizer.minimize(terms["loss"], tape, **chosen)
            return {**{name: tf.constant(0.0) for name in STEP_TERMS}, **terms, **norms}

        terms = tf.cond(
            tf.reduce_any(batch["content"] != NO_WORD),
            partial(down, topic, group=1, clip=False),
            partial(down, language, group=0),
        )
        self.steps.assign_add(1)
        return terms

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return both losses' sum and "topic_model", nats a sequence; "nll", a target.

        "topic_model" is -log p(w | s) of the sequence's content words.
        """
        vector = self._topic_vector(batch["context"], training)
        language = self._language_terms(batch, vector, training)
        content = tf.gather(self.vocabulary.topic_ids, batch["targets"])
        topic = self._topic_loss(vector, content)
        return {**language, "loss": language["loss"] + topic, "topic_model": topic}

    def _language_terms(self, batch: Any, vector: tf.Tensor, training: bool) -> Terms:
        """Return {"loss": nats a sequence, "nll": nats a target}."""
        targets = batch["targets"]
        log_probs = self.log_probs(batch["inputs"], targets, vector, training)
        loss, nll = language_terms(log_probs, targets)
        return {"loss": loss, **nll}

    def _topic_vector(self, context: tf.Tensor, training: bool) -> tf.Tensor:
        """Return s [B, b], with dropout in training."""

        def drop(values: tf.Tensor) -> tf.Tensor:
            return self.dropout(values, self.config.topic_dropout, training)

        document = self.encoder(context, drop, training)
        return drop(self.vectors(self.attention(document)))

    def undivided(self) -> str:
        """Return why its batches are learned from whole."""
        if self.config.topic_batches == "published":
            return "topic_batches=published steps each of its two models by itself"
        if self.config.center_documents:
            return "center_documents=true goes by the means of whole batches"
        return super().undivided()

    def _topic_loss(self, vector: tf.Tensor, content: tf.Tensor) -> tf.Tensor:
        """Return -log p(w | s), nats a row, of topic-word ids [B, N]; -1 is no word."""
        words = tf.gather(self.topic_words, tf.maximum(content, 0))
        log_probs = tf.nn.log_softmax(self.words(vector))
        found = tf.gather(log_probs, words, batch_dims=1)
        total = -tf.reduce_sum(tf.where(content != NO_WORD, found, 0.0))
        return total / tf.cast(tf.shape(content)[0], total.dtype)

    def prepare(self, dataset: Dataset) -> None:
        """Start both tables of embeddings alike, as the published model does."""
        super().prepare(dataset)
        start = tf.gather(self.embedding.embeddings, self.topic_words)
        self.encoder.embedding.embeddings.assign(start)

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the language model's weights and the topic model's.

        By published batches the former are all but W, since s is learned by both.
        """
        parts = self.encoder, self.attention, self.vectors, self.words
        topic = [weight for part in parts for weight in part.trainable_variables]
        published = self.config.topic_batches == "published"
        apart = self.words.trainable_variables if published else topic
        rate = self.config.learning_rate
        return [(without(self.trainable_variables, apart), rate), (topic, rate)]


class DocumentEncoder(tf.keras.layers.Layer):
    """Topic-word ids in order [B, C], -1 padding -> a document's vector d [B, a].

    A window of `width` words begins at every word; what lies beyond the last word is
    zero. d is each linear filter's maximum over the windows, and zero without a word.

    center: take off a running mean of what d is in training, which is most of it: of
    many windows the largest is nearly the same in every document.
    """

    def __init__(
        self,
        num_words: int,
        size: int,
        scale: float,
        filters: int,
        width: int,
        center: bool = False,
    ):
        super().__init__()
        initializers = tf.keras.initializers
        self.embedding = tf.keras.layers.Embedding(
            num_words,
            size,
            embeddings_initializer=initializers.RandomUniform(-scale, scale),
            name="document_embedding",
        )
        self.convolution = Conv1D(
            filters, width, kernel_initializer=initializers.TruncatedNormal(stddev=0.1)
        )
        self.width = width
        self.center = center

    def build(self, input_shape: Any) -> None:
        """Make the running mean, if there is to be one."""
        if self.center:
            shape = [self.convolution.filters]
            self.mean = self.add_weight("mean", shape, None, "zeros", trainable=False)
            self.seen = self.add_weight("seen", [], None, "zeros", trainable=False)
        self.built = True

    def call(
        self,
        context: tf.Tensor,
        drop: Callable[[tf.Tensor], tf.Tensor] = tf.identity,
        training: bool = False,
    ) -> tf.Tensor:
        """Return d; in training `drop` may drop parts of the embeddings."""
        real = (context >= 0)[:, :, None]
        words = drop(self.embedding(tf.maximum(context, 0)))
        words = tf.where(real, words, 0.0)
        windows = self.convolution(tf.pad(words, [[0, 0], [0, self.width - 1], [0, 0]]))
        highest = tf.reduce_max(tf.where(real, windows, windows.dtype.min), axis=1)
        has_words = tf.reduce_any(real, axis=1)
        if self.center:
            if training:
                self._follow(tf.boolean_mask(highest, has_words[:, 0]))
            highest -= self.mean
        return tf.where(has_words, highest, 0.0)

    def _follow(self, vectors: tf.Tensor) -> None:
        """Move the mean towards that of vectors [B, a]: of the first batches alike."""
        number = tf.cast(tf.shape(vectors)[0], tf.float32)
        mean = tf.math.divide_no_nan(tf.reduce_sum(vectors, axis=0), number)
        self.seen.assign_add(tf.sign(number))
        share = tf.math.divide_no_nan(tf.sign(number), self.seen)
        share = tf.maximum(share, (1.0 - MOMENTUM) * tf.sign(number))
        self.mean.assign_add(share * (mean - self.mean))


class TopicGate(tf.keras.layers.Layer):
    """Hidden states h [N, H] and topic vectors s [N, b] -> h' [N, H], as in a GRU.

    z, r = sigmoid([s; h] Wg + bg)                          bg starts at one
    c = tanh([s; r * h] Wc + bc)
    h' = (1 - z) * h + z * c
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.gates = Dense(2 * units, "sigmoid", bias_initializer="ones", name="gates")
        self.candidate = Dense(units, "tanh", name="candidate")

    def call(self, hidden: tf.Tensor, vector: tf.Tensor) -> tf.Tensor:
        """Return h'; see the class."""
        z, r = tf.split(self.gates(tf.concat([vector, hidden], axis=1)), 2, axis=1)
        candidate = self.candidate(tf.concat([vector, r * hidden], axis=1))
        return (1.0 - z) * hidden + z * candidate


def words_of(bow: tf.Tensor) -> tf.Tensor:
    """Return topic-word ids [B, C], padded with -1, of counts [B, D], in id order."""
    counts = tf.cast(bow, tf.int32)
    ids = tf.range(tf.size(counts)) % tf.shape(counts)[1]
    words = tf.repeat(ids, tf.reshape(counts, [-1]))
    return tf.RaggedTensor.from_row_lengths(
        words, tf.reduce_sum(counts, axis=1)
    ).to_tensor(-1)
