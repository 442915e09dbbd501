"""generate.py: what it is asked for, and the command itself on a tiny RUN."""

import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy
import trained

from tcnlm.common.errors import InputError
from tcnlm.generation import requests as generation
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.preprocessing.text import sentences
from tcnlm.preprocessing.vocabulary import EOS, GO, UNK
from tcnlm.programs import generate


@pytest.fixture(scope="module")
def model():
    return tiny.make_model()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generate") / "RUN"
    tiny.make_run(folder)
    return folder


@pytest.fixture(scope="module")
def printed(run):
    """What generate.py wrote in a process of its own, TensorFlow left as it is."""
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    line = [sys.executable, toy.ROOT / "generate.py", run, "--seed", "5"]
    options = {"capture_output": True, "encoding": "utf-8", "env": environment}
    return subprocess.run(line, **options)


def call(*arguments):
    """Run generate.py in this process."""
    generate.main(generate.parser().parse_args([*map(str, arguments)]))


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["3"], [0, 0, 0, 1]),
        (["1:0.2"], [0, 1, 0, 0]),
        (["3:0.6", "1:0.2"], [0, 0.25, 0, 0.75]),
        (["0", "1"], [0.5, 0.5, 0, 0]),
        (["2:3", "0:2", "2"], [1 / 3, 0, 2 / 3, 0]),
        (["3:1e308", "2:1e308"], [0, 0, 0.5, 0.5]),
        (["3:1e308", "3:1e308"], [0, 0, 0, 1]),
        (["3:1e-320", "2:1e-320"], [0, 0, 0.5, 0.5]),
    ],
)
def test_topics_are_mixed_by_normalised_weights(chosen, expected):
    found = generation.mixture(tiny.make_model(), chosen)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("value", ["", "-1", "1.5", "1:x", "1:0", "1:-2", "1:inf"])
def test_a_malformed_topic_is_refused(value):
    with pytest.raises(InputError, match=f"--topic {value}: give a topic's number"):
        generation.mixture(tiny.make_model(), [value])


def test_a_topic_out_of_range_is_refused_with_the_range():
    with pytest.raises(InputError, match="--topic 4: the model has topics 0 to 3"):
        generation.mixture(tiny.make_model(), ["1", "4"])


def test_without_a_request_every_topic_has_its_turn(model):
    topics = generation.requested_topics(model, [], None, 300)
    np.testing.assert_array_equal(topics, np.eye(4))


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


def test_what_is_not_given_is_the_decoders_default():
    chosen = {"top_k": 5, "allow_unknown": True, "number": 3, "run": "RUN"}
    options = generation.decoding_options(chosen)
    assert options == Decoding(top_k=5, allow_unknown=True)


def test_unk_is_written_only_where_it_is_asked_for():
    asked = [
        vars(generate.parser().parse_args(["RUN", *more])) for more in ([], ["--unk"])
    ]
    plain, with_unknown = map(generation.decoding_options, asked)
    assert plain == Decoding()
    assert UNK in plain.forbidden
    assert UNK not in with_unknown.forbidden


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


def test_greedy_sentences_from_topics_do_not_depend_on_the_other_topics(model):
    write = SentenceDecoder(model, Decoding(method="greedy"))
    every = generation.write_sentences(write, np.eye(4))
    for k, [sentence] in enumerate(every):
        alone = write(tf.one_hot([k], 4), 1)[0][0]
        assert alone.words == sentence.words


def test_the_command_prints_a_sentence_for_each_topic_below_its_words(
    run, printed, capsys
):
    assert printed.returncode == 0, printed.stderr
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


def test_two_samples_differ_and_the_seed_that_is_told_repeats_one(run, capsys):
    asked = ("--topic", "3", "--number", "8")
    call(run, *asked)
    first = capsys.readouterr()
    call(run, *asked)
    assert capsys.readouterr().out != first.out
    told = re.fullmatch(r"sampled with (--seed) (\d+)\n", first.err)
    call(run, *asked, *told.groups())
    assert capsys.readouterr().out == first.out


def test_unknown_words_of_a_prompt_are_named(run, capsys):
    call(run, "--prompt", "The xylophone of a zither, xylophone", "--method", "greedy")
    told = "not in the vocabulary, read as <unk>: xylophone zither\n"
    assert capsys.readouterr().err == told


def test_nothing_but_ours_is_printed(printed):
    assert printed.stderr == "sampled with --seed 5\n"


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
        (["--topic", "9"], "--topic 9: the model has topics 0 to 3"),
        (["--temperature", "0"], "temperature must be a number above 0, not 0"),
        (["--method", "greedy", "--number", "2"], "number must be 1 to 1"),
        ("--method greedy --top-k 5".split(), "--top-k: has no effect with --method g"),
        ("--method beam --seed 5".split(), "--seed: .* it goes with --method sample"),
        ("--beam-width 5".split(), "--beam-width: has no effect with --method sample"),
    ],
)
def test_a_bad_request_is_refused(run, arguments, message):
    with pytest.raises(InputError, match=message):
        call(run, *arguments)


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63)])
def test_the_largest_seeds_are_seeds(run, seed, capsys):
    call(run, "--topic", 1, f"--seed={seed}", "--max-length", 3)
    assert capsys.readouterr().err == f"sampled with --seed {seed}\n"


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, "9" * 5000, "--5", "1.5"])
def test_a_seed_beyond_64_bits_is_refused(run, seed, capsys):
    with pytest.raises(SystemExit) as ended:
        call(run, "--topic", 1, f"--seed={seed}")
    assert ended.value.code == 2
    assert "argument --seed: must be a whole number from" in capsys.readouterr().err


def test_the_command_refuses_what_is_not_a_run_in_a_line(tmp_path):
    result = trained.call("generate", tmp_path / "nowhere")
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"error: {tmp_path / 'nowhere'}: not a RUN" in result.stderr
