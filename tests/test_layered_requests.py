"""Sentences asked for from topics in layers: generate.py RUN --topic 2:17."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
import tiny

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.generation import requests as generation
from tcnlm.models.topics import top_words
from tcnlm.programs import generate

SIZES = (3, 4, 2)
LAYERED = SimpleNamespace(layered=True, sizes=SIZES)


@pytest.fixture(scope="module")
def model():
    made = tiny.make_model("rgbn_rnn")
    made.sums.assign([50.0, 8.0])
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layered") / "RUN"
    tiny.make_run(folder, "rgbn_rnn")
    return folder


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["2"], {2: 1}),
        (["2:3"], {6: 1}),
        (["3:0:0.5"], {7: 1}),
        (["3:1:3", "1:0"], {8: 0.75, 0: 0.25}),
        (["2:0", "2:0", "2"], {3: 2 / 3, 2: 1 / 3}),
    ],
)
def test_topics_of_layers_are_mixed_by_normalised_weights(chosen, expected):
    found = generation.mixture(LAYERED, chosen)
    places = [expected.get(i, 0) for i in range(sum(SIZES))]
    np.testing.assert_allclose(found, places, rtol=1e-6)


@pytest.mark.parametrize(
    ("topic", "place"),
    [
        ((2, 1), 4),
        ((2, np.int64(1)), 4),
        ("2:1", 4),
        (2, 2),
        (np.int64(2), 2),
        ("2", 2),
    ],
)
def test_python_names_a_topic_of_a_layer_as_the_option_does(topic, place):
    found = generation.mixture(LAYERED, {topic: 3, (3, 0): np.float32(1)})
    assert found.nonzero()[0].tolist() == [place, 7]
    np.testing.assert_allclose(found[[place, 7]], [0.75, 0.25])


@pytest.mark.parametrize(
    ("topic", "said"),
    [((4, 1), "the model has layers 1 to 2"), ((2, 4), "layer 2 has topics 0 to 1")],
)
def test_python_is_told_of_the_layer_that_has_no_such_topic(topic, said, run):
    with pytest.raises(InputError, match=f"^topic .{topic[0]}, .*: {said}$"):
        tcnlm.load_run(run).generate(topic)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2:0.7", "topics are in layers here: give layer:topic, or layer:topic:weight"),
        ("2:1:0", "such as 2:17 or 2:17:0.5"),
        ("2:1:1:1", "give layer:topic"),
        ("0:1", "the model has layers 1 to 3"),
        ("4:1", "the model has layers 1 to 3"),
        ("2:4", "layer 2 has topics 0 to 3"),
        ("3", "layer 1 has topics 0 to 2"),
    ],
)
def test_what_names_no_topic_of_a_layer_is_refused(value, message):
    with pytest.raises(InputError, match=f"--topic {value}: .*{message}"):
        generation.mixture(LAYERED, [value])


def test_a_topic_weighs_its_layer_alone_and_the_others_by_phi(model):
    """Below it is Phi's column; above, each topic's share of the row."""
    Phi, topics = model.network.Phi[1].numpy(), generation.requested_topics
    low, high = generation.layers_of(model, topics(model, ["2:1"], None, 300))
    np.testing.assert_allclose(low[0], Phi[:, 1], rtol=1e-5)
    np.testing.assert_array_equal(high, [[0, 1]])
    low, high = generation.layers_of(model, topics(model, ["1:3"], None, 300))
    np.testing.assert_array_equal(low, [[0, 0, 0, 1]])
    np.testing.assert_allclose(high[0], Phi[3] / Phi[3].sum(), rtol=1e-5)


def test_a_mixture_of_layers_is_the_mean_of_what_each_topic_gives(model):
    def context(*chosen):
        topics = generation.requested_topics(model, chosen, None, 300)
        return generation.context_of(model, topics)

    mixed, high, low = context("2:1:3", "1:2"), context("2:1"), context("1:2")
    for each, of_high, of_low in zip(mixed, high, low):
        np.testing.assert_allclose(each, 0.75 * of_high + 0.25 * of_low, rtol=1e-5)
    for proportions, total in zip(mixed, (50, 8)):
        assert float(tf.reduce_sum(proportions)) == pytest.approx(total)


def test_proportions_of_the_lowest_layer_mean_what_they_meant(model):
    topics = np.float32([[0.5, 0, 0.25, 0.25]])
    found = generation.context_of(model, generation.of_lowest(model, topics))
    for ours, theirs in zip(found, model.context({"topics": tf.constant(topics)})):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_the_command_names_layers_and_topics(run, capsys):
    asked = "--topic 2:1:3 --topic 1:2 --seed 4".split()
    generate.main(generate.parser().parse_args([str(run), *asked, "--json"]))
    record = json.loads(capsys.readouterr().out)
    named = [(t["layer"], t["topic"], t["weight"]) for t in record["topics"]]
    assert named == [(2, 1, 0.75), (1, 2, 0.25)]
    made = tcnlm.load(run)
    assert record["topics"][0]["words"] == top_words(made, 8, layer=2)[1]
    again = tcnlm.load_run(run).generate({(2, 1): 3, 2: 1}, seed=4)
    assert again == [record["sentence"]]
