"""Small or unfit corpora: counts chosen for them, and what their user is told."""

import re

import numpy as np
import pytest
import toy

from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.preprocessing.vocabulary import SPECIALS, Rules, build_vocabulary, choose
from tcnlm.preprocessing.warnings import context_sizes, in_training_too

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


# Contexts: topic words (1) and others (0) in three documents of 2, 1 and 3 sentences.

SENTENCES = [[1, 1], [0], [1], [0, 0], [1], [0]]
DOCUMENTS = [SENTENCES[:2], SENTENCES[2:3], SENTENCES[3:]]


@pytest.mark.parametrize("context", ["others", "leak", "preceding", "all"])
def test_topic_words_of_contexts_are_those_of_a_loop(context):
    expected = []
    for document in DOCUMENTS:
        for index in range(len(document)):
            others = {
                "others": document[:index] + document[index + 1 :],
                "leak": document[:index] + document[index + 1 :],
                "preceding": document[:index],
                "all": document,
            }[context]
            expected.append(sum(map(sum, others)))
    arrays = Arrays(
        np.concatenate(SENTENCES),
        np.cumsum([0, *map(len, SENTENCES)]),
        np.cumsum([0, *map(len, DOCUMENTS)]),
    )
    topic_ids = np.array([-1, 0])
    assert context_sizes(arrays, topic_ids, context).tolist() == expected


# The command


def told(capsys, tmp_path, text, *options, form="text"):
    """The warnings of a command on a corpus."""
    assert toy.preprocessed(tmp_path, text, *options, form=form)[0] == 0
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("warning: ") for line in lines)
    return lines


AS_EVER = "--min-count auto --topic-min-count auto --topic-top-fraction 0.001".split()


def news(documents=300):
    """Documents of two sentences; word i of 600 in document i, i + 1 and so on."""
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)]
    rows = (" ".join(words[2 * i : 2 * i + 60]) for i in range(documents))
    return "".join(f"It is {row}. It was {row}.\n" for row in rows)


def test_a_small_corpus_is_warned_of_and_the_proposed_values_help(capsys, tmp_path):
    found = told(capsys, tmp_path, news(), *AS_EVER, "--topic-min-count", "58")
    (topics,) = (line for line in found if "only" in line)
    assert "topic words, too few to tell topics by: try --topic-min-count" in topics
    proposed = topics.split("try ")[1].split()
    after = told(capsys, tmp_path, news(), *AS_EVER, *proposed)
    assert not any("too few" in line for line in after)


def test_by_itself_it_takes_what_is_proposed_and_meta_has_the_numbers(capsys, tmp_path):
    assert told(capsys, tmp_path, news(), *AS_EVER) == []
    settings = read_meta(tmp_path / "DATA")["settings"]
    assert 2 <= settings["min_count"] <= 11
    assert settings["min_count"] <= settings["topic_min_count"] <= 100


def test_many_unknown_words_are_warned_of_with_a_value_that_helps(capsys, tmp_path):
    text = "".join(f"The cat saw x{i // 5}y and z.\n" for i in range(200))
    found = told(capsys, tmp_path, text, "--min-count", "11")
    (unknown,) = (line for line in found if "unknown" in line)
    assert unknown.startswith("warning: 14% of the training words are unknown: try")
    proposed = unknown.split("try ")[1].split()
    after = told(capsys, tmp_path, text, *proposed)
    assert not any("unknown" in line for line in after)


def test_unknown_words_beyond_max_words_are_said_to_be_of_that_limit(capsys, tmp_path):
    text = "The cat saw one bird and two more birds in a tree.\n" * 30
    found = told(capsys, tmp_path, text, "--max-words", "6")
    (unknown,) = (line for line in found if "unknown" in line)
    assert unknown.endswith("of the training words are unknown: raise --max-words")


def test_contexts_without_topic_words_are_warned_of(capsys, tmp_path):
    text = "The cat slept.\n" * 30
    found = told(capsys, tmp_path, text)
    assert any("100% of the training sentences have no topic word" in w for w in found)
    found = told(capsys, tmp_path, text, "--context", "all")
    assert not any("training sentences" in w for w in found)


def test_plain_text_taken_for_tdlm_is_warned_of(capsys, tmp_path):
    text = "The cat slept. It woke.\n" * 30
    found = told(capsys, tmp_path, text, form="tdlm")
    assert "no training document has a tab" in found[0]
    assert "--format text" in found[0]
    one = text.replace(". ", " .\t", 1)
    for corpus, form in ((one * 9, "tdlm"), (text, "text")):
        found = told(capsys, tmp_path, corpus, form=form)
        assert not any("tab" in line for line in found)


def poems(blank):
    """Verses, 16 in a poem, with so many blank lines after each."""
    poem = "The cat slept. It woke.\n" * 16 + "\n" * blank
    return poem * 9


