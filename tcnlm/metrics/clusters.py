"""Topics as clusters: how well documents' largest topics agree with their labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcnlm.metrics.base import EvaluationContext, Figure, Metric, Shown, topical
from tcnlm.metrics.features import UNLABELLED


class Clusters(Metric):
    """NMI, AMI and purity of the largest topic of all documents that have a label."""

    key = "clusters"
    applies = staticmethod(topical)
    figures = (
        Figure("clusters.nmi", "NMI with labels", "{:.3f}", "max"),
        Figure("clusters.ami", "AMI with labels", "{:.3f}", "max", headline=False),
        Figure("clusters.purity", "purity by labels", "{:.3f}", "max", headline=False),
    )
    entries = ("clusters",)
    template = "{{ note(said) }}"

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        if subject.split.labels is None:
            return {"clusters": None}
        labels = np.concatenate([split.labels for split in subject.splits])
        told = subject.all_documents.has_words & (labels != UNLABELLED)
        if not told.any():
            return {"clusters": None}
        largest = subject.all_documents.proportions[told].argmax(axis=1)
        return {"clusters": agreement(largest, labels[told])}

    def section(self, entry: Any) -> Shown:
        found = {"clusters": entry}
        nmi, ami, purity = (figure.text(found) for figure in self.figures)
        return {
            "said": f"The largest topics of all {entry['documents']:,} documents with "
            f"a label agree with the labels by NMI {nmi}; by AMI {ami}, which takes "
            f"chance off. Both are 1 where they are the same. Purity {purity} is the "
            "share of documents that have the commonest label of their topic."
        }


def agreement(clusters: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return NMI, AMI and purity of clusters [N] by labels [N], and N."""
    from sklearn import metrics

    counts = metrics.cluster.contingency_matrix(labels, clusters)
    return {
        "nmi": float(metrics.normalized_mutual_info_score(labels, clusters)),
        "ami": float(metrics.adjusted_mutual_info_score(labels, clusters)),
        "purity": float(counts.max(axis=0).sum() / counts.sum()),
        "documents": len(labels),
    }
