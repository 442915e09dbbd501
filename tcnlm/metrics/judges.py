"""Files from which people or a language model judge topics: evaluate.py --export.

Word intrusion (Chang et al., NIPS 2009), drawn as by Hoyle et al. (NeurIPS 2021), and
ProxAnn (Hoyle et al., ACL 2025).
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tcnlm.common.files import write_file
from tcnlm.common.outputs import write_rows
from tcnlm.metrics.base import EvaluationContext, Metric, topical
from tcnlm.metrics.features import DocumentTopics
from tcnlm.preprocessing.data_folder import read_texts

if TYPE_CHECKING:
    from tcnlm.data.dataset import Dataset, Split

SHOWN = 5  # words of a topic beside the intruder, and words that may intrude
OWN = (50, 10)  # words that an intruder is not among, the deeper first
SEED = 1  # of the intruders and their places
LEAST = 500  # documents; with fewer ProxAnn stops
CONFIG = """[all]
method=elbow
top_words_display=100
ntop=7
n_matches={topics}
text_column=tokenized_text
text_column_disp=text
thr=0.1,0.8
path_json_save=user_study
topic_selection_method=wmd

; {documents} documents, of {least} that ProxAnn needs. Paths are from this folder.
[topics]
thetas_path=thetas.npy
betas_path=betas.npy
vocab_path=vocab.json
corpus_path=corpus.jsonl
trained_with_thetas_eval=false
remove_topic_ids=
"""


class Judged(NamedTuple):
    """Topics [K, D], and the documents of a split."""

    beta: np.ndarray
    documents: DocumentTopics
    dataset: Dataset
    split: Split


class Judges(Metric):
    """What judges are given: it has no figure of its own."""

    key = "judges"
    applies = staticmethod(topical)

    def unsaved(self, subject: EvaluationContext) -> Judged:
        parts = subject.documents, subject.dataset, subject.split
        return Judged(subject.beta, *parts)

    def write(self, folder: Path, evaluation: Mapping[str, Any], unsaved: Any) -> None:
        if unsaved:
            order = np.argsort(-unsaved.beta, axis=1, kind="stable")[:, : max(OWN)]
            words = unsaved.dataset.vocabulary.topic_words
            topics = [[words[i] for i in row] for row in order]
            write_intrusion(topics, folder / "word_intrusion")
            write_proxann(unsaved, folder / "proxann")


def intruders(
    topics: Sequence[Sequence[str]], rng: np.random.Generator
) -> Iterator[tuple[int, str]]:
    """Yield topics in any order, each with a word of another that is not of its own.

    It is one of the other's first five, and not among the topic's first 50, or else
    first 10; each other topic gives one. A topic for which there is none is left out.
    """
    free = set(range(len(topics)))
    for topic in rng.permutation(len(topics)):
        others = [int(k) for k in rng.permutation(sorted(free - {topic}))]
        for own, other in itertools.product(OWN, others):
            words = [w for w in topics[other][:SHOWN] if w not in topics[topic][:own]]
            if words:
                free.remove(other)
                yield int(topic), str(rng.choice(words))
                break


def write_intrusion(topics: Sequence[Sequence[str]], folder: Path) -> None:
    """Write topics.txt, questions.csv for the judges and answers.csv apart."""
    lines = "".join(f"{' '.join(words)}\n" for words in topics)
    write_file(folder / "topics.txt", lines.encode())
    rng = np.random.default_rng(SEED)
    questions, answers = [], []
    for question, (topic, word) in enumerate(intruders(topics, rng), 1):
        words = rng.permutation([*topics[topic][:SHOWN], word]).tolist()
        columns = {f"word {i}": each for i, each in enumerate(words, 1)}
        questions.append({"question": question, **columns})
        answers.append({"question": question, "topic": topic, "intruder": word})
    write_rows(folder / "questions.csv", questions)
    write_rows(folder / "answers.csv", answers)


def write_proxann(judged: Judged, folder: Path) -> None:
    """Write ProxAnn's input; documents without a topic word are left out."""
    beta, documents, dataset, split = judged
    rows = np.flatnonzero(documents.has_words)
    arrays = {"thetas": documents.proportions[rows], "betas": beta}
    for name, array in arrays.items():
        content = io.BytesIO()
        np.save(content, np.asarray(array, np.float32), allow_pickle=False)
        write_file(folder / f"{name}.npy", content.getvalue())
    columns = {word: i for i, word in enumerate(dataset.vocabulary.topic_words)}
    write_file(folder / "vocab.json", json.dumps(columns).encode())
    came = read_texts(dataset.path / split.name, rows.tolist())
    texts = ""
    for row, text in zip(rows.tolist(), came or [None] * len(rows)):
        ids = itertools.chain.from_iterable(split.document(row))
        tokens = " ".join(dataset.vocabulary.words[i] for i in ids)
        name = split.ids[row] if split.ids else row
        document = {"id": name, "text": text or tokens, "tokenized_text": tokens}
        texts += f"{json.dumps(document)}\n"
    write_file(folder / "corpus.jsonl", texts.encode())
    numbers = {"topics": len(beta), "documents": len(rows), "least": LEAST}
    write_file(folder / "config.conf", CONFIG.format(**numbers).encode())
