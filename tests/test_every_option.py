"""Any value of any option of any program: refused in a line, or work begins.

Nothing is written before. Where work would begin, a program is stopped here.
"""

import pytest
import tiny
from damage import contents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tcnlm.programs.preprocess as preprocess
from tcnlm import run
from tcnlm.common.errors import errors_reported
from tcnlm.programs import (
    coherence,
    evaluate,
    export,
    gains,
    generate,
    infer,
    reproduce,
    serve,
    train,
)
from tcnlm.report import evaluate_run as evaluation
from tcnlm.runs.run_folder import RunFolder
from tcnlm.serving import server

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


PROGRAMS = {  # parser, line without options, start, where work begins
    "train": (
        train.parser,
        ["DATA", "--out", "RUN"],
        lambda line: train.train(train.options_of(line), ""),
        (train.process, "make_reproducible"),
    ),
    "evaluate": (evaluate.parser, ["OLD"], evaluate.main, (evaluation, "evaluate_run")),
    "generate": (generate.parser, ["OLD"], generate.main, (RunFolder, "load")),
    "infer": (
        infer.parser,
        ["OLD", "--input", "file", "--out", "out.csv"],
        infer.main,
        (run, "Run"),
    ),
    "gains": (gains.parser, ["OLD", "OLD"], gains.main, (gains, "target_nats")),
    "reproduce": (
        reproduce.parser,
        ["auto", "--data", "file", "--out", "NEW"],
        lambda line: reproduce.reproduce_all(reproduce.options_of(line)),
        (reproduce, "reproduce"),
    ),
    "serve": (serve.parser, ["OLD"], serve.main, (server, "Server")),
    "export": (export.parser, ["OLD"], export.main, (RunFolder, "load")),
    "coherence": (
        coherence.parser,
        ["file", "--reference", "file"],
        coherence.main,
        (coherence, "scored_words"),
    ),
    "preprocessing": (
        preprocess.parser,
        ["--format", "text", "--input", "file", "--out", "NEW"],
        preprocess.main,
        (preprocess, "preprocess"),
    ),
}


def options_of(name):
    """Return the options of a program that take a value, places too."""
    actions = PROGRAMS[name][0]()._actions
    return [action for action in actions if action.nargs != 0]


@pytest.fixture(scope="module")
def place(toy_data, tmp_path_factory):
    place = tmp_path_factory.mktemp("options")
    tiny.make_run_on(toy_data, place / "OLD")
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
        _, line, main, work = PROGRAMS[name]
        monkeypatch.setattr(*work, reach)
        values = [value] * (action.nargs if isinstance(action.nargs, int) else 1)
        if not action.option_strings:
            line = values + line[1:]
        elif len(values) > 1:
            line = [*line, action.option_strings[-1], *values]
        else:
            line = [*line, f"{action.option_strings[-1]}={value}"]
        try:
            with errors_reported():
                return main(line)
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
