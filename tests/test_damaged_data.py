"""A damaged DATA folder is refused in one line that names the file; so is --verify."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from damage import DAMAGES, damage

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.vocabulary import FILES as VOCABULARIES
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.programs.preprocess import main

AGAIN = r"; make \S+ again with python -m preprocessing$"
ARRAYS = ["tokens.npy", "sentences.npy", "documents.npy"]
FILES = ["meta.json", "SHA256SUMS", *VOCABULARIES]
FILES += [f"train/{name}" for name in (*ARRAYS, "labels.npy", "ids.txt")]


@pytest.fixture
def data(labelled, tmp_path):
    return shutil.copytree(labelled, tmp_path / "DATA")


def refused(data):
    """Return the message with which a folder is refused."""
    with pytest.raises(InputError) as caught:
        Dataset(data)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(data))
    return message


def verified(data, capsys):
    status = main(["--verify", str(data)])
    output = capsys.readouterr()
    (line,) = (output.out + output.err).splitlines()
    return status, line


@pytest.mark.parametrize("way", [*DAMAGES, "a folder"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_as_it_was_made_is_refused_by_name(data, name, way, capsys):
    if way == "a folder":
        (data / name).unlink()
        (data / name).mkdir()
    else:
        damage(data / name, way)
    if (name, way) == ("SHA256SUMS", "missing"):  # held to its fingerprint, below
        return
    message = refused(data)
    # Whatever the sums are of, a line of them that is damaged names another file.
    assert name in message or name == "SHA256SUMS"
    assert re.search(f"{AGAIN}|make one with python -m preprocessing$", message)
    assert verified(data, capsys) == (2, f"error: {message}")


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


LENGTHS = ("settings.sequence_length", "settings.context_words")
ENTRIES = [
    *((place, v) for place in LENGTHS for v in (0, 1e2, True, "30", 10**30)),
    *(("settings.context", value) for value in ("read", [], "x" * 999)),
    *((place, value) for place in ("settings", "fingerprint") for value in ([], 3)),
    *((place, None) for place in (*LENGTHS, "settings", "fingerprint", "command")),
]


@pytest.mark.parametrize(("place", "value"), ENTRIES)
def test_an_entry_of_meta_that_cannot_be_is_named(data, place, value):
    write(data, place, value)
    message = refused(data)
    assert re.search(f"meta.json: {place}.* must be .*{AGAIN}", message)
    assert ("is missing" in message) >= (value is None)
    assert len(message) < 200 + 3 * len(str(data))


@pytest.mark.parametrize("content", ["[]", "null", "3", '"a"', "{", "{}", "deep"])
def test_another_json_than_meta_is_refused(data, content):
    content = "[" * 10**5 if content == "deep" else content
    (data / "meta.json").write_text(content)
    assert re.search(f"meta.json: .*{AGAIN}", refused(data))


def exchange_words(data):
    tokens = np.load(data / "train/tokens.npy")
    other = np.flatnonzero(tokens != tokens[0])[0]
    tokens[[0, other]] = tokens[[other, 0]]
    np.save(data / "train/tokens.npy", tokens)


UNSEEN = {  # by looking at any one file
    "words exchanged": exchange_words,
    "fewer context words": lambda data: write(data, "settings.context_words", 299),
    "another count": lambda data: write(data, "splits.valid.tokens", 7),
    "ids of another split": lambda data: shutil.copy(
        data / "train/ids.txt", data / "test/ids.txt"
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_only_a_digest_can_tell_is_refused_by_opening(data, name):
    if name in [*UNSEEN][:2]:  # which the fingerprint of DATA without sums tells
        (data / "SHA256SUMS").unlink()
        Dataset(data)
    UNSEEN[name](data)
    assert re.search(AGAIN, refused(data))


@pytest.mark.parametrize("file", ["labels.npy", "ids.txt"])
def test_labels_and_ids_cut_short_in_data_without_sums_are_refused(data, file):
    (data / "SHA256SUMS").unlink()
    damaged = data / "train" / file
    damaged.write_bytes(damaged.read_bytes()[:-8])
    with pytest.raises(InputError, match=rf"{file}: .*{AGAIN}"):
        Dataset(data).split("train")


LINES = {  # a line of a vocabulary in place of another, and what is said of it
    "a\t1": "txt:1: does not begin with",
    "word": "txt:1: not of the form",
    "\t1": "txt:1: not of the form",
    "a\t" + "9" * 9999: "txt:1: not of the form",
    "<go>\t0": "txt:2: '<go>' occurs twice",
}


@pytest.mark.parametrize("line", LINES)
def test_a_vocabulary_that_is_none_is_named_with_its_line(data, line):
    lines = (data / "vocabulary.txt").read_text().split("\n")
    (data / "vocabulary.txt").write_text("\n".join([line, *lines[1:]]))
    with pytest.raises(InputError, match=LINES[line]):
        Vocabulary.load(data)


# Programs


def test_without_verify_what_making_takes_is_required(capsys):
    for line, said in (["--seed", "3"], "--format or"), (["--format", "lee"], "--out"):
        with pytest.raises(SystemExit, match="2"):
            main(line)
        assert said in capsys.readouterr().err


def test_verify_says_that_a_sound_folder_is(data, capsys):
    fingerprint = json.loads((data / "meta.json").read_text())["fingerprint"]
    assert verified(data, capsys) == (0, f"{data}: as it was made, {fingerprint}")
    line = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(line, cwd=data).returncode == 0
