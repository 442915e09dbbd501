"""A damaged DATA folder is refused in one line that names the file; so is --verify."""

import json
import re
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
import toy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.splits import SPLITS
from tcnlm.programs import train
from tcnlm.programs.preprocess import main

AGAIN = r"; make \S+ again with python -m preprocessing"
VOCABULARIES = ["vocabulary.txt", "topic_vocabulary.txt"]
ARRAYS = [
    f"{split}/{name}.npy"
    for split in SPLITS
    for name in ("tokens", "sentences", "documents")
]
MARKS = ["labels.npy", "ids.txt"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A DATA folder with labels and ids."""
    folder = tmp_path_factory.mktemp("sound")
    lines = toy.write_corpus(folder / "toy.txt").read_text().splitlines()
    records = [
        {"text": line.replace("\t", " "), "theme": "abc"[i % 3], "name": i}
        for i, line in enumerate(lines)
    ]
    corpus = folder / "toy.jsonl"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    options = f"--format jsonl --input {corpus} --label theme --id name --min-count 1 "
    options += "--topic-min-count 1 --topic-top-fraction 0 --processes 1 --out"
    assert main([*options.split(), str(folder / "DATA")]) == 0
    return folder / "DATA"


@pytest.fixture
def data(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "DATA")


def refused(data):
    """Return the message with which a folder is refused."""
    with pytest.raises(InputError) as caught:
        Dataset(data)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(data))
    return message


# What can happen to a file: each takes its path.


def truncated(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2 + 1])


def empty(file):
    file.write_bytes(b"")


def missing(file):
    file.unlink()


def a_folder(file):
    file.unlink()
    file.mkdir()


def noise(file):
    file.write_bytes(bytes(range(256)))


def a_zip(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")


def an_object(file):
    np.save(file, np.array([{}]), allow_pickle=True)


def longer(file):
    file.write_bytes(file.read_bytes() + b"\xff" * 8)


WHOLE = [truncated, empty, missing, a_folder, noise, a_zip]
FILES = ["meta.json", *VOCABULARIES, *ARRAYS, *(f"test/{name}" for name in MARKS)]


@pytest.mark.parametrize("damage", WHOLE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_whole_is_refused(data, name, damage):
    damage(data / name)
    message = refused(data)
    assert name in message
    assert re.search(f"{AGAIN}$|make one with python -m preprocessing$", message)


@pytest.mark.parametrize("damage", [an_object, longer])
@pytest.mark.parametrize("name", [*ARRAYS[:3], "test/labels.npy"])
def test_an_array_of_something_else_is_refused(data, name, damage):
    damage(data / name)
    assert re.search(f"/{name}: .*{AGAIN}$", refused(data))


def swapped(array):
    array[[0, 1]] = array[[1, 0]]


def put(place, value):
    def change(array):
        array[place] = value

    return change


VALUES = {
    "a padding": ("valid/tokens", put(3, 0), "tokens.npy: word ids from 0 to"),
    "an <eos>": ("valid/tokens", put(3, 2), "tokens.npy: word ids from 2 to"),
    "a negative word": ("train/tokens", put(3, -1), "tokens.npy: word ids from -1"),
    "a word too many": ("test/tokens", put(3, 999), "tokens.npy: .* to 999, but"),
    "another word": ("train/tokens", put(slice(4), 5), r"vocabulary.txt:\d+: '.+' \d+"),
    "an unknown word": ("test/tokens", put(0, 3), "meta.json: splits.test.unknown is"),
    "a fall": ("train/sentences", put(4, 1), "sentences.npy: not offsets that rise"),
    "an overflow": ("train/sentences", put(4, 2**63 - 1), "sentences.npy: not off"),
    "a late start": ("train/sentences", put(0, 1), "sentences.npy: not .* from 0 to"),
    "a late end": ("test/documents", put(-1, 99), "documents.npy: not .* sentences"),
    "an early end": ("test/sentences", put(-1, 0), "sentences.npy: not .* tokens"),
    "a label too many": ("test/labels", put(1, 3), "labels.npy: labels from 0 to 3,"),
    "a negative label": ("test/labels", put(1, -2), "labels.npy: labels from -2 to 2,"),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_that_cannot_be_are_refused(data, case):
    name, change, message = VALUES[case]
    array = np.load(data / f"{name}.npy")
    change(array)
    np.save(data / f"{name}.npy", array)
    assert re.search(f"{message}.*{AGAIN}$", refused(data))


@pytest.mark.parametrize("kind", [np.int64, np.float32, ">i4"])
def test_words_of_another_type_are_refused(data, kind):
    file = data / "train/tokens.npy"
    np.save(file, np.load(file).astype(kind))
    assert "train/tokens.npy: not one row of int32" in refused(data)


def test_a_table_in_place_of_a_row_is_refused(data):
    file = data / "train/sentences.npy"
    np.save(file, np.load(file)[None])
    assert "train/sentences.npy: not one row of int64" in refused(data)


@pytest.mark.parametrize("name", ["tokens", "sentences", "documents", *MARKS])
def test_a_file_of_another_split_is_refused(data, name):
    name = name if "." in name else f"{name}.npy"
    shutil.copy(data / "train" / name, data / "valid" / name)
    assert str(data / "valid") in refused(data)


@pytest.mark.parametrize("name", MARKS)
def test_marks_of_one_split_alone_are_refused(data, name):
    for split in ("train", "valid"):
        (data / split / name).unlink()
    assert f"train/{name}: " in refused(data)


def test_labels_without_names_are_refused(data):
    write(data, "labels", None)
    assert "train/labels.npy: here, but meta.json's labels are not" in refused(data)


def write(data, place, value):
    """Change one entry of meta.json; None takes it away."""
    meta = json.loads((data / "meta.json").read_text())
    *outer, last = place.split(".")
    inner = meta
    for name in outer:
        inner = inner[name]
    inner[last] = value
    if value is None:
        del inner[last]
    (data / "meta.json").write_text(json.dumps(meta))


SETTINGS = ("settings.sequence_length", "settings.context_words")
SIZES = ("vocabulary_size", "topic_vocabulary_size")
ENTRIES = [
    *((place, v) for place in SETTINGS for v in (0, -1, 1e2, True, "30", [], 10**30)),
    *((place, value) for place in SIZES for value in (5, 0, "30")),
    *(("settings.context", value) for value in ("read", 1, [], {})),
    *((f"splits.valid.{name}", 7) for name in ("documents", "tokens", "sequences")),
    *((f"splits.train.{name}", "x" * 999) for name in ("sentences", "unknown")),
    *((place, []) for place in ("settings", "splits", "splits.test", "fingerprint")),
    *(("labels", value) for value in ("abc", [], ["a", 1], ["a", "b", "b"], {})),
    ("settings.sequence_length", 3),
    ("splits.train.without_topic_words", 3),
    ("command", 3),
]
NAMES = {
    *(place for place, _ in ENTRIES if place != "splits.train.without_topic_words"),
    *(f"splits.{split}" for split in SPLITS),
    "splits.train.targets",
    "splits.train.empty_documents",
}


@pytest.mark.parametrize(("place", "value"), ENTRIES)
def test_an_entry_of_meta_that_cannot_be_is_refused(data, place, value):
    write(data, place, value)
    message = refused(data)
    assert re.search(f"{AGAIN}$", message)
    assert "meta.json" in message
    assert len(message) < 200 + 3 * len(str(data))


@pytest.mark.parametrize("place", sorted(NAMES - {"labels"}))
def test_a_missing_entry_of_meta_is_refused(data, place):
    write(data, place, None)
    assert re.search(f"meta.json: {place}.* missing, .*{AGAIN}$", refused(data))


@pytest.mark.parametrize("content", ["[]", "null", "3", '"a"', "{", "{}", "deep"])
def test_another_json_than_meta_is_refused(data, content):
    content = "[" * 10**5 if content == "deep" else content
    (data / "meta.json").write_text(content)
    assert re.search(f"meta.json: .*{AGAIN}$", refused(data))


def test_meta_of_before_documents_without_topic_words_were_counted_is_read(data):
    (data / "SHA256SUMS").unlink()
    for split in SPLITS:
        write(data, f"splits.{split}.without_topic_words", None)
    assert Dataset(data).meta["splits"]["train"]["documents"] == 48


def without_line(number):
    return lambda lines: lines[: number - 1] + lines[number:]


def exchanged(lines):
    return [*lines[:5], lines[6], lines[5], *lines[7:]]


def line(number, text):
    return lambda lines: [*lines[: number - 1], text, *lines[number:]]


LINES = {
    "a missing word": ("vocabulary.txt", without_line(9), "vocabulary.txt"),
    "a missing topic word": ("topic_vocabulary.txt", without_line(3), "topic_v.*words"),
    "a missing special": ("vocabulary.txt", without_line(2), "txt:1: begins not with"),
    "words exchanged": ("vocabulary.txt", exchanged, "vocabulary.txt"),
    "topic words exchanged": ("topic_vocabulary.txt", exchanged, "not some of the"),
    "a word twice": ("vocabulary.txt", line(9, b"of\t1"), "txt:9: 'of' is there"),
    "no UTF-8": ("vocabulary.txt", line(9, b"\xff\t1"), "txt: not readable as UTF-8"),
    "no count": ("vocabulary.txt", line(9, b"word"), "txt:9: not of the form"),
    "no word": ("vocabulary.txt", line(9, b"\t1"), "txt:9: not of the form"),
    "a long count": ("vocabulary.txt", line(9, b"a\t" + b"9" * 9999), "txt:9: not of"),
    "another count": ("vocabulary.txt", line(6, b"of\t1"), "vocabulary.txt"),
    "no topic word": ("topic_vocabulary.txt", lambda _: [], "topic_vocabulary.txt: 0"),
    "a foreign topic word": (
        "topic_vocabulary.txt",
        line(3, b"zebra\t9"),
        "topic_vocabulary.txt: not some of the lines of vocabulary.txt",
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_vocabularies_that_do_not_fit_are_refused(data, case):
    name, change, message = LINES[case]
    lines = (data / name).read_bytes().split(b"\n")[:-1]
    (data / name).write_bytes(b"".join(row + b"\n" for row in change(lines)))
    assert re.search(f"{message}.*{AGAIN}$", refused(data))


# Programs


def cut_tokens(data):
    truncated(data / "train/tokens.npy")


def no_length(data):
    write(data, "settings.sequence_length", 0)


@pytest.mark.parametrize("damage", [cut_tokens, no_length])
def test_training_refuses_before_it_writes(data, damage, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "keep_memory", lambda: None)
    monkeypatch.setattr(train, "make_reproducible", lambda *_: None)
    damage(data)
    options = train.parser().parse_args([str(data), "--out", str(tmp_path / "run")])
    with pytest.raises(InputError, match=AGAIN):
        train.main(options, "python train.py")
    assert not (tmp_path / "run").exists()


def verified(data, capsys):
    status = main(["--verify", str(data)])
    output = capsys.readouterr()
    lines = (output.out + output.err).splitlines()
    assert len(lines) == 1
    return status, lines[0]


def test_verify_says_that_a_sound_folder_is(sound, capsys):
    fingerprint = json.loads((sound / "meta.json").read_text())["fingerprint"]
    assert verified(sound, capsys) == (0, f"{sound}: as it was made, {fingerprint}")


def words_exchanged(data):
    tokens = np.load(data / "train/tokens.npy")
    other = np.flatnonzero(tokens != tokens[0])[0]
    tokens[[0, other]] = tokens[[other, 0]]
    np.save(data / "train/tokens.npy", tokens)


def another_bound(name):
    def change(data):
        offsets = np.load(data / f"train/{name}.npy")
        offsets[5] -= 1
        np.save(data / f"train/{name}.npy", offsets)

    return change


def another_label(data):
    labels = np.load(data / "test/labels.npy")
    labels[0] = (labels[0] + 1) % 3
    np.save(data / "test/labels.npy", labels)


UNSEEN = {  # by looking at any one file
    "words exchanged": words_exchanged,
    "a longer sentence": another_bound("sentences"),
    "a longer document": another_bound("documents"),
    "another label": another_label,
    "fewer context words": lambda data: write(data, "settings.context_words", 299),
    "another context": lambda data: write(data, "settings.context", "preceding"),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_only_a_digest_can_tell_is_refused_by_opening(data, name, capsys):
    UNSEEN[name](data)
    assert re.search(AGAIN, refused(data))
    assert verified(data, capsys)[0] == 2


@pytest.mark.parametrize("name", sorted(set(UNSEEN) - {"another label"}))
def test_data_of_before_there_was_a_digest_is_held_to_its_fingerprint(data, name):
    (data / "SHA256SUMS").unlink()
    Dataset(data)
    UNSEEN[name](data)
    assert re.search(AGAIN, refused(data))


def entries(found, place=()):
    """Return the places of all values in nested JSON."""
    if isinstance(found, dict):
        return [p for name, v in found.items() for p in entries(v, (*place, name))]
    return [place]


@settings(max_examples=60)
@given(choice=st.integers(0, 10**6), value=st.sampled_from([0, -5, 7, "x", None, []]))
def test_any_entry_of_meta_that_was_changed_is_refused(
    sound, tmp_path_factory, choice, value
):
    data = shutil.copytree(sound, tmp_path_factory.mktemp("meta") / "DATA")
    meta = json.loads((data / "meta.json").read_text())
    places = entries(meta)
    *outer, last = places[choice % len(places)]
    inner = meta
    for name in outer:
        inner = inner[name]
    assume(inner[last] != value)
    inner[last] = value
    (data / "meta.json").write_text(json.dumps(meta))
    refused(data)


def test_the_digests_are_those_that_sha256sum_checks(sound):
    line = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(line, cwd=sound).returncode == 0


def test_verify_refuses_what_opening_refuses(data, capsys):
    truncated(data / "test/tokens.npy")
    assert verified(data, capsys) == (2, f"error: {refused(data)}")


@pytest.mark.parametrize("other", [["--out", "x"], ["--format", "text"]])
def test_verify_is_asked_for_alone(sound, other, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--verify", str(sound), *other])
    assert "--verify DATA makes nothing" in capsys.readouterr().err


def test_without_verify_what_making_takes_is_required(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--seed", "3"])
    assert "are required: --format or --corpus, --out" in capsys.readouterr().err


# Any byte


@pytest.fixture(scope="module")
def scratch(sound, tmp_path_factory):
    return shutil.copytree(sound, tmp_path_factory.mktemp("scratch") / "DATA")


flips = st.lists(st.tuples(st.integers(0, 2**16), st.integers(1, 255)), min_size=1)


def error_of(data):
    """Return the message with which a folder is refused; "" if it can be used."""
    try:
        dataset = Dataset(data)
    except InputError as error:
        return str(error)
    for split in map(dataset.split, SPLITS):
        words = [sum(map(len, split.document(i))) for i in range(split.num_documents)]
        contents = [len(split.content(i)) for i in range(split.num_documents)]
        assert sum(words) == len(split.tokens)
        assert sum(contents) == len(split.contexts.words)
    return ""


@settings(max_examples=300)
@given(name=st.sampled_from(FILES), flips=flips)
def test_any_bytes_flipped_are_refused_or_leave_data_that_can_be_used(
    scratch, name, flips
):
    content = (scratch / name).read_bytes()
    damaged = bytearray(content)
    for place, mask in flips:
        damaged[place % len(content)] ^= mask
    try:
        (scratch / name).write_bytes(damaged)
        error = error_of(scratch)
    finally:
        (scratch / name).write_bytes(content)
    assert error == "" or error.startswith(str(scratch))
    assert len(error.splitlines()) <= 1
