"""A measure is a file and a line: what they say is then known everywhere."""

import json

import numpy as np
import pytest
import tiny

from tcnlm.metrics.base import Figure, Metric, language
from tcnlm.metrics.registry import METRICS
from tcnlm.programs import evaluate


class Lengths(Metric):
    """How long the sentences of a split are."""

    key = "lengths"
    applies = staticmethod(language)
    option = "lengths"
    purpose = "how long the sentences are"
    figures = (
        Figure(
            "longest", "longest sentence", "{} words", "max", lambda s: max(sizes(s))
        ),
        Figure("lengths.mean", "mean length", "{:.1f}", "min"),
    )
    entries = ("lengths",)
    unrecorded = ("lengths.text",)
    template = "<h2>Lengths</h2>{{ note(said) }}{{ image('lengths', 'by sentence') }}"

    def measure(self, subject):
        return {"lengths": {"mean": np.mean(sizes(subject)), "text": "a < b & c"}}

    def lines(self, evaluation):
        entry = evaluation.get("lengths")
        return [f"  sentences like {entry['text']}"] if entry else []

    def unsaved(self, subject):
        return sizes(subject)

    def section(self, entry):
        return {"said": f"{entry['text']}: {entry['mean']:.1f}"}

    def draw(self, evaluation, unsaved):
        from tcnlm.drawing.figures import axes_of, blank

        if unsaved:
            figure = blank(4, 2)
            axes_of(figure.subplots(), "Lengths").plot(unsaved)
            yield "lengths", figure

    def tables(self, evaluation):
        mean = evaluation["lengths"]["mean"]
        return {"lengths": [{"a & b": (mean, f"{mean:.1f}")}]}


def sizes(subject):
    return np.diff(subject.split.sentences).tolist()


@pytest.fixture
def registered():
    """One line in the table."""
    METRICS.append(Lengths())
    yield
    METRICS.pop()


def test_a_measure_of_one_line_is_in_summary_page_export_and_record(
    registered, toy_data, tmp_path, capsys
):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    asked = ["--lengths", "--record", tmp_path / "record.json", "--export", tmp_path]
    evaluate.main([str(run), *map(str, asked)])
    evaluation = json.loads((run / "evaluation.json").read_text())
    mean, longest = evaluation["lengths"]["mean"], evaluation["longest"]
    printed = capsys.readouterr().out
    assert f"  {'mean length':<40}{mean:.1f}" in printed
    assert "sentences like a < b & c" in printed
    page = (run / "report.html").read_text()
    assert f"a &lt; b &amp; c: {mean:.1f}" in page
    assert f"<b>{longest} words</b>longest sentence" in page
    assert 'alt="by sentence"' in page
    figures = json.loads((tmp_path / "record.json").read_text())["figures"]
    assert figures["lengths"] == {"mean": mean}
    assert figures["longest"] == longest
    folder = tmp_path / "RUN"
    assert (folder / "lengths.csv").read_text() == f"a & b\n{mean}\n"
    assert r"a \& b \\" in (folder / "lengths.tex").read_text()
    assert (folder / "lengths.pdf").exists()
    titles = (tmp_path / "comparison.csv").read_text().splitlines()[0]
    assert "longest sentence" in titles.split(",")


def test_what_is_not_asked_for_is_not_measured(registered, toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    evaluate.main([str(run)])
    found = json.loads((run / "evaluation.json").read_text())
    assert found["lengths"] is None
    assert "Lengths" not in (run / "report.html").read_text()
