"""How well a language model's state predicts a topic model's proportions.

After each row the state is set beside the proportions t of the words of its document
that it has read. Ridge regression from states to ln t, centred over the topics, is
fitted on training documents (Zheng, Vafa and Blei, TMLR 2023, who descend by Adam).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.data.dataset import NO_WORD, cut, pad
from tcnlm.metrics.base import EvaluationContext, Figure, Metric, carrying, topical

if TYPE_CHECKING:
    from tcnlm.data.batching import TargetRows

FLOOR = 1.2e-7  # added to t before the logarithm; Zheng et al. 2023
PENALTIES = 10.0 ** np.arange(-6, 3)  # p, in units of the states' mean variance
BATCH = 256
SEED = 1  # of the shuffle


@dataclass(frozen=True)
class Moments:
    """Means and covariances of states x [F] and targets y [K]."""

    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray  # [K]: variances alone

    @classmethod
    def of(cls, batches: Iterator[tuple[np.ndarray, np.ndarray]]) -> Moments:
        """Return those of batches of x [n, F] and y [n, K]."""
        sums: Any = 0
        for x, y in batches:
            x, y = x.astype(float), y.astype(float)
            parts = len(x), x.sum(0), y.sum(0), x.T @ x, x.T @ y, (y * y).sum(0)
            sums = np.add(sums, np.array(parts, object))
        x, y, xx, xy, yy = sums[1:] / sums[0]
        return cls(x, y, xx - np.outer(x, x), xy - np.outer(x, y), yy - y * y)


def ridge(moments: Moments, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Return W [F, K], b [K] of least mean (y - xW - b)^2 + p |W|^2, see `PENALTIES`"""
    size = len(moments.x)
    added = max(penalty * np.trace(moments.xx) / size, 1e-12)
    W = np.linalg.solve(moments.xx + added * np.eye(size), moments.xy)
    return W, moments.y - moments.x @ W


def r_squared(moments: Moments, W: np.ndarray, b: np.ndarray) -> tuple[float, list]:
    """Return R2 in all and by topic; None of a topic that does not vary.

    1 - sum (y - xW - b)^2 / sum (y - mean y)^2.
    """
    explained = (W * (2 * moments.xy - moments.xx @ W)).sum(0)
    offset = moments.y - moments.x @ W - b
    left = moments.yy - explained + offset**2
    by_topic = [1 - u / v if v > 1e-12 else None for u, v in zip(left, moments.yy)]
    return 1 - left.sum() / max(moments.yy.sum(), 1e-12), by_topic


def fit(train: Moments, valid: Moments, test: Moments) -> dict[str, Any]:
    """Return R2 on test of the ridge whose penalty is best on validation."""
    fits = {penalty: ridge(train, penalty) for penalty in PENALTIES}
    best = max(PENALTIES, key=lambda penalty: r_squared(valid, *fits[penalty])[0])
    whole, by_topic = r_squared(test, *fits[best])
    return {"r2": whole, "by_topic": by_topic, "penalty": best}


def read_words(rows: TargetRows) -> Iterator[np.ndarray]:
    """Yield of each row the content words of its document that its last state read."""
    split, last = rows.split, rows.last - 1
    contexts, ends = split.contexts, last - split.stream.sentence_of(last)
    firsts = contexts.first[rows.documents]
    for low, high in zip(firsts, contexts.before[ends]):
        yield contexts.words[low : min(high, low + contexts.size)]


def targets(topic_model: Any, rows: TargetRows) -> np.ndarray:
    """Return ln t of every row's `read_words`, centred over the topics, [N, K]."""
    context = pad(list(read_words(rows)), NO_WORD, rows.split.contexts.size)
    pieces = progress_bar(cut(context, BATCH), "inferring topics", leave=False)
    found = np.concatenate([np.asarray(topic_model.infer(piece)) for piece in pieces])
    logs = np.log(found + FLOOR)
    return logs - logs.mean(axis=1, keepdims=True)


def states(
    model: Any, rows: TargetRows, batch_size: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield numbers of rows [n], and the model's states [n, F] after them."""
    import tensorflow as tf

    from tcnlm.layers.tf_function import graph

    @partial(graph, input_signature=[model.batching.signature()])
    def read(batch):
        model(batch)
        return tf.concat(tf.nest.flatten(model.carried.nest), axis=1)

    order = rows.order(batch_size, None, 0)
    bar = progress_bar(order, "reading states", leave=False)
    with model.state_apart():
        for chosen, batch in zip(bar, rows.batches(batch_size)):
            real = chosen >= 0
            yield chosen[real], read(batch).numpy()[real]


def moments(
    model: Any, topic_model: Any, split: Any, batch_size: int
) -> tuple[Moments, Moments]:
    """Return the moments of a split, and the same with the targets shuffled."""
    rows = model.batching.rows(split)
    own = targets(topic_model, rows)
    other = np.random.default_rng(SEED).permutation(own)
    both = np.concatenate([own, other], axis=1)
    whole = Moments.of((x, both[at]) for at, x in states(model, rows, batch_size))
    halves = (np.split(part, 2, axis=-1) for part in (whole.y, whole.xy, whole.yy))
    own, other = (Moments(whole.x, y, whole.xx, xy, yy) for y, xy, yy in zip(*halves))
    return own, other


class Probe(Metric):
    """R2 of the topic proportions that are predicted from the state."""

    key = "probe"
    applies = staticmethod(carrying)
    option = "probe"
    purpose = "how well the state predicts the topic proportions of this topic model"
    takes = "TOPIC_RUN"
    accepts = staticmethod(topical)
    early = True
    figures = (
        Figure("probe.r2", "R2 of topics from the state", "{:.3f}", "max"),
        Figure("probe.shuffled", "R2 of shuffled topics", "{:.3f}"),
    )
    entries = ("probe",)
    template = "<h2>Topics in the state</h2>{{ note(said) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        if subject.model.carried is None:
            raise InputError("--probe: needs a model trained with carry=true")
        splits = subject.train, subject.dataset.split("valid"), subject.split
        model, other, size = subject.model, subject.beside[self.key], subject.batch_size
        parts = [moments(model, other, split, size) for split in splits]
        real, shuffled = (fit(*kind) for kind in zip(*parts))
        return {"probe": {**real, "shuffled": shuffled["r2"]}}

    def section(self, entry: Any) -> dict[str, Any]:
        ranked = sorted(
            (r2, k) for k, r2 in enumerate(entry["by_topic"]) if r2 is not None
        )
        said = f"From the state R2 is {entry['r2']:.3f}, with the targets shuffled "
        said += f"{entry['shuffled']:.3f}."
        if ranked:
            (worst, last), (best, first) = ranked[0], ranked[-1]
            said += f" Best is topic {first} ({best:.3f}), worst "
            said += f"topic {last} ({worst:.3f})."
        return {"said": said}
