"""--runner: what Apache Beam's workers make is byte for byte what one machine makes."""

import json
import random
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import tiny
import toy
from damage import contents

from tcnlm.common.errors import InputError
from tcnlm.common.process import PACKAGE, on_runner
from tcnlm.preprocessing import collect
from tcnlm.programs import coherence, infer
from tcnlm.programs import preprocess as preprocessing

pytestmark = pytest.mark.slow

beam = pytest.importorskip("apache_beam")
on_beam = pytest.importorskip("tcnlm.coherence.on_beam")

THREADS = "DirectRunner --direct_num_workers=3 --direct_running_mode=multi_threading"
PROCESSES = THREADS.replace("threading", "processing")
WORDS = (
    "the a ship sea sail bread oven cook judge court trial naïve . , Mr. well".split()
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of a few sentences, one of them empty, with names."""
    draw = random.Random(3)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(3, 60))) for _ in range(90)]
    texts[40] = ""
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    rows = ({"text": text, "id": f"d{i}"} for i, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lengths(texts):
    return {"lengths": np.array([len(text) for text in texts])}


# DATA, counts and tables


@pytest.mark.parametrize(("runner", "size"), [(THREADS, 7), (PROCESSES, 20)])
def test_data_is_byte_for_byte_that_of_one_machine(
    corpus, tmp_path, monkeypatch, runner, size
):
    line = f"--format jsonl --id id --input {corpus} --min-count 2 --topic-min-count 2"
    line += f" --topic-top-fraction 0 --processes 1 --force --out {tmp_path / 'DATA'}"
    assert preprocessing.main(line.split()) == 0
    alone = contents(tmp_path / "DATA")
    monkeypatch.setattr(collect, "CHUNK", size)
    assert preprocessing.main([*line.split(), "--runner", *runner.split()]) == 0
    assert contents(tmp_path / "DATA") == alone
    assert len(alone) > 12


def test_window_counts_are_byte_for_byte_those_of_one_machine(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(on_beam, "CHUNK", 8)
    (tmp_path / "topics.txt").write_text("ship sea sail\nbread oven unheard\n")
    line = f"topics.txt --reference {corpus} --top 3 --save-counts"
    coherence.main([*line.split(), "one", "--json", "one.json"])
    several = ["--runner", *THREADS.split()]
    coherence.main([*line.split(), "two", "--json", "two.json", *several])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_the_inferred_table_is_byte_for_byte_that_of_one_machine(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(infer, "BATCH", 16)
    tiny.make_run(tmp_path / "RUN")
    line = f"{tmp_path / 'RUN'} --input {corpus} --id id --out"
    for name, options in ("one.csv", []), ("two.csv", ["--runner", *THREADS.split()]):
        arguments = [*line.split(), str(tmp_path / name), *options]
        infer.main(arguments)
    table = (tmp_path / "two.csv").read_bytes()
    assert table == (tmp_path / "one.csv").read_bytes()
    assert table.count(b"\n") == 91


# The map


def test_items_and_results_leave_nothing_behind(tmp_path):
    runner = on_runner([*THREADS.split(), f"--temp_location={tmp_path}"])
    results = runner(lengths, [["a"], ["bc"]])
    assert next(results)["lengths"] == [1]
    (folder,) = tmp_path.iterdir()
    assert {path.name for path in folder.iterdir()} == {"items", "results", "aside"}
    assert [result["lengths"] for result in results] == [[2]]
    assert list(tmp_path.iterdir()) == []


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "nothing is none of DirectRunner"),
        ("NoRunner", "'NoRunner' is none of DirectRunner"),
        ("DirectRunner --nonsense 3", "--nonsense: not an option of Beam"),
        ("FlinkRunner", "FlinkRunner: give --temp_location too"),
        ("DirectRunner --temp_location nowhere://x", "--temp_location: .*nowhere://x"),
    ],
)
def test_runners_and_options_that_beam_has_not_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        on_runner(arguments.split())


@pytest.mark.parametrize("option", ["--also", "--counts"])
def test_what_no_worker_counts_is_refused(tmp_path, option):
    topics = tmp_path / "topics.txt"
    topics.write_text("ship sea\n")
    source = f"--reference {topics} --also c_npmi"
    source = f"--counts {tmp_path}" if option == "--counts" else source
    line = f"{topics} {source} --runner DirectRunner"
    with pytest.raises(InputError, match="--runner counts the --reference"):
        coherence.main(line.split())


def test_without_beam_one_line_says_what_to_install_and_all_else_works(tmp_path):
    program = "import sys; sys.modules['apache_beam'] = None\n"
    program += "from tcnlm.programs.launch import preprocess; preprocess()"
    line = "--format lee --processes 1 --min-count 5 --topic-min-count 5 --out"
    start = partial(
        subprocess.run, cwd=toy.ROOT, capture_output=True, text=True, check=False
    )
    command = [sys.executable, "-c", program, *line.split(), str(tmp_path / "DATA")]
    refused = start([*command, "--runner", "DirectRunner"])
    assert refused.returncode == 2
    message = f"error: --runner: apache_beam is not installed; pip install {PACKAGE}\n"
    assert refused.stderr == message
    assert not (tmp_path / "DATA").exists()
    assert start(command).returncode == 0
