"""LDA+LSTM: the topics of the context beside the LSTM's output, nowhere else."""

import numpy as np
import oracle
import tensorflow as tf
from helpers import assert_close, randomise
from test_objective import LENGTHS, B, D, K, V, array, draw_batch

from preprocessing.vocabulary import SPECIALS, Vocabulary
from tcnlm.generation.saved_model import export
from tcnlm.models.lda_lstm import LDALSTM, Config
from tcnlm.models.lstm import LSTM

H, E, ALPHA, ITERATIONS = 7, 5, 0.2, 6


def make_model(rng):
    words = [f"w{i}" for i in range(V - len(SPECIALS))]
    vocabulary = Vocabulary([*SPECIALS, *words], [0] * 4 + [9] * len(words), words[:D])
    config = Config(
        units=H, embedding_size=E, num_topics=K, cutoffs=(6, 9), dropout=0.0,
        alpha=ALPHA, iterations=ITERATIONS,
    )  # fmt: skip
    model = LDALSTM(config, vocabulary)
    model.build_weights()
    for part in (model.embedding, *model.recurrent, model.softmax):
        randomise(part, rng)
    model.lda.topic_weights.assign(rng.gamma(0.5, 20.0, [K, D]) + 0.01)
    return model


def keras_lstm(layer):
    """W [4, n_h, n_x], U and bias of a Keras LSTM, whose gates are i, f, c, o."""
    kernel, recurrent, bias = map(array, layer.weights)
    order = [0, 1, 3, 2]
    split = (np.stack(np.split(w.T, 4))[order] for w in (kernel, recurrent, bias))
    return tuple(split)


def oracle_q(model, context):
    n = oracle.bag_of_words(context, D)
    gamma = oracle.lda_gamma(n, array(model.lda.topic_weights), ALPHA, ITERATIONS)
    return gamma / gamma.sum()


def oracle_sentence(model, batch, b, q):
    """log p(y_m | y_<m, d) of every target: softmax(V [h_m; q])."""
    x = array(model.embedding.embeddings)[batch["inputs"][b, : LENGTHS[b]]][None]
    h, _ = oracle.lstm(*keras_lstm(model.recurrent[0]), x)
    softmax, log_p = model.softmax, []
    for m, target in enumerate(batch["targets"][b, : LENGTHS[b]]):
        words = oracle.adaptive_log_probs(
            np.concatenate([h[0, m], q]),
            array(softmax.head),
            [array(projection) for projection in softmax.projections],
            [array(tail) for tail in softmax.tails],
        )
        log_p.append(words[target])
    return log_p


def test_the_loss_is_the_oracle_s(rng):
    model, batch = make_model(rng), draw_batch(rng)
    expected = [
        oracle_sentence(model, batch, b, oracle_q(model, batch["context"][b]))
        for b in range(B)
    ]
    terms = tf.function(model.objective)(batch, training=False)
    nll = np.log(oracle.perplexity(expected))
    np.testing.assert_allclose(terms["nll"], nll, rtol=2e-5)
    np.testing.assert_allclose(terms["loss"], -sum(map(sum, expected)) / B, rtol=2e-5)


def test_without_weights_for_the_topics_it_is_the_lstm(rng):
    model, batch = make_model(rng), draw_batch(rng)
    shared = {name: getattr(model.config, name) for name in
              ("units", "embedding_size", "cutoffs", "dropout")}  # fmt: skip
    plain = LSTM(LSTM.Config(**shared), model.vocabulary)
    plain.build_weights()
    plain.embedding.set_weights(model.embedding.get_weights())
    plain.recurrent[0].set_weights(model.recurrent[0].get_weights())
    softmax = model.softmax
    for weight in (softmax.head, *softmax.projections):
        weight[H:].assign(tf.zeros_like(weight[H:]))
    # A tail's width goes by that of what the softmax sees, so the tails may differ.
    plain.softmax.projections = [w[:H] for w in softmax.projections]
    plain.softmax.tails = softmax.tails
    plain.softmax.head.assign(softmax.head[:H])
    found = model.objective(batch, training=False)
    assert_close(found["loss"], plain.objective(batch, training=False)["loss"].numpy())


def test_the_optimizer_does_not_touch_the_topics(rng):
    model = make_model(rng)
    trained = {weight.ref() for weight in model.trainable_variables}
    assert model.lda.topic_weights.ref() not in trained
    assert model.softmax.head.shape[0] == H + K


def test_the_papers_lstm_is_the_default():
    """2.16M recurrent weights as in rGBN-RNN's count, biases not counted."""
    assert 4 * Config.units * (Config.units + Config.embedding_size) == 2_160_000


def test_a_saved_model_scores_as_the_model(rng, tmp_path):
    model = make_model(rng)
    export(model, tmp_path / "saved_model")
    loaded = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(loaded) == {"generate", "infer_topics", "score", "topic_words"}
    found = loaded["score"](
        sentences=tf.constant(["w1"]), contexts=tf.constant(["w0 w2 w2"])
    )
    context = model.infer_context(tf.constant([[0, 2, 2]]))
    expected = model.log_probs(tf.constant([[1, 5]]), tf.constant([[5, 2]]), context)
    np.testing.assert_allclose(
        found["log_probability"][0], tf.reduce_sum(expected), rtol=1e-5
    )
