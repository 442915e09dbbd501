"""Perplexity of a split: exact sums, whatever the batches; draws of the topics."""

import contextlib
import math

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise
from splits import VOCABULARY as OF_ANSWERS
from splits import make_split

from tcnlm.common.errors import InputError
from tcnlm.data import rows
from tcnlm.data.dataset import RULES
from tcnlm.layers.tf_function import graph
from tcnlm.metrics.perplexity import leak
from tcnlm.metrics.scores import sampled_score, score
from tcnlm.models import MODELS, model_class
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD, Vocabulary

TOPIC_WORDS = list("abcdef")
VOCABULARY = Vocabulary(
    ["<pad>", "<go>", "<eos>", "<unk>", *TOPIC_WORDS, "the"], [1] * 11, TOPIC_WORDS
)
SENTENCES = [[4, 5, 3], [10], [6, 10, 7, 8, 9], [], [4] * 6, [5, 5]]


class Sequences:
    """Rows of given sentences, each with a context of its own."""

    def __init__(self, sentences, padding=0):
        self.sentences, self.padding = sentences, padding

    def __len__(self):
        return len(self.sentences)

    def num_batches(self, batch_size):
        return -(-len(self) // batch_size)

    def batches(self, batch_size, seed=None):
        for start in range(0, len(self.sentences), batch_size):
            yield self.batch(self.sentences[start : start + batch_size])

    def batch(self, rows):
        steps = max(map(len, rows)) + 1 + self.padding
        batch = {
            name: np.zeros([len(rows), steps], np.int32)
            for name in ("inputs", "targets")
        }
        batch["context"] = np.full([len(rows), 4 + self.padding], -1, np.int32)
        for i, row in enumerate(rows):
            batch["inputs"][i, : len(row) + 1] = [GO, *row]
            batch["targets"][i, : len(row) + 1] = [*row, EOS]
            batch["context"][i, : len(row) % 4] = len(row) % len(TOPIC_WORDS)
        return batch


@pytest.fixture(params=["lstm", "tcnlm"])
def model(request, rng):
    return make_model(request.param, rng)


def make_model(name, rng):
    return randomise(tiny.untrained(name, VOCABULARY, cutoffs=(6,)), rng, 0.5)


def nll_by_steps(model, sentence):
    """Return -log p of a sentence and <eos>, one word at a time."""
    batch = {
        k: tf.constant(v) for k, v in Sequences([sentence]).batch([sentence]).items()
    }
    state, constants = model.initial_state(model.context(batch), 1)
    total = 0.0
    for word, following in zip([GO, *sentence], [*sentence, EOS]):
        found, state = model.step(tf.constant([word]), state, constants)
        total -= float(found.log_probs()[0, following])
    return total


def test_score_is_the_sum_over_words_taken_one_by_one(model):
    total = sum(nll_by_steps(model, sentence) for sentence in SENTENCES)
    targets = sum(len(sentence) + 1 for sentence in SENTENCES)
    found = score(model, Sequences(SENTENCES), batch_size=4)
    assert (found.targets, found.sequences) == (targets, len(SENTENCES))
    assert found.nll == pytest.approx(total / targets, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(total / targets), rel=1e-5)


@pytest.mark.parametrize(("batch_size", "padding"), [(1, 0), (5, 0), (64, 3)])
def test_batch_size_and_padding_are_of_no_account(model, batch_size, padding):
    whole = score(model, Sequences(SENTENCES), batch_size=64)
    parts = score(model, Sequences(SENTENCES, padding), batch_size=batch_size)
    assert parts.targets == whole.targets
    assert parts.nll == pytest.approx(whole.nll, rel=1e-5)
    assert parts.terms == pytest.approx(whole.terms, rel=1e-5)


@pytest.mark.parametrize("name", ["topic_rnn", "topic_lstm"])
def test_carried_rows_that_have_run_out_of_documents_are_no_sequences(name):
    split = make_split([[[4, 5, 7, 6]] * 9, [[5, 6]], [[8, 4]]], context="read")
    model = tiny.untrained(name, OF_ANSWERS, carry=True, window=3)
    rows = model.batching.rows(split)
    one, many = score(model, rows, batch_size=1), score(model, rows, batch_size=7)
    assert one.sequences == many.sequences == len(rows)
    assert many.nll == pytest.approx(one.nll, rel=1e-4)
    for term in one.terms.keys() - {"loss"}:
        assert many.terms[term] == pytest.approx(one.terms[term], rel=1e-4)
    assert one.terms["kl"] > 0


class Guesser(tf.Module):
    """p(word) = c for a drawn c, one of two values with even odds."""

    vocabulary = VOCABULARY
    batching = rows.Sequences()
    state_apart = staticmethod(contextlib.nullcontext)
    draws_topics = True

    def __init__(self, values):
        super().__init__()
        self.values = tf.constant(values)

    def context(self, batch, noise):
        drawn = noise.uniform(tf.shape(batch["targets"])[:1])
        return tf.gather(self.values, tf.cast(2 * drawn, tf.int32))

    def __call__(self, batch, context):
        return tf.where(batch["targets"] != 0, tf.math.log(context)[:, None], 0.0)


def test_sampled_score_averages_likelihoods_and_not_their_logarithms():
    found = sampled_score(Guesser([0.5, 0.1]), Sequences([[4]]), samples=20_000)
    expected = -math.log((0.5**2 + 0.1**2) / 2)  # one word and <eos>, one draw for both
    assert found.targets == 2
    assert 2 * found.nll == pytest.approx(expected, abs=0.03)
    split = Sequences(SENTENCES)
    alike = sampled_score(Guesser([0.25, 0.25]), split, samples=7, batch_size=4)
    assert alike.perplexity == pytest.approx(4, rel=1e-6)


def test_sampled_score_meets_the_mean_score_as_the_posterior_narrows(rng):
    model, split = make_model("tcnlm", rng), Sequences(SENTENCES)
    wide = sampled_score(model, split, samples=3)
    head = model.encoder.log_variance
    head.kernel.assign(tf.zeros_like(head.kernel))
    head.bias.assign(tf.fill(head.bias.shape, -40.0))
    narrow, mean = sampled_score(model, split, samples=3), score(model, split)
    assert narrow.nll == pytest.approx(mean.nll, rel=1e-5)
    assert wide.nll != pytest.approx(mean.nll, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda lstm: sampled_score(lstm, Sequences([[4]]), 3), "no topics to draw"),
        (lambda lstm: sampled_score(Guesser([1.0, 1.0]), Sequences([[4]]), 0), "1 or"),
        (lambda lstm: score(lstm, Sequences([])), "nothing to score"),
        (lambda lstm: score(lstm, Sequences([[4]]), 0), "batch size must be 1"),
    ],
)
def test_bad_input_is_refused(rng, call, complaint):
    with pytest.raises(InputError, match=complaint):
        call(make_model("lstm", rng))


