"""The two contracts that the scripts know, and what all language models share."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import tensorflow as tf

from preprocessing.vocabulary import PAD, Vocabulary
from tcnlm.adaptive_softmax import AdaptiveSoftmax
from tcnlm.embeddings import fill, starting_vectors
from tcnlm.optimization import GroupedAdam

Terms = dict[str, tf.Tensor]


class LanguageModel(tf.keras.Model):
    """p(sentence | context), one word at a time.

    A subclass offers `context(batch)`, `initial_state(batch_size)`, `step(token,
    state, context)`, `log_probs(...)` and `objective(batch, training)`; `batch` is what
    `tcnlm.dataset` yields. It is an ordinary Keras model besides, with a `train_step`.
    """

    def __init__(self, config: Any, vocabulary: Vocabulary, seed: int = 0):
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.initial_seed = seed
        self.noise = tf.random.Generator.from_seed(seed, alg="philox")
        self.steps = tf.Variable(0, trainable=False, dtype=tf.int64, name="steps")

    def prepare(self, dataset: Any) -> None:
        """Set before training what the data decides; by default nothing."""

    def get_config(self) -> dict[str, Any]:
        """Return the settings, for Keras."""
        return {"config": asdict(self.config), "seed": self.initial_seed}

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return (weights, learning rate) for each group with an Adam of its own."""
        return [(self.trainable_variables, self.config.learning_rate)]

    def train_step(self, batch: dict[str, tf.Tensor], optimizer: GroupedAdam) -> Terms:
        """Take one step down the objective; return its terms and gradient norms."""
        with tf.GradientTape() as tape:
            terms = self.objective(batch, training=True)
        norms = optimizer.minimize(terms["loss"], tape)
        self.steps.assign_add(1)
        return {**terms, **norms}

    def seed(self) -> tf.Tensor:
        """Draw a seed for a stateless random operation, [2]."""
        return self.noise.make_seeds()[:, 0]

    def dropout(self, values: tf.Tensor, rate: float, training: bool) -> tf.Tensor:
        """Drop a share of values, by a generator that checkpoints restore."""
        if not training or not rate:
            return values
        return tf.nn.experimental.stateless_dropout(values, rate, self.seed())


class TopicModel:
    """Topics over the topic vocabulary and their shares in a document.

    A subclass offers `infer(bow) -> [B, K]` and `topics() -> [K, D]`, rows on the
    simplex; a language model also `context_from_topics(topics)`, for `step`.
    """


class RecurrentLanguageModel(LanguageModel):
    """Embedding, recurrent layers and adaptive softmax; what differs is the layer.

    Dropout falls on the embeddings and on each layer's output, never on the recurrent
    state (the placement of Lau et al. 2017).
    """

    def __init__(self, config: Any, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        scale = config.embedding_scale
        self.embedding = tf.keras.layers.Embedding(
            len(vocabulary.words),
            config.embedding_size,
            embeddings_initializer=tf.keras.initializers.RandomUniform(-scale, scale),
            name="embedding",
        )
        self.recurrent = [self.make_layer(i) for i in range(config.layers)]
        self.softmax = AdaptiveSoftmax(
            len(vocabulary.words), config.cutoffs, config.div_value, name="softmax"
        )

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return recurrent layer `index`, which has a `.cell`."""
        raise NotImplementedError

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run a recurrent layer over [B, T, E] from a zero state -> [B, T, H]."""
        raise NotImplementedError

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run a recurrent layer's cell over one step -> ([B, H], state)."""
        raise NotImplementedError

    def prepare(self, dataset: Any) -> None:
        """Put in the word embeddings to start from, unless they are random."""
        config = self.config
        if config.embeddings != "random":
            vectors = starting_vectors(
                config.embeddings, dataset, config.embedding_size, self.initial_seed
            )
            table = self.embedding.embeddings
            table.assign(fill(table.numpy(), vectors))

    def build_weights(self) -> None:
        """Make every weight by one pass over a sentence of one word."""
        word = tf.constant([[1]])
        empty = tf.fill([1, 1], -1)
        self.objective({"inputs": word, "targets": word, "context": empty}, False)
        self.built = True

    def hidden(self, inputs: tf.Tensor, context: Any, training: bool) -> tf.Tensor:
        """Return the last layer's outputs [B, T, H] for word ids [B, T]."""
        rate = self.config.dropout
        outputs = self.dropout(self.embedding(inputs), rate, training)
        for layer in self.recurrent:
            outputs = self.run_layer(layer, outputs, context)
            outputs = self.dropout(outputs, rate, training)
        return outputs

    def log_probs(
        self,
        inputs: tf.Tensor,
        targets: tf.Tensor,
        context: Any,
        training: bool = False,
    ) -> tf.Tensor:
        """Return log p(target), nats, [B, T]; zero where the target is padding."""
        hidden = self.hidden(inputs, context, training)
        real = tf.where(targets != PAD)
        log_prob = self.softmax(tf.gather_nd(hidden, real), tf.gather_nd(targets, real))
        return tf.scatter_nd(real, log_prob, tf.shape(targets, tf.int64))

    def initial_state(self, batch_size: Any) -> list[Any]:
        """Return the zero state of every layer."""
        return [
            layer.cell.get_initial_state(batch_size=batch_size, dtype=tf.float32)
            for layer in self.recurrent
        ]

    def step(
        self, token: tf.Tensor, state: list[Any], context: Any
    ) -> tuple[tf.Tensor, list[Any]]:
        """Return log p of every next word [B, V], and the state after `token` [B]."""
        outputs, new_state = self.embedding(token), []
        for layer, layer_state in zip(self.recurrent, state):
            outputs, layer_state = self.step_layer(layer, outputs, layer_state, context)
            new_state.append(layer_state)
        return self.softmax.log_probs(outputs), new_state


def language_terms(log_probs: tf.Tensor, targets: tf.Tensor) -> tuple[tf.Tensor, Terms]:
    """Return the language model's loss, nats a sequence, and {"nll": nats a target}."""
    total = -tf.reduce_sum(log_probs)
    count = tf.math.count_nonzero(targets, dtype=tf.float32)
    batch = tf.cast(tf.shape(targets)[0], tf.float32)
    return total / batch, {"nll": total / tf.maximum(count, 1.0)}
