"""A corpus of news messages with its own list of topic words: the whole command."""

import json

from tcnlm.data.dataset import Dataset
from tcnlm.programs.preprocess import main

BODIES = ("ships sail the sea", "the court", "sail sail ships", "nothing here")


def make(tmp_path, words, *options):
    corpus, listed = tmp_path / "corpus.jsonl", tmp_path / "words.txt"
    messages = [{"text": f"Subject: court\n\n{body}"} for body in BODIES]
    corpus.write_text("".join(json.dumps(message) + "\n" for message in messages))
    listed.write_text(words)
    files = ["--train", corpus, "--test", corpus, "--valid-from-train", 1]
    command = ["--format", "jsonl", *files, "--vocabulary", listed, *options]
    command += ["--min-count", 9, "--processes", 1, "--out", tmp_path / "DATA"]
    return main([*map(str, command)])


def test_the_listed_words_are_the_topic_words_and_all_that_is_rare_else_is_unknown(
    tmp_path, capsys
):
    assert make(tmp_path, "zebra\nsail\nships\n", "--headers", "drop") == 0
    dataset = Dataset(tmp_path / "DATA")
    assert set(dataset.vocabulary.words[4:]) == {"sail", "ships", "zebra"}
    assert dataset.vocabulary.topic_words[-1] == "zebra"
    assert dataset.vocabulary.topic_counts[-1] == 0
    assert dataset.meta["topic_vocabulary_size"] == 3
    assert dataset.meta["settings"]["topic_words"] == 3
    assert dataset.split("test").content(2).shape == (3,)
    assert dataset.meta["splits"]["test"]["without_topic_words"] == 2
    last = capsys.readouterr().out.splitlines()[-2]
    assert last.startswith("documents without a topic word: train ")
    assert last.endswith(", test 2")


def test_listed_words_that_never_occur_are_counted_and_the_first_named(
    tmp_path, capsys
):
    words = [f"{letter}xx" for letter in "abcdef"]
    assert make(tmp_path, "\n".join(["gonna", "sail", *words]), "--force") == 0
    said = "7 of the 8 words of --vocabulary never occur in the training documents"
    named = (
        f"{said}: gonna, axx, bxx, cxx, dxx ...; of 'gonna' a text has ['gon', 'na']"
    )
    assert f"warning: {named}" in capsys.readouterr().err.splitlines()
    assert make(tmp_path, "sail\nships\n", "--force") == 0
    assert "never occur" not in capsys.readouterr().err


def test_words_of_the_headers_count_unless_they_are_dropped(tmp_path):
    assert make(tmp_path, "court\n") == 0
    assert Dataset(tmp_path / "DATA").vocabulary.topic_counts[0] >= 3
    assert make(tmp_path, "subject\nsail\n", "--headers", "drop", "--force") == 0
    assert Dataset(tmp_path / "DATA").vocabulary.topic_counts[-1] == 0


def test_a_list_of_which_no_word_occurs_is_refused(tmp_path, capsys):
    assert make(tmp_path, "Sail\nzebra\n") == 2
    assert "none of the 2 words of --vocabulary occurs" in capsys.readouterr().err
    assert not (tmp_path / "DATA").exists()
