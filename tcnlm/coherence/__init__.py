"""NPMI topic coherence from sliding windows over a reference corpus.

Reference: Lau, Newman and Baldwin, "Machine Reading Tea Leaves" (EACL 2014); the
TCNLM paper uses it in section 5.2 and Table 4. Counting knows nothing of topics and
scoring knows nothing of text: `WindowCounts` lies between them, and in a file.

A window of 20 tokens moves one token at a time and also starts and ends partly outside
the document, so that every token lies in exactly 20 windows and a document of n tokens
has n + 19. A window is a set: a word in it counts once.

`python -m tcnlm coherence --help` scores the topics of any program. Nothing here
imports TensorFlow, unless the topics are those of a RUN.
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
