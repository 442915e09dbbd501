"""The command `python -m preprocessing`: its splits, its table, its errors."""

import filecmp
import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tcnlm.common import parallel
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.programs import preprocess
from tcnlm.programs.preprocess import main, parser

ROOT = Path(__file__).parents[1]
STORIES = [
    f"Story {i} is about a {animal}. The {animal} didn't {verb}!<br /><br />It slept."
    for i, (animal, verb) in enumerate(
        (animal, verb)
        for animal in ("cat", "dog", "bear", "duck", "hen")
        for verb in ("run", "jump", "bite", "fly")
    )
]
SMALL = "--min-count 2 --topic-min-count 2 --topic-top-fraction 0 --processes 1".split()
ARRAYS = [
    f"{split}/{name}.npy"
    for split in ("train", "valid", "test")
    for name in ("tokens", "sentences", "documents")
]
FILES = ["vocabulary.txt", "topic_vocabulary.txt", *ARRAYS]


@pytest.fixture
def stories(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("\n".join(STORIES) + "\n")
    return path


def run(*arguments):
    """The command in a process of its own, where nothing else was imported."""
    return subprocess.run(
        [sys.executable, "-m", "preprocessing", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


def call(*arguments):
    return main([*map(str, arguments)])


def test_the_whole_command_needs_no_tensorflow(stories, tmp_path):
    program = (
        "import runpy, sys; sys.modules['tensorflow'] = None;"
        "sys.argv[0] = 'preprocessing';"
        "runpy.run_module('preprocessing', run_name='__main__', alter_sys=True)"
    )
    for options in (["--help"], ["--format=text", f"--input={stories}", *SMALL]):
        command = [sys.executable, "-c", program, *options, f"--out={tmp_path}/DATA"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert read_meta(tmp_path / "DATA")


def test_no_file_of_the_package_imports_tensorflow():
    for path in (ROOT / "tcnlm" / "preprocessing").glob("*.py"):
        assert "import tensorflow" not in path.read_text()


def test_the_table_has_the_figures_of_meta(stories, tmp_path, capsys):
    assert (
        call("--format", "text", "--input", stories, *SMALL, "--out", tmp_path / "D")
        == 0
    )
    table = capsys.readouterr().out.splitlines()
    meta = read_meta(tmp_path / "D")
    assert table[0] == (
        f"vocabulary: LM {meta['vocabulary_size']}, TM {meta['topic_vocabulary_size']}"
    )
    columns = table[1].split()
    for row, split in zip(table[2:5], ("train", "valid", "test")):
        name, *figures = row.split()
        counts = meta["splits"][split]
        assert name == split
        assert [int(f.replace(",", "")) for f in figures[:-1]] == [
            counts[column] for column in columns[:-1]
        ]
        share = 100 * counts["unknown"] / counts["tokens"]
        assert float(figures[-1].rstrip("%")) == pytest.approx(share, abs=0.006)
    assert table[5] == "documents without a topic word: train 0, valid 0, test 0"


V1 = "2:memory:/x\n1:cpu,cpuacct:/docker/b\n0::/"


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/", {}, 3),
        ("0::/", {"cpu.max": "max 100000"}, 3),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "20000 100000"}, 1),
        ("0::/", {"cpu.max": "900000 100000"}, 3),
        ("0::/a/b", {"cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, 2),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 3),
        (V1, {"cpu/cpu.cfs_quota_us": "110000", "cpu/cpu.cfs_period_us": "100000"}, 2),
    ],
)
def test_no_more_processes_than_cores_that_may_be_used(
    own, files, expected, monkeypatch, tmp_path
):
    """Three by affinity, or fewer by what a container has of each."""
    for name, text in {**files, "own": own}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(parallel, "GROUPS", tmp_path)
    monkeypatch.setattr(parallel, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    assert parser().parse_args(["--out", "DATA"]).processes == expected


@pytest.mark.slow
def test_the_number_of_processes_does_not_change_the_result(tmp_path):
    corpus = tmp_path / "stories.jsonl.xz"
    with lzma.open(corpus, "wt") as file:
        for number in range(20):
            for story in STORIES:
                file.write(json.dumps({"text": f"{story} Again {number}."}) + "\n")
    options = ["--format", "jsonl", "--input", corpus, *SMALL[:-2], "--seed", 5]
    for processes in (1, 2):
        out = tmp_path / f"DATA{processes}"
        assert run(*options, "--processes", processes, "--out", out).returncode == 0
    one, two = tmp_path / "DATA1", tmp_path / "DATA2"
    assert filecmp.cmpfiles(one, two, FILES, shallow=False) == (FILES, [], [])
    metas = [read_meta(one), read_meta(two)]
    for meta in metas:
        del meta["command"]
    assert metas[0] == metas[1]


def test_the_same_text_gives_the_same_data_in_every_format(stories, tmp_path):
    jsonl = tmp_path / "stories.jsonl"
    jsonl.write_text("".join(json.dumps({"body": s}) + "\n" for s in STORIES))
    table = tmp_path / "stories.csv"
    table.write_text("id,body\n" + "".join(f'1,"{story}"\n' for story in STORIES))
    calls = {
        "text": ["--input", stories],
        "jsonl": ["--field", "body", "--input", jsonl],
        "table": ["--field", "body", "--input", table],
    }
    for name, options in calls.items():
        assert call("--format", name, *options, *SMALL, "--out", tmp_path / name) == 0
    first, *others = (tmp_path / name for name in calls)
    for folder in others:
        assert filecmp.cmpfiles(first, folder, FILES, shallow=False) == (FILES, [], [])


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
    line = f"left out by --skip-empty, without a text: {left_out}\n"
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
    assert "all documents, 20, are without a text; name its field with" in error


def test_lee_needs_no_file(tmp_path):
    options = "--format lee --min-count 3 --topic-min-count 5 --limit 20 5 6"
    assert call(*options.split(), "--processes", 1, "--out", tmp_path / "DATA") == 0
    splits = read_meta(tmp_path / "DATA")["splits"]
    assert [splits[s]["documents"] for s in ("train", "valid", "test")] == [20, 5, 6]


def test_aclimdb_halves_its_test_reviews(tmp_path):
    for place, number in {"train/pos": 4, "train/unsup": 3, "test/neg": 6}.items():
        folder = tmp_path / "aclImdb" / place
        folder.mkdir(parents=True)
        for index in range(number):
            (folder / f"{index}_1.txt").write_text(STORIES[index])
    options = ["--format", "aclimdb", "--input", tmp_path / "aclImdb", *SMALL]
    assert call(*options, "--out", tmp_path / "DATA") == 0
    splits = read_meta(tmp_path / "DATA")["splits"]
    assert [splits[s]["documents"] for s in ("train", "valid", "test")] == [7, 3, 3]


def test_a_document_without_words_is_kept(stories, tmp_path):
    options = ["--format", "text", "--train", stories, "--valid", stories, "--test"]
    empty = tmp_path / "empty.txt"
    empty.write_text("\n<br />\nThe cat slept.\n")
    assert call(*options, empty, *SMALL, "--out", tmp_path / "DATA") == 0
    counts = read_meta(tmp_path / "DATA")["splits"]["test"]
    assert (counts["documents"], counts["empty_documents"]) == (3, 2)
    assert counts["sentences"] == 1


def test_an_empty_tdlm_line_has_one_target(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("the cat\tit slept\n\n")
    options = ["--format", "tdlm", "--train", path, "--valid", path, "--test", path]
    rules = "--min-count 1 --topic-min-count 1 --processes 1".split()
    assert call(*options, *rules, "--out", tmp_path / "DATA") == 0
    counts = read_meta(tmp_path / "DATA")["splits"]["test"]
    assert (counts["sentences"], counts["targets"], counts["sequences"]) == (3, 7, 3)


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


BAD_FILES = {
    "broken UTF-8": ("a.txt", b"good\nbad \xff\n", "a.txt:2: not valid UTF-8"),
    "malformed JSON": (
        "a.jsonl",
        b'{"text": "x"}\n{"text"\n',
        "a.jsonl:2: not valid JSON",
    ),
    "missing field": ("a.jsonl", b'{"body": "x"}\n', "a.jsonl:1: no field 'text'"),
    "no text": (
        "a.jsonl",
        b'{"text": 1}\n',
        "a.jsonl:1: field 'text' is int, not a text",
    ),
    "truncated xz": ("a.txt.xz", lzma.compress(b"x\n" * 99)[:-9], "a.txt.xz:1"),
    "empty corpus": ("a.txt", b"", "the train split has no document"),
    "one document": ("a.txt", b"one\n", "the valid split has no document"),
    "no word": ("a.txt", b"\n" * 99, "no topic word is left"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused(capsys, tmp_path, case):
    name, content, message = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    kind = "jsonl" if "jsonl" in name else "text"
    options = ["--format", kind, "--input", tmp_path / name, *SMALL]
    assert message in refused(capsys, tmp_path, *options, "--out", tmp_path / "DATA")


def test_a_missing_file_is_refused(capsys, tmp_path):
    options = ["--format", "text", "--input", tmp_path / "nowhere.txt"]
    error = refused(capsys, tmp_path, *options, "--out", tmp_path / "DATA")
    assert f"{tmp_path}/nowhere.txt: no such file" in error


REASONS = {
    "--min-count 11": "no word occurs 11 times .*; lower --min-count",
    "--topic-min-count 100": "occurs 100 times .* lower --topic-min-count",
    "--topic-min-count 100 --topic-letters unicode": "lower --topic-min-count",
}


@pytest.mark.parametrize("options", REASONS)
def test_no_topic_word_left_says_which_setting_to_lower(
    capsys, stories, tmp_path, options
):
    stories.write_text("\n".join(f"Ducks swim here {i}." for i in range(10)))
    options = ["--format", "text", "--input", stories, *options.split()]
    options += ["--processes", 1, "--out", tmp_path / "DATA"]
    wanted = REASONS[" ".join(map(str, options[4:-4]))]
    assert re.search(wanted, refused(capsys, tmp_path, *options))


RUSSIAN = "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442. 12 34\n" * 20


def test_another_script_needs_the_option_that_the_message_names(
    capsys, stories, tmp_path
):
    stories.write_text(RUSSIAN, encoding="utf-8")
    options = ["--format", "text", "--input", stories, *SMALL, "--out"]
    error = refused(capsys, tmp_path, *options, tmp_path / "DATA")
    assert "has one of the letters a to z; --topic-letters unicode takes" in error
    assert call(*options, tmp_path / "DATA", "--topic-letters", "unicode") == 0
    words = (tmp_path / "DATA/topic_vocabulary.txt").read_text(encoding="utf-8")
    assert words == "\u043a\u043e\u0442\t16\n\u0441\u043f\u0438\u0442\t16\n"


def test_digits_alone_are_refused_whatever_the_letters(capsys, stories, tmp_path):
    stories.write_text("12 34 56\n" * 20)
    options = ["--format", "text", "--input", stories, *SMALL]
    options += ["--topic-letters", "unicode", "--out", tmp_path / "DATA"]
    assert "none of the 3 words has a letter" in refused(capsys, tmp_path, *options)


def test_an_existing_data_is_refused_unless_forced(capsys, stories, tmp_path):
    options = [
        "--format",
        "text",
        "--input",
        stories,
        *SMALL,
        "--out",
        tmp_path / "DATA",
    ]
    assert call(*options) == 0
    capsys.readouterr()
    assert "DATA: exists already" in refused(capsys, tmp_path, *options)
    assert call(*options, "--seed", 9, "--force") == 0
    assert read_meta(tmp_path / "DATA")["seed"] == 9


@pytest.mark.parametrize("name", ["in.txt", "vocabulary.txt"])
def test_force_never_replaces_its_own_input(capsys, stories, tmp_path, name):
    out = tmp_path / "DATA"
    options = ["--format", "text", *SMALL, "--out", out]
    assert call(*options, "--input", stories) == 0
    capsys.readouterr()
    stories.replace(out / name)
    error = refused(capsys, tmp_path, *options, "--input", out / name, "--force")
    assert f"DATA/{name}: lies in --out" in error
    assert (out / name).read_text().startswith("Story 0")


def test_a_data_of_another_version_can_be_replaced(stories, tmp_path):
    (tmp_path / "DATA").mkdir()
    (tmp_path / "DATA/meta.json").write_text('{"format_version": 0}')
    options = [
        "--format",
        "text",
        "--input",
        stories,
        *SMALL,
        "--out",
        tmp_path / "DATA",
    ]
    assert call(*options) == 2
    assert call(*options, "--force") == 0
    assert read_meta(tmp_path / "DATA")["format_version"] == 1


BAD_OPTIONS = {
    "--format text": "give --input, or --train and --heldout",
    "--format text --train FILE": "give --input, or --train and --heldout",
    "--format text --train FILE --valid FILE": "give --input, or --train and --heldout",
    "--format text --input FILE --test FILE": "give --input, or --train and --heldout",
    "--format text --train FILE --test FILE": "--valid (or --valid-from-train)",
    "--format text --input FILE --valid-from-train 5": "give --input, or --train",
    "--format lee --input FILE": "lee takes no files",
    "--format aclimdb --train FILE": "aclimdb takes --input",
    "--format text --input FILE --split 0.8 0.1 0.2": "sum to 1",
    "--format text --input FILE --split 1.0 0.1 -0.1": "above 0",
    "--format text --train FILE --heldout FILE --split .8 .1 .1": "--split cuts",
    "--format text --input FILE --topic-top-fraction 1": "--topic-top-fraction",
    "--format text --input FILE --stop-words nowhere.txt": "nowhere.txt",
    "--format text --input FILE --label x": "fields of --format jsonl or table",
    "--format text --input FILE --headers drop": "in --format jsonl",
    "--format text --input FILE --vocabulary nowhere.txt": "nowhere.txt",
    "--format lee --id x": "fields of --format jsonl",
    "--format text --input news.csv": "give --format table --field COLUMN",
    "--format text --input FILE --skip-empty": "--skip-empty are for fields of",
    "--format lee --skip-empty": "--skip-empty are for fields of",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_impossible_options_are_refused(capsys, stories, tmp_path, options):
    options = options.replace("FILE", str(stories)).split()
    error = refused(capsys, tmp_path, *options, "--out", tmp_path / "DATA")
    assert BAD_OPTIONS[" ".join(options).replace(str(stories), "FILE")] in error


@pytest.mark.parametrize(
    "option",
    [
        "--min-count 0",
        "--limit 1 2 0",
        "--seed -1",
        "--valid-from-train 0",
        "--valid-from-train 1.5",
        "--valid-from-train some",
        "--context future",
        "--processes x",
    ],
)
def test_a_bad_value_is_refused(capsys, tmp_path, option):
    with pytest.raises(SystemExit) as stopped:
        call("--format", "lee", "--out", tmp_path / "DATA", *option.split())
    assert stopped.value.code == 2
    assert "error: argument --" in capsys.readouterr().err
    assert not (tmp_path / "DATA").exists()


def test_no_more_processes_are_started_than_there_are_cores(monkeypatch, capsys):
    monkeypatch.setattr(preprocess, "cores", lambda: 2)
    line = "--format lee --out DATA --processes 900".split()
    mapped = preprocess.map_of(preprocess.parse(line))
    assert mapped.keywords["processes"] == 2
    assert "--processes 900: 2 are started" in capsys.readouterr().err
