"""The neural topic model of Cao et al. 2015, pair by pair, and what was made of it."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import eager_and_graph, randomise
from splits import make_split

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Contexts
from tcnlm.generation.saved_model import export
from tcnlm.models.ntm import NTM, Config
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.vocabulary import SPECIALS, Vocabulary
from tcnlm.programs import train

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
    found = wrap(lambda: model.compute_loss({"words": contexts}, training=False))()
    np.testing.assert_allclose(
        found["loss"], oracle_loss(model, contexts, 1), rtol=1e-5
    )


def test_the_other_document_is_drawn_in_training_and_never_the_same(rng):
    model, contexts = make_model(rng), draw_contexts(rng)
    drawn = set()
    for step in range(30):
        model.steps.assign(step)
        loss = model.compute_loss({"words": contexts}, training=True)["loss"]
        drawn.add(round(float(loss), 5))
    expected = [oracle_loss(model, contexts, shift) for shift in range(1, B)]
    np.testing.assert_allclose(sorted(drawn), sorted(expected), atol=2e-5)


def test_a_document_alone_counts_no_words_and_two_are_wanted(rng):
    model, contexts = make_model(rng), draw_contexts(rng)
    counts = [model.count_words({"words": contexts[:size]}) for size in (1, 2)]
    assert counts == [0, (contexts[:2] >= 0).sum()]
    data = SimpleNamespace(path=Path("DATA"), split=lambda _: make_split([[[4]], []]))
    with pytest.raises(InputError, match="DATA/train: 1 document with topic words"):
        train.check_context_words(model, data, batch_size=2)
    with pytest.raises(InputError, match="batch_size=1: .* compares documents"):
        train.check_context_words(model, data, batch_size=1)


def test_vectors_of_no_text_are_no_start():
    with pytest.raises(InputError, match="embeddings=random: ntm starts at vectors"):
        NTM(Config(embeddings="random"), VOCABULARY)


def test_a_document_s_topics_are_the_oracle_s(rng):
    model, contexts = make_model(rng), draw_contexts(rng)
    expected = [oracle_document(model, words) for words in contexts]
    np.testing.assert_allclose(model.infer(contexts), expected, rtol=1e-5)


def test_topics_are_the_words_ranked_by_their_share_in_it(rng):
    model = make_model(rng)
    lt = np.array([oracle_word(model, g) for g in range(D)])
    np.testing.assert_allclose(model.topics(), (lt / lt.sum(axis=0)).T, rtol=1e-5)


def prepared(path, vectors, documents, vocabulary=VOCABULARY, K=K):
    """Return a model prepared on documents of topic-word ids, le from a file."""
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in vectors.items()]
    path.write_text(f"{len(lines)} {E}\n" + "\n".join(lines) + "\n")
    words = np.concatenate(documents)
    first = np.cumsum([0, *map(len, documents)])
    contexts = SimpleNamespace(words=words, first=first)
    contexts.counts = partial(Contexts.counts, contexts)
    data = SimpleNamespace(
        vocabulary=vocabulary, split=lambda name: SimpleNamespace(contexts=contexts)
    )
    config = Config(num_topics=K, embedding_size=E, embeddings=str(path))
    model = NTM(config, vocabulary, seed=1)
    model.build_weights()
    model.prepare(data)
    return model


def test_the_start_s_logits_deviate_by_two_over_the_running_words(rng, tmp_path):
    vectors = {word: rng.normal(size=E) for word in WORDS[:D]}
    documents = [np.repeat(np.arange(D), rng.integers(0, 9, D)) for _ in range(B)]
    model = prepared(tmp_path / "vectors.txt", vectors, documents)
    le, W2, _ = weights(model)
    logits = (le @ W2)[np.concatenate(documents)]
    np.testing.assert_allclose(logits.std(axis=0), 2, rtol=1e-4)


def test_planted_clusters_are_a_topic_each(rng, tmp_path):
    """Five themes of four words, in documents of one theme each: five topics, not two.

    After the start and after a hundred steps.
    """
    words = [f"t{theme}{i}" for theme in range(E) for i in range(4)]
    vocabulary = Vocabulary([*SPECIALS, *words], [9] * (len(words) + 4), words)
    vectors = {w: np.eye(E)[int(w[1])] + 0.1 * rng.normal(size=E) for w in words}
    documents = [4 * (d % E) + rng.integers(0, 4, 6) for d in range(50)]
    asked = vocabulary, E
    model = prepared(tmp_path / "vectors.txt", vectors, documents, *asked)
    batch = {"words": tf.constant(np.stack(documents), tf.int32)}
    model.compile(tf.keras.optimizers.Adam(0.01))
    for steps in (0, 100):
        for _ in range(steps):
            model.train_step(batch)
        themes = [{word[1] for word in topic} for topic in top_words(model, 4)]
        assert sorted(map(len, themes)) == [1] * E
        assert len(set.union(*themes)) == E
        assert len(set(model.infer(batch["words"]).numpy().argmax(1))) == E


def test_a_saved_model_infers_topics_and_names_their_words(rng, tmp_path):
    model = make_model(rng)
    export(model, tmp_path / "saved_model")
    loaded = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(loaded) == {"infer_topics", "topic_words"}
    found = loaded["infer_topics"](documents=tf.constant(["w0 w2 w2 w10"]))
    expected = model.infer(tf.constant([[0, 2, 2]]))
    np.testing.assert_allclose(found["topics"], expected, rtol=1e-5)
    words = loaded["topic_words"](number=tf.constant(2))["words"].numpy()
    assert [[w.decode() for w in row] for row in words] == top_words(model, 2)
