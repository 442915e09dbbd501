"""A split of four documents of a few words, or of any that hypothesis draws."""

import numpy as np
from hypothesis import strategies as st

from tcnlm.data.dataset import Split
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.vocabulary import Vocabulary

WORDS = ["<pad>", "<go>", "<eos>", "<unk>", "a", "b", "c", "the", "of"]
TOPIC_WORDS = ["a", "b", "c"]
VOCABULARY = Vocabulary(WORDS, [0, 0, 1, 1, 9, 8, 7, 6, 5], TOPIC_WORDS)
DOCUMENTS = [[[4, 7, 5], [6, 8], [4, 4]], [], [[7, 8]], [[4, 5, 6, 4, 5, 6, 4], [6]]]


def make_split(documents, length=3, context="others", words=300):
    sentences = [sentence for document in documents for sentence in document]
    arrays = Arrays(
        tokens=np.array([w for s in sentences for w in s], np.int32),
        sentences=np.cumsum([0, *map(len, sentences)]),
        documents=np.cumsum([0, *map(len, documents)]),
    )
    settings = {"sequence_length": length, "context": context, "context_words": words}
    return Split(arrays, VOCABULARY, settings)


documents_of_words = st.lists(
    st.lists(st.lists(st.integers(3, len(WORDS) - 1), max_size=9), max_size=4),
    min_size=1,
    max_size=5,
)
