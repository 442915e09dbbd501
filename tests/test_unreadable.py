"""A file that the system does not let be read is not called damaged."""

import builtins
import fcntl
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
from trained import make_trainer

from tcnlm.coherence.windows import load_counts
from tcnlm.common.errors import UnreadableError
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.collect import SPLITS
from tcnlm.preprocessing.data_folder import (
    CONTENTS,
    DATES,
    IDS,
    load_arrays,
    read_labels,
    read_marks,
    read_texts,
)
from tcnlm.runs import new_run as runs
from tcnlm.runs.run_folder import CONFIG, RunFolder


@pytest.fixture
def assert_refused(monkeypatch):
    """Return what holds a reader to name a file without permission, and no cure."""

    def check(file, read):
        def opened(work):
            def guarded(path, *arguments, **named):
                if Path(path) == file:
                    raise PermissionError(13, "Permission denied", str(path))
                return work(path, *arguments, **named)

            return guarded

        with monkeypatch.context() as patch:
            # Root may read all files, so that permissions would not tell.
            patch.setattr(builtins, "open", opened(open))
            patch.setattr(Path, "open", opened(Path.open))
            with pytest.raises(UnreadableError) as refused:
                read()
        assert str(refused.value) == f"{file}: cannot be read: Permission denied"

    return check


def read_data(folder):
    Dataset(folder)
    for split in SPLITS:
        load_arrays(folder / split)
        read_labels(folder / split)
        for name in (IDS, DATES):
            read_marks(folder / split / name)
        read_texts(folder / split, [0])


@pytest.mark.parametrize("name", sorted(n for n in CONTENTS if "." in n))
def test_a_file_of_data_is_named(name, labelled, tmp_path, assert_refused):
    data = shutil.copytree(labelled, tmp_path / "DATA")
    (data / name).touch()
    assert_refused(data / name, lambda: read_data(data))


@pytest.mark.parametrize("name", [*runs.FILES, CONFIG, runs.WEIGHTS, "history.csv"])
@pytest.mark.parametrize("has_digest", [True, False])
def test_a_file_of_a_run_is_named(name, has_digest, toy_data, tmp_path, assert_refused):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    (run / "history.csv").write_text("epoch,step\n1,2\n")
    if not has_digest:  # as in an old RUN
        (run / "model.weights.sha256").unlink()
    assert_refused(
        run / name, lambda: (RunFolder(run).load(), RunFolder(run).history())
    )


def test_a_checkpoint_is_named_and_not_passed_over(toy_data, tmp_path, assert_refused):
    trainer = make_trainer(toy_data, tmp_path / "RUN", "lstm", epochs=1)
    trainer.checkpoints.save(1, {"epoch": 1})
    for file in (tmp_path / "RUN" / "checkpoints" / "00000001").iterdir():
        assert_refused(file, trainer.checkpoints.restore)


def test_window_counts_are_named(tmp_path, assert_refused):
    (tmp_path / "counts.npz").write_bytes(b"PK")
    assert_refused(
        tmp_path / "counts.npz", lambda: load_counts(tmp_path / "counts.npz")
    )


def test_weights_that_another_program_has_locked_are_not_called_damaged(tmp_path):
    model = tiny.make_run(tmp_path / "RUN")
    file = tmp_path / "RUN" / "model.weights.h5"
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        said = f"{file}: cannot be read: Resource temporarily unavailable; .*LOCKING"
        with pytest.raises(UnreadableError, match=said):
            RunFolder(tmp_path / "RUN").load()
    weights = RunFolder(tmp_path / "RUN").load().get_weights()
    for one, other in zip(weights, model.get_weights()):
        np.testing.assert_array_equal(one, other)
