"""Documents to DATA: splits, arrays, counts; nothing lost on the way."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcnlm.common.process import chunks, ordered_map
from tcnlm.preprocessing import text
from tcnlm.preprocessing.collect import SPLITS, Arrays, counts_of
from tcnlm.preprocessing.corpora import Corpus
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.preprocessing.documents import Document
from tcnlm.preprocessing.markup import normalized
from tcnlm.preprocessing.pipeline import Preprocessing, preprocess
from tcnlm.preprocessing.sources import split_tdlm
from tcnlm.preprocessing.vocabulary import SPECIALS, UNK, Rules, Vocabulary

few_examples = settings(max_examples=25, deadline=None)
EVERY_WORD = Rules(min_count=1, topic_min_count=1, top_fraction=0.0)


def corpus_of(sentences=text.sentences, **parts):
    readers = {part: partial(map, Document, texts) for part, texts in parts.items()}
    return Corpus(readers, sentences, "made up")


def load(data, split):
    files = (data / split / f"{name}.npy" for name in Arrays._fields)
    return Arrays(*(np.load(file, allow_pickle=False) for file in files))


def decode(data, split):
    """The documents of a split, as sentences of words."""
    words = Vocabulary.load(data).words
    tokens, sentences, documents = load(data, split)
    spelt = [words[i] for i in tokens]
    sentences = [spelt[a:b] for a, b in zip(sentences, sentences[1:])]
    return [sentences[a:b] for a, b in zip(documents, documents[1:])]


# Tokens and arrays

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda word: normalized(word).split() == [word] and word not in SPECIALS
)
TOKENIZED = st.lists(
    st.lists(st.lists(WORDS, max_size=70), min_size=1, max_size=3),
    min_size=10,
    max_size=12,
)


@few_examples
@given(TOKENIZED)
def test_tokenized_documents_come_back_word_for_word(tmp_path_factory, documents):
    lines = ["".join(" ".join(s) + "\t" for s in d) for d in documents]
    lines[0] = "film"  # a topic word
    data = tmp_path_factory.mktemp("data") / "DATA"
    corpus = corpus_of(split_tdlm, train=lines, valid=lines[:3], test=lines[5:])
    preprocess(corpus, Preprocessing(EVERY_WORD), data)
    assert decode(data, "train") == [[["film"]], *documents[1:]]
    assert decode(data, "valid") == [split_tdlm(line) for line in lines[:3]]
    assert decode(data, "test") == [split_tdlm(line) for line in lines[5:]]


@few_examples
@given(st.lists(st.text(), min_size=10, max_size=12), st.integers(1, 40))
def test_any_text_every_word_and_eos_is_a_target_exactly_once(
    tmp_path_factory, documents, length
):
    documents = ["film", *documents]
    data = tmp_path_factory.mktemp("data") / "DATA"
    corpus = corpus_of(train=documents, valid=documents, test=documents)
    meta = preprocess(corpus, Preprocessing(EVERY_WORD, sequence_length=length), data)
    expected = [text.sentences(document) for document in documents]
    assert decode(data, "train") == expected
    targets = [len(s) + 1 for document in expected for s in document]
    counts = meta["splits"]["train"]
    assert counts["targets"] == sum(targets)
    assert counts["sequences"] == sum(-(-number // length) for number in targets)
    assert counts["documents"] == len(documents)


def test_the_counts_of_a_worked_example():
    # Documents of sentences of 2, 0 | nothing | 29, 30, 61 words.
    arrays = Arrays(
        np.full(122, 4), np.cumsum([0, 2, 0, 29, 30, 61]), np.array([0, 2, 2, 5])
    )
    arrays.tokens[:3] = UNK
    assert counts_of(arrays, 30) == {
        "documents": 3,
        "sentences": 5,
        "tokens": 122,
        "targets": 127,
        "sequences": 1 + 1 + 1 + 2 + 3,
        "unknown": 3,
    }


def test_words_of_other_splits_than_train_are_unknown(tmp_path):
    corpus = corpus_of(train=["a good film"], valid=["a bad film"], test=["bad"])
    meta = preprocess(corpus, Preprocessing(EVERY_WORD), tmp_path / "DATA")
    assert decode(tmp_path / "DATA", "valid") == [[["a", "<unk>", "film"]]]
    assert [meta["splits"][name]["unknown"] for name in SPLITS] == [0, 1, 1]


# meta.json


def test_meta_holds_what_was_done(toy_data):
    arrays, meta = load(toy_data, "test"), read_meta(toy_data)
    assert [a.dtype for a in arrays] == [np.int32, np.int64, np.int64]
    assert meta["format_version"] == 1
    assert meta["seed"] == 1
    assert "--min-count 1" in meta["command"]
    assert meta["settings"]["min_count"] == meta["settings"]["topic_min_count"] == 1
    assert meta["settings"]["context"] == "others"
    vocabulary = Vocabulary.load(toy_data)
    assert meta["vocabulary_size"] == len(vocabulary)
    assert meta["topic_vocabulary_size"] == len(vocabulary.topic_words)
    assert sum(counts["documents"] for counts in meta["splits"].values()) == 60


def test_the_fingerprint_changes_with_whatever_a_model_sees(tmp_path):
    def fingerprint_of(documents=("a film", "a film!", "bad"), **changes):
        corpus = corpus_of(**{n: [text] for n, text in zip(SPLITS, documents)})
        made = Preprocessing(EVERY_WORD, **changes)
        return preprocess(corpus, made, tmp_path / "DATA", force=True)["fingerprint"]

    same = fingerprint_of()
    # "worse" and "bad" are both unknown words: the very same DATA.
    assert same == fingerprint_of() == fingerprint_of(("a film", "a film!", "worse"))
    others = [
        fingerprint_of(("the film", "a film!", "bad")),
        fingerprint_of(sequence_length=7),
        fingerprint_of(context="preceding"),
        fingerprint_of(context_words=5),
    ]
    assert len({same, *others}) == 5


# Processes


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_items_and_errors_to_the_caller(processes):
    digits = [str(i) for i in range(40)]
    assert list(ordered_map(int, digits, processes)) == list(range(40))
    with pytest.raises(ValueError, match="invalid literal"):
        list(ordered_map(int, ["1", "bad", "2"], processes))


def test_items_are_not_read_far_ahead_of_the_results():
    read = []
    items = (read.append(i) or str(i) for i in range(1000))
    next(ordered_map(int, items, 2))
    assert len(read) < 10
    assert list(chunks(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
