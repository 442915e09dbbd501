"""evaluate.py --export: tables and figures as a paper takes them."""

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure
from measured import fake_run, on_imdb, shown
from toy import read_csv

from tcnlm.drawing.figures import svg
from tcnlm.report import exported

LSTM = dict.fromkeys(("npmi", "diversity", "topics_in_use", "topics", "documents"))


@pytest.fixture
def folder(tmp_path):
    """What is exported of a TCNLM run and an LSTM run, both called RUN."""
    use = Figure()
    use.add_subplot().plot([1, 3, 2])
    drawn = {"figures": {"use": svg(use)}, "drawn": {"use": use}}
    ours = dataclasses.replace(on_imdb(vocabulary_size=9), **drawn)
    runs = [ours, fake_run([], model="lstm", perplexity=20.5, **LSTM)]
    exported.export(runs, tmp_path / "paper" / "tables")
    return tmp_path / "paper" / "tables"


def test_the_comparison_has_every_value_to_the_last_digit(folder):
    ours, lstm = read_csv(folder / "comparison.csv")
    assert (ours["run"], ours["model"], ours["topics"]) == ("RUN-1", "tcnlm", "50")
    assert (ours["perplexity"], lstm["perplexity"]) == ("12.345", "20.5")
    assert lstm["NPMI"] == ""
    assert "classification, accuracy" not in ours
    text = (folder / "comparison.tex").read_text()
    assert "RUN-1 & tcnlm & 1x600 & 50 & 12.35 " in text
    assert text.count(r"\\") == 3


def test_topics_and_figures_are_in_a_folder_for_each_run(folder):
    names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert names == {
        "comparison.csv",
        "comparison.tex",
        "seeds.csv",
        "seeds.tex",
        "RUN-1/topics.csv",
        "RUN-1/topics.tex",
        "RUN-1/use.svg",
        "RUN-1/use.pdf",
    }
    (topic,) = read_csv(folder / "RUN-1" / "topics.csv")
    assert (topic["words"], topic["NPMI"]) == ("a b", "0.1")
    assert (folder / "RUN-1" / "use.pdf").read_bytes().startswith(b"%PDF")
    assert b"<svg" in (folder / "RUN-1" / "use.svg").read_bytes()


def test_neither_spreadsheet_nor_latex_runs_the_words_of_a_topic(tmp_path):
    topic = {"topic": 0, "words": ["=cmd()", "<a_b>"], "npmi": -0.1, "documents": 3}
    run = fake_run([], topics=[{**topic, "proportion": 0.2}])
    exported.export([run], tmp_path)
    (row,) = read_csv(tmp_path / "RUN" / "topics.csv")
    assert (row["words"], row["NPMI"]) == ("'=cmd() <a_b>", "-0.1")
    text = (tmp_path / "RUN" / "topics.tex").read_text()
    assert r"=cmd() \textless{}a\_b\textgreater{}" in text


def test_seeds_are_a_row_with_mean_deviation_and_ratio(tmp_path):
    nats = np.full(9, 20.0)
    runs = [
        shown("lstm", nats=nats, perplexity=8.0, npmi=None),
        shown("tcnlm", 1, nats=nats - 2, perplexity=6.0),
        shown("tcnlm", 2, nats=nats - 2, perplexity=7.0),
    ]
    exported.export(runs, tmp_path)
    lstm, tcnlm = read_csv(tmp_path / "seeds.csv")
    assert (lstm["perplexity"], lstm["ratio"]) == ("8.0", "")
    assert (tcnlm["seeds"], tcnlm["perplexity"]) == ("2", "6.5")
    assert float(tcnlm["perplexity, deviation"]) == pytest.approx(0.5**0.5)
    assert float(tcnlm["ratio"]) == pytest.approx(np.exp(-0.2))
    assert float(tcnlm["ratio, low"]) <= float(tcnlm["ratio, high"])
    text = (tmp_path / "seeds.tex").read_text()
    assert "6.50 ± 0.71" in text
    assert "0.819 [0.819, 0.819]" in text
    assert "deviation" not in text
