"""Memory is kept, garbage rarely searched for; commands are named as called."""

import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest
import toy

from tcnlm.common import process

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


GARBAGE = """
import gc, sys
from tcnlm.common.process import search_garbage_rarely

if sys.argv[1] == "rarely":
    search_garbage_rarely()
searches = []
gc.callbacks.append(lambda phase, _: searches.append(phase))
kept = [[] for _ in range(300_000)]
print(len(searches))
"""


def said(program, mode):
    command = [sys.executable, "-c", program, mode]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def page_faults(mode):
    return int(said(FAULTS, mode))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="asks for glibc")
def test_freed_memory_is_used_again_without_page_faults():
    assert page_faults("kept") < 0.1 * page_faults("given back")


def test_objects_that_stay_are_seldom_searched_for_garbage():
    often, rarely = (int(said(GARBAGE, mode)) for mode in ("often", "rarely"))
    assert rarely < 0.02 * often


def test_another_c_library_is_left_alone(monkeypatch):
    other = SimpleNamespace()
    monkeypatch.setattr(process.ctypes, "CDLL", lambda _: other)
    process.keep_memory()
    assert vars(other) == {}


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
