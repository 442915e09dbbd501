"""The contracts that the scripts know: models of sentences, of topics, of documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.settings import Settings
from tcnlm.data.batching import Batching
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Dataset
from tcnlm.data.documents import Documents, WholeDocuments
from tcnlm.data.sequences import Sequences
from tcnlm.data.windows import Windows
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.layers.next_word import NextWord
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.layers.tf_function import graph
from tcnlm.preprocessing.vocabulary import Vocabulary

Terms = dict[str, tf.Tensor]


class Method(tf.keras.Model):
    """What is trained, saved and loaded: an ordinary Keras model with a `train_step`.

    A subclass offers what is abstract here and in the contracts below, or it cannot be
    made; `batch` is what `tcnlm.data` yields. Loops over tensors are `tf.while_loop`,
    or in a `tf.function` of their own.
    """

    Config: type[Settings]
    TINY: dict[str, Any] = {}  # settings with which tests sweep over all methods
    LOOP: dict[str, Any] = {}  # other defaults of the training loop's settings
    reads_order = True  # whether it learns from words in the order of a text
    paper = ""  # key in references.bib, if not its own name
    per_word: str
    batching: Batching = Sequences()  # what a row of its batches is
    part: Any = None  # the rows of a global batch that this process has, if not all

    @property
    def trained_on(self) -> Batching:
        """What a row of the batches is that it learns from, if not `batching`."""
        return self.batching

    @abstractmethod
    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return terms of a batch: "loss", which falls as it learns, and others.

        One is `per_word`, a mean over `count_words(batch)` words: that is what an epoch
        is judged by.
        """

    @abstractmethod
    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the number of words that the term `per_word` is a mean of."""

    @abstractmethod
    def build_weights(self) -> None:
        """Make every weight."""

    @abstractmethod
    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return a vector of every document of a batch, [B, F]."""

    def __init__(self, config: Settings, vocabulary: Vocabulary, seed: int = 0):
        _check_complete(type(self))
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.initial_seed = seed
        self.noise = tf.random.Generator.from_seed(seed, alg="philox")
        self.steps = tf.Variable(0, trainable=False, dtype=tf.int64, name="steps")

    def check(self) -> None:
        """Refuse by InputError, before anything is written, what cannot be trained."""

    def undivided(self) -> str:
        """Return why rows of a batch cannot be learned from apart and summed, if so."""
        sentences = isinstance(self.batching, (Sequences, Windows))
        return "" if sentences else "a row of its batches is no sequence of words"

    def prepare(self, dataset: Dataset) -> None:
        """Set before training what the data decides; by default nothing."""

    def feature_parts(self) -> dict[str, int]:
        """Return what `features` puts side by side, and the size of each part."""
        return {}

    def state_apart(self) -> AbstractContextManager:
        """Return a context that leaves what batches leave to the next as it was."""
        return nullcontext()

    def get_config(self) -> dict[str, Any]:
        """Return the settings, for Keras."""
        return {"config": asdict(self.config), "seed": self.initial_seed}

    def parameters(self) -> list[tf.Variable]:
        """Return what was learned from data: the trained weights, and any fitted."""
        return self.trainable_variables

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return (weights, learning rate) for each group with an Adam of its own."""
        return [(self.trainable_variables, self.config.learning_rate)]

    def train_step(self, batch: dict[str, tf.Tensor], optimizer: GroupedAdam) -> Terms:
        """Take one step down the objective; return its terms and gradient norms."""
        return self.descend(*self.learn(batch, optimizer), optimizer)

    def learn(
        self, batch: dict[str, tf.Tensor], optimizer: GroupedAdam
    ) -> tuple[Terms, list[list]]:
        """Return the objective's terms and the loss's gradients, a list a group."""
        with tf.GradientTape() as tape:
            terms = self.objective(batch, training=True)
        return terms, tape.gradient(terms["loss"], optimizer.weights)

    def descend(
        self, terms: Terms, gradients: list[list], optimizer: GroupedAdam
    ) -> Terms:
        """Take one step down gradients; return the terms with the gradient norms."""
        norms = optimizer.descend(gradients)
        self.steps.assign_add(1)
        return {**terms, **norms}

    @contextmanager
    def having(self, part: Any) -> Iterator[None]:
        """Learn from some rows of a global batch, with the random draws of them all."""
        self.part = part
        try:
            yield
        finally:
            self.part = None

    @cached_property
    def evaluated(self) -> Callable[[dict[str, tf.Tensor]], Terms]:
        """The objective of a batch, not trained on, as one graph for all times."""
        return graph(
            lambda batch: self.objective(batch, training=False),
            input_signature=[self.batching.signature()],
        )

    def risen(self, steps: int, training: bool) -> tf.Tensor:
        """Return what a weight that rises over `steps` has come to, 0..1; else 1."""
        if not training or not steps:
            return tf.constant(1.0)
        return tf.minimum(tf.cast(self.steps, tf.float32) / steps, 1.0)

    def seed(self) -> tf.Tensor:
        """Draw a seed for a stateless random operation, [2]."""
        return self.noise.make_seeds()[:, 0]

    def dropout(
        self, values: tf.Tensor, rate: float, training: bool, shared: bool = False
    ) -> tf.Tensor:
        """Drop a share of values, by a generator that checkpoints restore.

        shared: the values are the same for all rows of a batch.
        """
        if not training or not rate:
            return values
        seed, drop = self.seed(), tf.nn.experimental.stateless_dropout
        if self.part is None or shared:
            return drop(values, rate, seed)
        return values * self.part.of_all(values, lambda n: drop(tf.ones(n), rate, seed))

    def draw(self, mean: tf.Tensor, log_variance: tf.Tensor) -> tf.Tensor:
        """Draw from Gaussians, a dimension each, by that generator."""
        seed, normal = self.seed(), tf.random.stateless_normal
        if self.part is None:
            noise = normal(tf.shape(mean), seed)
        else:
            noise = self.part.of_all(mean, lambda shape: normal(shape, seed))
        return mean + tf.exp(0.5 * log_variance) * noise


class LanguageModel(Method):
    """p(sentence | context), one word at a time; "nll" in its objective: nats a target.

    Where it also has topics it offers `context_from_topics(topics)` too, and where they
    are drawn `sample_context(batch)`, the context of one draw.
    """

    per_word = "nll"
    document_batching: Batching = WholeDocuments()

    @abstractmethod
    def context(self, batch: dict[str, tf.Tensor]) -> Any:
        """Return what the words of each row are predicted from beside each other."""

    @abstractmethod
    def log_probs(
        self,
        inputs: tf.Tensor,
        targets: tf.Tensor,
        context: Any,
        training: bool = False,
    ) -> tf.Tensor:
        """Return log p(target), nats, [B, T]; zero where the target is padding."""

    @abstractmethod
    def initial_state(self, batch_size: Any) -> Any:
        """Return the state before the first word of each row."""

    @abstractmethod
    def step(self, token: tf.Tensor, state: Any, context: Any) -> tuple[tf.Tensor, Any]:
        """Return log p of every next word [B, V], and the state after `token` [B].

        context: what `for_steps` made of the one of `log_probs`.
        """

    def next_word(
        self, token: tf.Tensor, state: Any, context: Any, forbidden: Sequence[int]
    ) -> tuple[NextWord, Any]:
        """Return what `step` does, to be drawn from without some words.

        A model that can draw without log p of every word overrides it.
        """
        log_probs, state = self.step(token, state, context)
        return NextWord(lambda: log_probs, forbidden), state

    @property
    def reads_document(self) -> bool:
        """Whether, without topics, it can be given a document to write from."""
        return self.batching.reads_before

    def batch_log_probs(
        self, batch: dict[str, tf.Tensor], context: Any, training: bool = False
    ) -> tf.Tensor:
        """Return `log_probs` of a batch; a model that carries its state goes on."""
        return self.log_probs(batch["inputs"], batch["targets"], context, training)

    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the number of targets."""
        return int(np.count_nonzero(batch["targets"]))

    def for_steps(self, context: Any) -> Any:
        """Return a context for `step`, with all that is the same for every word."""
        return context


