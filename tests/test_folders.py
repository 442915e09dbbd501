"""Folders and locks: whole or not at all, one writer, and only our own removed."""

import os

import pytest

from tcnlm.common.errors import InputError
from tcnlm.common.files import locked
from tcnlm.preprocessing.data_folder import CONTENTS, new_folder


def make(path, content="x", force=False):
    with new_folder(path, force) as folder:
        (folder / "meta.json").write_text(content)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "deep" / "DATA"
    with new_folder(path) as folder:
        (folder / "file").write_text("x")
        assert not path.exists()
    assert (path / "file").read_text() == "x"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [InputError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_a_folder_that_fails_and_the_old_one_stays(tmp_path, error):
    def fail(folder):
        (folder / "file").write_text("x")
        raise error

    make(tmp_path / "DATA", "old")
    for name in ("new", "DATA"):
        with pytest.raises(error), new_folder(tmp_path / name, True) as folder:
            fail(folder)
    assert names(tmp_path) == ["DATA"]
    assert (tmp_path / "DATA/meta.json").read_text() == "old"


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_that_is_no_data_is_never_replaced(tmp_path, force):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError), new_folder(tmp_path, force):
        pass
    assert (tmp_path / "thesis.tex").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "DATA"
    refused = pytest.raises(InputError, match="file/DATA: cannot be written")
    with refused, new_folder(path):
        pass


@pytest.mark.parametrize("foreign", ["in.txt", "train/notes.txt", "run/model.h5"])
def test_a_data_with_something_of_the_users_in_it_is_not_replaced(
    tmp_path, foreign, toy_data
):
    files = {str(file.relative_to(toy_data)) for file in toy_data.rglob("*")}
    assert files < CONTENTS  # all that may be removed
    make(tmp_path / "DATA", "old")
    (tmp_path / "DATA" / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / "DATA" / foreign).write_text("years of work")
    top = foreign.split("/")[0] if "run" in foreign else foreign
    with pytest.raises(InputError, match=f"DATA/{top}: no part of a DATA directory"):
        make(tmp_path / "DATA", "new", force=True)
    assert (tmp_path / "DATA" / foreign).read_text() == "years of work"
    assert names(tmp_path) == ["DATA"]


def test_of_a_link_the_folder_that_it_points_to_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "DATA").symlink_to(tmp_path / "disk" / "real")
    make(tmp_path / "DATA", "old")
    make(tmp_path / "DATA", "new", force=True)
    assert (tmp_path / "DATA").is_symlink()
    assert (tmp_path / "disk/real/meta.json").read_text() == "new"
    assert (names(tmp_path), names(tmp_path / "disk")) == (["DATA", "disk"], ["real"])


def test_what_a_killed_process_left_goes_and_what_is_anothers_stays(tmp_path):
    for left in (".123.DATA", ".123.old.DATA", ".123.DATA.2"):
        (tmp_path / left).mkdir()
    (tmp_path / ".DATA.lock").write_text("123\n")
    (tmp_path / "DATA").mkdir()
    make(tmp_path / "DATA", force=True)
    assert names(tmp_path) == [".123.DATA.2", "DATA"]


def test_a_data_moved_aside_by_a_process_then_killed_comes_back(tmp_path):
    (tmp_path / ".123.old.DATA").mkdir()
    (tmp_path / ".123.old.DATA/meta.json").write_text("old")
    with pytest.raises(InputError, match="DATA: exists already"):
        make(tmp_path / "DATA")
    assert (tmp_path / "DATA/meta.json").read_text() == "old"


def test_a_second_writer_is_refused_with_the_pid_of_the_first(tmp_path):
    with locked(tmp_path / "DATA"):
        with pytest.raises(InputError, match=f"DATA: process {os.getpid()} is writing"):
            make(tmp_path / "DATA")
        assert names(tmp_path) == [".DATA.lock"]
        (tmp_path / "link").symlink_to(tmp_path / "DATA")
        with pytest.raises(InputError, match="is writing it"):
            make(tmp_path / "link")
        (tmp_path / "link").unlink()
    make(tmp_path / "DATA")
    assert names(tmp_path) == ["DATA"]
