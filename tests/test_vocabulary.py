"""Counts to vocabularies: cut-offs, order, what is no topic word, files."""

import numpy as np
import pytest

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.collect import Arrays, counted
from tcnlm.preprocessing.languages import STOP_WORDS, read_stop_words
from tcnlm.preprocessing.vocabulary import (
    EOS,
    GO,
    PAD,
    SPECIALS,
    UNK,
    Rules,
    Vocabulary,
    build_vocabulary,
    read_topic_words,
)

ALL = Rules(min_count=1, topic_min_count=1, top_fraction=0.0)


def build(counts, rules=ALL, sentences=7):
    types = list(counts)
    return build_vocabulary(types, np.array(list(counts.values())), sentences, rules)


def test_the_specials_come_first_with_their_ids_and_the_defaults_are_of_table_1():
    vocabulary = build({"film": 3})
    assert vocabulary.words[:4] == list(SPECIALS) == ["<pad>", "<go>", "<eos>", "<unk>"]
    assert (PAD, GO, EOS, UNK) == (0, 1, 2, 3)
    defaults = Rules.min_count, Rules.topic_min_count, Rules.top_fraction
    assert defaults == (11, 100, 0.001)


def test_words_go_by_count_ties_by_first_occurrence_and_rare_ones_are_unknown():
    vocabulary = build({"b": 2, "c": 5, "x": 1, "a": 2, "d": 9}, Rules(2, 1, 0.0))
    assert vocabulary.words[4:] == ["d", "c", "b", "a"]
    assert vocabulary.counts.tolist() == [0, 0, 7, 1, 9, 5, 2, 2]  # <eos>: sentences


def test_of_max_words_the_most_frequent_stay_and_ties_go_by_first_occurrence():
    counts = {"a": 5, "b": 9, "c": 5, "d": 5, "e": 1}
    vocabulary = build(counts, Rules(2, 1, 0.0, max_words=2))
    assert vocabulary.words[4:] == vocabulary.topic_words == ["b", "a"]
    assert vocabulary.counts[UNK] == 11
    fewer = build(counts, Rules(9, 1, 0.0, max_words=2))
    assert fewer.words[4:] == ["b"]  # --min-count holds too
    named = build(counts, Rules(1, 1, 0.0, topic_words=("e",), max_words=1))
    assert (named.words[4:], named.topic_words) == (["b", "e"], ["e"])


@pytest.mark.parametrize(
    "word", ["the", "n't", "'s", "'em", "...", "1,000", "10/10", "$", "\u00e9\u00e9"]
)
def test_no_topic_word(word):
    vocabulary = build(
        {"film": 2, word: 2}, Rules(1, 1, 0.0, stop_words=frozenset({"the"}))
    )
    assert word in vocabulary.words
    assert vocabulary.topic_words == ["film"]


@pytest.mark.parametrize(
    "word", ["u.s.", "o'hara", "mst3k", "80s", "caf\u00e9", "first-rate"]
)
def test_a_topic_word(word):
    assert build({word: 2}).topic_words == [word]


def test_the_most_frequent_types_are_no_topic_words():
    # A fraction of all types, whether in the vocabulary or not, rounded down.
    counts = {f"w{i}": 100 - i for i in range(59)}
    vocabulary = build(counts, Rules(60, 1, top_fraction=0.05))
    assert vocabulary.topic_words == vocabulary.words[4 + 2 :]
    own_count = build(counts, Rules(60, 90, top_fraction=0.05))
    assert own_count.topic_words == [f"w{i}" for i in range(2, 11)]


def test_named_topic_words_are_exactly_those_whatever_the_rules_say():
    counts = {"the": 90, "film": 5, "rare": 1, "other": 20, "lost": 2}
    named = ("unseen", "rare", "the", "absent", "film")
    rules = Rules(4, 100, 0.5, frozenset({"the"}), named)
    vocabulary = build(counts, rules)
    assert vocabulary.topic_words == ["the", "film", "rare", "unseen", "absent"]
    assert vocabulary.topic_counts.tolist() == [90, 5, 1, 0, 0]
    words = ["the", "other", "film", "rare", "unseen", "absent"]
    assert vocabulary.words == [*SPECIALS, *words]
    assert vocabulary.counts.tolist() == [0, 0, 7, 2, 90, 20, 5, 1, 0, 0]
    assert vocabulary.topic_ids.tolist() == [-1, -1, -1, -1, 0, -1, 1, 2, 3, 4]
    assert vocabulary.topic_ids.dtype == np.int32


def test_a_special_symbol_in_the_text_is_an_unknown_word():
    vocabulary = build({"film": 3, "<unk>": 4, "<eos>": 2})
    assert vocabulary.words == [*SPECIALS, "film"]
    assert vocabulary.ids([*SPECIALS, "film"]) == [3, 3, 3, 3, 4]
    assert vocabulary.counts[UNK] == 6


def test_save_and_load_keep_everything_even_odd_words(tmp_path):
    odd = ["caf\u00e9", "a\rb", "x\u2028y", "\u4e2d", '"', "#"]
    vocabulary = build({word: 3 for word in odd})
    vocabulary.save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert loaded.words == vocabulary.words
    assert loaded.topic_words == vocabulary.topic_words
    np.testing.assert_array_equal(loaded.counts, vocabulary.counts)


def test_the_shipped_stop_words_are_the_523_of_mallet():
    words = read_stop_words(STOP_WORDS)
    assert len(words) == 523
    assert {"the", "a", "seven", "zero"} <= words
    assert "film" not in words


def test_stop_words_are_lower_cased_and_comments_skipped(tmp_path):
    lines = "# mine\nThe\n\n of \ne\u0301t\xe9\nge\u2019s\n"
    (tmp_path / "list").write_text(lines, encoding="utf-8")
    found = read_stop_words(tmp_path / "list")
    with pytest.raises(InputError, match="nowhere"):
        read_stop_words(tmp_path / "nowhere")
    assert found == {"the", "of", "\xe9t\xe9", "ge\u2019s", "ge's"}


def test_a_list_of_topic_words_is_read_as_it_is(tmp_path):
    lines = "\ufeffzoo\nApple\n\n #1 \r\ne\u0301t\xe9\n"
    (tmp_path / "list").write_text(lines, encoding="utf-8")
    assert read_topic_words(tmp_path / "list") == ("zoo", "Apple", "#1", "\xe9t\xe9")


BAD_LISTS = {
    "a\nb\n\na\n": "list:4: 'a' must be one word of a text, each once",
    "a\nnew york\n": "list:2: 'new york' must be one word",
    "a\n<unk>\n": "list:2: '<unk>' must be one word",
    "\n \n": "list: no word in it",
}


@pytest.mark.parametrize("content", BAD_LISTS)
def test_a_bad_list_of_topic_words_is_named_with_its_line(tmp_path, content):
    (tmp_path / "list").write_text(content)
    with pytest.raises(InputError, match=BAD_LISTS[content]):
        read_topic_words(tmp_path / "list")


def test_words_are_counted_in_the_order_of_the_training_text_alone(rng):
    tokens = rng.integers(1, 30, 200).astype(np.int32)  # 0 is in another split
    train = Arrays(tokens, np.array([0, 200]), np.array([0, 1]))
    types, counts = counted([*map(str, range(31))], train)
    assert types == [*map(str, dict.fromkeys(tokens))]
    assert counts.tolist() == [np.count_nonzero(tokens == int(t)) for t in types]
