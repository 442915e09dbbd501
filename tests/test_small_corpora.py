"""Small or unfit corpora: counts chosen for them, and what their user is told."""

import re

import numpy as np
import pytest
import toy

from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.preprocessing.vocabulary import SPECIALS, Rules, build_vocabulary, choose
from tcnlm.preprocessing.warnings import in_training_too

OPEN = Rules(min_count=None, topic_min_count=None, top_fraction=0.0)


def choice(frequencies, rules=OPEN):
    """The two counts chosen for words with these frequencies."""
    words = [f"w{i}" for i in range(len(frequencies))]
    rules = choose(words, np.array(frequencies), rules)
    return rules.min_count, rules.topic_min_count


def test_a_large_corpus_gets_the_counts_of_the_paper():
    assert choice([500] * 5000 + [1] * 1000) == (11, 100)


@pytest.mark.parametrize(
    ("frequencies", "least"),
    [
        ([900] + [7] * 13 + [9] * 1, 11),  # 100 of 1,000 are below 11
        ([900] + [7] * 13 + [9] * 2, 9),  # 91 of 1,009 are below 9, 109 below 10
        ([89] + [1] * 11, 2),  # 11 % occur once, yet <unk> is to be learned
        ([1] * 50, 2),
    ],
)
def test_min_count_leaves_at_most_a_tenth_of_the_words_unknown(frequencies, least):
    assert choice(frequencies)[0] == least


def test_topic_min_count_leaves_five_thousand_topic_words_but_min_count_is_enough():
    assert choice([60] * 4999 + [40, 30, 20]) == (11, 40)
    assert choice([60] * 4999 + [9] * 5) == (11, 11)
    assert choice([60] * 50) == (11, 11)


def test_topic_words_are_seen_ten_times_where_that_leaves_a_thousand():
    assert choice([30] * 1200 + [4] * 3000) == (4, 10)
    assert choice([30] * 600 + [6] * 800) == (6, 6)
    assert choice([30] * 990 + [7] * 20 + [2] * 9000) == (2, 7)


def test_only_what_may_be_a_topic_word_counts_for_it():
    words = [f"w{i}" for i in range(5500)]
    rules = Rules(None, None, 0.0, stop_words=frozenset(words[:500]))
    counts = np.array([90] * 500 + [50] * 4999 + [30])
    assert choose(words, counts, rules).topic_min_count == 30


def test_the_specials_of_a_text_are_no_words_to_choose_by():
    words = [*SPECIALS, "film"]
    assert choose(words, np.array([3, 3, 3, 3, 100]), OPEN).min_count == 11


def test_a_count_that_is_given_stays():
    assert choice([60] * 50, Rules(7, None, 0.0)) == (7, 7)
    assert choice([60] * 50, Rules(None, 9, 0.0)) == (11, 9)


def test_chosen_counts_make_the_vocabulary_that_they_promise():
    counts = np.array([60] * 4999 + [40, 30, 20])
    words = [f"w{i}" for i in range(len(counts))]
    vocabulary = build_vocabulary(words, counts, 9, choose(words, counts, OPEN))
    assert len(vocabulary.topic_words) == 5000


# The command


def told(capsys, tmp_path, text, *options, form="text"):
    """The warnings of a command on a corpus."""
    assert toy.preprocessed(tmp_path, text, *options, form=form)[0] == 0
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if line.startswith("warning: ")]


AS_EVER = "--min-count auto --topic-min-count auto --topic-top-fraction 0.001".split()


def news(documents=300):
    """Documents of two sentences; word i of 600 in document i, i + 1 and so on."""
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)]
    rows = (" ".join(words[2 * i : 2 * i + 60]) for i in range(documents))
    return "".join(f"It is {row}. It was {row}.\n" for row in rows)


def test_a_small_corpus_is_warned_of_what_is_too_little(capsys, tmp_path):
    found = told(capsys, tmp_path, news(), *AS_EVER, "--topic-min-count", "58")
    assert sum("topic words, too few to tell topics by" in line for line in found) == 1
    text = "".join(f"The cat saw x{i // 5}y and z.\n" for i in range(200))
    found = told(capsys, tmp_path, text, "--min-count", "11")
    assert any("14% of the training words are unknown" in line for line in found)
    assert any("100% of the training documents are of one" in line for line in found)
    found = told(capsys, tmp_path, text, "--context", "all")
    assert not any("unknown" in w or "one sentence" in w for w in found)


def test_by_itself_it_takes_counts_that_fit_and_meta_has_them(capsys, tmp_path):
    assert told(capsys, tmp_path, news(), *AS_EVER) == []
    settings = read_meta(tmp_path / "DATA")["settings"]
    assert 2 <= settings["min_count"] <= 11
    assert settings["min_count"] <= settings["topic_min_count"] <= 100


def table(row):
    """CSV of 40 documents of 20 words, with an id and a label by their number."""
    words = (" ".join(f"w{i + j}w" for j in range(20)) for i in range(40))
    return "\n".join(["id,label,text", *(f"{row(i)},{w}" for i, w in enumerate(words))])


ODD = {  # an id and a label by a document's number; what is told
    "nothing": (lambda i: f"{i},{'ab'[i % 2]}", None),
    "as many labels as few documents": (lambda i: f"{i},{i // 2}", None),
    "white space at a label": (lambda i: f"{i},a{' ' * i}", None),
    "one id for all": (lambda i: "7,a", "40 documents share .* 40 of them '7'"),
    "two of an id": (lambda i: f"{i or 1},a", "2 documents share .* of them '1'"),
    "each a class": (lambda i: f"{i},k{i}", "40 .* 40 labels, .* hardly classes"),
    "no label": (lambda i: f"{i},{'NA' * (i < 3)}", ":2: .*'NA', taken .* 2 times"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_in_labels_and_ids_is_told_in_a_line(kind, capsys, tmp_path):
    row, wanted = ODD[kind]
    marks = "--label label --id id".split()
    found = told(capsys, tmp_path, table(row), *marks, form="table")
    found = [line for line in found if "label" in line or " ids" in line]
    assert len(found) == (wanted is not None)
    assert not wanted or re.search(wanted, found[0])


def test_fillers_are_told_of_by_how_many_texts_they_are(capsys, tmp_path):
    """320 of 520 answers are six texts; "rare" is one of no hundred documents."""
    fillers = ["n/a", "No comment.", "nothing", "-", "no", "..."]
    answers = [filler for filler in fillers for _ in range(53)] + ["-", "-"]
    answers += [f"The ship number {i} sails by." for i in range(195)] + ["Rare"] * 5
    found = told(capsys, tmp_path, "\n".join(answers))
    said = "320 of 520 documents are only 6 different texts, such as '-': leave out"
    assert sum(said in line for line in found) == 1


def test_long_documents_that_training_has_too_are_counted():
    """Not short ones, nor what the same split has twice."""
    texts = [range(30), range(30), range(5), range(1, 31), range(30), range(5)]
    texts += [range(2, 40), range(2, 40)]
    ends = np.cumsum([0, *map(len, texts)])
    arrays = Arrays(np.concatenate(texts), ends, np.arange(len(texts) + 1))
    rows = {"train": [0, 1, 2, 3], "valid": [4, 5], "test": [6, 7]}
    [found] = in_training_too(arrays, {k: np.array(v) for k, v in rows.items()})
    assert found.startswith("1 of 2 valid documents are in training word for word")
