"""How often the topic that sentences were written from is inferred from them again.

From every topic by itself a number of sentences is sampled; together they are a
document whose topics the model's own encoder infers, from at most as many of its
content words as in training. Recovered is a topic that has the largest share of its
document; at random that is one in K.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.progress_bar import progress_bar
from tcnlm.data.contexts import NO_WORD
from tcnlm.metrics.base import Evaluation, Figure, Metric, both

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext

SENTENCES = 200  # a topic


def topic_recovery(
    model: Any, context_words: int, sentences: int = SENTENCES, seed: int = 1
) -> dict[str, Any]:
    """Return the share of topics recovered, and what each was inferred as.

    context_words: the most content words of a document that the encoder was trained on.
    """
    shares = inferred(model, written_words(model, sentences, seed), context_words)
    largest = shares.argmax(axis=1)
    recovered = largest == np.arange(len(shares))
    return {
        "share": float(recovered.mean()),
        "recovered": int(recovered.sum()),
        "topics": len(shares),
        "sentences": sentences,
        "seed": seed,
        "inferred": largest.tolist(),
    }


def written_words(model: Any, sentences: int, seed: int) -> list[list[int]]:
    """Return the content words, as topic-word ids, of what each topic wrote."""

    from tcnlm.generation.decoding import Decoding, SentenceDecoder

    number, vocabulary = len(model.topics()), model.vocabulary
    as_it_is = Decoding(temperature=1.0, allow_unknown=True)
    decoder, words = SentenceDecoder(model, as_it_is), []
    for topic in progress_bar(range(number), "writing topics", leave=False):
        context = model.context_from_topics(np.eye(number, dtype="float32")[[topic]])
        (written,) = decoder(context, 1, sentences, seed=seed + topic)
        ids = [i for sentence in written for i in vocabulary.ids(sentence.words)]
        words.append([i for i in vocabulary.topic_ids[ids] if i >= 0])
    return words


def inferred(model: Any, words: list[list[int]], size: int) -> np.ndarray:
    """Return the proportions [K, K] of documents of the first `size` of these words."""
    context = np.full([len(words), size], NO_WORD, np.int32)
    for row, ids in zip(context, words):
        row[: min(size, len(ids))] = ids[:size]
    return np.asarray(model.infer_context(context))


class TopicRecovery(Metric):
    """The share of topics that are inferred again from what they wrote."""

    key = "topic_recovery"
    applies = staticmethod(both)
    option = "topic-recovery"
    purpose = "how many topics are inferred again from sentences written from them"
    figures = (
        Figure(
            "topic_recovery.share",
            "topics recovered from their sentences",
            "{:.1%}",
            "max",
        ),
    )
    entries = ("topic_recovery",)
    template = "<h2>Topics found again</h2>{{ note(said) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return which topics are recovered."""
        context_words = subject.dataset.meta["settings"]["context_words"]
        return {"topic_recovery": topic_recovery(subject.model, context_words)}

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return in words how many are recovered."""
        found = evaluation.get("topic_recovery")
        if not found:
            return None
        said = f"{found['recovered']} of {found['topics']} topics are inferred again "
        said += f"from {found['sentences']} sentences written from each; at random it "
        return {"said": f"{said}would be one in {found['topics']}."}
