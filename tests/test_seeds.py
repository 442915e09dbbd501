"""Seed words: what a file says, where topics start by it, and that they stay there."""

import numpy as np
import pytest
import tiny
import toy
from trained import call

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.models.names import automatic_labels
from tcnlm.models.seeds import (
    Seed,
    check_seeds,
    seed_loss,
    seed_weights,
    seeded_start,
    seeds_of,
)
from tcnlm.models.topics import top_words

GIVEN = "the law: Judge, court colour; bread oven"


def config_of(seed_words, num_topics=3):
    return tiny.untrained("tcnlm", seed_words=seed_words, num_topics=num_topics).config


def test_a_line_has_a_name_if_wanted_and_words_that_are_known_or_not():
    law = Seed("the law", ["judge", "court"], ["colour"])
    config = config_of(GIVEN)
    assert seeds_of(config, tiny.VOCABULARY) == [law, Seed("", ["bread", "oven"], [])]
    (said,) = check_seeds(config, tiny.VOCABULARY)
    assert said == "seed words that are no topic words: colour"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sea; sail; ship; court", "4 seeds for 3 topics; raise num_topics"),
        ("sea; blue: colour hue", r"topic 2 has no topic word \(blue: colour, hue\)"),
    ],
)
def test_what_cannot_be_steered_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        check_seeds(config_of(given), tiny.VOCABULARY)


def test_a_topic_starts_at_the_fitted_one_that_holds_its_words_half_on_these():
    topics = np.array([[0.1, 0.2, 0.3, 0.4], [0.6, 0.2, 0.1, 0.1], [0.25] * 4])
    weights = np.zeros([3, 4])
    weights[0, [0, 1]] = 0.3, 0.2
    found = seeded_start(topics, weights)
    np.testing.assert_allclose(found[0], [0.55, 0.35, 0.05, 0.05])
    np.testing.assert_allclose(found[1:], topics[[0, 2]])


def test_the_prior_is_that_of_as_many_words_more_as_there_are():
    weights = seed_weights(config_of("sea sail"), tiny.VOCABULARY)
    counts = tiny.VOCABULARY.topic_counts
    topics = np.full([3, 10], 0.1, np.float32)
    ids = [tiny.TOPIC_WORDS.index(word) for word in ("sea", "sail")]
    expected = 7 * counts[ids].sum() / counts.sum() * np.log(10)
    assert float(seed_loss(weights, topics, 7.0)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("start", ["frequencies", "nmf"])
def test_topics_are_those_of_their_seed_words_after_steps_alone(toy_data, start):
    data = Dataset(toy_data)
    words = [" ".join(theme[:3]) for theme in toy.THEMES[::-1]]
    settings = {"topic_start": start, "seed_words": "; ".join(words)}
    settings |= {"topic_pretrain_steps": 200, "topic_pretrain_rates": (0.01, 0.05)}
    model = tiny.untrained("tcnlm", data.vocabulary, **settings)
    model.prepare(data)
    for best, theme in zip(top_words(model, 5), toy.THEMES[::-1]):
        assert set(best) <= set(theme)


def test_the_command_keeps_the_words_in_the_run_and_the_page_marks_them(
    toy_data, tmp_path
):
    word = toy.THEMES[1][0]
    file, run = tmp_path / "seeds.txt", tmp_path / "RUN"
    file.write_text(f"food: {word.upper()}; tofu\n\n")
    chosen = ["--model", "neural_topics", "--seed-words", file]
    chosen += ["--set", "num_topics=3", "epochs=1", "batch_size=16"]
    done = call("train", toy_data, "--out", run, *chosen)
    assert done.returncode == 0, done.stderr
    assert "seed words that are no topic words: tofu" in done.stderr
    file.unlink()
    assert automatic_labels(tcnlm.load(run))[0] == "food"
    assert call("evaluate", run).returncode == 0
    page = (run / "report.html").read_text()
    assert f'<b title="a seed word">{word}</b>' in page
