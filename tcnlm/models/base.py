"""What every system here is: a Keras model, and the ten methods that it may offer.

`METHODS` are all that programs, metrics and the decoder ask of a system: of sentences
`call`, `context`, `initial_state` and `step`; of topics `infer` and `topics`; of
documents `features`; of training `compute_loss`, `prepare` and `param_groups`. A batch
is a dict of what `tcnlm.data` yields.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.settings import Settings, from_json
from tcnlm.data.batching import Batching
from tcnlm.data.dataset import NO_WORD, Dataset
from tcnlm.data.rows import Sequences
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group, GroupedAdam, Training
from tcnlm.layers.softmax import language_loss
from tcnlm.layers.tf_function import graph
from tcnlm.preprocessing.vocabulary import Vocabulary

METHODS = (
    "prepare param_groups compute_loss call context initial_state step infer topics "
    "features"
).split()
Terms = dict[str, tf.Tensor]


class Model(tf.keras.Model):
    """A system: what it states of itself, and the methods that it may offer.

    Loops over tensors are `tf.while_loop`, or in a `tf.function` of their own.
    """

    Config: type[Settings]
    test_config: dict[str, Any] = {}  # settings with which tests sweep over all systems
    training_defaults: dict[str, Any] = {}  # of the training loop's settings
    reads_order = True  # whether it learns from words in the order of a text
    per_word = "nll"  # the loss's term, a mean over words, that judges an epoch
    batching: Batching = Sequences()  # what a row of its batches is
    trained_on: Batching | None = None  # the same of those it learns from, if others
    least_rows = 1  # of a batch that something is learned from
    why_not_shardable = ""  # why rows cannot be learned from apart and summed, if so
    draws_topics = False  # whether `context` draws, given noise
    layered = False  # whether its topics are in layers: see gbn_rnn.py
    documental = False  # whether `call` gives log p of a document's words
    feature_parts: dict[str, int] = {}  # what `features` puts side by side
    fitted: tuple[tf.Variable, ...] = ()  # learned from data, but by no gradient

    def __init__(self, config: Settings, vocabulary: Vocabulary, seed: int = 0):
        super().__init__()
        self.config, self.vocabulary, self.initial_seed = config, vocabulary, seed
        self.carried: Any = None  # state for the next batch; a class's is not tracked
        self.steps = tf.Variable(0, trainable=False, dtype=tf.int64, name="steps")

    def prepare(self, dataset: Dataset) -> None:
        """Set before training what the data decides; by default nothing."""

    def param_groups(self) -> list[Group]:
        """Return (weights, learning rate) for each group with an Adam of its own."""
        weights = self.trainable_variables
        return [(weights, self.config.learning_rate)] if weights else []

    def compute_loss(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return terms of a batch: "loss", which falls as it learns, and others.

        One is `per_word`, a mean over `count_words(batch)` words. By default minus
        log p of the targets: "loss" in nats a row, "nll" a target.
        """
        loss, nll = language_loss(self(batch, training=training), batch["targets"])
        return {"loss": loss, **nll}

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p of every target, nats, [B, T]; zero where it is padding.

        context: what `context` returned, by default that of the batch.
        """

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return what the words of each row are predicted from beside each other.

        noise: draw it, where it is a random variable. Proportions [B, K] in the batch
        as "topics" stand for those of a document.
        """
        return ()

    def initial_state(self, context: Any, rows: Any) -> tuple[Any, Any]:
        """Return the state before each row's first word, and what no step changes."""

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        """Return the `NextWord` after `token` [B], and the state."""

    def infer(self, context: tf.Tensor) -> tf.Tensor:
        """Return topic proportions [B, K] of topic-word ids [B, C], -1 padding."""

    def topics(self) -> tf.Tensor:
        """Return the topics [K, D], rows on the simplex."""

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return a vector of every document of a batch, [B, F]: its proportions."""
        return self.infer(batch.get("words", batch.get("context")))

    # --- What follows is the same for all ---------------------------------------------

    @classmethod
    def offers(cls, method: str) -> bool:
        """Whether a system has one of `METHODS`."""
        return getattr(cls, method) is not getattr(Model, method)

    @property
    def reads_document(self) -> bool:
        """Whether, without topics, it can be given a document to write from."""
        return self.batching.reads_before

    def noise(self, name: str, batch: dict, training: bool) -> Noise:
        """Return the draws of this step for the rows of a batch."""
        row = batch["row"][0] if "row" in batch else 0
        return Noise(self.initial_seed, self.steps, name, row, training)

    def count_words(self, batch: dict[str, np.ndarray]) -> int:
        """Return the number of words that the term `per_word` is a mean of."""
        if "targets" in batch and self.offers("step"):
            return int(np.count_nonzero(batch["targets"]))
        ids = batch.get("words", batch.get("context"))
        return int(np.count_nonzero(ids != NO_WORD))

    def build_weights(self) -> None:
        """Make every weight, by one pass over a row of one word."""
        batch = self.batching.empty(1)
        for name, padded in batch.items():
            word = 0 if name in ("context", "words", "preceding") else 1
            batch[name] = tf.fill(tf.shape(padded), tf.cast(word, padded.dtype))
        if self.offers("topics"):
            self.infer(tf.constant([[0]]))
        self.compute_loss(batch, training=False)
        self.built = True

    def kl_anneal(self, steps: int, training: bool) -> tf.Tensor:
        """Return the weight of a KL that rises to 1 over so many steps of training."""
        if not training or not steps:
            return tf.constant(1.0)
        return tf.minimum(tf.cast(self.steps, tf.float32) / steps, 1.0)

    def state_apart(self) -> AbstractContextManager:
        """Return a context that leaves what batches leave to the next as it was."""
        return nullcontext() if self.carried is None else self.carried.apart()

    @cached_property
    def evaluated(self) -> Callable[[dict[str, tf.Tensor]], Terms]:
        """`test_step` as one graph for all times."""
        return graph(self.test_step, input_signature=[self.batching.signature()])

    def compile(self, optimizer: Any = None, **options: Any) -> None:
        """Choose the optimizer; by default the one of `train.py`."""
        if not self.built:
            self.build_weights()
        if optimizer is None:
            optimizer = GroupedAdam(self.param_groups(), Training().clip_norm)
        ours = isinstance(optimizer, GroupedAdam)
        super().compile("sgd" if ours else optimizer, **options)
        if ours:
            self.optimizer = optimizer

    def train_step(self, batch: dict[str, tf.Tensor]) -> Terms:
        """Take one step down the loss; return its terms and gradient norms."""
        return self.apply_gradients(*self.compute_gradients(batch))

    def test_step(self, batch: dict[str, tf.Tensor]) -> Terms:
        """Return the terms of a batch that is not trained on."""
        return self.compute_loss(batch, training=False)

    def compute_gradients(self, batch: dict[str, tf.Tensor]) -> tuple[Terms, list]:
        """Return the loss's terms and its gradients to the trainable variables."""
        with tf.GradientTape() as tape:
            terms = self.compute_loss(batch, training=True)
        return terms, tape.gradient(terms["loss"], self.trainable_variables)

    def apply_gradients(self, terms: Terms, gradients: list) -> Terms:
        """Take one step down gradients; return the terms with the gradient norms."""
        pairs = zip(gradients, self.trainable_variables)
        norms = self.optimizer.apply_gradients(pairs)
        self.steps.assign_add(1)
        return {**terms, **(norms if isinstance(norms, dict) else {})}

    def get_config(self) -> dict[str, Any]:
        """Return what makes the same model again, without its weights."""
        words, seed = self.vocabulary.get_config(), self.initial_seed
        return {"config": asdict(self.config), "vocabulary": words, "seed": seed}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Model:
        """Return the model of what `get_config` returned."""
        words = Vocabulary.from_config(config["vocabulary"])
        return cls(from_json(cls.Config, config["config"]), words, config["seed"])
