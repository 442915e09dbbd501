"""Groups of seeds, and perplexities against a baseline with their uncertainty."""

import math
from dataclasses import astuple

import numpy as np
import pytest
from measured import made

from tcnlm.metrics.registry import figure
from tcnlm.report import measured
from tcnlm.report.measured import Group, best, groups_of, ratios

PERPLEXITY, NPMI = figure("perplexity"), figure("npmi")
DOCUMENTS = 400


def bootstrap(nats, targets, **options):
    """Return the ratios of systems of one seed each, nats [N, G]."""
    return measured.bootstrap(np.split(nats, nats.shape[1], axis=1), targets, **options)


def test_runs_that_differ_by_their_seed_alone_are_a_group():
    runs = [made(seed=1), made("tcnlm"), made(seed=2), made(seed=1, units=7)]
    runs += [made(seed=3, data="B"), made(seed=3)]
    found = [[run.config["seed"] for run in group.runs] for group in groups_of(runs)]
    assert found == [[1, 2, 3], [1], [1], [3]]


def test_a_run_given_twice_is_no_second_seed():
    groups = groups_of([made(seed=1, perplexity=9.0)] * 2 + [made(seed=2)])
    assert [len(group.runs) for group in groups] == [2, 1]


def test_mean_and_deviation_over_seeds_are_those_by_hand():
    group = Group(tuple(made(seed=s, perplexity=p) for s, p in enumerate((4, 6, 11))))
    assert group.mean(PERPLEXITY) == pytest.approx(7)
    assert group.deviation(PERPLEXITY) == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert group.mean(NPMI) is group.deviation(NPMI) is None


def test_one_seed_has_no_deviation_nor_have_values_without_end():
    assert Group((made(perplexity=4.0),)).deviation(PERPLEXITY) is None
    endless = tuple(made(seed=s, perplexity=math.inf) for s in (1, 2))
    assert Group(endless).deviation(PERPLEXITY) is None
    assert Group(endless).mean(PERPLEXITY) == math.inf


def test_a_ratio_is_that_of_corpus_perplexities():
    targets = np.array([1, 9, 30])
    nats = np.array([[3.0, 2.0], [40.0, 41.0], [90.0, 99.0]])
    [found] = bootstrap(nats, targets)
    expected = math.exp(142 / 40) / math.exp(133 / 40)
    assert found.value == pytest.approx(expected)
    assert found.low < expected < found.high


def test_an_interval_is_as_wide_as_the_means_error_tells(rng):
    difference = rng.normal(0.03, 0.2, DOCUMENTS)
    nats = np.stack([np.full(DOCUMENTS, 5.0), 5 + difference], axis=1)
    [found] = bootstrap(nats, np.ones(DOCUMENTS, int))
    error = difference.std(ddof=1) / math.sqrt(DOCUMENTS)
    low, high = difference.mean() + 1.96 * error * np.array([-1, 1])
    assert math.log(found.low) == pytest.approx(low, abs=0.15 * error)
    assert math.log(found.high) == pytest.approx(high, abs=0.15 * error)


def test_what_all_documents_share_does_not_widen_the_interval():
    nats = np.arange(1.0, 201.0)
    [found] = bootstrap(np.stack([nats, nats + 0.1], axis=1), np.ones(200, int))
    assert (found.low, found.high) == pytest.approx((math.exp(0.1),) * 2)
    assert not found.level


def test_two_systems_alike_are_level_in_95_of_100_trials():
    level = 0
    for trial in range(200):
        rng = np.random.default_rng([7, trial])
        targets = rng.integers(5, 60, size=100)
        hard = rng.normal(5, 1, size=(100, 1))
        nats = targets[:, None] * (hard + rng.normal(0, 0.2, size=(100, 2)))
        [found] = bootstrap(nats, targets, seed=trial)
        level += found.level
    assert 180 <= level <= 198  # 190 expected, standard deviation 3.1


def test_a_real_difference_is_not_level():
    rng = np.random.default_rng(7)
    nats = 5 + rng.normal(0, 0.2, size=(DOCUMENTS, 2)) + [0, 0.05]
    [found] = bootstrap(nats, np.ones(DOCUMENTS, int))
    assert 1 < found.low < found.value < found.high
    assert not found.level


def test_the_same_resamples_serve_all_and_come_again(rng):
    nats = rng.normal(5, 1, size=(50, 3))
    nats[:, 2] = nats[:, 1]
    one, same = map(astuple, bootstrap(nats, np.ones(50, int)))
    [again] = map(astuple, bootstrap(nats[:, :2], np.ones(50, int)))
    assert one == pytest.approx(same)
    assert one == pytest.approx(again)


def test_nats_of_seeds_are_averaged_before_the_ratio():
    base = groups_of([made("lstm", nats=[10.0] * 20)])
    seeds = [made("tcnlm", s, nats=[n] * 20) for s, n in ((1, 8.0), (2, 11.0))]
    _, found = ratios([*base, *groups_of(seeds)])
    assert found.value == pytest.approx(math.exp((9.5 - 10) / 10))
    assert found.value == pytest.approx(
        math.sqrt(math.exp(0.8) * math.exp(1.1)) / math.exp(1.0)
    )


def test_an_interval_of_several_seeds_is_as_wide_as_these_and_documents_tell(rng):
    """Variances of the two means add: of documents, and of each system's seeds."""
    seeds = [rng.normal(5, 0.03, 12), rng.normal(5.1, 0.05, 8)]
    hard = rng.normal(0, 0.2, (DOCUMENTS, 1))
    systems = [np.broadcast_to(seeds[0], (DOCUMENTS, 12)), hard + seeds[1]]
    [found] = measured.bootstrap(systems, np.ones(DOCUMENTS, int))
    variance = hard.var() / DOCUMENTS + sum(each.var() / len(each) for each in seeds)
    middle = math.log(found.value)
    assert middle == pytest.approx(systems[1].mean() - systems[0].mean())
    for end in (found.low, found.high):
        width = abs(math.log(end) - middle)
        assert width == pytest.approx(1.96 * math.sqrt(variance), rel=0.12)


def test_other_data_other_targets_and_no_nats_have_no_ratio():
    nats = [10.0] * 20
    runs = [
        made("lstm", nats=nats),
        made("tcnlm", nats=nats, data="B"),
        made("docnade", nats=nats, targets=[9] * 20),
        made("lda"),
        made("tdlm", nats=nats),
    ]
    found = ratios(groups_of(runs))
    assert [ratio is None for ratio in found] == [True] * 4 + [False]
    assert ratios(groups_of(runs[::-1][1:])) == [None] * 4


def test_the_best_is_one_among_those_that_compare():
    rows = (("lstm", "A", 5), ("tcnlm", "A", 4), ("lstm", "B", 2), ("tcnlm", "C", 1))
    runs = [made(m, data=d, perplexity=p) for m, d, p in rows]
    assert best(groups_of(runs), PERPLEXITY) == [False, True, False, False]
    runs = [made(m, npmi=n) for m, n in (("tcnlm", 0.1), ("lda", 0.2), ("tdlm", 0.2))]
    assert best(groups_of(runs), NPMI) == [False, True, True]


def test_perplexities_over_other_words_and_losses_of_other_models_have_no_best():
    runs = [made("lstm", nats=[1.0], perplexity=5, targets=[3])]
    runs += [made("docnade", nats=[1.0], perplexity=4, targets=[2])]
    assert best(groups_of(runs), PERPLEXITY) == [False, False]
    runs = [made("lda", loss=5.0), made("ntm", loss=4.0)]
    assert best(groups_of(runs), figure("loss")) == [False, False]
