"""TDLM, the topically driven language model (Lau, Baldwin and Cohn, ACL 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import setting
from tcnlm.data.dataset import NO_WORD, Dataset
from tcnlm.data.rows import SequencesAndStretches
from tcnlm.layers.mixed_precision import MixedConv1D, MixedDense
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group, GroupedAdam, exclude, weights_of
from tcnlm.layers.softmax import adaptive_softmax, language_loss, of_targets
from tcnlm.layers.words import word_embedding
from tcnlm.models import lstm
from tcnlm.models.base import Model, Terms
from tcnlm.models.settings import SMALL_WORDS, SoftmaxSettings, WordSettings
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import Vocabulary

TOPIC_TARGETS = 3  # words that a topic vector predicts together; m1, released code
MOMENTUM = 0.99  # of the running mean of documents' vectors
STEP_TERMS = ("nll", "topic_model", "gradient_norm_0", "gradient_norm_1")


@dataclass(frozen=True)
class Config(SoftmaxSettings, WordSettings):
    """Settings of TDLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    num_topics: int = setting(100, "k, topics; Lau et al. 2017: 50, 100, 150", least=1)
    topic_size: int = setting(
        50, "b, size of a topic's vector; Lau et al. 2017", least=1
    )
    filters: int = setting(20, "a, filters of the convolution; released code", least=1)
    filter_width: int = setting(2, "h, words per filter; released code", least=1)
    topic_batches: str = setting(
        "published",
        "the topic model's: three words of a whole document each, mixed with those of "
        "sentences; or the sentences' own",
        choices=("published", "sentences"),
    )
    center_documents: bool = setting(
        False, "subtract documents' running mean; not published"
    )
    topic_dropout: float = setting(
        0.6,
        "of documents' embeddings and topic vector; released code",
        least=0,
        below=1,
    )


