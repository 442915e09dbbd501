"""Topic worth: what is scored, and what the command says of it."""

import json
import math

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise
from trained import call

from tcnlm.data.dataset import Dataset
from tcnlm.metrics import topic_worth as ablation
from tcnlm.metrics.evaluation_context import EvaluationContext
from tcnlm.metrics.scores import score

SLOW = pytest.mark.slow
OTHERS = ("lda_lstm", "naive_moe", "topic_rnn")
pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def data(few_data):
    return Dataset(few_data)


def make_model(data):
    rng = np.random.default_rng(2)  # whose documents differ in their topics
    return randomise(tiny.untrained("tcnlm", data.vocabulary), rng, 0.8)


def rows_of(model, split):
    return model.batching.rows(split)


def nats(model, batch, contexts):
    """Nats and targets of a batch, each sentence with its context."""
    own = model.context({"topics": tf.constant(np.array(contexts), tf.float32)})
    log_probs = model(batch, context=own)
    return -float(tf.reduce_sum(log_probs)), np.count_nonzero(batch["targets"])


def test_the_three_perplexities_are_of_own_other_and_mean_topics(data):
    model, split = make_model(data), data.split("valid")
    mean = np.array([0.2, 0.5, 0.3])
    sums = {"own": [], "other": [], "mean": []}
    for batch in rows_of(model, split).batches(ablation.BATCH, ablation.SEED):
        own = model.infer(batch["context"]).numpy()
        others = [own[i - 1] for i in range(len(own))]
        sums["own"].append(nats(model, batch, own))
        sums["other"].append(nats(model, batch, others))
        sums["mean"].append(nats(model, batch, [mean] * len(own)))
    found = ablation.topic_worth(model, rows_of(model, split), mean)
    for name, parts in sums.items():
        total, targets = np.sum(parts, axis=0)
        assert found[name] == pytest.approx(math.exp(total / targets), rel=1e-4)
    assert found["own"] == pytest.approx(
        score(model, rows_of(model, split)).perplexity, rel=1e-5
    )
    assert len({round(value, 2) for value in found.values()}) == 3


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *(pytest.param(name, {}, marks=SLOW) for name in OTHERS),
        ("tdlm", {}),
        pytest.param("topic_rnn", {"carry": True, "window": 4}, marks=SLOW),
    ],
)
def test_every_system_with_topics_and_sentences_has_a_worth(name, settings, data):
    sizes = {"layers": 1, **settings}
    model = tiny.untrained(name, data.vocabulary, **sizes)
    split = data.split("valid")
    rows = rows_of(model, split)
    found = ablation.topic_worth(model, rows, np.full(3, 1 / 3))
    assert found["own"] == pytest.approx(
        score(model, rows_of(model, split)).perplexity, rel=1e-5
    )
    assert min(found.values()) > 1


@pytest.mark.slow
def test_the_worth_takes_no_larger_batches_than_a_small_batch_size_allows(data):
    model, taken = make_model(data), []
    rows = rows_of(model, data.split("valid"))
    of_batches = rows.batches
    rows.batches = lambda size, *rest: taken.append(size) or of_batches(size, *rest)
    for size in (2, 64, 512):
        ablation.TopicWorth().measure(
            EvaluationContext(model, data, rows, batch_size=size)
        )
    assert taken == [8] * 3 + [ablation.BATCH] * 6


@pytest.mark.slow
def test_the_command_measures_worth_where_it_applies(toy_data, tmp_path):
    made = {
        name: tiny.make_run_on(toy_data, tmp_path / name, name)
        for name in ("tcnlm", "lstm")
    }
    done = call("evaluate", *made.values(), "--topic-worth")
    assert done.returncode == 0, done.stderr
    kept = json.loads((made["tcnlm"] / "evaluation.json").read_text())
    assert kept["topic_worth"]["own"] == pytest.approx(kept["perplexity"], rel=1e-4)
    assert f"{kept['topic_worth']['mean']:.2f}" in done.stdout
    page = (made["tcnlm"] / "report.html").read_text()
    assert "What the topics are worth" in page
    other = json.loads((made["lstm"] / "evaluation.json").read_text())
    assert other["topic_worth"] is None


@pytest.mark.slow
def test_the_worth_of_topics_of_a_model_without_is_refused(toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "lstm", "lstm")
    done = call("evaluate", run, "--topic-worth")
    assert done.returncode == 2
    assert done.stderr == (
        "error: --topic-worth is of models that write sentences from topics; lstm does "
        "not\n"
    )
    assert not (run / "evaluation.json").exists()
