"""The topics of a RUN as a list to be scored, for `python -m tcnlm.coherence`."""

from __future__ import annotations

from pathlib import Path

from tcnlm.coherence.diversity import DIVERSITY_WORDS
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.common.errors import InputError
from tcnlm.measures.proportions import infer_documents
from tcnlm.models.base import TopicModel
from tcnlm.models.topics import top_words
from tcnlm.training import runs


def topics_of_run(run: Path, number: int) -> TopicList:
    """Return a RUN's topics, at least `number` words each.

    How many are in use is told where its DATA is still there.
    """
    config = runs.read_config(run)
    model = runs.load(run)
    if not isinstance(model, TopicModel):
        raise InputError(f"{run}: a {config['model']} has no topics")
    topics = top_words(model, max(number, DIVERSITY_WORDS))
    try:
        split = runs.open_data(config).split("test")
    except InputError:
        return TopicList(str(run), topics)
    return TopicList(str(run), topics, infer_documents(model, split).in_use)
