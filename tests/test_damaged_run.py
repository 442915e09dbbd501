"""A damaged RUN is refused with a line that names the file, or is the same RUN."""

import json
import shutil

import numpy as np
import pytest
import tiny
from damage import DAMAGES, damage, flip
from hypothesis import given, settings
from hypothesis import strategies as st

from tcnlm.common.errors import InputError
from tcnlm.runs.run_folder import RunFolder, write_config
from tcnlm.runs.weights import DIGEST, WEIGHTS

VOCABULARIES = ["vocabulary.txt", "topic_vocabulary.txt"]
TEXTS = ["config.json", "config.sha256", *VOCABULARIES, DIGEST]
sound = tiny.run_fixture()


@pytest.fixture
def run(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "RUN")


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("file", ["config.json", *VOCABULARIES, WEIGHTS])
def test_a_damaged_file_is_named(run, file, name):
    damage(run / file, name)
    with pytest.raises(InputError) as refused:
        RunFolder(run).load()
    message = str(refused.value)
    assert str(run) in message
    assert "\n" not in message
    assert file in message or (file in VOCABULARIES and "vocabulary.txt" in message)


# What HDF5 needs can be all there though the last byte is not.
@pytest.mark.parametrize("name", sorted({*DAMAGES} - {"cut off by a byte"}))
def test_weights_without_a_hash_are_refused_if_they_cannot_be_read(run, name):
    (run / DIGEST).unlink()
    damage(run / WEIGHTS, name)
    with pytest.raises(InputError, match=WEIGHTS):
        RunFolder(run).load()


@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_bit_in_the_weights_is_refused(run, seed):
    flip(run / WEIGHTS, seed)
    with pytest.raises(InputError, match=f"{WEIGHTS}: damaged"):
        RunFolder(run).load()


CHANGES = {
    "model": "nothing",
    "settings": [],
    "training": None,
    "seed": -1,
    "seed ": 2**40,
    "seed  ": "one",
    "data": {},
    "data.path": 3,
    "data.fingerprint": None,
    "data.settings": {},
    "data.settings.sequence_length": 0,
    "data.settings.context_words": 2.5,
    "settings.units": "many",
    "settings.num_topics": [3],
    "settings.cutoffs": 7,
    "settings.nonsense": 1,
    "threads": -5,
    "continued_by": 5,
    "continued_with": ["once"],
    "data.settings.context_words ": 2**31 - 1,
    "settings.units ": 10**9,
    "settings.num_topics ": 10**6,
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_entry_of_config_that_cannot_be_is_named(run, name):
    path = run / "config.json"
    config = json.loads(path.read_text())
    *groups, last = name.strip().split(".")
    inner = config
    for group in groups:
        inner = inner[group]
    inner[last] = CHANGES[name]
    write_config(run, config)
    with pytest.raises(InputError) as refused:
        RunFolder(run).load()
    assert last in str(refused.value) or "no model 'nothing'" in str(refused.value)


def test_a_config_that_was_changed_says_how_to_change_what_may_be(run):
    config = json.loads((run / "config.json").read_text())
    config["settings"]["candidate_activation"] = "sigmoid"
    (run / "config.json").write_text(json.dumps(config, indent=1))
    with pytest.raises(InputError, match="changed by hand.*--resume .* --set"):
        RunFolder(run).load()
    (run / "config.sha256").unlink()  # a RUN of before there was one
    RunFolder(run).load()


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.sampled_from(TEXTS))
def test_a_flipped_bit_in_a_text_file_is_refused_or_of_no_account(
    sound, tmp_path_factory, seed, file
):
    run = shutil.copytree(sound, tmp_path_factory.mktemp("flipped") / "RUN")
    flip(run / file, seed)
    try:
        model = RunFolder(run).load()
    except InputError:
        return
    whole = RunFolder(sound).load()
    assert model.vocabulary.words == whole.vocabulary.words
    assert all(map(np.array_equal, model.get_weights(), whole.get_weights()))


HISTORIES = ["", "\xff", "step\n1\n", "epoch,step,seconds\n1,2\n", "[]\n"]
HISTORIES += ["epoch,step,seconds\n1,2,x\n", "epoch,step,seconds\n1,2,3,4\n", "\n\n"]


@pytest.mark.parametrize("content", HISTORIES)
def test_a_damaged_history_is_named(run, content):
    (run / "history.csv").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=r"history\.csv"):
        RunFolder(run).history()
