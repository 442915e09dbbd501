"""Paragraphs: theta that moves on by eq. 2 of Guo et al., or follows a document."""

import json

import gbn_oracle
import numpy as np
import pytest
import tensorflow as tf
import tiny

from tcnlm.common.errors import InputError
from tcnlm.generation import paragraphs
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.requests import Document
from tcnlm.models.gbn_rnn import as_seen
from tcnlm.preprocessing.text import sentences
from tcnlm.preprocessing.vocabulary import EOS
from tcnlm.programs import generate

TEXT = "The ship of the sea. A judge, a court. The bread doesn't cook of the oven."
SETTINGS = {"sequence_length": 4, "context": "preceding", "context_words": 300}
SUMS = (5.0, 3.0)


@pytest.fixture(scope="module")
def model():
    made = tiny.make_model("rgbn_rnn")
    made.sums.assign(SUMS)
    rng = np.random.default_rng(5)
    for matrix in made.network.matrices:
        drawn = rng.dirichlet(np.ones(matrix.shape[0]), matrix.shape[1]).T
        matrix.assign(drawn)
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paragraphs") / "RUN"
    tiny.make_run(folder, "rgbn_rnn")
    return folder


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


def test_theta_moves_to_the_mean_of_equation_2(model):
    moved = model.moved([tf.constant([each]) for each in THETA])
    for ours, theirs in zip(moved, moved_by_loops(THETA, model)):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-5)


def test_draws_have_the_mean_and_variance_of_equation_2(model):
    """Gammas of one rate over their sum are a Dirichlet, whose variance is known."""
    theta = [tf.repeat(tf.constant([each]), 20000, axis=0) for each in THETA]
    moved = model.moved(theta, tf.constant([3, 4]))
    for ours, theirs in zip(moved, moved_by_loops(THETA, model)):
        np.testing.assert_allclose(np.mean(ours, axis=0), theirs, atol=0.04)
    a = model.network.Pi[1].numpy() @ np.array(THETA[1])
    share = a / a.sum()
    variance = share * (1 - share) / (a.sum() + 1)
    np.testing.assert_allclose(np.var(moved[1] / SUMS[1], axis=0), variance, rtol=0.05)


def test_a_seed_repeats_a_draw_and_another_makes_another(model):
    theta = [tf.constant([each]) for each in THETA]
    first, same, other = (model.moved(theta, tf.constant([1, i])) for i in (1, 1, 2))
    for ours, again, another in zip(first, same, other):
        np.testing.assert_array_equal(ours, again)
        assert (ours != another).numpy().any()


def test_of_a_document_theta_is_inferred_sentence_by_sentence(model):
    """In the groups of training, here of two, each from the sentences before it."""
    document = Document(sentences(TEXT))
    start = paragraphs.starts(model, None, document, SETTINGS)
    words = [
        [tiny.TOPIC_WORDS.index(w) for w in sentence if w in tiny.TOPIC_WORDS]
        for sentence in document.sentences
    ]
    before = [[], words[0], words[0] + words[1]]
    groups = [before[:2], before[2:]]
    expected = [gbn_oracle.mean_theta(group, model) for group in groups]
    for layer in range(2):
        theirs = [q[2] for group in expected for q in group[layer]]
        ours = [theta[layer][0] for theta in start]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize("method", ["sample", "greedy"])
def test_sentence_j_is_written_from_theta_j_and_past_the_end_from_pi(model, method):
    document = Document(sentences(TEXT))
    start = paragraphs.starts(model, None, document, SETTINGS)
    write = SentenceDecoder(model, Decoding(method=method, max_length=9))
    asked = write, start, 4, 1, "The sea"
    (((written, shares),),) = paragraphs.write_paragraphs(*asked, seed=3)
    assert [s.words[:2] == ["the", "sea"] for s in written] == [True, *[False] * 3]
    if method == "greedy":
        start = [*start, model.moved(start[-1])]
    for sentence, theta, share in zip(written, start, shares):
        np.testing.assert_allclose(share, theta[0][0] / sum(theta[0][0]), rtol=1e-5)
        ids = [*map(tiny.WORDS.index, sentence.words), *[EOS] * sentence.ended]
        expected = tiny.log_prob(model, ids, as_seen(model, theta))
        assert sentence.log_probability == pytest.approx(expected, abs=1e-4)


def test_a_seed_may_be_negative(model):
    write = SentenceDecoder(model, Decoding(max_length=5))
    theta = [tf.constant([each]) for each in THETA]
    first, again = (
        str(paragraphs.write_paragraphs(write, [theta], 2, seed=-1)) for _ in range(2)
    )
    assert first == again


def test_a_seed_repeats_a_paragraph(model):
    write = SentenceDecoder(model, Decoding(max_length=5))
    theta = [tf.constant([each]) for each in THETA]
    written = [
        paragraphs.write_paragraphs(write, [theta], 3, seed=seed)[0][0]
        for seed in (3, 3, 4)
    ]
    assert written[0].sentences == written[1].sentences != written[2].sentences


def call(*arguments):
    generate.main(generate.parser().parse_args([*map(str, arguments)]))


def test_the_command_writes_paragraphs(run, tmp_path, capsys):
    call(run, *"--topic 2:1 --paragraph 3 --number 2 --seed 4".split())
    head, *lines, last = capsys.readouterr().out.split("\n")[:-1]
    assert head.startswith("topic 2:1 (1.00): ")
    assert lines.count("") == 1  # between two paragraphs
    assert all(line.startswith("    ") for line in lines if line)
    assert last == ""
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    call(run, "--document", path, "--method", "greedy", "--json", "--paragraph")
    record = json.loads(capsys.readouterr().out)
    assert len(record["sentences"]) == 3
    for sentence in record["sentences"]:
        total = sum(topic["weight"] for topic in sentence["topics"])
        assert total == pytest.approx(1)
        assert {topic["layer"] for topic in sentence["topics"]} == {1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--paragraph", "--paragraph: give a number of sentences, 1 or more; only"),
        ("--paragraph 2 --number 2 --method beam", "number must be 1 for --paragraph"),
    ],
)
def test_a_bad_request_for_paragraphs_is_refused(run, arguments, message):
    with pytest.raises(InputError, match=message):
        call(run, *arguments.split())


@pytest.mark.parametrize("name", ["gbn_rnn", "tcnlm", "lclm"])
def test_models_whose_topics_do_not_move_write_no_paragraphs(name):
    kind = type(tiny.make_model(name)).__name__
    with pytest.raises(InputError, match=f"model {kind} has no topics that move"):
        paragraphs.check(tiny.make_model(name), 2, 1, "sample", None)