class TDLM(Model):
    """An LSTM language model gated with the topic vector of a convolved document.

    A document's content words, in order, are embedded and convolved; d [a] is each
    filter's maximum over time. Then, with A [a, k], B [k, b] and W [b, V],

        p = softmax(A^T d)       attention over topics
        s = B^T p                topic vector
        p(w | s) = softmax(W^T s + c)       of content words w

    and the LSTM's output h is fused with s before the softmax; see `TopicGate`. After
    the released code, since the paper's text could not be opened.

    As there, the topic model learns from batches of its own, mixed at random with those
    of the language model: one s of a whole document predicts three of its words in a
    row (`SequencesAndStretches`). Each model has an Adam of its own, the language
    model's for all weights but W and c; the topic model's gradients are not clipped.
    With topic_batches=sentences one batch serves both, the loss is the sum, and one
    Adam moves the topic model's weights. With center_documents=true A sees d less its
    running mean.
    """

    Config = Config
    test_config = {**SMALL_WORDS, "num_topics": 3, "topic_size": 4, "filters": 5}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = lstm.recurrent_layers(config)
        self.softmax = adaptive_softmax(len(vocabulary), config)
        self.topic_words = vocabulary.ids(vocabulary.topic_words)
        self.encoder = DocumentEncoder(len(self.topic_words), config)
        K = config.num_topics
        self.attention = MixedDense(K, "softmax", use_bias=False, name="A")
        self.vectors = MixedDense(config.topic_size, use_bias=False, name="B")
        self.words = MixedDense(len(vocabulary), name="W")
        self.gate = TopicGate(config.units, name="gate")
        if config.topic_batches == "published":
            self.trained_on = SequencesAndStretches(size=TOPIC_TARGETS)
            self.why_not_shardable = "topic_batches=published steps two models apart"
        elif config.center_documents:
            self.why_not_shardable = "center_documents takes means over whole batches"

    hidden, initial_state = lstm.LSTM.hidden, lstm.LSTM.initial_state

    def topics(self) -> tf.Tensor:
        """Return softmax(B W + c) over the topic vocabulary alone, [K, D]."""
        logits = self.words(self.vectors.kernel)
        return tf.nn.softmax(tf.gather(logits, self.topic_words, axis=1))

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return p [B, K] of topic-word ids in their order [B, C], -1 padding."""
        return self.attention(self.encoder(context))

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return the topic vector s [B, b]; where p is of one topic, its row of B."""
        p = batch["topics"] if "topics" in batch else self.infer(batch["context"])
        return self.vectors(p)

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, s), nats, [B, T]."""
        s = self.context(batch) if context is None else context
        h = self.hidden(batch, self.noise("words", batch, training))

        def gated(h: tf.Tensor, words: tf.Tensor, s: tf.Tensor) -> tf.Tensor:
            return self.softmax(self.gate(h, s), words)

        return of_targets(gated, batch["targets"], h, s)

    def topic_vector(self, batch: dict[str, tf.Tensor], training: bool) -> tf.Tensor:
        """Return s [B, b], with dropout in training."""
        noise = self.noise("topics", batch, training)
        drop = partial(noise.dropout, rate=self.config.topic_dropout)
        d = self.encoder(batch["context"], drop, training)
        return drop(self.vectors(self.attention(d)))

    def topic_loss(self, s: tf.Tensor, content: tf.Tensor) -> tf.Tensor:
        """Return -log p(w | s), nats a row, of topic-word ids [B, N]; -1 is no word."""
        words = tf.gather(self.topic_words, tf.maximum(content, 0))
        log_p = tf.gather(tf.nn.log_softmax(self.words(s)), words, batch_dims=1)
        total = -tf.reduce_sum(tf.where(content != NO_WORD, log_p, 0.0))
        return total / tf.cast(tf.shape(content)[0], total.dtype)

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return both losses' sum, "topic_model", nats a sequence; "nll", a target."""
        targets, s = batch["targets"], self.topic_vector(batch, training)
        log_p_y = self(batch, training=training, context=s)
        language, nll = language_loss(log_p_y, targets)
        topic = self.topic_loss(s, tf.gather(self.vocabulary.topic_ids, targets))
        return {"loss": language + topic, **nll, "topic_model": topic}

    def train_step(self, batch: dict[str, tf.Tensor]) -> Terms:
        """Take a step of the model a batch is for; the other's terms are zero."""
        if "content" not in batch:
            apart = self.config.topic_batches == "published"
            if apart and isinstance(self.optimizer, GroupedAdam):
                raise InputError(
                    "topic_batches=published learns from batches of both kinds, those "
                    "of `trained_on`; or set topic_batches=sentences"
                )
            return super().train_step(batch)
        if not isinstance(self.optimizer, GroupedAdam):
            raise InputError(
                "topic_batches=published steps two models apart, by an Adam each: "
                "compile() without an optimizer, or set topic_batches=sentences"
            )

        def topic() -> Terms:
            loss = self.topic_loss(self.topic_vector(batch, True), batch["content"])
            return {"loss": loss, "topic_model": loss}

        def language() -> Terms:
            log_p_y = self(batch, training=True, context=self.topic_vector(batch, True))
            loss, nll = language_loss(log_p_y, batch["targets"])
            return {"loss": loss, **nll}

        def down(loss_of: Callable[[], Terms], group: int, clip: bool) -> Terms:
            with tf.GradientTape() as tape:
                terms = loss_of()
            gradients = tape.gradient(terms["loss"], self.optimizer.groups[group])
            norms = self.optimizer.descend([gradients], group=group, clip=clip)
            return {**{name: tf.constant(0.0) for name in STEP_TERMS}, **terms, **norms}

        terms = tf.cond(
            tf.reduce_any(batch["content"] != NO_WORD),
            partial(down, topic, group=1, clip=False),
            partial(down, language, group=0, clip=True),
        )
        self.steps.assign_add(1)
        return terms

    def prepare(self, dataset: Dataset) -> None:
        """Start both tables of embeddings alike, as the published model does."""
        start_embeddings(self, dataset)
        start = tf.gather(self.embedding.embeddings, self.topic_words)
        self.encoder.embedding.embeddings.assign(start)

    def param_groups(self) -> list[Group]:
        """Return the language model's weights, all but W if published, and topics'."""
        topic = weights_of(self.encoder, self.attention, self.vectors, self.words)
        published = self.config.topic_batches == "published"
        apart = self.words.trainable_variables if published else topic
        rate = self.config.learning_rate
        return [(exclude(self.trainable_variables, apart), rate), (topic, rate)]

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        h, state = lstm.step_layers(self, token, state)
        return self.softmax.next_word(self.gate(h, constants)), state


class DocumentEncoder(tf.keras.layers.Layer):
    """Topic-word ids in order [B, C], -1 padding -> a document's vector d [B, a].

    A window of `width` words begins at every word; what lies beyond the last word is
    zero. d is each linear filter's maximum over the windows, and zero without a word.

    center_documents: take off a running mean of what d is in training, which is most of
    it: of many windows the largest is nearly the same in every document.
    """

    def __init__(self, num_words: int, config: Config, **kwargs: Any):
        super().__init__(**kwargs)
        self.width, self.center = config.filter_width, config.center_documents
        self.embedding = word_embedding(num_words, config, "document_embedding")
        start = tf.keras.initializers.TruncatedNormal(stddev=0.1)
        self.convolution = MixedConv1D(
            config.filters, self.width, kernel_initializer=start
        )
        if self.center:
            fitted = {"initializer": "zeros", "trainable": False}
            self.mean = self.add_weight("mean", [config.filters], **fitted)
            self.seen = self.add_weight("seen", [], **fitted)

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
        options = {"bias_initializer": "ones", "name": "gates"}
        self.gates = MixedDense(2 * units, "sigmoid", **options)
        self.candidate = MixedDense(units, "tanh", name="candidate")

    def call(self, hidden: tf.Tensor, vector: tf.Tensor) -> tf.Tensor:
        z, r = tf.split(self.gates(tf.concat([vector, hidden], axis=1)), 2, axis=1)
        candidate = self.candidate(tf.concat([vector, r * hidden], axis=1))
        return (1.0 - z) * hidden + z * candidate