def test_many_blank_lines_are_warned_of_once_with_where_to_read_on(capsys, tmp_path):
    warning, *others = told(capsys, tmp_path, poems(16))
    assert re.search(r"\d\d% of the training lines are blank, .* every line", warning)
    assert "JSON Lines" in warning
    assert (toy.ROOT / re.search(r"docs/\S+", warning)[0]).exists()
    text = "".join(f'{{"text": "{line}"}}\n' for line in poems(16).splitlines())
    others += told(capsys, tmp_path, poems(1))
    others += told(capsys, tmp_path, poems(16), "--group", "32")
    others += told(capsys, tmp_path, text, form="jsonl")
    assert not any("blank" in line for line in others)


def table(number, row):
    """CSV of documents of 20 words, with an id and a label by their number."""
    rows = (
        f"{row(i)},{' '.join(f'w{i + j}w' for j in range(20))}" for i in range(number)
    )
    return "\n".join(["id,label,text", *rows])


ODD = {  # an id and a label by a document's number; what is told
    "nothing": (lambda i: f"{i},{'ab'[i % 2]}", []),
    "as many labels as few documents": (lambda i: f"{i},{i // 2}", []),
    "one id for all": (
        lambda i: f"7,{'ab'[i % 2]}",
        ["40 documents share their ids with others, 40 of them '7': no table"],
    ),
    "two of an id": (
        lambda i: f"{max(i, 1)},a",
        ["2 documents share their ids with others, 2 of them '1': no table"],
    ),
    "each document a class": (
        lambda i: f"{i},k{i}",
        ["40 documents have 40 labels, which are hardly classes: name another"],
    ),
    "labels and ids that say there is none": (
        lambda i: f"{i or ' '},{'NA' if i < 3 else 'None' if i < 5 else 'a'}",
        [
            "5 documents whose label says there is none ('NA', 'None'): taken to",
            "1 document whose id says there is none (' '): taken to have no id",
        ],
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_in_labels_and_ids_is_told_in_a_line(kind, capsys, tmp_path):
    row, wanted = ODD[kind]
    marks = "--label label --id id".split()
    found = told(capsys, tmp_path, table(40, row), *marks, form="table")
    found = [line for line in found if "label" in line or " id" in line]
    assert len(found) == len(wanted)
    assert all(f"warning: {w}" in line for w, line in zip(wanted, found))


@pytest.mark.parametrize("word", ["NA", "NaN", "null", "None", "N/A", "#N/A"])
def test_texts_that_say_there_is_none_are_told_of_or_left_out(word, capsys, tmp_path):
    lines = table(40, lambda i: f"{i},a").splitlines()
    lines[3:6] = [f"{i},a,{word}" for i in range(3)]
    text = "\n".join(lines)
    found = told(capsys, tmp_path, text, form="table")
    line = f"warning: 3 documents whose text says there is none ({word!r}): of jsonl"
    assert sum(line in each for each in found) == 1
    found = told(capsys, tmp_path, text, "--skip-empty", form="table")
    assert not any("whose text" in line for line in found)
    assert read_meta(tmp_path / "DATA")["left_out"] == 3


def test_swallowed_rows_are_told_of_once(capsys, tmp_path):
    lines = table(40, lambda i: f"{i},a").splitlines()
    for first, last in ((6, 8), (20, 30)):
        lines[first] = lines[first].replace(",a,", ',a,"')
        lines[last] += '"'
    found = told(capsys, tmp_path, "\n".join(lines), form="table")
    [line] = (line for line in found if "rows" in line)
    said = ":7: a cell goes on to line 9, and all its lines look like rows, as do 1 oth"
    assert said in line


def test_long_documents_that_training_has_too_are_counted():
    """Not short ones, nor what the same split has twice."""
    texts = [range(30), range(30), range(5), range(1, 31), range(30), range(5)]
    texts += [range(2, 40), range(2, 40)]
    ends = np.cumsum([0, *map(len, texts)])
    arrays = Arrays(np.concatenate(texts), ends, np.arange(len(texts) + 1))
    rows = {"train": [0, 1, 2, 3], "valid": [4, 5], "test": [6, 7]}
    [found] = in_training_too(arrays, {k: np.array(v) for k, v in rows.items()})
    assert found.startswith("1 of 2 valid documents are in training word for word")


def test_fillers_are_told_of_by_how_many_texts_they_are(capsys, tmp_path):
    """320 of 520 answers are six texts; "rare" is one of no hundred documents."""
    fillers = ["n/a", "No comment.", "nothing", "-", "no", "..."]
    answers = [filler for filler in fillers for _ in range(53)] + ["-", "-"]
    answers += [f"The ship number {i} sails by." for i in range(195)] + ["Rare"] * 5
    found = told(capsys, tmp_path, "\n".join(answers))
    [line] = (line for line in found if "same" in line)
    assert (
        "320 of 520 documents are the same 6 texts ('-', 'n/a', 'no comment ." in line
    )
    assert "flatter the figures of held-out documents" in line
