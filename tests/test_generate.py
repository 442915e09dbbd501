"""generate.py: topics, documents and paragraphs asked for, and the command itself."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import gbn_oracle
import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.generation import paragraphs
from tcnlm.generation import requests as generation
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.models.gbn_rnn import as_seen
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.text import sentences
from tcnlm.preprocessing.vocabulary import EOS, GO
from tcnlm.programs import generate

FLAT = SimpleNamespace(layered=False, topics=lambda: range(4))
LAYERED = SimpleNamespace(layered=True, sizes=(3, 4, 2))
TEXT = "The ship of the sea. A judge, a court. The bread doesn't cook of the oven."
SETTINGS = {"sequence_length": 4, "context": "preceding", "context_words": 300}
SUMS = (5.0, 3.0)
run, layered_run = tiny.run_fixture(), tiny.run_fixture("rgbn_rnn")


@pytest.fixture(scope="module")
def model():
    return tiny.make_model()


@pytest.fixture(scope="module")
def printed(run):
    """What generate.py wrote in a process of its own, TensorFlow left as it is."""
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    line = [sys.executable, toy.ROOT / "generate.py", run, "--seed", "5"]
    options = {"capture_output": True, "encoding": "utf-8", "env": environment}
    return subprocess.run(line, **options)


def call(*arguments):
    """Run generate.py in this process."""
    generate.main([*map(str, arguments)])


@pytest.fixture(scope="module")
def layers():
    """A model of topics in two layers, whose matrices are drawn."""
    made = tiny.make_model("rgbn_rnn")
    made.sums.assign(SUMS)
    rng = np.random.default_rng(5)
    for matrix in (*made.network.Phi, *made.network.Pi):
        matrix.assign(rng.dirichlet(np.ones(matrix.shape[0]), matrix.shape[1]).T)
    return made


@pytest.mark.parametrize(
    ("model", "chosen", "expected"),
    [
        (FLAT, ["3"], {3: 1}),
        (FLAT, ["1:0.2"], {1: 1}),
        (FLAT, ["3:0.6", "1:0.2"], {1: 0.25, 3: 0.75}),
        (FLAT, ["2:3", "0:2", "2"], {0: 1 / 3, 2: 2 / 3}),
        (FLAT, ["3:1e308", "2:1e308"], {2: 0.5, 3: 0.5}),
        (LAYERED, ["2"], {2: 1}),
        (LAYERED, ["2:3"], {6: 1}),
        (LAYERED, ["3:0:0.5"], {7: 1}),
        (LAYERED, ["3:1:3", "1:0"], {8: 0.75, 0: 0.25}),
        *(  # in Python
            (LAYERED, {topic: 3, (3, 0): np.float32(1)}, {place: 0.75, 7: 0.25})
            for topic, place in [((2, np.int64(1)), 4), ("2:1", 4), (2, 2)]
        ),
    ],
)
def test_topics_are_mixed_by_normalised_weights(model, chosen, expected):
    found = generation.mixture(model, chosen)
    places = [expected.get(k, 0) for k in range(len(found))]
    np.testing.assert_allclose(found, places, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        *((FLAT, v, "give a topic's") for v in "|-1|1.5|1:x|1:0|1:inf".split("|")),
        (FLAT, "4", "the model has topics 0 to 3"),
        *((LAYERED, v, "give a topic's") for v in ["2:0.7", "2:1:0", "2:1:1:1"]),
        (LAYERED, "0:1", "the model has layers 1 to 3"),
        (LAYERED, "2:4", "layer 2 has topics 0 to 3"),
        (LAYERED, "3", "layer 1 has topics 0 to 2"),
    ],
)
def test_what_names_no_topic_is_refused(model, value, message):
    with pytest.raises(InputError, match=f"--topic {value}: .*{message}"):
        generation.mixture(model, ["0", value])


@pytest.mark.parametrize("request_", [(["1"], None), ([], generation.Document([]))])
def test_a_model_without_topics_refuses_them(request_):
    with pytest.raises(InputError, match="model LSTM has no topics"):
        generation.requested_topics(tiny.make_model("lstm"), *request_, 300)


def test_a_documents_topics_are_those_of_its_content_words(model, tmp_path):
    path = tmp_path / "review.txt"
    path.write_text(tiny.REVIEW, encoding="utf-8")
    words = [word for sentence in sentences(tiny.REVIEW) for word in sentence]
    content = [tiny.TOPIC_WORDS.index(w) for w in words if w in tiny.TOPIC_WORDS]
    assert len(content) == 7
    for size in (300, 3):
        document = generation.read_document(str(path))
        topics = generation.requested_topics(model, [], document, size)
        np.testing.assert_array_equal(topics, model.infer(np.int32([content[:size]])))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "none of its 0 words is in the model's topic vocabulary"),
        (b"The of xylophone.", "none of its 4 words is in the model's topic"),
        (b"sea \xff", "not UTF-8 text"),
        (None, "No such file"),
    ],
)
def test_a_useless_document_is_refused(model, tmp_path, content, message):
    path = tmp_path / "document.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        generation.requested_topics(model, [], generation.read_document(path), 300)


def test_a_topic_weighs_its_layer_alone_and_the_others_by_phi(layers):
    """Below it is Phi's column; above, each topic's share of the row."""
    Phi, topics = layers.network.Phi[1].numpy(), generation.requested_topics
    low, high = generation.layers_of(layers, topics(layers, ["2:1"], None, 300))
    np.testing.assert_allclose(low[0], Phi[:, 1], rtol=1e-5)
    np.testing.assert_array_equal(high, [[0, 1]])
    low, high = generation.layers_of(layers, topics(layers, ["1:3"], None, 300))
    np.testing.assert_array_equal(low, [[0, 0, 0, 1]])
    np.testing.assert_allclose(high[0], Phi[3] / Phi[3].sum(), rtol=1e-5)


def test_a_mixture_of_layers_is_the_mean_of_what_each_topic_gives(layers):
    def context(*chosen):
        topics = generation.requested_topics(layers, chosen, None, 300)
        return layers.context({"topics": generation.layers_of(layers, topics)})

    mixed, high, low = context("2:1:3", "1:2"), context("2:1"), context("1:2")
    for each, of_high, of_low in zip(mixed, high, low):
        np.testing.assert_allclose(each, 0.75 * of_high + 0.25 * of_low, rtol=1e-5)
    for proportions, total in zip(mixed, SUMS):
        assert float(tf.reduce_sum(proportions)) == pytest.approx(total)


@pytest.mark.parametrize(
    "name", ["tcnlm", "lstm", pytest.param("naive_moe", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_a_real_models_sentences_have_its_log_probabilities(name, method):
    """What `step` adds up word by word is what `log_probs` says of the whole."""
    model = tiny.make_model(name)
    topics = np.float32([[0.7, 0.1, 0.2, 0], [0, 0, 0, 1]]) if name != "lstm" else None
    options = Decoding(method=method, beam_width=4, max_length=12, allow_unknown=False)
    number = 1 if method == "greedy" else 4
    write = SentenceDecoder(model, options)
    written = generation.write_sentences(write, topics, number, "The sea of")
    for row, group in enumerate(written):
        context = () if topics is None else topics[row : row + 1]
        for sentence in group:
            ids = [*map(tiny.WORDS.index, sentence.words), *[EOS] * sentence.ended]
            expected = tiny.log_prob(model, ids, context)
            if method == "beam":  # ranked by what they have among the allowed words
                expected -= log_allowed(model, ids, context, options.forbidden, 3)
            assert sentence.log_probability == pytest.approx(expected, abs=1e-4)
            assert sentence.words[:3] == ["the", "sea", "of"]


def log_allowed(model, ids, context, forbidden, after):
    """Return the log of what all allowed words have at each step beyond the prompt."""
    (state, constants), total = model.initial_state(context, 1), 0.0
    for place, token in enumerate([GO, *ids[:-1]]):
        word, state = model.step(tf.constant([token]), state, constants)
        if place >= after:
            log_probs = word.log_probs().numpy()
            total += np.log1p(-np.exp(log_probs[0, forbidden]).sum())
    return total


def test_the_command_prints_a_sentence_for_each_topic_below_its_words(
    run, printed, capsys
):
    assert printed.stderr == "sampled with --seed 5\n"
    lines = printed.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[::2]] == [
        f"topic {k} (1.00)" for k in range(4)
    ]
    words = {word for line in lines[::2] for word in line.split(": ")[1].split()}
    assert words <= set(tiny.TOPIC_WORDS)
    assert all(line.startswith("    ") for line in lines[1::2])
    assert len(lines) == 8
    call(run, "--seed", 5)
    assert capsys.readouterr().out == printed.stdout


def test_json_has_an_object_a_line(run, capsys):
    arguments = "--topic 3:0.7 --topic 1:0.3 --number 3 --top-k 5 --prompt"
    call(run, *arguments.split(), "The sea", "--json")
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(records) == 3
    for record in records:
        assert record["sentence"].startswith("the sea")
        assert "<unk>" not in record["sentence"]
        assert record["log_probability"] < 0
        assert record["ended"] in (True, False)
        weights = {topic["topic"]: topic["weight"] for topic in record["topics"]}
        assert weights == pytest.approx({3: 0.7, 1: 0.3})


def test_unknown_words_of_a_prompt_are_named(run, capsys):
    call(run, "--prompt", "The xylophone of a zither, xylophone", "--method", "greedy")
    told = "not in the vocabulary, read as <unk>: xylophone zither\n"
    assert capsys.readouterr().err == told


def test_the_command_names_layers_and_topics(layered_run, capsys):
    asked = "--topic 2:1:3 --topic 1:2 --seed 4".split()
    call(layered_run, *asked, "--json")
    record = json.loads(capsys.readouterr().out)
    named = [(t["layer"], t["topic"], t["weight"]) for t in record["topics"]]
    assert named == [(2, 1, 0.75), (1, 2, 0.25)]
    made = tcnlm.load(layered_run)
    assert record["topics"][0]["words"] == top_words(made, 8, layer=2)[1]
    again = tcnlm.load_run(layered_run).generate({(2, 1): 3, 2: 1}, seed=4)
    assert again == [record["sentence"]]


def test_a_document_may_come_from_standard_input(run, capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(tiny.REVIEW.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    call(run, "--document", "-", "--method", "beam", "--number", 2)
    *topics, first, second = capsys.readouterr().out.splitlines()
    assert topics
    assert all(line.startswith("topic ") for line in topics)
    assert first.startswith("    ")
    assert second.startswith("    ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--temperature 0", "temperature must be a number above 0, not 0"),
        ("--method greedy --number 2", "number must be 1 to 1"),
        ("--method greedy --top-k 5", "--top-k: has no effect with --method g"),
        ("--method beam --seed 5", "--seed: .* it goes with --method sample"),
        ("--paragraph", "--paragraph: give a number of sentences, 1 or more; only"),
        ("--paragraph 2 --number 2 --method beam", "number must be 1 for --paragraph"),
    ],
)
def test_a_bad_request_is_refused(layered_run, arguments, message):
    with pytest.raises(InputError, match=message):
        call(layered_run, *arguments.split())


# Paragraphs: theta moves on by eq. 2 of Guo et al., or follows a document.


def moved_by_loops(theta, model):
    """Return the mean of eq. 2, each layer with its usual sum."""
    (low, high), (P1, P2) = theta, (Pi.numpy() for Pi in model.network.Pi)
    Phi = model.network.Phi[1].numpy()
    shape = [sum(P2[k, i] * high[i] for i in range(2)) for k in range(2)]
    high = [SUMS[1] * each / sum(shape) for each in shape]
    shape = [
        sum(Phi[k, i] * high[i] for i in range(2))
        + sum(P1[k, i] * low[i] for i in range(4))
        for k in range(4)
    ]
    return [SUMS[0] * each / sum(shape) for each in shape], high


THETA = [0.5, 3.0, 1.0, 0.5], [2.0, 1.0]


def test_theta_moves_to_the_mean_of_equation_2(layers):
    moved = layers.moved([tf.constant([each]) for each in THETA])
    for ours, theirs in zip(moved, moved_by_loops(THETA, layers)):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-5)


def test_draws_have_the_mean_and_variance_of_equation_2(layers):
    """Gammas of one rate over their sum are a Dirichlet, whose variance is known."""
    theta = [tf.repeat(tf.constant([each]), 20000, axis=0) for each in THETA]
    moved = layers.moved(theta, tf.constant([3, 4]))
    for ours, theirs in zip(moved, moved_by_loops(THETA, layers)):
        np.testing.assert_allclose(np.mean(ours, axis=0), theirs, atol=0.04)
    a = layers.network.Pi[1].numpy() @ np.array(THETA[1])
    share = a / a.sum()
    variance = share * (1 - share) / (a.sum() + 1)
    np.testing.assert_allclose(np.var(moved[1] / SUMS[1], axis=0), variance, rtol=0.05)


def test_of_a_document_theta_is_inferred_sentence_by_sentence(layers):
    """In the groups of training, here of two, each from the sentences before it."""
    document = generation.Document(sentences(TEXT))
    start = paragraphs.starts(layers, None, document, SETTINGS)
    words = [
        [tiny.TOPIC_WORDS.index(w) for w in sentence if w in tiny.TOPIC_WORDS]
        for sentence in document.sentences
    ]
    before = [[], words[0], words[0] + words[1]]
    groups = [before[:2], before[2:]]
    expected = [gbn_oracle.mean_theta(group, layers) for group in groups]
    for layer in range(2):
        theirs = [q[2] for group in expected for q in group[layer]]
        ours = [theta[layer][0] for theta in start]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize("method", ["sample", "greedy"])
def test_sentence_j_is_written_from_theta_j_and_past_the_end_from_pi(layers, method):
    document = generation.Document(sentences(TEXT))
    start = paragraphs.starts(layers, None, document, SETTINGS)
    write = SentenceDecoder(layers, Decoding(method=method, max_length=9))
    asked = write, start, 4, 1, "The sea"
    ((written,),) = paragraphs.write_paragraphs(*asked, seed=3)
    assert [s.words[:2] == ["the", "sea"] for s in written] == [True, *[False] * 3]
    if method == "greedy":
        start = [*start, layers.moved(start[-1])]
    for sentence, theta in zip(written, start):
        ids = [*map(tiny.WORDS.index, sentence.words), *[EOS] * sentence.ended]
        expected = tiny.log_prob(layers, ids, as_seen(layers, theta))
        assert sentence.log_probability == pytest.approx(expected, abs=1e-4)


def test_the_command_writes_paragraphs(layered_run, tmp_path, capsys):
    call(layered_run, *"--topic 2:1 --paragraph 3 --number 2 --seed 4".split())
    head, *lines, last = capsys.readouterr().out.split("\n")[:-1]
    assert head.startswith("topic 2:1 (1.00): ")
    assert lines.count("") == 1  # between two paragraphs
    assert all(line.startswith("    ") for line in lines if line)
    assert last == ""
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    call(layered_run, "--document", path, "--method", "greedy", "--paragraph")
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("    ")]) == 3


@pytest.mark.parametrize("name", ["gbn_rnn", "tcnlm", "lclm"])
def test_models_whose_topics_do_not_move_write_no_paragraphs(name):
    kind = type(tiny.make_model(name)).__name__
    with pytest.raises(InputError, match=f"model {kind} has no topics that move"):
        paragraphs.check(tiny.make_model(name), 2, 1, "sample", None)
