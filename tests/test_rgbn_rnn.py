"""GBN-RNN and rGBN-RNN: their bound against loops, leakage, padding, the whole way."""

import json

import gbn_oracle as oracle
import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy
from helpers import assert_close, randomise
from loops import vocabulary_of
from trained import call

import tcnlm
from tcnlm.common.errors import InputError
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD
from tcnlm.programs.train import chosen, options_of

LENGTHS = [[5, 3, 2], [4, 0, 0], [1, 6, 0]]  # targets of each group's sentences
VOCABULARY = vocabulary_of(range(8, 20), size=30)
both = pytest.mark.parametrize("name", ["gbn_rnn", "rgbn_rnn"])


def make_model(name="rgbn_rnn", vocabulary=VOCABULARY, rng=None, **settings):
    """Return a model; with a generator its weights are random, large enough to tell."""
    sentences = {"sentences": 3} if name == "rgbn_rnn" else {}
    model = tiny.untrained(name, vocabulary, **sentences, **settings)
    return model if rng is None else randomise(model, rng, 0.5)


def make_groups(rng, lengths=LENGTHS):
    """Return a batch of groups with so many targets a sentence; 0 is padding."""
    shape = len(lengths), len(lengths[0]), max(map(max, lengths))
    real = np.arange(shape[2]) < np.array(lengths)[:, :, None]
    words = rng.integers(4, 30, shape)
    inputs = np.concatenate([np.full_like(words[:, :, :1], GO), words[:, :, :-1]], 2)
    context = rng.integers(-1, 12, (*shape[:2], 7))
    context[np.array(lengths) == 0] = -1
    arrays = {"inputs": inputs * real, "targets": words * real, "context": context}
    return {name: tf.constant(ids, tf.int32) for name, ids in arrays.items()}


def sentences_of(batch):
    """Return the real sentences of groups, one after another."""
    real = tf.where(batch["targets"][:, :, 0] != PAD)
    return {name: tf.gather_nd(ids, real) for name, ids in batch.items()}


def batch_for(model, rng):
    groups = make_groups(rng)
    return groups if model.network.Pi else sentences_of(groups)


def documents_of(batch):
    """Return the contexts of every group's sentences; one of a sequence by itself."""
    if len(batch["context"].shape) == 2:
        return [[words] for words in batch["context"].numpy()]
    pairs = zip(batch["context"].numpy(), batch["targets"].numpy())
    return [list(words[targets[:, 0] != PAD]) for words, targets in pairs]


@both
def test_the_terms_are_those_of_the_loops(name, rng):
    model = make_model(name, rng=rng)
    batch = batch_for(model, rng)
    documents = documents_of(batch)
    terms = model.compute_loss(batch, training=False)
    each = [oracle.topic_terms(document, model) for document in documents]
    size = sum(map(len, documents))
    kls = np.sum([kls for _, kls in each], axis=0) / size
    rebuilt = sum(reconstruction for reconstruction, _ in each) / size
    expected = {"reconstruction": rebuilt, "kl_1": kls[0], "kl_2": kls[1]}
    expected["kl"] = kls.sum()
    for key, value in expected.items():
        assert float(terms[key]) == pytest.approx(value, rel=1e-4), key
    words = np.count_nonzero(batch["targets"])
    bound = float(terms["nll"]) * words / size + rebuilt + kls.sum()
    assert float(terms["loss"]) == pytest.approx(bound, rel=1e-4)


@both
@pytest.mark.parametrize("settings", [{}, {"flipped": True}, {"theta_scale": "max"}])
def test_words_are_predicted_from_all_layers_coupled(name, settings, rng):
    topics = {"num_topics": (3, 2), "units": (6, 5)}
    model = make_model(name, rng=rng, **topics, **settings)
    batch = batch_for(model, rng)
    log_probs = model(batch).numpy()
    rows = log_probs if log_probs.ndim == 3 else log_probs[:, None]
    sentences, found = sentences_of(batch) if log_probs.ndim == 3 else batch, []
    for document, row in zip(documents_of(batch), rows):
        theta = [[e[2] for e in layer] for layer in oracle.mean_theta(document, model)]
        for j in range(len(document)):
            seen = [layer[j] for layer in theta]
            if "theta_scale" in settings:
                seen = [each / each.max() for each in seen]
            found.append((seen[::-1] if "flipped" in settings else seen, row[j]))
    for inputs, targets, (theta, row) in zip(
        sentences["inputs"].numpy(), sentences["targets"].numpy(), found
    ):
        hidden = oracle.hidden(inputs, theta, model).astype("float32")
        every = model.softmax.log_probs(tf.constant(hidden)).numpy()
        real = targets != PAD
        expected = every[np.arange(len(targets)), targets]
        np.testing.assert_allclose(row[real], expected[real], rtol=1e-4, atol=1e-5)
        assert not row[~real].any()


