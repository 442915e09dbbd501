"""bag_lstm: a learned vector of the context's bag beside the LSTM's output."""

import json

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
import tiny
from helpers import assert_close
from loops import VOCABULARY, B, D, beside_topics, dense, draw_batch

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import NO_WORD, Dataset
from tcnlm.generation.saved_model import export
from tcnlm.layers.neural_topics import TopicEncoder, bag_of_words
from tcnlm.models.bag_lstm import BagLSTM
from tcnlm.programs import generate

Q = 3  # units of the context's vector


def make_model(rng, vocabulary=VOCABULARY):
    sizes = {"context_units": Q, "encoder_units": (8, 6)}
    return loops.make_model(BagLSTM, rng, vocabulary, **sizes)


def oracle_q(model, context):
    """f(d): log(1 + count), ReLU layers, a linear layer."""
    *hidden, last = map(dense, model.encoder.layers)
    values = np.log(1 + oracle.bag_of_words(context, D))
    for kernel, bias in hidden:
        values = np.maximum(0, kernel.T @ values + bias)
    return last[0].T @ values + last[1]


def test_the_loss_is_the_oracle_s_and_the_same_in_training(rng):
    model, batch = make_model(rng), draw_batch(rng)
    expected = [
        beside_topics(model, batch, b, oracle_q(model, batch["context"][b]))
        for b in range(B)
    ]
    for training in (False, True):
        terms = tf.function(model.compute_loss)(batch, training=training)
        assert set(terms) == {"loss", "nll"}
        nll = np.log(oracle.perplexity(expected))
        np.testing.assert_allclose(terms["nll"], nll, rtol=2e-5)
        np.testing.assert_allclose(terms["loss"], -sum(map(sum, expected)) / B, 2e-5)


def test_q_is_the_mean_of_tcnlm_s_encoder(rng):
    """The same weights in both give the same vector: nothing else stands between."""
    model, batch = make_model(rng), draw_batch(rng)
    encoder = TopicEncoder(Q, model.config.encoder_units, "log")
    bow = bag_of_words(batch["context"], D)
    encoder(bow)
    for layer, own in zip([*encoder.hidden, encoder.mean], model.encoder.layers):
        layer.set_weights(own.get_weights())
    assert_close(model.context(batch), encoder(bow)[0].numpy())


def test_the_language_model_s_loss_teaches_the_words_of_the_bag_and_no_others(rng):
    model, batch = make_model(rng), draw_batch(rng)
    batch["context"] = np.array([[2, 0, 2], [-1, -1, -1], [4, 0, -1]], np.int32)
    with tf.GradientTape() as tape:
        loss = model.compute_loss(batch, training=True)["loss"]
    found = tape.gradient(loss, model.encoder.trainable_weights)
    assert all(np.abs(gradient).max() > 0 for gradient in found)
    assert set(np.flatnonzero(np.any(found[0], axis=1))) == {0, 2, 4}


def test_q_is_that_of_the_counts_and_not_of_their_order(rng):
    model = make_model(rng)
    contexts = [[0, 2, 2], [2, 0, 2], [0, 2, -1], [0, 3, 3], [-1, -1, -1]]
    q = model.context({"context": tf.constant(contexts)}).numpy()
    assert_close(q[1], q[0])
    apart = np.abs(q[:, None] - q[None]).max(axis=2)[1:, 1:]
    assert (apart[~np.eye(4, dtype=bool)] > 1e-3).all()


@pytest.mark.parametrize("rule", ["others", "preceding"])
def test_no_word_of_a_sentence_itself_reaches_its_q(toy_data, rng, rule):
    """Batches as training has them: the words that move q are the other sentences'."""
    dataset = Dataset(toy_data, rule)
    model, split = make_model(rng, dataset.vocabulary), dataset.split("train")
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


# --- From a document ------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bag") / "RUN"
    return folder, tiny.make_run(folder, "bag_lstm")


def write(run, *words):
    """Print a greedy sentence as generate.py does, in JSON."""
    command = [str(run), "--method", "greedy", "--max-length", "12", "--json", *words]
    generate.main(generate.parser().parse_args(command))


@pytest.mark.parametrize("text", ["A court. The trial of a judge!", None])
def test_a_sentence_is_written_from_the_document_s_bag(run, tmp_path, capsys, text):
    folder, model = run
    options, bag = [], [[-1]]
    if text:
        (tmp_path / "document.txt").write_text(text, encoding="utf-8")
        options = ["--document", str(tmp_path / "document.txt")]
        bag = [[tiny.TOPIC_WORDS.index(word) for word in ("court", "trial", "judge")]]
    write(folder, *options)
    found = json.loads(capsys.readouterr().out)
    assert found["topics"] == []
    words = found["sentence"].split()
    ids = [*map(tiny.WORDS.index, words), *[2] * found["ended"]]
    q = model.context({"context": tf.constant(bag)})
    expected = tiny.log_prob(model, ids, q)
    assert found["log_probability"] == pytest.approx(expected, abs=1e-4)
    other = model.context({"context": tf.constant([[0, 0, 3]])})
    assert expected != pytest.approx(tiny.log_prob(model, ids, other), abs=1e-3)


def test_topics_are_refused(run):
    message = "^model BagLSTM has no topics: leave out --topic$"
    with pytest.raises(InputError, match=message):
        write(run[0], "--topic", "1")


def test_a_document_without_a_topic_word_is_refused(run, tmp_path):
    path = tmp_path / "document.txt"
    path.write_text("the of a", encoding="utf-8")
    with pytest.raises(InputError, match="none of its 3 words is in the model's topic"):
        write(run[0], "--document", str(path))


def test_a_saved_model_scores_under_contexts(run, tmp_path):
    _, model = run
    export(model, tmp_path / "saved_model")
    offered = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(offered) == {"generate", "generate_known", "beam_search", "score"}
    texts, bags = ["a court of judge", ""], [[[6, 7]], [[-1]]]
    found = offered["score"](
        sentences=tf.constant(["the sea"] * 2), contexts=tf.constant(texts)
    )["log_probability"]
    ids = [*map(tiny.WORDS.index, ("the", "sea")), 2]
    contexts = [model.context({"context": tf.constant(bag)}) for bag in bags]
    expected = [tiny.log_prob(model, ids, context) for context in contexts]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert abs(expected[0] - expected[1]) > 1e-3
