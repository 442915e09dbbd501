"""An LSTM with a vector q of its document beside its output: a bag's, LDA's, topics."""

import json

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
import tiny
from helpers import assert_close
from loops import (
    VOCABULARY,
    B,
    D,
    K,
    array,
    assert_loss_is_minus_J,
    beside_topics,
    dense,
    draw_batch,
)

from tcnlm.data.dataset import NO_WORD, Dataset
from tcnlm.generation.saved_model import export
from tcnlm.models.lstm import LDALSTM, BagLSTM, TopicLSTM
from tcnlm.programs import generate

ALPHA, ITERATIONS = 0.2, 6
CHOSEN = {
    BagLSTM: {"context_units": K, "encoder_units": (8, 6)},
    LDALSTM: {"alpha": ALPHA, "iterations": ITERATIONS},
    TopicLSTM: {},
}


def make_model(kind, rng, vocabulary=VOCABULARY, **settings):
    model = loops.make_model(kind, rng, vocabulary, **CHOSEN[kind], **settings)
    if kind is LDALSTM:
        model.lda.topic_weights.assign(rng.gamma(0.5, 20.0, [K, D]) + 0.01)
    return model


def bag_q(model, context):
    """f(d): log(1 + count), ReLU layers, a linear layer."""
    *hidden, last = map(dense, model.encoder.layers)
    values = np.log(1 + oracle.bag_of_words(context, D))
    for kernel, bias in hidden:
        values = np.maximum(0, kernel.T @ values + bias)
    return last[0].T @ values + last[1]


def lda_q(model, context):
    n = oracle.bag_of_words(context, D)
    gamma = oracle.lda_gamma(n, array(model.lda.topic_weights), ALPHA, ITERATIONS)
    return gamma / gamma.sum()


@pytest.mark.parametrize(("kind", "q"), [(BagLSTM, bag_q), (LDALSTM, lda_q)])
def test_the_loss_is_the_oracle_s_and_the_same_in_training(kind, q, rng):
    model, batch = make_model(kind, rng), draw_batch(rng)
    contexts = [q(model, words) for words in batch["context"]]
    expected = [beside_topics(model, batch, b, contexts[b]) for b in range(B)]
    for training in (False, True):
        terms = tf.function(model.compute_loss)(batch, training=training)
        assert set(terms) == {"loss", "nll"}
        nll = np.log(oracle.perplexity(expected))
        np.testing.assert_allclose(terms["nll"], nll, rtol=2e-5)
        np.testing.assert_allclose(terms["loss"], -sum(map(sum, expected)) / B, 2e-5)


@pytest.mark.parametrize("training", [True, False])
def test_with_topics_it_is_minus_J_of_a_draw_in_training_else_of_the_mean(
    training, rng, monkeypatch
):
    model = make_model(TopicLSTM, rng)
    assert_loss_is_minus_J(model, rng, monkeypatch, beside_topics, training)


@pytest.mark.parametrize("rule", ["others", "preceding"])
def test_no_word_of_a_sentence_itself_reaches_its_q(toy_data, rng, rule):
    """Batches as training has them: the words that move q are the other sentences'."""
    dataset = Dataset(toy_data, rule)
    model, split = make_model(BagLSTM, rng, dataset.vocabulary), dataset.split("train")
    rows, kernel = model.batching.rows(split), model.encoder.weights[0]
    reached = 0
    for row in rng.permutation(len(rows))[:20]:
        with tf.GradientTape() as tape:
            q = model.context(rows.batch(np.array([row])))
        found = set(np.flatnonzero(np.any(tape.gradient(q, kernel), axis=1)))
        own, document = rows.sentence[row], rows.documents[row]
        sentences, place = split.document(document), own - split.documents[document]
        after = sentences[place + 1 :] if rule == "others" else []
        seen = {word for s in [*sentences[:place], *after] for word in s}
        topic_ids = {dataset.vocabulary.topic_ids[word] for word in seen}
        assert found == topic_ids - {NO_WORD} or not found  # no unit of a layer is on
        reached += bool(found)
    assert reached > 10


@pytest.mark.parametrize(
    ("kind", "cell"), [(TopicLSTM, "lstm"), (LDALSTM, "lstm"), (LDALSTM, "rnn")]
)
def test_with_carry_a_window_goes_on_from_the_one_before_it(rng, kind, cell):
    """As one reading of both; a row that begins anew does not."""
    model = make_model(kind, rng, carry=True, window=4, cell=cell)
    words = tf.constant(rng.integers(4, loops.V, [2, 9]), tf.int32)
    topics, log_probs = tf.one_hot([1, 2], K), []
    for first, fresh in ((0, [1, 1]), (4, [0, 1])):
        inputs, targets = (words[:, i : i + 4] for i in (first, first + 1))
        batch = {"inputs": inputs, "targets": targets, "fresh": tf.constant(fresh)}
        log_probs.append(model(batch, context=topics))
    whole, anew = (
        model({"inputs": read[:, :-1], "targets": read[:, 1:]}, context=topics)
        for read in (words, words[:, 4:])
    )
    assert_close(log_probs[0], whole[:, :4])
    assert_close(log_probs[1][0], whole[0, 4:])
    assert_close(log_probs[1][1], anew[1])
    assert np.abs(anew[1] - whole[1, 4:]).max() > 1e-4


# --- From a document ------------------------------------------------------------------


run = tiny.run_fixture("bag_lstm")


@pytest.mark.parametrize("text", ["A court. The trial of a judge!", None])
def test_a_sentence_is_written_from_the_document_s_bag(run, tmp_path, capsys, text):
    model = tiny.make_model("bag_lstm")
    options, bag = "--method greedy --max-length 12 --json".split(), [[-1]]
    if text:
        (tmp_path / "document.txt").write_text(text, encoding="utf-8")
        options += ["--document", str(tmp_path / "document.txt")]
        bag = [[tiny.TOPIC_WORDS.index(word) for word in ("court", "trial", "judge")]]
    generate.main([str(run), *options])
    found = json.loads(capsys.readouterr().out)
    assert found["topics"] == []
    words = found["sentence"].split()
    ids = [*map(tiny.WORDS.index, words), *[2] * found["ended"]]
    q = model.context({"context": tf.constant(bag)})
    expected = tiny.log_prob(model, ids, q)
    assert found["log_probability"] == pytest.approx(expected, abs=1e-4)
    other = model.context({"context": tf.constant([[0, 0, 3]])})
    assert expected != pytest.approx(tiny.log_prob(model, ids, other), abs=1e-3)


@pytest.mark.parametrize(
    ("name", "others"), [("bag_lstm", set()), ("lda_lstm", {"infer_topics"})]
)
def test_a_saved_model_scores_under_contexts(name, others, tmp_path):
    model = tiny.make_model(name)
    export(model, tmp_path / "saved_model")
    offered = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(offered) - {"topic_words"} == {
        "generate", "generate_known", "beam_search", "score", *others
    }  # fmt: skip
    texts, bags = ["a court of judge", ""], [[[6, 7]], [[-1]]]
    found = offered["score"](
        sentences=tf.constant(["the sea"] * 2), contexts=tf.constant(texts)
    )["log_probability"]
    ids = [*map(tiny.WORDS.index, ("the", "sea")), 2]
    contexts = [model.context({"context": tf.constant(bag)}) for bag in bags]
    expected = [tiny.log_prob(model, ids, context) for context in contexts]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert abs(expected[0] - expected[1]) > 1e-3
