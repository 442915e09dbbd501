"""`--group`: documents of consecutive lines of a text that has none, such as PTB."""

import numpy as np
import pytest

from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.programs.preprocess import main

SMALL = "--min-count 1 --topic-min-count 1 --topic-top-fraction 0 --processes 1".split()
# Lines as the Penn Treebank has them: white space at both ends, <unk>, N.
LINES = [f" word{i} <unk> rose N in word{i % 4} \n" for i in range(23)]


def write(folder, lines=LINES):
    sizes = {"train": lines, "valid": lines[:11], "test": lines[:10]}
    for name, own in sizes.items():
        (folder / f"{name}.txt").write_text("".join(own))
    return [part for n in sizes for part in (f"--{n}", str(folder / f"{n}.txt"))]


def make(folder, *options):
    files = write(folder)
    out = folder / "DATA"
    assert main([*files, *SMALL, *options, "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("name", ["tdlm", "text"])
def test_ten_consecutive_lines_are_a_document_the_last_may_have_fewer(tmp_path, name):
    out = make(tmp_path, "--format", name, "--group", "10")
    splits = read_meta(out)["splits"]
    documents = [splits[split]["documents"] for split in ("train", "valid", "test")]
    assert documents == [3, 2, 1]


def test_a_line_of_a_group_is_a_sentence_and_every_word_is_taken_as_it_is(tmp_path):
    out = make(tmp_path, "--format", "tdlm", "--group", "10")
    counts = read_meta(out)["splits"]["train"]
    words = 23 * 6
    assert counts["sentences"] == 23
    assert (counts["tokens"], counts["targets"]) == (words, words + 23)
    assert counts["unknown"] == 23  # <unk> is the unknown word itself
    data = Dataset(out)
    split = data.split("train")
    assert np.diff(split.documents).tolist() == [10, 10, 3]
    back = [
        " ".join(data.vocabulary.words[i] for i in sentence)
        for document in range(3)
        for sentence in split.document(document)
    ]
    assert back == [line.strip() for line in LINES]


def test_groups_do_not_cross_files(tmp_path):
    write(tmp_path)
    parts = [str(tmp_path / f"{name}.txt") for name in ("valid", "test")]
    out = tmp_path / "DATA"
    options = ["--format", "tdlm", "--group", "10", "--train", *parts]
    options += ["--valid", parts[0], "--test", parts[1], "--out", str(out)]
    assert main([*SMALL, *options]) == 0
    assert np.diff(Dataset(out).split("train").documents).tolist() == [10, 1, 10]


def test_source_says_how_many_lines_a_document_has(tmp_path):
    out = make(tmp_path, "--format", "tdlm", "--group", "10")
    assert read_meta(out)["source"].endswith(", 10 lines a document")


def test_a_format_with_documents_of_its_own_is_refused(tmp_path, capsys):
    options = ["--format", "jsonl", "--group", "10", "--out", str(tmp_path / "DATA")]
    assert main([*write(tmp_path), *options]) == 2
    message = "--group makes documents of lines, of --format tdlm and text"
    assert message in capsys.readouterr().err
