"""evaluate.py --export: tables, figures and references as a paper takes them."""

import csv
import dataclasses
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from measured import fake_run, on_imdb, shown

from tcnlm.drawing.figures import svg
from tcnlm.models import MODELS
from tcnlm.report import exported

LSTM = dict.fromkeys(("npmi", "diversity", "topics_in_use", "topics", "documents"))


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table_rows(text):
    return [line for line in text.splitlines() if line.endswith(r" \\")]


def notes(text):
    """Return the lines below a table as one text; each spans all columns."""
    columns = len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1])
    start = rf"\multicolumn{{{columns}}}{{l}}{{\footnotesize "
    below = text.split("\\bottomrule\n")[1].splitlines()[:-1]
    assert all(line.startswith(start) and line.endswith(r"} \\") for line in below)
    return " ".join(line[len(start) : -len(r"} \\")] for line in below)


def figure():
    drawn = Figure()
    drawn.add_subplot().plot([1, 3, 2])
    return drawn


@pytest.fixture
def folder(tmp_path):
    """What is exported of a TCNLM run and an LSTM run, both called RUN."""
    use = figure()
    drawn = {"figures": {"use": svg(use)}, "drawn": {"use": use}}
    ours = dataclasses.replace(on_imdb(vocabulary_size=9), **drawn)
    runs = [ours, fake_run([], model="lstm", perplexity=20.5, **LSTM)]
    exported.export(runs, tmp_path / "paper" / "tables")
    return tmp_path / "paper" / "tables"


def test_the_comparison_has_every_value_to_the_last_digit(folder):
    ours, lstm = read_csv(folder / "comparison.csv")
    assert (ours["run"], ours["model"], ours["topics"]) == ("RUN-1", "tcnlm", "50")
    assert (ours["perplexity"], lstm["perplexity"]) == ("12.345", "20.5")
    assert (ours["perplexity, published"], lstm["NPMI"]) == ("63.98", "")
    assert ours["other data than published"] == "9 words here, 34,256 there"
    assert "classification, accuracy" not in ours


def test_the_latex_is_a_table_of_booktabs_whose_rows_are_whole(folder):
    text = (folder / "comparison.tex").read_text()
    assert re.findall(r"\\(?:top|mid|bottom)rule", text) == [
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ]
    rows = [line for line in table_rows(text) if "multicolumn" not in line]
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]
    assert len(rows) == 3
    assert {len(row.split(" & ")) for row in rows} == {len(columns)}
    for cell in (r"tcnlm~\cite{tcnlm}", r"63.98$^{\neq}$", "12.35"):
        assert cell in rows[1]
    explained = r"$^{\neq}$ Published on other data: 9 words here, 34,256 there."
    assert notes(text) == notes((folder / "seeds.tex").read_text()) == explained


def test_special_characters_are_set_as_they_are():
    row = {"100% of $x_1": ("<unk> & {a}\\~^#", exported._latex("<unk> & {a}\\~^#"))}
    lines = exported.latex_table([row]).splitlines()
    assert lines[3] == r"100\% of \$x\_1 \\"
    assert lines[5] == (
        r"\textless{}unk\textgreater{} \& \{a\}\textbackslash{}\textasciitilde{}"
        r"\textasciicircum{}\# \\"
    )


def test_topics_and_figures_are_in_a_folder_for_each_run(folder):
    names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert names == {
        "comparison.csv",
        "comparison.tex",
        "seeds.csv",
        "seeds.tex",
        "references.bib",
        "RUN-1/topics.csv",
        "RUN-1/topics.tex",
        "RUN-1/use.svg",
        "RUN-1/use.pdf",
    }
    (topic,) = read_csv(folder / "RUN-1" / "topics.csv")
    assert (topic["words"], topic["NPMI"]) == ("a b", "0.1")
    assert (folder / "RUN-1" / "use.pdf").read_bytes().startswith(b"%PDF")
    assert b"<svg" in (folder / "RUN-1" / "use.svg").read_bytes()


def test_no_spreadsheet_runs_the_words_of_a_topic(tmp_path):
    topic = {"topic": 0, "words": ["=cmd()", "b"], "npmi": -0.1, "documents": 3}
    run = fake_run([], topics=[{**topic, "proportion": 0.2}])
    exported.export([run], tmp_path)
    (row,) = read_csv(tmp_path / "RUN" / "topics.csv")
    assert (row["words"], row["NPMI"]) == ("'=cmd() b", "-0.1")


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
    assert (lstm["ratio, documents"], tcnlm["ratio, documents"]) == ("", "9")
    text = (tmp_path / "seeds.tex").read_text()
    assert r"6.50 $\pm$ 0.71" in text
    assert r"95 \% interval over 1,000 draws of the 9 documents." in notes(text)
    assert "does not tell how other seeds would come out" in notes(text)
    assert notes((tmp_path / "comparison.tex").read_text()) == ""


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_figure_makes_the_same_file(ending, tmp_path):
    paths = [tmp_path / f"{name}.{ending}" for name in ("a", "b")]
    for path in paths:
        exported.save(figure(), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_its_reference(model):
    entries = exported.references([model])
    keys = re.findall(r"^@\w+\{(\w+),", entries, re.MULTILINE)
    assert keys == list(dict.fromkeys(["tcnlm", exported.reference(model)]))
    assert entries.count("{") == entries.count("}")
