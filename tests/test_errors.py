"""How a program ends: what it is given is bad, unforeseen, or nobody reads it."""

import importlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
import toy

from tcnlm.common.errors import InputError, NotFiniteError, errors_reported
from tcnlm.generation.requests import read_document
from tcnlm.programs.launch import PROGRAMS

PROGRAM = """
import sys
from tcnlm.common.errors import errors_reported
with errors_reported():
    {}
"""
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


def run(statement, *arguments, **options):
    line = [sys.executable, "-c", PROGRAM.format(statement), *arguments]
    return subprocess.run(line, cwd=toy.ROOT, **{**PIPES, **options})


@pytest.mark.parametrize("error", [InputError, NotFiniteError])
def test_a_program_ends_with_status_2_and_one_line(error, capsys):
    with pytest.raises(SystemExit) as ended, errors_reported():
        raise error("corpus.txt:3: not UTF-8")
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", "error: corpus.txt:3: not UTF-8\n")


def test_what_nothing_foresaw_ends_in_one_line_that_names_its_traceback(capsys):
    with pytest.raises(SystemExit) as ended, errors_reported():
        raise ArithmeticError("not the user's\nbut ours")
    assert ended.value.code == 1
    line = capsys.readouterr().err
    found = re.fullmatch(
        r"error: ArithmeticError: not the user's \(not foreseen; its traceback is in "
        r"(.*\.txt); or add --debug\)\n",
        line,
    )
    path = Path(found[1])
    assert __file__ in path.read_text()
    path.unlink()


def test_debug_shows_the_traceback_itself():
    done = run("1 / 0", "--debug")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_a_file_that_the_system_refuses_is_named(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended, errors_reported():
        (tmp_path / "none" / "file").write_text("")
    assert ended.value.code == 2
    line = f"error: {tmp_path}/none/file: No such file or directory\n"
    assert capsys.readouterr().err == line


def test_what_the_output_cannot_write_is_printed_as_escapes(monkeypatch):
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with errors_reported():
        print("naïve ± 😍 \udcff")
    assert written.getvalue() == rb"na\xefve \xb1 \U0001f60d \udcff" + b"\n"


def test_an_argument_that_is_not_utf_8_is_refused_before_work(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["generate.py", "RUN", "--prompt", "a\udcff"])
    with pytest.raises(SystemExit) as ended, errors_reported():
        pytest.fail("worked")
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: argument 'a\\udcff': is not in UTF-8; ")


def test_standard_input_that_is_closed_is_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="--document -: standard input is closed"):
        read_document("-")


def test_ctrl_c_ends_in_one_word(capsys):
    with pytest.raises(SystemExit) as ended, errors_reported():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("rows", [1, 10**5])
def test_output_that_nobody_reads_ends_the_program_without_a_word(rows):
    line = [sys.executable, "-c", PROGRAM.format(f"print('row\\n' * {rows})")]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(line, cwd=toy.ROOT, **pipe) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("rows", [1, 10**5])
def test_output_without_room_ends_the_program_in_one_line(rows):
    with open("/dev/full", "w") as full:
        done = run(f"print('row\\n' * {rows})", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "error: output: No space left on device\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_it(name):
    module = importlib.import_module(f"tcnlm.programs.{name}")
    assert "--debug" in module.parser().format_help()