ANSWERS = [[4, 5, 7, 6, 4], [5, 6, 4, 8, 5], [6, 4, 5, 7, 6]]
OF_DAILY_TESTS = (("tcnlm", False), ("rgbn_rnn", False), ("topic_rnn", True))
OF_SENTENCES = [
    pytest.param(
        name, carry, marks=() if (name, carry) in OF_DAILY_TESTS else pytest.mark.slow
    )
    for name in MODELS
    for carry in (False, True)
    if model_class(name).offers("step")
    and (hasattr(model_class(name).Config, "carry") or not carry)
]


def predictions(scored, model, rule, last):
    """Return log p of ANSWERS after a text that has `last` at the end of the second."""
    text = [ANSWERS[0], [*ANSWERS[1][:4], last], ANSWERS[2]]
    rows = model.batching.rows(make_split([text], context=rule))
    answers = np.array([word for sentence in ANSWERS for word in (*sentence, EOS)])
    found = np.zeros(len(answers))
    with model.state_apart():
        for chosen, batch in zip(rows.order(8, None, 0), rows.batches(8)):
            places, real = rows.places(chosen), batch["targets"] != PAD
            batch["targets"][real] = answers[places]
            found[places] = scored(batch).numpy()[real]
    return found


@pytest.mark.parametrize(("name", "carry"), OF_SENTENCES)
def test_a_leak_is_told_where_words_to_come_change_what_was_predicted(name, carry):
    """Those of a sentence; of all the document where it is read through."""
    kind, chosen = model_class(name), {"sentences": 6} if name == "rgbn_rnn" else {}
    chosen |= {"carry": True, "window": 4} if carry else {}
    model = kind(kind.Config(**{**kind.test_config, **chosen}), OF_ANSWERS, seed=1)
    model.build_weights()
    scored = graph(lambda b: model(b), input_signature=[model.batching.signature()])
    first = 0 if carry or name == "rgbn_rnn" else len(ANSWERS[0]) + 1
    before = slice(first, len(ANSWERS[0]) + len(ANSWERS[1]) + 1)
    for rule in RULES:
        one, other = (predictions(scored, model, rule, last) for last in (5, 8))
        assert bool(leak(model, rule)) == any(one[before] != other[before]), rule
