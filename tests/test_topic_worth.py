"""Topic worth: what is scored, and what the command says of it."""

import json
import math

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise
from trained import call

from tcnlm.metrics.perplexity import BATCH, SEED, topic_worth
from tcnlm.metrics.scores import score

SLOW = pytest.mark.slow
pytestmark = pytest.mark.usefixtures("undrawn")


def test_the_three_perplexities_are_of_own_other_and_mean_topics(few):
    model, mean = tiny.untrained("tcnlm", few.vocabulary), np.array([0.2, 0.5, 0.3])
    randomise(model, np.random.default_rng(2), 0.8)  # documents differ in their topics
    rows, nats, targets = model.batching.rows(few.split("valid")), np.zeros(3), 0
    for batch in rows.batches(BATCH, SEED):
        own = model.infer(batch["context"]).numpy()
        others = [own[i - 1] for i in range(len(own))]
        for i, topics in enumerate((own, others, [mean] * len(own))):
            context = model.context({"topics": tf.constant(np.array(topics, "f"))})
            nats[i] -= np.sum(model(batch, context=context))
        targets += np.count_nonzero(batch["targets"])
    worth = topic_worth(model, rows, mean)
    expected = dict(zip(("own", "other", "mean"), np.exp(nats / targets)))
    assert worth == pytest.approx(expected, rel=1e-4)
    assert worth["own"] == pytest.approx(score(model, rows).perplexity, rel=1e-5)
    assert len({round(value, 2) for value in worth.values()}) == 3


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("tdlm", {}),
        pytest.param("lda_lstm", {}, marks=SLOW),
        pytest.param("naive_moe", {}, marks=SLOW),
        pytest.param("topic_rnn", {"carry": True, "window": 4}, marks=SLOW),
    ],
)
def test_every_system_with_topics_and_sentences_has_a_worth(name, settings, few):
    model = tiny.untrained(name, few.vocabulary, layers=1, **settings)
    rows = model.batching.rows(few.split("valid"))
    worth = topic_worth(model, rows, np.full(3, 1 / 3))
    assert worth["own"] == pytest.approx(score(model, rows).perplexity, rel=1e-5)
    assert min(worth.values()) > 1
    assert math.isfinite(max(worth.values()))


@pytest.mark.slow
def test_the_command_measures_worth_where_it_applies_and_else_refuses(
    toy_data, tmp_path
):
    tcnlm, lstm = (
        tiny.make_run_on(toy_data, tmp_path / name, name) for name in ("tcnlm", "lstm")
    )
    refused = call("evaluate", lstm, "--topic-worth")
    assert refused.returncode == 2
    assert refused.stderr == (
        "error: --topic-worth is of models that write sentences from topics; lstm does "
        "not\n"
    )
    assert not (lstm / "evaluation.json").exists()
    done = call("evaluate", tcnlm, lstm, "--topic-worth")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tcnlm / "evaluation.json").read_text())
    worth = kept["topic_worth"]
    assert worth["own"] == pytest.approx(kept["perplexity"], rel=1e-4)
    assert f"{worth['mean']:.2f}" in done.stdout
    page = (tcnlm / "report.html").read_text()
    assert f"(own / mean {worth['own'] / worth['mean']:.3f})" in page
    assert json.loads((lstm / "evaluation.json").read_text())["topic_worth"] is None
