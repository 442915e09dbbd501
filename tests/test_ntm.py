"""The neural topic model of Cao et al. 2015, pair by pair, and what was made of it."""

from collections import Counter

import numpy as np
import oracle
import pytest
import tensorflow as tf
import toy
from helpers import assert_close, eager_and_graph, randomise, read_history

from preprocessing.vocabulary import SPECIALS, Vocabulary
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.generation.requests import requested_topics
from tcnlm.generation.saved_model import export
from tcnlm.layers.optimization import Training
from tcnlm.models.ntm import NTM, Config
from tcnlm.models.topics import top_words
from tcnlm.training.trainer import Trainer

B, C, D, K, E = 4, 7, 9, 3, 5
WORDS = [f"w{i}" for i in range(D + 2)]
VOCABULARY = Vocabulary([*SPECIALS, *WORDS], [9] * (D + 6), WORDS[:D])


def make_model(rng):
    model = NTM(Config(num_topics=K, embedding_size=E), VOCABULARY)
    model.build_weights()
    for part in (model.words, model.documents):
        randomise(part, rng)
    return model


def draw_contexts(rng):
    contexts = rng.integers(-1, D, [B, C])
    contexts[2] = -1  # a document without content words
    contexts[3] = [1, 1, 1, 2, 0, -1, -1]
    return contexts.astype("int32")


def weights(model):
    le, W2 = (w.numpy().astype(float) for w in (model.words.le, model.words.W2))
    return le, W2, model.documents.kernel.numpy().astype(float)


def oracle_word(model, g):
    le, W2, _ = weights(model)
    return oracle.sigmoid(W2.T @ le[g])


def oracle_document(model, words):
    _, _, W1 = weights(model)
    rows = [W1[w] for w in words if w >= 0]
    return oracle.softmax(np.mean(rows, axis=0) if rows else np.zeros(K))


def oracle_loss(model, contexts, shift):
    """The hinge of every word g of every d against the document `shift` before it."""
    total = words = 0.0
    for b, context in enumerate(contexts):
        other = contexts[b - shift]
        d, other_d = oracle_document(model, context), oracle_document(model, other)
        for g in context[context >= 0]:
            words += 1
            if g not in other:
                lt = oracle_word(model, g)
                total += max(0, 0.5 - lt @ d + lt @ other_d)
    return total / words


@eager_and_graph
def test_the_loss_is_the_oracle_s(rng, wrap):
    model, contexts = make_model(rng), draw_contexts(rng)
    found = wrap(lambda: model.objective({"words": contexts}, training=False))()
    np.testing.assert_allclose(
        found["loss"], oracle_loss(model, contexts, 1), rtol=1e-5
    )


def test_the_other_document_is_drawn_in_training_and_never_the_same(rng):
    model, contexts = make_model(rng), draw_contexts(rng)
    drawn = {
        round(float(model.objective({"words": contexts}, training=True)["loss"]), 5)
        for _ in range(30)
    }
    expected = [oracle_loss(model, contexts, shift) for shift in range(1, B)]
    np.testing.assert_allclose(sorted(drawn), sorted(expected), atol=2e-5)


def test_a_document_s_topics_are_the_oracle_s(rng):
    model, contexts = make_model(rng), draw_contexts(rng)
    expected = [oracle_document(model, words) for words in contexts]
    np.testing.assert_allclose(model.infer_context(contexts), expected, rtol=1e-5)


def test_topics_are_the_words_ranked_by_their_share_in_it(rng):
    model = make_model(rng)
    lt = np.array([oracle_word(model, g) for g in range(D)])
    np.testing.assert_allclose(model.topics(), (lt / lt.sum(axis=0)).T, rtol=1e-5)


def test_a_document_alone_in_its_batch_has_no_loss(rng):
    model = make_model(rng)
    terms = model.objective({"words": draw_contexts(rng)[:1]}, training=True)
    assert float(terms["loss"]) == 0


def test_vectors_are_given_and_not_trained(rng, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("2 5\nw3 1 2 3 4 5\nunknown 0 0 0 0 0\n")
    config = Config(num_topics=K, embedding_size=E, embeddings=str(path))
    model = NTM(config, VOCABULARY)
    model.build_weights()
    before = model.words.le.numpy()

    class Data:
        vocabulary = VOCABULARY

    model.prepare(Data())
    assert model.words.le.numpy()[3].tolist() == [1, 2, 3, 4, 5]
    assert_close(model.words.le[4:], before[4:])
    trained = [weight.name for weight in model.trainable_variables]
    assert not any("le" in name.split("/")[-1] for name in trained)
    assert len(trained) == 2


def test_training_learns_the_themes_of_the_toy_corpus(toy_data, tmp_path):
    dataset = Dataset(toy_data)
    config = Config(num_topics=3, embedding_size=24, learning_rate=0.05)
    model = NTM(config, dataset.vocabulary, seed=1)
    model.build_weights()
    run = tmp_path / "RUN"
    run.mkdir()
    loop = Training(batch_size=16, epochs=90, patience=90)
    trainer = Trainer(model, dataset, run, loop, seed=1)
    state = trainer.train()
    history = read_history(run)
    assert history.train_loss.iloc[-1] < 0.8 * history.train_loss[0]
    assert history.valid_loss.min() < 0.8 * history.valid_loss[0]
    assert state.best == pytest.approx(history.valid_loss.min())
    theme = {word: i for i, words in enumerate(toy.THEMES) for word in words}
    themes = [Counter(theme[word] for word in words) for words in top_words(model, 6)]
    alike = sum(max(found.values()) for found in themes)
    assert alike >= 13  # of 18: six seeds have 13 to 18, words at random some 10


def test_no_document_is_its_own_negative(toy_data, rng):
    """In every batch, of any epoch, the next row is another document."""
    data = Dataset(toy_data)
    rows = make_model(rng).batching.rows(data.split("train"))
    order = [rows.order(7, seed, 0) for seed in (None, 1, 2)]
    for batch in (batch for batches in order for batch in batches):
        assert len(set(rows.documents[batch])) == len(batch)


def test_it_writes_no_sentences(rng):
    with pytest.raises(InputError, match="NTM writes no sentences"):
        requested_topics(make_model(rng), [], None, 300)


def test_a_saved_model_infers_topics_and_names_their_words(rng, tmp_path):
    model = make_model(rng)
    export(model, tmp_path / "saved_model")
    loaded = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(loaded) == {"infer_topics", "topic_words"}
    found = loaded["infer_topics"](documents=tf.constant(["w0 w2 w2 w10"]))
    expected = model.infer_context(tf.constant([[0, 2, 2]]))
    np.testing.assert_allclose(found["topics"], expected, rtol=1e-5)
