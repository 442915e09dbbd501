"""The topics to be scored: of a RUN, or a topic's words a line in a text file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from preprocessing.errors import InputError
from preprocessing.sources import read_lines
from tcnlm.diversity import DIVERSITY_WORDS


@dataclass(frozen=True)
class TopicList:
    """Topics from one place."""

    source: str
    topics: list[list[str]]  # the words of each, best first
    in_use: int | None = None  # largest of some test document; None: not known


def read_topics(path: Path, number: int) -> TopicList:
    """Read the topics of a RUN folder or of a text file.

    number: of words that a RUN's topics need for their coherence. Raises InputError,
    with the file and line, for a topic without two different words.
    """
    return _topics_of_run(path, number) if path.is_dir() else _topics_of_text(path)


def _topics_of_text(path: Path) -> TopicList:
    topics = [line.split() for line in read_lines(path)]
    if not topics:
        raise InputError(f"{path}: no topics in it; write one topic's words a line")
    for number, words in enumerate(topics, 1):
        if len(set(words)) < 2:
            raise InputError(
                f"{path}:{number}: a topic needs two different words, this line has "
                f"{words or 'none'}"
            )
    return TopicList(str(path), topics)


def _topics_of_run(run: Path, number: int) -> TopicList:
    # Here, since topics in a text file need no TensorFlow.
    from tcnlm import runs
    from tcnlm.evaluation import open_data
    from tcnlm.models.base import TopicModel
    from tcnlm.topics import infer_documents, top_words

    config = runs.read_config(run)
    model = runs.load(run)
    if not isinstance(model, TopicModel):
        raise InputError(f"{run}: a {config['model']} has no topics")
    topics = top_words(model, max(number, DIVERSITY_WORDS))
    try:
        split = open_data(config).split("test")
    except InputError:
        return TopicList(str(run), topics)
    return TopicList(str(run), topics, infer_documents(model, split).in_use)
