"""Any value of any option of any program: refused in a line, or work begins.

Nothing is written before. Where work would begin, a program is stopped here.
"""

from importlib import import_module

import pytest
import tiny
from damage import contents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcnlm.common.errors import errors_reported

HUGE = "9" * 60
VALUES = ["", " ", "0", "-1", "nan", "inf", "-inf", "1e999", "1e300", "0.5", "x", HUGE]
VALUES += ["9" * 5000, "2147483648", "-9223372036854775809", "1e-50", "ä\udc80", "\n"]
VALUES += ["none/at/all", "file", "file/below", "/", ".", "folder", "/dev/null"]
VALUES += ["a" * 300, "0:1e308", "1:nan", "units=", "=", "units=nan", "cutoffs=5,1"]
# No command line can hold the character that ends its words.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)


class Reached(BaseException):
    """Work would begin."""


def reach(*_, **__):
    raise Reached


PROGRAMS = {  # a line without options, and where work begins
    "train": ("DATA --out RUN", "common.process.make_reproducible"),
    "evaluate": ("OLD", "report.evaluate_run.evaluate_run"),
    "generate": ("OLD", "runs.run_folder.RunFolder.load"),
    "infer": ("OLD --input file --out out.csv", "run.Run"),
    "gains": ("OLD OTHER", "programs.gains.target_nats"),
    "reproduce": ("auto --data file --out NEW", "programs.reproduce.reproduce"),
    "serve": ("OLD", "serving.server.Server"),
    "export": ("OLD", "runs.run_folder.RunFolder.load"),
    "coherence": ("file --reference file", "programs.coherence.scored_words"),
    "preprocess": (
        "--format text --input file --out NEW",
        "programs.preprocess.preprocess",
    ),
}


def options_of(name):
    """Return the options of a program that take a value, places too."""
    actions = import_module(f"tcnlm.programs.{name}").parser()._actions
    return [action for action in actions if action.nargs != 0]


@pytest.fixture(scope="module")
def place(toy_data, tmp_path_factory):
    place = tmp_path_factory.mktemp("options")
    for name in ("OLD", "OTHER"):
        tiny.make_run_on(toy_data, place / name)
    (place / "OLD" / "saved_model").mkdir()
    (place / "OLD" / "saved_model" / "saved_model.pb").touch()
    (place / "folder").mkdir()
    (place / "DATA").symlink_to(toy_data)
    (place / "file").write_text("ship sea\n")
    return place


@pytest.fixture
def started(place, monkeypatch):
    """Return what starts a program with an option, and how it ended."""
    monkeypatch.chdir(place)

    def start(name, action, value):
        program, (line, work) = import_module(f"tcnlm.programs.{name}"), PROGRAMS[name]
        line = line.split()
        monkeypatch.setattr(f"tcnlm.{work}", reach)
        values = [value] * (action.nargs if isinstance(action.nargs, int) else 1)
        if not action.option_strings:
            line = values + line[1:]
        elif len(values) > 1:
            line = [*line, action.option_strings[-1], *values]
        else:
            line = [*line, f"{action.option_strings[-1]}={value}"]
        try:
            with errors_reported():
                if name == "train":  # its main starts a process for each of several
                    return program.train(program.options_of(line), "")
                return program.main(line)
        except SystemExit as ended:
            return ended.code
        except Reached:
            return "reached"

    return start


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_is_refused_in_a_line_or_work_begins(name, data, started, place):
    action = data.draw(st.sampled_from(options_of(name)), "option")
    value = data.draw(st.sampled_from(VALUES) | TEXTS, "value")
    before = contents(place)
    assert started(name, action, value) in (2, "reached")
    assert contents(place) == before
