"""What programs set of their process, how they are named, and their progress."""

import io
import platform
import re
import subprocess
import sys
import time

import pytest
import toy

from tcnlm.common import process
from tcnlm.common.process import progress_bar

FAULTS = """
import resource, sys
import numpy as np
from tcnlm.common.process import keep_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "kept":
    keep_memory()
np.ones(5_000_000)
before = faults()
for _ in range(5):
    np.ones(5_000_000)
print(faults() - before)
"""


def page_faults(mode):
    command = [sys.executable, "-c", FAULTS, mode]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="asks for glibc")
def test_freed_memory_is_used_again_without_page_faults():
    assert page_faults("kept") < 0.1 * page_faults("given back")


@pytest.mark.parametrize(
    ("called", "line", "program"),
    [
        ("train.py", "python train.py 'a b' --out x", "python evaluate.py"),
        ("/usr/bin/tcnlm-train", "tcnlm-train 'a b' --out x", "tcnlm-evaluate"),
    ],
)
def test_commands_are_named_as_they_were_called(monkeypatch, called, line, program):
    monkeypatch.setattr(sys, "argv", [called, "a b", "--out", "x"])
    assert process.command_line() == line
    assert process.program("evaluate") == program


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_gets_lines_of_how_far_long_work_is(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(process, "FIRST_SECONDS", 0.2)
    monkeypatch.setattr(process, "LOG_SECONDS", 0.2)
    with process.progress_bar(total=6, desc="epoch 1/2") as bar:
        for step in range(6):
            bar.set_postfix_str(f"loss {step}", refresh=False)
            time.sleep(0.15)
            bar.update()
    lines = [line.strip() for line in sys.stderr.getvalue().split("\n")]
    lines = [line for line in lines if line]
    assert 1 <= len(lines) <= 6  # one an update at the most, on a slow machine
    for line in lines:
        assert re.fullmatch(r"epoch 1/2: +\d+%.*\| \d/6 \[.*, loss \d\]", line)


def test_a_terminal_gets_a_bar_at_once(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress_bar(range(3), "scoring", leave=False)) == [0, 1, 2]
    assert sys.stderr.getvalue().startswith("\rscoring:   0%|")
    assert "\n" not in sys.stderr.getvalue()


def test_cores_are_no_more_than_a_containers_quota(monkeypatch):
    from joblib.externals.loky.backend import context

    quota = {"/sys/fs/cgroup/cpu.max": "50000 100000"}
    monkeypatch.setattr(context.os.path, "exists", quota.__contains__)
    monkeypatch.setattr(context, "open", lambda p: io.StringIO(quota[p]), raising=False)
    assert process.cores() == 1


def test_a_run_after_another_is_called_as_the_program_was(monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["tcnlm-train"])
    assert process.one_by_one([["--help"], ["--help"]]) == 0
    assert capfd.readouterr().out.count("usage: tcnlm-train") == 2
