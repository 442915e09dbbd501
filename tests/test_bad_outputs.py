"""What cannot be written: refused before work, named in a line, nothing left half."""

import os
import shlex
import shutil
from pathlib import Path

import pytest
import tiny
from damage import contents, room_for
from trained import make_trainer, train_toy

from tcnlm.common.errors import InputError
from tcnlm.common.files import write_json
from tcnlm.generation import saved_model
from tcnlm.programs import coherence, evaluate, export, gains, infer
from tcnlm.report import evaluate_run as evaluation
from tcnlm.runs.run_folder import RunFolder
from tcnlm.runs.weights import WEIGHTS, save_weights


@pytest.fixture(scope="module")
def made(toy_data, tmp_path_factory):
    return tiny.make_run_on(toy_data, tmp_path_factory.mktemp("made") / "RUN")


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "RUN")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Be in a folder with a text, topics and what stands in the way of outputs."""
    place = tmp_path / "place"
    for name in ("folder.csv", "DATA"):
        (place / name).mkdir(parents=True)
    for name in ("file", "topics.txt", "text.txt"):
        (place / name).write_text("ship sea\n")
    monkeypatch.chdir(place)
    monkeypatch.setattr(coherence, "cores", lambda: 1)
    return place


PROGRAMS = {
    "evaluate": evaluate.main,
    "export": export.main,
    "coherence": coherence.main,
    "infer": infer.main,
    "gains": gains.main,
}
FILES = {
    "evaluate RUN --record": "evaluate",
    "evaluate RUN --features": "evaluate",
    "coherence topics.txt --reference text.txt --json": "coherence",
    "coherence topics.txt --reference text.txt --save-counts": "coherence",
    "infer RUN --input text.txt --out": "infer",
    "gains RUN RUN --out": "gains",
}
NO_FILE = {
    "none/out.csv": "there is no folder none",
    "file/out.csv": "there is no folder file",
    "folder.csv": "is not a file",
    "a" * 300 + ".csv": "cannot be written: File name too long",
}
FOLDERS = ["evaluate RUN --report", "evaluate RUN --export", "export RUN --out"]


def start(line, run):
    program, *arguments = [str(run) if w == "RUN" else w for w in shlex.split(line)]
    return PROGRAMS[program](arguments)


@pytest.mark.parametrize("path", NO_FILE)
@pytest.mark.parametrize("line", FILES)
def test_a_file_that_cannot_be_written_is_refused_before_work(line, path, run, place):
    before = contents(place.parent)
    with pytest.raises(InputError, match=f"{path}: {NO_FILE[path]}"):
        start(f"{line} {path}", run)
    assert contents(place.parent) == before


@pytest.mark.parametrize("line", FOLDERS)
def test_a_place_below_a_file_is_refused_before_work(line, run, place):
    before = contents(place.parent)
    with pytest.raises(InputError, match="cannot be a folder, .*file is a file"):
        start(f"{line} file/below/it", run)
    assert contents(place.parent) == before


OWN = [*FILES, "evaluate RUN --report", "evaluate RUN --export"]
INFER = "infer RUN --input text.txt --label x --date y --format jsonl --out o.csv"
OWN += [f"{INFER} --by-label", f"{INFER} --over-time"]


@pytest.fixture
def mine(run, toy_data, tmp_path):
    """A RUN as trained and measured, and a DATA folder: their files by name."""
    data = shutil.copytree(toy_data, tmp_path / "OTHER")
    for name in ("history.csv", "evaluation.json", "report.html", "evaluation.csv"):
        (run / name).write_text("mine")
    (run / "figures").mkdir()
    (run / "figures" / "a.csv").write_text("mine")
    (data / "new.csv").symlink_to(data / "meta.json")
    return run, data


@pytest.mark.parametrize("way", ["relative", "a link", "through a link"])
@pytest.mark.parametrize("line", OWN)
def test_no_output_takes_the_place_of_a_file_of_a_run_or_data(line, way, mine, place):
    run, data = mine
    shutil.rmtree(place / "DATA")
    (place / "DATA").symlink_to(data)
    before = contents(place.parent)
    files = [f for folder in mine for f in sorted(folder.rglob("*")) if f.is_file()]
    assert len(files) > 20
    for number, file in enumerate(files):
        given = Path(os.path.relpath(file, place))
        if way == "a link":
            given = place / f"link-{number}.csv"
            given.symlink_to(file)
        elif way == "through a link":
            (place / f"folder-{number}").symlink_to(file.parent)
            given = place / f"folder-{number}" / file.name
        with pytest.raises(
            InputError, match="belongs to the|is read, and|must end|cannot be a folder"
        ):
            start(f"{line} {given}", run)
    after = contents(place.parent)
    assert {k: v for k, v in after.items() if k in before} == before


@pytest.mark.parametrize(
    "line",
    [
        "evaluate RUN --reference text.txt --record",
        "coherence topics.txt --reference text.txt --json",
        "infer RUN --input text.txt --out",
    ],
)
def test_no_output_is_an_input_by_any_name(line, run, place):
    (place / "text.jsonl").write_text("ship sea\n")
    (place / "hard.jsonl").hardlink_to(place / "text.jsonl")
    (place / "soft.jsonl").symlink_to(place / "text.jsonl")
    line = line.replace("text.txt", "text.jsonl")
    for name in ("text.jsonl", "hard.jsonl", "soft.jsonl", "../place/text.jsonl"):
        with pytest.raises(InputError, match="is an input and would be overwritten"):
            start(f"{line} {name}", run)


def test_no_two_outputs_are_one(run, place):
    with pytest.raises(InputError, match="is named for two outputs"):
        start("evaluate RUN --record a.json --report ./a.json", run)


def test_figures_without_room_are_named_and_leave_nothing(run, monkeypatch):
    def write(path, content):
        with room_for(1000):  # here alone: TensorFlow compiles through files
            write_json(path, content)

    monkeypatch.setattr(evaluation, "write_json", write)
    before = contents(run)
    with pytest.raises(InputError, match="evaluation.json: cannot be written"):
        evaluation.evaluate_run(RunFolder(run))
    assert contents(run) == before


@pytest.mark.parametrize("option", ["--json", "--save-counts"])
def test_an_output_without_room_is_named_and_leaves_nothing(option, place):
    line = f"coherence topics.txt --reference text.txt {option} out"
    before = contents(place)
    with room_for(50), pytest.raises(InputError, match="^out: cannot be written"):
        start(line, None)
    assert contents(place) == before


# --- A full disk ----------------------------------------------------------------------


@pytest.fixture
def trainer(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path / "RUN", "lstm", epochs=1)
    trainer.train()
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_checkpoint_or_weights_without_room_are_named_and_the_last_ones_kept(
    size, trainer
):
    before = contents(trainer.run)
    with room_for(size), pytest.raises(InputError) as refused:
        trainer.checkpoints.save(99, {"epoch": 1})
    assert "checkpoints/00000099: cannot be written: " in str(refused.value)
    assert "{{" not in str(refused.value)
    assert contents(trainer.run) == before
    refused = pytest.raises(InputError, match=f"{WEIGHTS}: cannot be written")
    with room_for(size), refused:
        save_weights(trainer.model, trainer.run)
    assert (trainer.run / WEIGHTS).read_bytes() == before[Path(WEIGHTS)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "name"), [(0, "history.csv"), (100, "history.csv"), (800, "tensorboard")]
)
def test_a_history_without_room_is_named(size, name, trainer):
    refused = pytest.raises(InputError, match=f"{name}: cannot be written: File too")
    with room_for(size), refused:
        trainer.log.evaluation(trainer.state.history)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 100, 20_000])
def test_a_saved_model_without_room_is_named_and_leaves_nothing(size, tmp_path):
    model = tiny.make_model("lstm")
    refused = pytest.raises(InputError, match="saved_model: cannot be written")
    with room_for(size), refused:
        saved_model.export(model, tmp_path / "saved_model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_run_below_a_file_is_refused_before_training(toy_data, tmp_path):
    (tmp_path / "file").write_text("")
    result = train_toy(toy_data, tmp_path / "file" / "RUN", model="lstm")
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert "file/RUN: cannot be a folder, " in line


def test_a_file_beside_a_saved_model_is_told_before_training(toy_data, tmp_path):
    note = tmp_path / "RUN" / "saved_model" / "note.txt"
    note.parent.mkdir(parents=True)
    note.touch()
    result = train_toy(toy_data, tmp_path / "RUN", model="lstm")
    assert "saved_model: exists and is not a SavedModel alone" in result.stderr
    assert list(contents(tmp_path / "RUN")) == [note.relative_to(tmp_path / "RUN")]
