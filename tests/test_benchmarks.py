"""The ceiling against the paper's arithmetic, the rows of the benchmark, and costs."""

import re
import sys

import numpy as np
import pytest

from benchmarks import cost, systems, train_step
from benchmarks.synthetic import Corpus, write_data
from tcnlm.data.dataset import Dataset
from tcnlm.data.sequences import Sequences

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


def least(config, words, batch):
    """Return the multiplications that the paper's equations ask of a step."""
    (B, T), targets = batch["targets"].shape, batch["targets"]
    V, D = words
    H, E, K = config.units, config.embedding_size, config.num_topics
    F, (first, second) = config.num_factors or H, config.encoder_units
    bounds = [*config.cutoffs, V]
    forward = 2 * B * K * 4 * F  # Wb t, Ub t
    forward += B * T * (E * 4 * F + 4 * F * H)  # x Wc and (...) Wa
    forward += B * T * (H * 4 * F + 4 * F * H)  # h Uc and (...) Ua
    forward += np.count_nonzero(targets) * H * (bounds[0] + len(bounds) - 1)
    for i, (low, high) in enumerate(zip(bounds, bounds[1:]), 1):
        size = max(1, int(H / config.div_value**i))
        rows = np.count_nonzero((targets >= low) & (targets < high))
        forward += rows * (H * size + size * (high - low))
    forward += B * (D * first + first * second + 2 * second * K + K * K + K * D)
    forward += K * D * K  # the angles of the topics
    # Backward twice as much; but nothing asks for the gradient of the counts.
    return 3 * forward - B * D * first


def test_a_step_multiplies_what_the_paper_asks_for_and_no_more(data, tmp_path):
    system = train_step.Bench(data, TOY, 4, tmp_path).ours("tcnlm", TOY.small)
    config, words = system.model.config, (TOY.corpus.words, TOY.corpus.topic_words)
    asked = sum(least(config, words, batch) for batch in system.batches)
    assert systems.Products(system).flops == 2 * asked


def test_synthetic_text_is_as_long_as_reviews(data):
    split = Dataset(data).split("train")
    # 18.0 on IMDB; 600 sentences are few.
    assert split.num_targets / len(Sequences().rows(split)) == pytest.approx(
        18.0, abs=1.0
    )
    assert split.tokens.min() == 4
    assert split.tokens.max() < TOY.corpus.words


@pytest.mark.parametrize(
    "name", ["tcnlm", "keras of Table 6", "writer", "writer, every tail", "loop"]
)
def test_system_takes_its_turns(data, tmp_path, name):
    measured = train_step.Bench(data, TOY, 5, tmp_path)
    measured.measure([name])
    assert len(measured.seconds[name]) == 2
    assert min(measured.seconds[name]) > 0


class Instant:
    """A system that takes no time."""

    targets = flops = 100

    def __call__(self):
        return 0.5


def test_every_row_is_printed(data, tmp_path, monkeypatch, capsys):
    instant = {name: lambda _: Instant() for name in train_step.SYSTEMS}
    monkeypatch.setattr(train_step, "SYSTEMS", instant)
    monkeypatch.setattr(
        systems, "peak_memory", lambda _, name, *__: (100.0, 900.0 + len(name))
    )
    train_step.run(train_step.Bench(data, TOY, 1, tmp_path), train_step.ROWS)
    printed = capsys.readouterr().out
    for row in train_step.ROWS.values():
        cells = re.escape(row.measure), r"[^|]*\d[^|]*", re.escape(row.goal)
        assert re.search(r"\| {} \| {} \| {} \|".format(*cells), printed)


def test_the_peak_of_training_is_above_the_programs_own(data):
    before, peak = systems.peak_memory(data, "tcnlm", TOY.small, steps=1)
    assert 100 < before < peak < 2000


def test_cost_says_the_slope_and_the_largest_distance_from_the_line():
    taken = {size: size.documents / 500 + 1 for size in cost.along("documents")}
    costs = {
        size: {name: cost.Cost(seconds, 100 * seconds) for name in cost.PROGRAMS}
        for size, seconds in taken.items()
    }
    told = " | ".join(f"{p} +2.00 s, +200.0 MB; off by 0%" for p in cost.PROGRAMS)
    assert cost.growth("documents", costs) == f"| 1,000 more documents | {told} |"


def test_cost_measures_the_process_that_it_starts():
    busy = "import time\nwhile time.process_time() < 1: pass"
    assert 1 <= cost.cost([sys.executable, "-c", busy]).seconds < 3
    with pytest.raises(SystemExit, match="status 3"):
        cost.cost([sys.executable, "-c", "raise SystemExit(3)"])


def test_every_program_is_measured_on_the_made_texts(tmp_path):
    found = cost.measured(cost.Size(documents=40, topics=3, words=300), tmp_path)
    assert list(found) == [*cost.PROGRAMS]
    assert all(each.seconds > 0 and each.megabytes > 100 for each in found.values())


def test_the_made_texts_have_so_many_documents_of_known_words(tmp_path):
    size = cost.Size(documents=20, words=500)
    cost.write_texts(tmp_path / "texts", size)
    lines = (tmp_path / "texts").read_text().lower().splitlines()
    known = {cost.word(rank) for rank in range(size.words)}
    words = [line.replace(".", "").split() for line in lines]
    assert len(known) == size.words
    assert [len(each) for each in words] == [cost.SENTENCES * cost.LENGTH] * 20
    assert {word for each in words for word in each} <= known
