"""The rows of the benchmark, and what is measured."""

import re
import time

import pytest

from benchmarks import train_step
from benchmarks.synthetic import Corpus, write_data
from tcnlm.data.dataset import Dataset
from tcnlm.data.rows import Sequences

pytestmark = pytest.mark.slow

SHARED = {"embedding_size": 6, "cutoffs": (20, 60), "encoder_units": (7, 7)}
TOY = train_step.Scale(
    Corpus(sentences=600, words=200, topic_words=50, stop_words=20),
    small={"units": 8, "num_topics": 5, **SHARED},
    table_6={"units": 4, "num_topics": 3, **SHARED},
    sentences=8,
    words=5,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("synthetic") / "DATA", TOY.corpus)


def test_synthetic_text_is_as_long_as_reviews(data):
    split = Dataset(data).split("train")
    # 18.0 on IMDB; 600 sentences are few.
    assert split.num_targets / len(Sequences().rows(split)) == pytest.approx(
        18.0, abs=1.0
    )
    assert split.tokens.min() == 4
    assert split.tokens.max() < TOY.corpus.words


@pytest.mark.parametrize(
    "name", ["tcnlm", "keras of Table 6", "writer", "writer, every tail"]
)
def test_system_takes_its_turns(data, tmp_path, name):
    measured = train_step.Bench(data, TOY, 5, tmp_path)
    measured.measure([name])
    assert len(measured.seconds[name]) == 2
    assert min(measured.seconds[name]) > 0


def test_every_row_is_printed(data, tmp_path, monkeypatch, capsys):
    instant = {
        name: lambda _: train_step.System(lambda: time.sleep(0.01), 100)
        for name in train_step.SYSTEMS
    }
    monkeypatch.setattr(train_step, "SYSTEMS", instant)
    monkeypatch.setattr(
        train_step.Bench, "peak", lambda _, name, *__: (100.0, 900.0 + len(name))
    )
    train_step.run(train_step.Bench(data, TOY, 1, tmp_path), train_step.ROWS)
    printed = capsys.readouterr().out
    for row in train_step.ROWS.values():
        cells = re.escape(row.measure), r"[^|]*\d[^|]*", re.escape(row.goal)
        assert re.search(r"\| {} \| {} \| {} \|".format(*cells), printed)


def test_the_peak_of_training_is_above_the_programs_own(data, tmp_path):
    before, peak = train_step.Bench(data, TOY, 1, tmp_path).peak("tcnlm", TOY.small)
    assert 100 < before < peak < 2000
