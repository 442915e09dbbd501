"""Whose bag the topic model learns from: a vote a sentence, or a vote a document."""

import loops
import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import fix_draws
from loops import SIZES, B, K, draw_batch
from splits import DOCUMENTS, VOCABULARY, make_split

from tcnlm.data.rows import DocumentContexts, Sequences, Windows
from tcnlm.models.starts import pretrain_topics
from tcnlm.models.tcnlm import TCNLM, topic_loss, topic_terms

JOINT = ["naive_moe", "tcnlm", "topic_lstm", "topic_transformer_xl"]
VOTES = ("vote",)


class Data:
    """A dataset of these documents alone."""

    path, word_order, vocabulary = "documents", True, VOCABULARY
    meta = {"splits": {"train": {"tokens": 0}}}

    def __init__(self, documents):
        self.documents = documents

    def split(self, name):
        return make_split(self.documents)


def small(name, **settings):
    return tiny.untrained(name, VOCABULARY, **{"topic_rows": "document", **settings})


# --- The joint steps ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Sequences, lambda **more: Windows(4, **more)])
def test_the_rows_of_each_document_have_one_vote_together(kind):
    rows = kind(of_document=VOTES).rows(make_split(DOCUMENTS * 2))
    numbers = np.arange(len(rows))
    votes, documents = rows.batch(numbers)["vote"], rows.documents[numbers]
    cast = [sum(votes[documents == d]) for d in set(documents)]
    np.testing.assert_allclose(cast, len(rows) / len(set(documents)), rtol=1e-6)
    for d in set(documents):
        assert len(set(votes[documents == d])) == 1
    assert votes.mean() == pytest.approx(1)


def test_each_row_s_terms_weigh_by_its_vote_and_its_words_by_one(rng, monkeypatch):
    model = loops.make_model(TCNLM, rng, topic_rows="document")
    batch, epsilon = draw_batch(rng), rng.normal(size=[B, K])
    fix_draws(monkeypatch, epsilon)

    def nothing(model, batch, b, t):
        return []

    log_p_d, kl, _, R = loops.oracle_terms(model, batch, epsilon, nothing)
    vote = np.array([0.5, 2.0, 0.25], np.float32)
    plain = model.compute_loss(batch, training=True)
    terms = model.compute_loss({**batch, "vote": vote}, training=True)
    language = float(plain["loss"] - topic_loss(model, plain))
    reconstruction, divergence = -np.mean(vote * log_p_d), np.mean(vote * np.array(kl))
    found = terms["reconstruction"], terms["kl"], terms["diversity"], terms["nll"]
    expected = reconstruction, divergence, R, plain["nll"]
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    bound = reconstruction + divergence - SIZES["diversity_weight"] * R
    np.testing.assert_allclose(terms["loss"], language + bound, rtol=2e-5)


def test_a_document_said_over_in_more_sentences_moves_beta_no_more(rng):
    """Its rows have one context: the gradient of an epoch is a document's, once."""
    once = [[[4, 4]], [[5, 6]]]
    often = [[[4, 4]] * 5, [[5, 6]]]
    model = small("tcnlm", encoder_dropout=0.0, diversity_weight=0.0)

    def gradient(documents, **more):
        rows = Sequences(**more).rows(make_split(documents, context="all", words=2))
        batch = rows.batch(np.arange(len(rows)))
        with tf.GradientTape() as tape:
            noise = model.noise("topics", batch, training=False)
            loss = topic_loss(model, topic_terms(model, batch, noise)[1])
        return tape.gradient(loss, model.decoder.logits).numpy()

    of_one = gradient(once)
    np.testing.assert_allclose(gradient(often, of_document=VOTES), of_one, atol=1e-6)
    assert np.abs(gradient(often) - of_one).max() > 1e-2


# --- Whole documents ------------------------------------------------------------------


def test_a_row_is_the_first_content_words_of_a_document_that_has_any():
    rows = DocumentContexts().rows(make_split(DOCUMENTS, words=4))
    batch = rows.batch(np.arange(len(rows)))
    # Of "a the b | c of | a a", "the of" and "a b c a b c a | c".
    assert batch["context"].tolist() == [[0, 1, 2, 0], [0, 1, 2, 0]]
    assert rows.documents.tolist() == [0, 3]
    assert rows.num_targets == 8


def pretrained(name, documents, topic_rows):
    settings = {"topic_pretrain_steps": 30, "diversity_weight": 0.0}
    model = small(name, topic_rows=topic_rows, **settings)
    before = model.topics().numpy()
    pretrain_topics(model, Data(documents), topic_terms, topic_loss)
    return model.topics().numpy() - before


@pytest.mark.parametrize("name", JOINT)
def test_a_document_of_one_sentence_teaches_where_documents_are_rows(name):
    """Of the words a, b and c only a stands in a text, in sentences by themselves."""
    documents = [[[4, 4, 8]]] * 5
    change = pretrained(name, documents, "document")
    assert (change[:, 0] > 0.01).all()
    assert np.abs(pretrained(name, documents, "sentence")).max() < 1e-6


def test_the_topic_model_alone_learns_from_documents_and_is_scored_on_them():
    model = small("neural_topics")
    assert model.batching == DocumentContexts()
    rows = model.batching.rows(make_split(DOCUMENTS))
    batch = rows.batch(np.arange(len(rows)))
    assert model.count_words(batch) == rows.num_targets == 13
    terms = model.compute_loss(batch, training=False)
    nats = 2 * float(terms["reconstruction"] + terms["kl"])
    assert float(terms["bound"]) == pytest.approx(nats / 13, rel=1e-5)
    assert small("neural_topics", topic_rows="sentence").batching == Sequences()
