"""The command `python -m preprocessing`: its splits, its table, its errors."""

import filecmp
import json
import lzma
import re
import subprocess
import sys

import numpy as np
import pytest
import toy

from tcnlm.common import process
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.collect import SPLITS
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.programs import preprocess
from tcnlm.programs.preprocess import main

STORIES = [
    f"Story {i} is about a {animal}. The {animal} didn't {verb}!<br /><br />It slept."
    for i, (animal, verb) in enumerate(
        (animal, verb)
        for animal in ("cat", "dog", "bear", "duck", "hen")
        for verb in ("run", "jump", "bite", "fly")
    )
]
SMALL = toy.EVERY_WORD
FILES = ["vocabulary.txt", "topic_vocabulary.txt"]
FILES += [
    f"{s}/{name}.npy" for s in SPLITS for name in ("tokens", "sentences", "documents")
]


@pytest.fixture
def stories(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("\n".join(STORIES) + "\n")
    return path


def call(*arguments):
    return main([*map(str, arguments)])


def documents_of(data):
    return [read_meta(data)["splits"][name]["documents"] for name in SPLITS]


def test_the_whole_command_needs_no_tensorflow(stories, tmp_path):
    program = (
        "import runpy, sys; sys.modules['tensorflow'] = None;"
        "sys.argv[0] = 'preprocessing';"
        "runpy.run_module('preprocessing', run_name='__main__', alter_sys=True)"
    )
    for options in (["--help"], ["--format=text", f"--input={stories}", *SMALL]):
        command = [sys.executable, "-c", program, *options, f"--out={tmp_path}/DATA"]
        done = subprocess.run(command, cwd=toy.ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert read_meta(tmp_path / "DATA")


def test_the_table_has_the_figures_of_meta(tmp_path, capsys):
    _, data = toy.preprocessed(tmp_path, "\n".join(STORIES))
    table = capsys.readouterr().out.splitlines()
    meta = read_meta(data)
    assert table[0] == (
        f"vocabulary: LM {meta['vocabulary_size']}, TM {meta['topic_vocabulary_size']}"
    )
    columns = table[1].split()
    for row, split in zip(table[2:5], SPLITS):
        name, *figures = row.split()
        counts = meta["splits"][split]
        assert name == split
        assert [int(f.replace(",", "")) for f in figures[:-1]] == [
            counts[column] for column in columns[:-1]
        ]
        share = 100 * counts["unknown"] / counts["tokens"]
        assert float(figures[-1].rstrip("%")) == pytest.approx(share, abs=0.006)


@pytest.mark.slow
def test_the_number_of_processes_does_not_change_the_result(tmp_path):
    corpus = tmp_path / "stories.jsonl.xz"
    with lzma.open(corpus, "wt") as file:
        for number in range(20):
            for story in STORIES:
                file.write(json.dumps({"text": f"{story} Again {number}."}) + "\n")
    options = ["--format", "jsonl", "--input", corpus, *SMALL[:-2], "--seed", 5]
    one, two = tmp_path / "DATA1", tmp_path / "DATA2"
    for processes, out in ((1, one), (2, two)):
        assert call(*options, "--processes", processes, "--out", out) == 0
    assert filecmp.cmpfiles(one, two, FILES, shallow=False) == (FILES, [], [])
    assert {**read_meta(one), "command": ""} == {**read_meta(two), "command": ""}


@pytest.mark.parametrize("name", ["jsonl", "table"])
def test_documents_without_a_text_are_left_out_if_asked_and_counted(
    name, capsys, tmp_path
):
    texts = [*STORIES[:5], None, *STORIES[5:], "  ", ""]
    records = [{"id": i, "body": story} for i, story in enumerate(texts)]
    given = tmp_path / name
    if name == "jsonl":
        records.append({"id": 99})
        given.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        rows = (f'{record["id"]},"{record["body"] or ""}"\n' for record in records)
        given.write_text("id,body\n" + "".join(rows))
    options = ["--format", name, "--input", given, "--field", "body", "--id", "id"]
    options += [*SMALL, "--out", tmp_path / "DATA"]
    assert "--skip-empty" in refused(capsys, tmp_path, *options)
    assert call(*options, "--skip-empty") == 0
    left_out = {"jsonl": 4, "table": 3}[name]
    meta = read_meta(tmp_path / "DATA")
    assert meta["left_out"] == left_out
    line = f"left out by --skip-empty because they have no text: {left_out}\n"
    assert line in capsys.readouterr().out
    for split in ("train", "valid", "test"):
        ids = (tmp_path / "DATA" / split / "ids.txt").read_text().split()
        assert len(ids) == meta["splits"][split]["documents"]
        if split != "train":
            kept = (tmp_path / "DATA" / split / "texts.jsonl").read_text().splitlines()
            assert [texts[int(i)] for i in ids] == [*map(json.loads, kept)]
    assert call("--verify", tmp_path / "DATA") == 0


def test_where_all_are_left_out_the_field_is_in_question(capsys, stories, tmp_path):
    given = tmp_path / "a.jsonl"
    given.write_text('{"body": "x"}\n' * 20)
    options = ["--format", "jsonl", "--input", given, "--skip-empty"]
    error = refused(capsys, tmp_path, *options, "--out", tmp_path / "DATA")
    assert "all 20 documents have no text; name its field with" in error


def test_lee_needs_no_file(tmp_path):
    options = "--format lee --min-count 3 --topic-min-count 5 --limit 20 5 6"
    assert call(*options.split(), "--processes", 1, "--out", tmp_path / "DATA") == 0
    assert documents_of(tmp_path / "DATA") == [20, 5, 6]


# --group: documents of consecutive lines of a text that has none, such as PTB. White
# space at both ends, <unk> and N are as the Penn Treebank has them.
LINES = [f" word{i} <unk> rose N in word{i % 4} \n" for i in range(23)]


def test_consecutive_lines_of_a_file_are_a_document_and_each_a_sentence(tmp_path):
    files = {"train": LINES, "valid": LINES[:11], "test": LINES[:10]}
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(lines))
    options = [word for name in files for word in (f"--{name}", tmp_path / name)]
    options[2:2] = [tmp_path / "test"]  # a second file to train on
    for form in ("text", "tdlm"):
        grouped = ["--format", form, "--group", 10, "--force", "--out", tmp_path / "D"]
        assert call(*options, *SMALL, *grouped) == 0
        assert documents_of(tmp_path / "D") == [4, 2, 1]
    data = Dataset(tmp_path / "D")
    split, counts = data.split("train"), data.meta["splits"]["train"]
    assert np.diff(split.documents).tolist() == [10, 10, 3, 10]
    words = data.vocabulary.words
    back = [
        " ".join(words[i] for i in sentence)
        for document in range(4)
        for sentence in split.document(document)
    ]
    assert back == [line.strip() for line in [*LINES, *LINES[:10]]]
    assert counts["unknown"] == 33  # <unk> is the unknown word itself
    assert data.meta["source"].endswith(", 10 lines a document")


# --vocabulary: a list of topic words
BODIES = ("ships sail the sea", "the court", "sail sail ships", "nothing here")


def with_words(folder, words, *options):
    (folder / "words.txt").write_text(words)
    messages = (json.dumps({"text": body}) for body in BODIES)
    (folder / "test.jsonl").write_text("\n".join(messages))
    files = ["--train", folder / "test.jsonl", "--test", folder / "test.jsonl"]
    line = ["--format", "jsonl", *files, "--valid-from-train", 1, "--min-count", 9]
    line += ["--vocabulary", folder / "words.txt", *options, "--force"]
    return call(*line, "--out", folder / "DATA")


def test_the_listed_words_are_the_topic_words_and_all_that_is_rare_else_is_unknown(
    tmp_path, capsys
):
    assert with_words(tmp_path, "zebra\nsail\nships\n") == 0
    dataset = Dataset(tmp_path / "DATA")
    vocabulary = dataset.vocabulary
    assert set(vocabulary.words[4:]) == {"sail", "ships", "zebra"}
    assert (vocabulary.topic_words[-1], vocabulary.topic_counts[-1]) == ("zebra", 0)
    assert dataset.meta["settings"]["topic_words"] == 3
    assert dataset.split("test").content(2).shape == (3,)
    said = "1 of the 3 words of --vocabulary never occur in the training documents: z"
    assert said in capsys.readouterr().err
    assert with_words(tmp_path, "Sail\nzebra\n") == 2
    assert "none of the 2 words of --vocabulary occurs" in capsys.readouterr().err


# Bad input: what is wrong, named on one line; exit status 2; nothing left behind.


def refused(capsys, tmp_path, *arguments):
    """The error of a call that must fail and leave nothing."""
    before = sorted(tmp_path.rglob("*"))
    assert call(*arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    return output.err


BAD_FILES = {  # of the readers' errors, see test_sources.py
    "a.jsonl": (b'{"text": "x"}\n{"text"\n', "a.jsonl:2: not valid JSON"),
    "a.txt.xz": (lzma.compress(b"x\n" * 99)[:-9], "a.txt.xz:1"),
    "empty.txt": (b"", "the train split has no document"),
    "one.txt": (b"one\n", "the valid split has no document"),
    "no_word.txt": (b"\n" * 99, "no topic word is left"),
    "nowhere.txt": (None, "nowhere.txt: no such file"),
    "digits.txt": (b"12 34 56\n" * 20, "no topic word is left"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused(capsys, tmp_path, name):
    content, message = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    form = "jsonl" if "jsonl" in name else "text"
    options = ["--format", form, "--input", tmp_path / name, *SMALL]
    options += ["--topic-letters", "unicode", "--out", tmp_path / "DATA"]
    assert message in refused(capsys, tmp_path, *options)


RUSSIAN = "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442. 12 34\n" * 20


def test_another_script_needs_the_option_that_the_message_names(capsys, tmp_path):
    status, data = toy.preprocessed(tmp_path, RUSSIAN)
    assert status == 2
    error = capsys.readouterr().err
    assert "no topic word is left" in error
    assert "--topic-letters english" in error
    assert toy.preprocessed(tmp_path, RUSSIAN, "--topic-letters", "unicode")[0] == 0
    words = (data / "topic_vocabulary.txt").read_text(encoding="utf-8")
    assert words == "\u043a\u043e\u0442\t16\n\u0441\u043f\u0438\u0442\t16\n"


def test_an_existing_data_is_replaced_if_forced_and_never_its_own_input(
    capsys, stories, tmp_path
):
    out = tmp_path / "DATA"
    options = ["--format", "text", *SMALL, "--out", out]
    out.mkdir()
    (out / "meta.json").write_text('{"format_version": 0}')
    assert call(*options, "--input", stories, "--force") == 0
    capsys.readouterr()
    assert "DATA: exists already" in refused(
        capsys, tmp_path, *options, "--input", stories
    )
    assert call(*options, "--input", stories, "--seed", 9, "--force") == 0
    assert read_meta(out)["seed"] == 9
    capsys.readouterr()
    stories.replace(out / "vocabulary.txt")
    given = [*options, "--input", out / "vocabulary.txt", "--force"]
    assert "DATA/vocabulary.txt: lies in --out" in refused(capsys, tmp_path, *given)
    assert (out / "vocabulary.txt").read_text().startswith("Story 0")


BAD_OPTIONS = {
    "--format text": "give --input, or --train and --heldout",
    "--format text --input FILE --test FILE": "give --input, or --train and --heldout",
    "--format text --train FILE --test FILE": "--valid (or --valid-from-train)",
    "--format text --input FILE --valid-from-train 5": "give --input, or --train",
    "--format lee --input FILE": "lee takes no files",
    "--format text --input FILE --split 0.8 0.1 0.2": "sum to 1",
    "--format text --input FILE --split 1.0 0.1 -0.1": "above 0",
    "--format text --train FILE --heldout FILE --split .8 .1 .1": "--split cuts",
    "--format text --input FILE --topic-top-fraction 1": "--topic-top-fraction",
    "--format text --input FILE --stop-words nowhere.txt": "nowhere.txt",
    "--format text --input FILE --label x": "fields of --format jsonl or table",
    "--format text --input FILE --headers drop": "is of --corpus 20news",
    "--format text --input FILE --vocabulary nowhere.txt": "nowhere.txt",
    "--format lee --ids-from 0": "--ids-from is for --format counts",
    "--format lee --skip-empty": "--skip-empty are for fields of",
    "--format jsonl --group 10 --input FILE": "makes documents of lines, of --format t",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_impossible_options_are_refused(capsys, stories, tmp_path, options):
    options = options.replace("FILE", str(stories)).split()
    error = refused(capsys, tmp_path, *options, "--out", tmp_path / "DATA")
    assert BAD_OPTIONS[" ".join(options).replace(str(stories), "FILE")] in error


@pytest.mark.parametrize("value", ["0", "1.5", "some"])
def test_validation_from_train_is_a_count_or_a_share(capsys, tmp_path, value):
    with pytest.raises(SystemExit, match="2"):
        call("--format", "lee", "--out", tmp_path / "D", "--valid-from-train", value)
    assert "argument --valid-from-train: must be a" in capsys.readouterr().err


def test_no_more_processes_are_started_than_there_are_cores(monkeypatch):
    monkeypatch.setattr(process, "cores", lambda: 2)
    line = "--format lee --out DATA --processes 900".split()
    mapped = preprocess.map_of(preprocess.parse(line))
    assert mapped.keywords["processes"] == 2


def test_help_has_what_one_needs_first_on_top_and_no_more_than_two_lines_of_each():
    shown = preprocess.parser().format_help()
    first = shown[shown.index("needed first") : shown.index("documents and their")]
    names = "format corpus input out field label id skip-empty language min-count split"
    assert re.findall(r"^  --([a-z-]+)", first, re.MULTILINE) == names.split()
    assert not re.search(r"(\n {24}.*){3}", shown)
