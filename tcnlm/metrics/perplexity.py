"""How well words are predicted: perplexity, what the topics are worth to it, size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.metrics import base
from tcnlm.metrics.base import EvaluationContext, Figure, Metric

if TYPE_CHECKING:
    import tensorflow as tf

    from tcnlm.data.batching import Rows

NO_WORDS = "no context has a topic word: no loss and no bound"
BATCH = 256  # sequences at most, of which one lends another its topics
SEED = 1  # of the batches


def reads_context(model: Any) -> bool:
    """Whether words are predicted from contexts: not from the sentences before."""
    kind, reads = type(model), model.reads_document and not model.batching.reads_before
    return base.language(kind) and (base.topical(kind) or reads)


def leak(model: Any, rule: str) -> str:
    """Say what contexts by a rule tell a model of its own answers; "" if nothing."""
    unit = model.batching.unit
    later = rule in ("leak", "all") or (rule == "others" and unit == "document")
    if not (later and reads_context(model)):
        return ""
    words = "the words themselves" if rule == "all" else "words that are yet to come"
    return (
        f"context={rule}: contexts hold {words} of the {unit} that is predicted, which "
        "flatters the perplexity; context=read holds none of them"
    )


class Perplexity(Metric):
    """The exponential of the nats a target, and what it is taken over."""

    key = "perplexity"
    applies = staticmethod(base.predicting)
    figures = tuple(
        Figure(*each, headline=each[0] == "perplexity", among="targets")
        for each in (
            ("perplexity", "perplexity", "{:.2f}", "min", lambda s: s.score.perplexity),
            ("nll", "nats per target", "{:.4f}", "min", lambda s: s.score.nll),
            ("targets", "targets", "{:,}", "", lambda s: s.score.targets),
        )
    )
    entries = ("sequences", "samples", "context", "leak")
    unrecorded = ("leak",)
    template = "{{ note(how) }}{% if leak %}{{ note(leak) }}{% endif %}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        model, rule = subject.model, subject.split.contexts.rule
        if not base.language(type(model)):
            return {}
        return {
            "sequences": subject.score.sequences,
            "samples": subject.samples or None,
            "context": rule if reads_context(model) else None,
            "leak": leak(model, rule) or None,
        }

    def lines(self, evaluation: Mapping[str, Any]) -> Iterable[str]:
        warning = evaluation.get("leak")
        return [f"  warning: {warning}"] if warning else []

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        if evaluation["perplexity"] is None or evaluation.get("document_perplexity"):
            return None
        how = f"{evaluation['targets']:,} words, <unk> and ends of sentences (<eos>) "
        how += "included, without KL"
        if evaluation["samples"]:
            how += f"; likelihood averaged over {evaluation['samples']} draws of t"
        elif evaluation["topics"]:
            how += "; topics at their mean"
        if evaluation.get("context"):
            how += f"; rule of the contexts: {evaluation['context']}"
        return {"how": f"Perplexity over {how}.", "leak": evaluation.get("leak")}


def _trained_by(term: str) -> base.Contract:
    return staticmethod(lambda kind: kind.per_word == term)


def _per_word(key: str, title: str) -> tuple[Figure]:
    def compute(subject: EvaluationContext) -> float | None:
        return subject.mean_score.nll if subject.mean_score.targets else None

    return (Figure(key, title, "{:.4f}", "min", compute, among="model"),)


class Loss(Metric):
    """The loss of a topic model without a bound."""

    key = "loss"
    applies = _trained_by("loss")
    figures = _per_word("loss", "loss per content word")
    entries = ("content_words",)
    template = "{{ note(missing) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        return {"content_words": subject.mean_score.targets}

    def lines(self, evaluation: Mapping[str, Any]) -> Iterable[str]:
        return [f"  {NO_WORDS}"] if evaluation.get("content_words") == 0 else []

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        missing = evaluation.get("content_words") == 0
        return {"missing": f"Not measured: {NO_WORDS}."} if missing else None


class Bound(Metric):
    """The variational bound on a document's words."""

    key = "bound"
    applies = _trained_by("bound")
    figures = _per_word("bound", "minus the bound, nats per content word")
    measure = Loss.measure  # of which Loss tells


class Elbo(Metric):
    """The terms of the bound, where the objective is one: it has a KL."""

    key = "elbo"
    applies = staticmethod(base.topical)
    figures = (Figure("elbo.kl", "KL, nats per sequence", "{:.2f}"),)
    entries = ("elbo",)

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        terms = subject.mean_score.terms
        return {"elbo": terms if "kl" in terms else None}


class Parameters(Metric):
    """The number of parameters."""

    key = "parameters"
    figures = (Figure("parameters", "parameters", "{:,}"),)

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        model = subject.model
        learned = [*model.trainable_variables, *model.fitted]
        return {"parameters": sum(int(np.prod(weight.shape)) for weight in learned)}


def topic_worth(
    model: Any, rows: Rows, mean: np.ndarray, batch_size: int = BATCH
) -> dict[str, float]:
    """Return the perplexities with "own", "other" and "mean" topics.

    mean [K]: the proportions that stand for every document's; "other": those of the
    next sequence in a batch that is drawn at random.
    """
    import tensorflow as tf

    from tcnlm.metrics.scores import summed

    shares = tf.constant(mean, tf.float32)

    def average(batch: dict[str, tf.Tensor]) -> Any:
        rows = tf.shape(batch["targets"])[:-1]
        shape = tf.concat([rows, tf.shape(shares)], axis=0)
        return model.context({"topics": tf.broadcast_to(shares, shape)})

    def other(batch: dict[str, tf.Tensor]) -> Any:
        context = model.context(batch)
        return tf.nest.map_structure(lambda each: tf.roll(each, 1, axis=0), context)

    def perplexity(context: Any) -> float:
        def log_probs(batch: dict[str, tf.Tensor], _: Any) -> tf.Tensor:
            return model(batch, context=context(batch))

        return summed(model, rows, log_probs, batch_size, SEED).perplexity

    contexts = {"own": model.context, "other": other, "mean": average}
    return {name: perplexity(context) for name, context in contexts.items()}


class TopicWorth(Metric):
    """The perplexity with a document's own topics, another's, and the mean ones."""

    key = "topic_worth"
    applies = staticmethod(base.both)
    option = "topic-worth"
    purpose = "perplexity with the mean topics and with another document's, too"
    figures = (
        Figure("topic_worth.mean", "perplexity, mean topics", "{:.2f}"),
        Figure("topic_worth.other", "perplexity, another document's topics", "{:.2f}"),
    )
    entries = ("topic_worth",)
    template = """<h2>What the topics are worth</h2>{{ note(
"Perplexity %.2f with the topics of each sequence's own document; %.2f with the "
"training documents' mean topics for all (own / mean %.3f); %.2f with another "
"document's (own / other %.3f)."
|format(own, mean, own / mean, other, own / other)) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        from tcnlm.metrics.features import infer_documents

        mean = infer_documents(subject.model, subject.train).shares
        size = min(BATCH, 4 * subject.batch_size)
        return {"topic_worth": topic_worth(subject.model, subject.rows, mean, size)}