class TopicModel:
    """Topics over the topic vocabulary and their shares in a document.

    In the bases of a language model it comes first, so that its features are shares.
    """

    document_batching: Batching = Documents()

    @abstractmethod
    def infer(self, bow: tf.Tensor) -> tf.Tensor:
        """Return the topic proportions [B, K] of bags of words [B, D]."""

    @abstractmethod
    def topics(self) -> tf.Tensor:
        """Return the topics [K, D], rows on the simplex."""

    def context_from_topics(self, topics: tf.Tensor) -> Any:
        """Return a language model's context of proportions [B, K], for `step`."""
        raise NotImplementedError(f"{type(self).__name__} writes nothing from topics")

    def bag(self, context: tf.Tensor) -> tf.Tensor:
        """Return the counts [B, D] of topic-word ids [B, C], where -1 is padding."""
        return bag_of_words(context, len(self.vocabulary.topic_words))

    def infer_context(self, context: tf.Tensor) -> tf.Tensor:
        """Return the topic proportions [B, K] of topic-word ids [B, C].

        Here those of their bag; a model that goes by the words' order overrides it.
        """
        return self.infer(self.bag(context))

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the topic proportions [B, K] of the documents of a batch."""
        return self.infer_context(content_words(batch))


class TopicHierarchy(TopicModel):
    """Topics in layers, numbered from 1, the lowest, up; those of each from 0.

    Where theta moves `over_sentences` it offers `weighted(proportions)`, its theta, and
    `moved(theta, seed)`, too.
    """

    sizes: tuple[int, ...]  # topics of each layer
    over_sentences: bool

    @abstractmethod
    def topics(self, layer: int = 1) -> tf.Tensor:
        """Return the topics [K_l, D] of a layer, rows on the simplex."""

    @abstractmethod
    def theta(self, context: tf.Tensor) -> list[tf.Tensor]:
        """Return every layer's weights [B, K_l] of topic-word ids [B, C]."""

    @abstractmethod
    def context_of_theta(self, theta: list[tf.Tensor]) -> Any:
        """Return the context of weights [..., K_l] of every layer, for `log_probs`."""

    @abstractmethod
    def context_from_layers(self, proportions: list[tf.Tensor]) -> Any:
        """Return that of proportions [..., K_l] of every layer, for `step`."""

    @abstractmethod
    def links(self, layer: int) -> np.ndarray:
        """Return Phi [K_(l-1), K_l] of a layer above the first."""

    @abstractmethod
    def transitions(self, layer: int) -> np.ndarray | None:
        """Return Pi [K_l, K_l] of a layer; None where theta does not move."""

    @abstractmethod
    def states(self, inputs: tf.Tensor, theta: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return every LSTM layer's state [B, T, H_l] after each word id [B, T]."""


class DocumentModel(Method):
    """p(words of a document), and its vector; "nll" in its objective: nats a word."""

    per_word = "nll"
    reads_order = False
    batching = document_batching = Documents()

    @abstractmethod
    def read(self, words: tf.Tensor) -> tf.Tensor:
        """Return the words [B, N] that it counts, the rest padding."""

    @abstractmethod
    def log_probs(self, batch: dict[str, tf.Tensor], seed: Any = (0, 0)) -> tf.Tensor:
        """Return log p of the words, nats, [B, N], in orders that the seed draws."""

    @abstractmethod
    def word_vectors(self) -> np.ndarray:
        """Return how much each topic word says of every unit of the vector, [D, F]."""

    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the number of words that the model counts."""
        return int(np.count_nonzero(self.read(batch["words"]) != NO_WORD))

    def build_weights(self) -> None:
        """Make every weight by one pass over a document of one word."""
        self.objective({"words": tf.constant([[0]])}, training=False)
        self.built = True


class TopicsAlone(TopicModel, Method):
    """A topic model that writes no sentences; it learns from content words alone.

    They are those of the contexts of sequences or, where its batching says so, of whole
    documents. "loss" in its objective is a mean over them.
    """

    per_word = "loss"
    reads_order = False

    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the number of content words."""
        return int(np.count_nonzero(content_words(batch) >= 0))

    def build_weights(self) -> None:
        """Make every weight by one pass over a context of one word."""
        batch = self.batching.empty(1)
        for name in {"context", "words"} & batch.keys():
            batch[name] = tf.zeros_like(batch[name])
        self.infer_context(tf.constant([[0]]))
        self.objective(batch, training=False)
        self.built = True


def _check_complete(kind: type) -> None:
    """Raise TypeError where a model lacks what its contracts ask of it."""
    lacking = [
        name
        for name in dir(kind)
        if getattr(getattr(kind, name, None), "__isabstractmethod__", False)
    ]
    if lacking:
        raise TypeError(f"{kind.__name__} does not have {', '.join(lacking)}")


def content_words(batch: dict[str, Any]) -> Any:
    """Return the topic-word ids [B, N] of a batch: whole documents', or contexts'."""
    return batch["words"] if "words" in batch else batch["context"]


def without(weights: list[tf.Variable], removed: list[tf.Variable]) -> list:
    """Return the weights that are not among those removed, in order."""
    references = {weight.ref() for weight in removed}
    return [weight for weight in weights if weight.ref() not in references]


def apart(
    group: tuple[list[tf.Variable], float], layers: list[Any], share: float
) -> list[tuple[list[tf.Variable], float]]:
    """Return a group without the layers' weights, and those at a share of its rate."""
    weights, rate = group
    own = [weight for layer in layers for weight in layer.trainable_variables]
    return [(without(weights, own), rate), (own, share * rate)]


def language_terms(log_probs: tf.Tensor, targets: tf.Tensor) -> tuple[tf.Tensor, Terms]:
    """Return the language model's loss, nats a sequence, and {"nll": nats a target}."""
    total = -tf.reduce_sum(log_probs)
    count = tf.math.count_nonzero(targets, dtype=tf.float32)
    batch = tf.cast(tf.shape(targets)[0], tf.float32)
    return total / batch, {"nll": total / tf.maximum(count, 1.0)}
