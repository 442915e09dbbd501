"""NPMI topic coherence (Lau, Newman and Baldwin, EACL 2014) over a reference corpus.

A window of 20 tokens moves one token at a time and also starts and ends partly outside
the document, so that every token lies in exactly 20 windows and a document of n tokens
has n + 19. A window is a set: a word in it counts once.
"""

from tcnlm.coherence.definitions import (
    NEVER,
    TOPS,
    pairwise_npmi,
    topic_coherence,
    topic_scores,
)
from tcnlm.coherence.summary import measure, protocol
from tcnlm.coherence.windows import (
    WINDOW,
    WindowCounts,
    count_windows,
    load_counts,
    save_counts,
)

__all__ = [
    "NEVER",
    "TOPS",
    "WINDOW",
    "WindowCounts",
    "count_windows",
    "load_counts",
    "measure",
    "pairwise_npmi",
    "protocol",
    "save_counts",
    "topic_coherence",
    "topic_scores",
]
