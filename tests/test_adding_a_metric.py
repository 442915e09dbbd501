"""A measure is a file and a line: what they say is then known everywhere."""

import json
from dataclasses import dataclass

import pytest
import tiny

from tcnlm.metrics.base import Figure, Metric, language
from tcnlm.metrics.registry import METRICS, judge, value
from tcnlm.models import model_class
from tcnlm.programs import evaluate


class Lengths(Metric):
    """How long the sentences of a split are."""

    key = "lengths"
    applies = staticmethod(language)
    option = "lengths"
    purpose = "how long the sentences are"
    figures = (
        Figure("longest", "longest sentence", "{} words", "max", lambda s: _longest(s)),
        Figure("lengths.mean", "mean length", "{:.1f}", "min"),
    )
    entries = ("lengths",)
    unrecorded = ("lengths.text",)
    template = "<h2>Lengths</h2>{{ note(said) }}{{ image('lengths', 'by sentence') }}"

    def measure(self, subject):
        sizes = _sizes(subject)
        text = "a < b & c"
        return {"lengths": {"mean": sum(sizes) / len(sizes), "text": text}}

    def lines(self, evaluation):
        found = evaluation.get("lengths")
        return [f"  sentences like {found['text']}"] if found else []

    def unsaved(self, subject):
        return _sizes(subject)

    def shown(self, evaluation, unsaved):
        found = evaluation.get("lengths")
        return found and {"said": f"{found['text']}: {found['mean']:.1f}"}

    def draw(self, evaluation, unsaved):
        from tcnlm.drawing.figures import axes_of, blank

        if unsaved:
            figure = blank(4, 2)
            axes_of(figure.subplots(), "Lengths").plot(unsaved)
            yield "lengths", figure

    def tables(self, evaluation):
        mean = evaluation["lengths"]["mean"]
        return {"lengths": [{"a & b": (mean, f"{mean:.1f}")}]}


def _sizes(subject):
    split = subject.split
    return [
        len(sentence)
        for document in range(split.num_documents)
        for sentence in split.document(document)
    ]


def _longest(subject):
    return max(_sizes(subject))


@dataclass
class Done:
    printed: str
    evaluation: dict
    page: str
    record: dict
    export: object


@pytest.fixture
def registered():
    """One line in the table."""
    METRICS.append(Lengths())
    yield
    METRICS.pop()


@pytest.fixture
def done(registered, toy_data, tmp_path, capsys):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    asked = ["--lengths", "--record", "record.json", "--export", "export"]
    asked = [str(tmp_path / a) if a[0] in "re" else a for a in asked]
    evaluate.main(evaluate.parser().parse_args([str(run), *asked]), "evaluate.py")
    return Done(
        capsys.readouterr().out,
        json.loads((run / "evaluation.json").read_text()),
        (run / "report.html").read_text(),
        json.loads((tmp_path / "record.json").read_text()),
        tmp_path / "export",
    )


def test_a_measure_of_one_line_is_in_summary_page_export_and_record(done):
    mean, longest = done.evaluation["lengths"]["mean"], done.evaluation["longest"]
    assert f"  {'mean length':<40}{mean:.1f}" in done.printed
    assert "sentences like a < b & c" in done.printed
    assert f"a &lt; b &amp; c: {mean:.1f}" in done.page
    assert f"<b>{longest} words</b>longest sentence" in done.page
    assert 'alt="by sentence"' in done.page
    assert done.record["figures"]["lengths"] == {"mean": mean}
    assert done.record["figures"]["longest"] == longest
    folder = done.export / "RUN"
    assert (folder / "lengths.csv").read_text() == f"a & b\n{mean}\n"
    assert r"a \& b \\" in (folder / "lengths.tex").read_text()
    assert (folder / "lengths.pdf").exists()
    comparison = (done.export / "comparison.csv").read_text().splitlines()
    assert "longest sentence" in comparison[0].split(",")


def test_an_epoch_can_be_judged_by_it(registered):
    judged = judge(model_class("lstm"), "lengths.mean")
    assert judged.improves(3.0, 4.0)
    subject = type("", (), {"model": model_class("lstm").__new__(model_class("lstm"))})
    subject.entries = lambda measure: {"lengths": {"mean": 2.5}}
    assert value("lengths.mean", subject) == 2.5


def test_what_is_not_asked_for_is_not_measured(registered, toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    options = evaluate.parser().parse_args([str(run)])
    evaluate.main(options, "evaluate.py")
    found = json.loads((run / "evaluation.json").read_text())
    assert found["lengths"] is None
    assert "Lengths" not in (run / "report.html").read_text()
