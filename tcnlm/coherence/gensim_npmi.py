"""gensim's c_npmi, for comparison with papers that use it.

It is another measure: windows of 10 tokens, none of them partial, a document that is
shorter being one window; a pair that never meets scores about -1 (1e-12 is added to its
probability); words that the reference lacks are dropped from their topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gensim.corpora import Dictionary
from gensim.models import CoherenceModel


def c_npmi(
    topics: Sequence[Sequence[str]],
    documents: Iterable[Sequence[str]],
    absent: Collection[str],
) -> list[float | None]:
    """c_npmi of every topic, None where the reference has fewer than two of its words.

    absent: the words of the topics that no document has.
    """
    known = [[word for word in topic if word not in absent] for topic in topics]
    scored = [i for i, words in enumerate(known) if len(set(words)) > 1]
    values: list[float | None] = [None] * len(topics)
    if scored:
        chosen = [known[i] for i in scored]
        for i, value in zip(scored, _coherence(chosen, documents)):
            values[i] = float(value)
    return values


def _coherence(
    topics: list[list[str]], documents: Iterable[Sequence[str]]
) -> list[float]:
    model = CoherenceModel(
        topics=topics,
        texts=documents,
        dictionary=Dictionary(topics),
        coherence="c_npmi",
        topn=len(topics[0]),  # less would cut them all, and more is refused
    )
    return model.get_coherence_per_topic()