@both
def test_a_step_moves_phi_and_keeps_its_columns_on_the_simplex(name, rng):
    model = make_model(name, rng=rng)
    batch, before = batch_for(model, rng), [w.numpy() for w in model.fitted]
    model.compile()
    for _ in range(3):
        model.train_step(batch)
    assert len(before) == (4 if name == "rgbn_rnn" else 2)
    for old, new in zip(before, model.fitted):
        assert (old != new.numpy()).any()
        assert (new.numpy() >= 0).all()
        np.testing.assert_allclose(new.numpy().sum(axis=0), 1, rtol=1e-5)
    assert (model.sums.numpy() != 1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"units": (6, 5), "num_topics": (3,)}, "num_topics=3: must have a number for"),
        ({"units": ()}, "units=: give one number per layer"),
        ({"kl_weights": (1.0, 0.1, 0.1)}, "kl_weights=1.0,0.1,0.1: must have a number"),
        ({"kl_weights": ()}, "kl_weights=: must have a number for"),
    ],
)
def test_settings_without_a_number_for_every_layer_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        make_model(**settings)


@pytest.mark.slow
@both
def test_the_whole_way_from_training_to_a_report_and_sentences(
    name, toy_data, tmp_path
):
    run = tmp_path / "RUN"
    layers = ["units=8,6", "num_topics=4,3", "context=preceding", "epochs=1"]
    trained = toy.train_arguments(toy_data, run, model=name, settings=layers)
    features = tmp_path / "features.npz"
    evaluated = [run, "--samples", 2, "--features", features]
    written = [run, "--topic", "2:1", "--number", 2]
    lines = {"train": trained, "evaluate": evaluated, "generate": written}
    for program, line in lines.items():
        done = call(program, *line)
        assert done.returncode == 0, done.stderr
    assert "topic 2:1 (1.00)" in done.stdout
    found = json.loads((run / "evaluation.json").read_text())
    assert found["sequences"] == 60
    assert "Topics in layers" in (run / "report.html").read_text()
    assert (run / "figures" / "topic_tree.svg").exists()
    with np.load(features) as arrays:
        np.testing.assert_allclose(arrays["vectors"].sum(axis=1), 1, rtol=1e-5)
        assert arrays["vectors"].shape == (12, 4)
    served = tf.saved_model.load(str(run / "saved_model")).signatures
    model, text = tcnlm.load(run), "the ship of the sea of ."
    topics = served["infer_topics"](documents=tf.constant([text]))["topics"]
    ids = tf.constant([[*filter(lambda i: i >= 0, topic_ids(model, text))]])
    assert_close(topics, model.infer(ids).numpy())
    scored = served["score"](sentences=tf.constant([text]), contexts=tf.constant([""]))
    words = model.vocabulary.ids(text.split())
    rows = tf.constant([[GO, *words]]), tf.constant([[*words, EOS]])
    batch = dict(zip(("inputs", "targets"), rows), context=tf.constant([[-1]]))
    expected = tf.reduce_sum(model(batch))
    assert_close(scored["log_probability"][0], expected.numpy())


def topic_ids(model, text):
    return model.vocabulary.topic_ids[model.vocabulary.ids(text.split())]


def test_it_is_trained_on_the_sentences_before_unless_told_otherwise():
    """With the others theta has seen the words that it scores."""

    def rule(*asked):
        options = options_of(["DATA", "--out", "RUN", *asked])
        return chosen(options, 1000)[2].context

    assert rule("--model", "rgbn_rnn") == "preceding"
    assert rule("--model", "rgbn_rnn", "--recipe", "paper-small") == "preceding"
    assert rule("--model", "rgbn_rnn", "--set", "context=others") == "others"
    assert rule("--model", "gbn_rnn", "--recipe", "paper-small") == rule() == "data"
