"""A model on a split of its data: what several measures need is made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, WindowCounts, measure
from tcnlm.coherence.definitions import DIVERSITY_WORDS
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.summary import scored_words
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.data.batching import Rows
from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics.features import DocumentTopics, document_vectors, infer_documents
from tcnlm.metrics.scores import Score, sampled_score, score
from tcnlm.models.names import Names, Row, automatic_labels
from tcnlm.models.topics import PROBABILITY, top_words
from tcnlm.preprocessing.collect import SPLITS

SCORED = max(*TOPS, DIVERSITY_WORDS)  # words of a topic


class EvaluationContext:
    """A model on a split of its data; every part is made when it is first asked for."""

    def __init__(
        self,
        model: Any,
        dataset: Dataset,
        rows: Rows,
        reference: Reference | None = None,
        samples: int = 0,
        batch_size: int = 64,
        beginning: str = "",
        beside: Mapping[str, Any] | None = None,
        names: Names | None = None,
    ):
        self.model, self.dataset, self.rows = model, dataset, rows
        self.reference = reference or Reference()
        self.samples, self.batch_size = samples, batch_size
        self.beginning = beginning
        self.beside = beside or {}  # by a measure's key, the model its option takes
        self._names = names
        self._entries: dict[str, dict[str, Any]] = {}

    def entries(self, metric: Any) -> dict[str, Any]:
        """Return what a measure gives of it beside single figures."""
        if metric.key not in self._entries:
            self._entries[metric.key] = metric.measure(self)
        return self._entries[metric.key]

    @cached_property
    def names(self) -> Names:
        """What the page calls the topics."""
        return self._names or Names(tuple(map(Row, automatic_labels(self.model))))

    @property
    def split(self) -> Split:
        """The split that is measured."""
        return self.rows.split

    @cached_property
    def train(self) -> Split:
        """The training split."""
        return self.dataset.split("train")

    @cached_property
    def splits(self) -> list[Split]:
        """Training, validation and test."""
        return [self.dataset.split(name) for name in SPLITS]

    @cached_property
    def mean_score(self) -> Score:
        """How well it predicts with the topics at their posterior mean."""
        return score(self.model, self.rows, self.batch_size)

    @cached_property
    def score(self) -> Score:
        """The same, with `samples` averaged over draws of the topics."""
        if not self.samples:
            return self.mean_score
        return sampled_score(self.model, self.rows, self.samples, self.batch_size)

    @cached_property
    def documents(self) -> DocumentTopics:
        """The topic proportions of the split's documents."""
        return infer_documents(self.model, self.split)

    @cached_property
    def all_documents(self) -> DocumentTopics:
        """Those of all splits' documents."""
        parts = []
        for split in self.splits:
            own = split.name == self.split.name
            found = self.documents if own else infer_documents(self.model, split)
            parts.append((found.proportions, found.has_words))
        return DocumentTopics(*map(np.concatenate, zip(*parts)))

    @cached_property
    def beta(self) -> np.ndarray:
        """The topics' distributions over the topic words, float32 [K, D]."""
        return np.asarray(self.model.topics(), np.float32)

    @cached_property
    def topics(self) -> TopicList:
        """The topics' most probable words, as many as coherence and diversity take."""
        return TopicList("", top_words(self.model, SCORED, weight=PROBABILITY))

    @cached_property
    def relevant(self) -> TopicList:
        """Their most relevant words, those that are shown."""
        return TopicList("", top_words(self.model, SCORED))

    @cached_property
    def counts(self) -> WindowCounts:
        """The reference's window counts of the topics' words."""
        words = scored_words([self.topics, self.relevant])
        return self.reference.window_counts(words, dataset=self.dataset)

    @cached_property
    def coherence(self) -> dict[str, Any]:
        """NPMI of each topic and of all, and their diversity."""
        return measure(self.topics, self.counts)

    @cached_property
    def relevant_coherence(self) -> dict[str, Any]:
        """The same of the words that are shown."""
        return measure(self.relevant, self.counts)

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """The model's features of the training documents and of these."""
        return tuple(document_vectors(self.model, s) for s in (self.train, self.split))
