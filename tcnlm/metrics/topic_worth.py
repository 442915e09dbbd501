"""What a document's topics are worth to a trained model's perplexity.

A split is scored three times: with the topics of each sequence's own document, with
another document's, and with the mean proportions of the training documents for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.metrics.base import Evaluation, Figure, Metric, both
from tcnlm.metrics.proportions import infer_documents

if TYPE_CHECKING:
    import tensorflow as tf

    from tcnlm.data.batching import Rows
    from tcnlm.metrics.evaluation_context import EvaluationContext

BATCH = 256  # sequences at most, of which one lends another its topics
SEED = 1  # of the batches

Context = Callable[[dict[str, "tf.Tensor"]], Any]


def topic_worth(
    model: Any, rows: Rows, mean: np.ndarray, batch_size: int = BATCH
) -> dict[str, float]:
    """Return the perplexities with "own", "other" and "mean" topics.

    mean [K]: the proportions that stand for every document's. "other" are those of the
    next sequence in its batch, the batches being drawn at random: of N documents about
    one in N is the same after all.
    """
    import tensorflow as tf

    shares = tf.constant(mean, tf.float32)

    def average(batch: dict[str, tf.Tensor]) -> Any:
        rows = tf.shape(batch["targets"])[:-1]
        shape = tf.concat([rows, tf.shape(shares)], axis=0)
        return model.context({"topics": tf.broadcast_to(shares, shape)})

    def other(batch: dict[str, tf.Tensor]) -> Any:
        context = model.context(batch)
        return tf.nest.map_structure(lambda each: tf.roll(each, 1, axis=0), context)

    contexts = {"own": model.context, "other": other, "mean": average}
    return {
        name: perplexity(model, rows, made, batch_size)
        for name, made in contexts.items()
    }


def perplexity(model: Any, rows: Rows, context: Context, batch_size: int) -> float:
    """Return the perplexity of a split with the contexts that a function gives."""

    import tensorflow as tf

    from tcnlm.layers.tf_function import graph

    @partial(graph, input_signature=[model.batching.signature()])
    def score(batch):
        log_probs = model(batch, context=context(batch))
        total = tf.reduce_sum(tf.cast(log_probs, tf.float64))
        return total, tf.math.count_nonzero(batch["targets"])

    with model.state_apart():
        batches = rows.batches(batch_size, SEED)
        sums = [np.array(score(batch), float) for batch in batches]
    total, targets = np.sum(sums, axis=0)
    return math.exp(min(-total / targets, 700.0))


class TopicWorth(Metric):
    """The perplexity with a document's own topics, and with others in their place."""

    key = "topic_worth"
    applies = staticmethod(both)
    option = "topic-worth"
    purpose = "perplexity with the mean topics and with another document's, too"
    figures = (
        Figure("topic_worth.mean", "perplexity, mean topics", "{:.2f}"),
        Figure("topic_worth.other", "perplexity, another document's topics", "{:.2f}"),
    )
    entries = ("topic_worth",)
    template = "<h2>What the topics are worth</h2>{{ note(said) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return the perplexities with own, other and mean topics."""
        mean = infer_documents(subject.model, subject.train).shares
        size = min(BATCH, 4 * subject.batch_size)
        return {"topic_worth": topic_worth(subject.model, subject.rows, mean, size)}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return in words what a document's own topics gain."""
        worth = evaluation.get("topic_worth")
        if not worth:
            return None
        own, mean, other = (worth[name] for name in ("own", "mean", "other"))
        said = f"Perplexity {own:.2f} with the topics of each sequence's own document; "
        said += f"{mean:.2f} with the training documents' mean topics for all (own / "
        said += f"mean {own / mean:.3f}); {other:.2f} with another document's (own / "
        return {"said": f"{said}other {own / other:.3f})."}
