"""A model on a split of its data: what several measures need is made once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, WindowCounts, measure
from tcnlm.coherence.diversity import DIVERSITY_WORDS
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.summary import scored_words
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.data.batching import Rows
from tcnlm.data.dataset import Dataset, Split
from tcnlm.measures import document_sections, topics
from tcnlm.measures import topic_worth as ablation
from tcnlm.measures.features import document_vectors
from tcnlm.measures.perplexity import Score, sampled_score, score
from tcnlm.models.base import TopicModel
from tcnlm.models.topics import top_words


class Subject:
    """What is measured; every part is made when it is first asked for."""

    def __init__(
        self,
        model: Any,
        dataset: Dataset,
        rows: Rows,
        reference: Reference | None = None,
        samples: int = 0,
        batch_size: int = 64,
    ):
        self.model, self.dataset, self.rows = model, dataset, rows
        self.reference = reference or Reference()
        self.samples, self.batch_size = samples, batch_size

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
    def elbo(self) -> dict[str, float] | None:
        """The terms of the variational bound, where the objective is one: has a KL."""
        terms = self.mean_score.terms
        return terms if "kl" in terms and isinstance(self.model, TopicModel) else None

    @cached_property
    def documents(self) -> topics.DocumentTopics:
        """The topic proportions of the split's documents."""
        return topics.infer_documents(self.model, self.rows.split)

    @cached_property
    def topics(self) -> TopicList:
        """The topics, with as many words as coherence and diversity take."""
        count = max(*TOPS, DIVERSITY_WORDS)
        return TopicList("", top_words(self.model, count))

    @cached_property
    def counts(self) -> WindowCounts:
        """The reference's window counts of the topics' words."""
        words = scored_words([self.topics])
        return self.reference.window_counts(words, dataset=self.dataset)

    @cached_property
    def coherence(self) -> dict[str, Any]:
        """NPMI of each topic and of all, and their diversity."""
        return measure(self.topics, self.counts)

    @cached_property
    def topic_worth(self) -> dict[str, float]:
        """The perplexities with own, other and mean topics."""
        mean = topics.infer_documents(self.model, self.train).shares
        size = min(ablation.BATCH, 4 * self.batch_size)
        return ablation.topic_worth(self.model, self.rows, mean, size)

    @cached_property
    def topic_recovery(self) -> dict[str, Any]:
        """How many topics are inferred again from what they wrote."""
        # Here, since no other measure needs the decoder and its package.
        from tcnlm.measures.topic_recovery import topic_recovery

        context_words = self.dataset.meta["settings"]["context_words"]
        return topic_recovery(self.model, context_words)

    @cached_property
    def bleu(self) -> dict[str, Any]:
        """Test-BLEU and self-BLEU of what it writes, and of real sentences."""
        # Here, or training, which measures too, would wait for nltk.
        from tcnlm.measures.bleu import measure_bleu

        return measure_bleu(self.model, self.dataset, self.rows.split)

    @cached_property
    def document_perplexity(self) -> dict[str, Any]:
        """The perplexities of documents over orders of their words; the unigram's."""
        return document_sections.perplexity_over_orders(
            self.model, self.train, self.rows.split
        )

    @cached_property
    def retrieval(self) -> dict[str, Any]:
        """How well its vectors find training documents of the same label."""
        parts = self.vectors, self.train, self.rows.split
        return {
            **document_sections.retrieval(*parts),
            "queries": document_sections.neighbours(*parts, self.dataset),
        }

    @cached_property
    def classification(self) -> dict[str, Any]:
        """How well classifiers tell labels by its vectors.

        To test they are fitted to the validation documents too: none was learned from.
        """
        train, measured = self.vectors
        splits, vectors = [self.train, self.rows.split], [train, measured]
        if self.rows.split.name == "test":
            splits.insert(1, self.dataset.split("valid"))
            vectors.insert(1, document_vectors(self.model, splits[1]))
        return document_sections.classification(
            vectors, splits, self.model.feature_parts(), self.dataset
        )

    @cached_property
    def train(self) -> Split:
        """The training split."""
        return self.dataset.split("train")

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """The model's features of the training documents and of these."""
        splits = self.train, self.rows.split
        return tuple(document_vectors(self.model, split) for split in splits)
