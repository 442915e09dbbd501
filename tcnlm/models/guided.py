"""A language model that the neural topic model guides (Wang et al. 2018, section 3.3).

What TCNLM and the naive mixture share: one bound of documents and sentences, and the
steps of the topic model alone before the joint ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.progress_bar import progress_bar
from tcnlm.common.settings import setting
from tcnlm.data.batching import Batch, Rows
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import DECAYS, GroupedAdam, decay
from tcnlm.layers.tf_function import graph
from tcnlm.models.base import Terms, language_terms, without
from tcnlm.models.lstm import RecurrentConfig
from tcnlm.models.neural_topics import NeuralTopics, TopicConfig
from tcnlm.models.recurrent import RecurrentLanguageModel
from tcnlm.preprocessing.vocabulary import Vocabulary

TOPIC_PRETRAIN_BATCH = 64  # contexts
TOPIC_PRETRAIN_CLIP = 5.0


@dataclass(frozen=True)
class JointConfig(TopicConfig, RecurrentConfig):
    """Settings of a language model with the neural topic model."""

    topic_weight: float = setting(
        1.0, "of the topic model's loss; 1 in the paper, eq. 17", least=0
    )
    language_topics: str = setting(
        "drawn",
        "t of the language model in training: drawn, the topic model's own, as in the "
        "paper; or at the mean of q",
        choices=("drawn", "mean"),
    )
    topic_learning_rate: float = setting(
        1e-3,
        "Adam of encoder, W and beta, jointly; 0: as the head start leaves them",
        least=0,
    )
    topic_pretrain_steps: int = setting(
        1500, "steps of the topic model alone before the joint ones", least=0
    )
    topic_pretrain_rates: tuple[float, ...] = setting(
        (2e-3, 1e-2),
        "of Adam in these steps: of encoder and W, and of beta",
        least=0,
        length=2,
    )
    topic_pretrain_decay: str = setting(
        "constant",
        "of these rates; or 'linear', 'cosine' to 0 at the last of these steps",
        choices=DECAYS,
    )


class NeuralTopicLanguageModel(NeuralTopics, RecurrentLanguageModel):
    """A neural topic model and a language model that it guides, trained as one.

    Training maximises (eq. 17, 18)

        J = E log p(d | t) - KL(q || prior) + E sum_m log p(y_m | y_<m, t) + lambda R

    with one sample of theta a sequence, used by both, or, where `language_topics` is
    "mean", the sentence at t = g(mu). What t does to the language model is the
    subclass's matter.
    """

    def __init__(self, config: JointConfig, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_topics()

    def context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return t = g(mu) [B, K]."""
        return self.infer_context(batch["context"])

    def sample_context(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return t = g(theta) [B, K] of one draw of theta from q."""
        return self.proportions(self.draw(*self.encoder(self.bag(batch["context"]))))

    def context_from_topics(self, topics: tf.Tensor) -> tf.Tensor:
        """Return given proportions [B, K] as a context."""
        return topics

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return -J and its terms, nats a sequence; "nll" is nats a target.

        "reconstruction" is -E log p(d | t), "kl" the divergence, "diversity" R.
        """
        bow = self.bag(batch["context"])
        topics, terms = self.infer_terms(bow, training)
        if training and self.config.language_topics == "mean":
            topics = self.infer(bow)
        log_probs = self.batch_log_probs(batch, topics, training)
        language, nll = language_terms(log_probs, batch["targets"])
        topic = self.topic_loss(terms)
        loss = language + self.config.topic_weight * topic
        return {"loss": loss, **nll, **terms}

    def prepare(self, dataset: Dataset) -> None:
        """Start the embeddings and the topics, then give the topic model its lead."""
        self.start_topics(dataset, self.start_weights(dataset))
        if self.config.topic_pretrain_steps:
            self._train_topics_alone(self.batching.rows(dataset.split("train")))

    def _train_topics_alone(self, rows: Rows) -> None:
        """Take steps up the topic model's own bound, eq. 17's first two terms.

        So that the proportions mean something when the language model first sees them.
        """
        config, contexts = self.config, tf.TensorSpec([None, None], tf.int32)
        groups = list(zip(self.topic_weights(), config.topic_pretrain_rates))
        schedule = decay(config.topic_pretrain_decay, config.topic_pretrain_steps)
        optimizer = GroupedAdam(groups, TOPIC_PRETRAIN_CLIP, schedule=schedule)

        @partial(graph, input_signature=[contexts, tf.TensorSpec([])])
        def step(context, kl_weight):
            with tf.GradientTape() as tape:
                _, terms = self.infer_terms(self.bag(context), training=True)
                loss = self.topic_loss(terms, kl_weight)
            optimizer.minimize(loss, tape)

        steps = progress_bar(range(config.topic_pretrain_steps), "topics alone")
        for number, batch in zip(steps, self._endless(rows)):
            kl_weight = min(1.0, 1.5 * number / config.topic_pretrain_steps)
            step(batch["context"], tf.constant(kl_weight, tf.float32))
        _, terms = self.infer_terms(self.bag(batch["context"]), training=False)
        if not np.isfinite(list(terms.values())).all():
            rates = ",".join(map(str, config.topic_pretrain_rates))
            raise InputError(
                f"topic_pretrain_rates={rates}: the topic model diverged; lower them"
            )

    def _endless(self, rows: Rows) -> Iterator[Batch]:
        for epoch in count():
            yield from rows.batches(TOPIC_PRETRAIN_BATCH, self.initial_seed, epoch)

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the language model's weights, and the topic model's."""
        topic = sum(self.topic_weights(), [])
        return [
            (without(self.trainable_variables, topic), self.config.learning_rate),
            (topic, self.config.topic_learning_rate),
        ]
