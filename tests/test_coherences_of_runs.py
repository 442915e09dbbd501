"""evaluate.py --coherences: other coherences of the topics of a RUN."""

import json

import numpy as np
import pandas as pd
import pytest
import tiny

from tcnlm.coherence import count_windows, save_counts
from tcnlm.coherence.definitions import COHERENCES, coherence, irbo
from tcnlm.coherence.reference import Reference
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.models.topics import top_words
from tcnlm.programs import evaluate
from tcnlm.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("undrawn")


def call(*arguments):
    line = list(map(str, arguments))
    evaluate.main(line)


@pytest.fixture
def run(toy_data, tmp_path):
    return tiny.make_run_on(toy_data, tmp_path / "RUN", "neural_topics")


def test_they_stand_in_summary_page_and_tables_as_counted_on_the_corpus(
    run, toy_data, tmp_path, capsys
):
    call(run, "--coherences", "--export", tmp_path / "tables")
    found = json.loads((run / "evaluation.json").read_text())["coherences"]
    topics = top_words(RunFolder(run).load(), weight=1.0)
    words = {word for topic in topics for word in topic}
    kinds = [each.windows for each in COHERENCES.values()]
    counts = Reference().kinds_counted(words, kinds, Dataset(toy_data))
    for name, counted in zip(COHERENCES, counts):
        expected = coherence(name, counted, topics, 20)
        assert [topic[name] for topic in found["topics"]] == pytest.approx(expected)
        assert found[name] == pytest.approx(np.mean(expected))
    assert found["irbo"] == pytest.approx(irbo(topics))
    assert f"c_v{'':<37}{found['c_v']:.3f}" in capsys.readouterr().out
    page = (run / "report.html").read_text()
    assert "<h2>Other coherences</h2>" in page
    assert "c_v: windows of 110 tokens, complete ones only" in page
    table = pd.read_csv(tmp_path / "tables" / "RUN" / "coherences.csv")
    assert list(table.c_uci) == pytest.approx([t["c_uci"] for t in found["topics"]])


def test_counts_of_other_windows_are_refused_before_any_work(run, tmp_path):
    words = [
        word for topic in top_words(RunFolder(run).load(), weight=1.0) for word in topic
    ]
    save_counts(tmp_path / "counts.npz", count_windows([words], words))
    with pytest.raises(InputError, match="counts.npz: .*give the text, --reference"):
        call(run, "--coherences", "--counts", tmp_path / "counts.npz")
    assert not (run / "evaluation.json").exists()
