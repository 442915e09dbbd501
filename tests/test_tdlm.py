"""TDLM against its equations in loops; its batches and steps; order, padding, sizes."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close
from loops import (
    LENGTHS,
    B,
    K,
    V,
    array,
    arrays,
    lstm,
    of_targets,
    vocabulary_of,
    word_log_probs,
)
from splits import DOCUMENTS, make_split

from tcnlm.common.errors import InputError
from tcnlm.data.rows import SequencesAndStretches
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.models.tdlm import TDLM, Config

TOPIC_IDS = (5, 6, 8, 11)  # word ids of the topic words
CONTEXTS = ([0, 3, 3, 1, 2], [], [2])
SIZES = {"layers": 2, "topic_size": 6, "filters": 3, "filter_width": 2}


def make_model(rng, **settings):
    chosen = {**SIZES, "topic_dropout": 0.0, **settings}
    return loops.make_model(TDLM, rng, vocabulary_of(TOPIC_IDS), **chosen)


def draw_batch(rng):
    batch = {**loops.draw_batch(rng), "context": padded(CONTEXTS, 8)}
    batch["targets"][:, 0] = TOPIC_IDS[1]
    return batch


def padded(contexts, width):
    return np.array([[*words, *[-1] * (width - len(words))] for words in contexts])


# --- The oracle ---------------------------------------------------------------------


def document_vector(model, words):
    """Each filter over the windows of words, zeros after the last; the largest."""
    width = model.config.filter_width
    table = array(model.encoder.embedding.embeddings)
    filters, bias = arrays(model.encoder.convolution)  # [h, E, a], [a]
    if not words:
        return np.zeros(len(bias))
    x = [table[w] for w in words] + [np.zeros(table.shape[1])] * (width - 1)
    d = np.full(len(bias), -np.inf)
    for start in range(len(words)):
        for a in range(len(bias)):
            value = bias[a]
            for i in range(width):
                value += filters[i, :, a] @ x[start + i]
            d[a] = max(d[a], value)
    return d


def attention(model, words):
    A = array(model.attention.kernel)
    return oracle.softmax(A.T @ document_vector(model, words))


def topic_vector(model, p):
    rows = array(model.vectors.kernel)
    s = np.zeros(rows.shape[1])
    for k in range(K):
        s += p[k] * rows[k]
    return s


def topic_word_probabilities(model, s):
    W, bias = arrays(model.words)
    return oracle.softmax(W.T @ s + bias)


def gate(model, h, s):
    """The GRU-like unit; the candidate's W and U are the rows of one kernel."""
    kernel, bias = arrays(model.gate.gates)
    n_h, n_s = len(h), len(s)
    z, r = np.split(oracle.sigmoid(kernel.T @ np.concatenate([s, h]) + bias), 2)
    kernel, bias = arrays(model.gate.candidate)
    W, U = kernel[:n_s], kernel[n_s:]
    new = np.zeros(n_h)
    candidate = np.tanh(W.T @ s + U.T @ (r * h) + bias)
    for j in range(n_h):
        new[j] = (1 - z[j]) * h[j] + z[j] * candidate[j]
    return new


def log_word_probabilities(model, words, s):
    """log p of all words after each of `words`."""
    h = array(model.embedding.embeddings)[words]
    for layer in model.recurrent:
        h = lstm(layer, h)
    return word_log_probs(model.softmax, [gate(model, state, s) for state in h])


def oracle_terms(model, batch):
    language, topic = [], []
    for b, context in enumerate(CONTEXTS):
        s = topic_vector(model, attention(model, context))
        inputs = batch["inputs"][b, : LENGTHS[b]]
        targets = batch["targets"][b, : LENGTHS[b]]
        rows = log_word_probabilities(model, inputs, s)
        language.append(of_targets(rows, batch, b))
        p_words = topic_word_probabilities(model, s)
        topic.append(sum(np.log(p_words[y]) for y in targets if y in TOPIC_IDS))
    topic_model, words = -np.mean(topic), sum(map(sum, language))
    return {
        "loss": -words / B + topic_model,
        "nll": -words / sum(LENGTHS),
        "topic_model": topic_model,
    }


def oracle_topic_loss(model, documents, windows):
    """- log p of the words of windows given whole documents, summed, a row's mean."""
    total = 0.0
    for document, window in zip(documents, windows):
        p = topic_word_probabilities(
            model, topic_vector(model, attention(model, document))
        )
        for word in window:
            total -= np.log(p[TOPIC_IDS[word]])
    return total / len(windows)


def oracle_windows(documents, context_words):
    """(document, targets) as released: `<go>` and the content words of a document in
    pieces of four that overlap by one; the targets are all but a piece's first."""
    found = []
    for document in documents:
        content = [w - 4 for sentence in document for w in sentence if 4 <= w <= 6]
        tokens = ["<go>", *content]
        for start in range(0, len(tokens) - 1, 3):
            piece = tokens[start : start + 4]
            found.append((tuple(content[:context_words]), tuple(piece[1:])))
    return found


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_loss_is_both_models(rng, width):
    model, batch = make_model(rng, filter_width=width), draw_batch(rng)
    terms, expected = model.compute_loss(batch, True), oracle_terms(model, batch)
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(terms[name], value, rtol=2e-5, err_msg=name)


# --- Batches and steps ----------------------------------------------------------------


def real(row):
    return tuple(row[row >= 0])


@pytest.mark.parametrize(("size", "context_words"), [(2, 300), (3, 4), (64, 300)])
def test_an_epoch_has_every_content_word_once_with_its_whole_document(
    size, context_words
):
    """Documents are cut to the first words, targets are not: the released code."""
    split = make_split(DOCUMENTS, words=context_words)
    rows, found, sequences = SequencesAndStretches(size=3).rows(split), [], []
    batches = list(rows.batches(size, seed=1))
    for batch in batches:
        assert len({len(array) for array in batch.values()}) == 1
        if (batch["content"] >= 0).any():
            assert not np.hstack([batch["inputs"], batch["targets"]]).any()
            pairs = zip(batch["context"], batch["content"])
            found += [(real(words), real(content)) for words, content in pairs]
        else:
            sequences += [tuple(row[row > 0]) for row in batch["targets"]]
    assert sorted(found) == sorted(oracle_windows(DOCUMENTS, context_words))
    plain = TDLM.batching.rows(split).batches(size)
    expected = [tuple(row[row > 0]) for batch in plain for row in batch["targets"]]
    assert sorted(sequences) == sorted(expected)
    assert len(batches) == rows.num_batches(size, 1, 0)


WINDOWS = ([0, 3, 3], [1, 2], [2])  # of the documents that CONTEXTS begin
WHOLE = ([0, 3, 3, 1, 2], [1, 2], [2])


def topic_batch():
    arrays = {"context": padded(WHOLE, 8), "content": padded(WINDOWS, 3)}
    arrays |= {name: np.zeros([B, 1], int) for name in ("inputs", "targets")}
    return {name: tf.constant(ids, tf.int32) for name, ids in arrays.items()}


def language_batch(rng):
    batch = {**draw_batch(rng), "content": np.full([B, 3], -1)}
    return {name: tf.constant(ids, tf.int32) for name, ids in batch.items()}


def slope(loss, weight, place, width=2e-3):
    """The derivative of a loss by one number of a weight, by central differences."""
    start, ends = weight.numpy(), []
    for sign in (1, -1):
        moved = start.copy()
        moved[place] += sign * width
        weight.assign(moved)
        ends.append((moved[place], loss()))
    weight.assign(start)
    (high, above), (low, below) = ends
    return (above - below) / (high - low)


def topic_weights(model):
    """One number of each: table, filters, A, B, W and its bias."""
    table = model.encoder.embedding.embeddings, (2, 1)
    others = model.encoder.convolution, model.attention, model.vectors, model.words
    kernels = [(w, (0,) * len(w.shape)) for layer in others for w in layer.weights]
    return [table, *kernels]


def compiled(model, *chosen, **options):
    """Compile a model, and return its optimizer."""
    model.compile(GroupedAdam(model.param_groups(), *chosen, **options))
    return model.optimizer


def test_a_topic_step_is_down_the_loss_of_whole_documents_unclipped(rng):
    model, clip = make_model(rng), 1e-3
    optimizer, batch = compiled(model, clip), topic_batch()
    slopes = [
        slope(lambda: oracle_topic_loss(model, WHOLE, WINDOWS), *each)
        for each in topic_weights(model)
    ]
    expected = oracle_topic_loss(model, WHOLE, WINDOWS)
    before = [weight.numpy() for weight in model.trainable_variables]
    terms = model.train_step(batch)
    np.testing.assert_allclose(terms["loss"], expected, rtol=1e-5)
    assert float(terms["nll"]) == float(terms["gradient_norm_0"]) == 0
    language, topic = optimizer.adams
    for (weight, place), found in zip(topic_weights(model), slopes):
        moment = topic.get_slot(weight, "m").numpy()[place]
        np.testing.assert_allclose(moment, 0.1 * found, rtol=2e-2, atol=1e-6)
    assert not any(slot.numpy().any() for slot in language.weights)
    moved = {
        weight.ref()
        for old, weight in zip(before, model.trainable_variables)
        if (old != weight.numpy()).any()
    }
    assert moved == {weight.ref() for weight in optimizer.groups[1]}


def test_a_language_step_moves_all_but_w_by_an_adam_of_its_own_clipped(rng):
    model, clip = make_model(rng), 1e-3
    optimizer, batch = compiled(model, clip), language_batch(rng)
    plain = {name: array.numpy() for name, array in batch.items()}

    def loss():
        found = oracle_terms(model, plain)
        return found["loss"] - found["topic_model"]

    shared = [each for each in topic_weights(model) if each[0].shape[-1] != V]
    slopes, expected = [slope(loss, *each) for each in shared], loss()
    W = [weight.numpy() for weight in model.words.weights]
    terms = model.train_step(batch)
    np.testing.assert_allclose(terms["loss"], expected, rtol=1e-5)
    assert float(terms["topic_model"]) == float(terms["gradient_norm_1"]) == 0
    language, topic = optimizer.adams
    shorter = clip / float(terms["gradient_norm_0"])
    assert shorter < 1
    for (weight, place), found in zip(shared, slopes):
        moment = language.get_slot(weight, "m").numpy()[place]
        np.testing.assert_allclose(moment, 0.1 * shorter * found, rtol=3e-2, atol=1e-9)
    assert not any(slot.numpy().any() for slot in topic.weights)
    assert_close([weight.numpy() for weight in model.words.weights], W)


def test_batches_that_are_not_both_kinds_are_refused_by_the_published_way(rng):
    model, batch = make_model(rng), language_batch(rng)
    compiled(model, 1.0)
    with pytest.raises(InputError, match="those of `trained_on`"):
        model.train_step({k: v for k, v in batch.items() if k != "content"})


def test_batches_of_sentences_are_the_other_way():
    model = TDLM(Config(topic_batches="sentences"), vocabulary_of(TOPIC_IDS))
    assert model.trained_on is None
    model.build_weights()
    (language, _), (topic, _) = model.param_groups()
    shared = {weight.ref() for weight in language} & {each.ref() for each in topic}
    assert not shared


# --- Centred documents ----------------------------------------------------------------


def test_the_mean_follows_documents_in_training_and_is_taken_off_ever_after(rng):
    model = make_model(rng, center_documents=True)
    seen, contexts = [], (CONTEXTS, WHOLE, ([], [], []), ([1], [], [3, 0]))
    for documents in contexts:
        model.encoder(padded(documents, 6), training=True)
        vectors = [document_vector(model, words) for words in documents if words]
        seen += [sum(vectors) / len(vectors)] if vectors else []
    mean = sum(seen) / len(seen)  # of few batches; later ones count a hundredth
    A = array(model.attention.kernel)
    for words, found in zip(WHOLE, model.infer(padded(WHOLE, 6)).numpy()):
        expected = oracle.softmax(A.T @ (document_vector(model, words) - mean))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    none = model.infer(padded([[]], 6)).numpy()
    np.testing.assert_allclose(none, np.full([1, K], 1 / K), rtol=1e-6)
    model.encoder.seen.assign(500.0)
    model.encoder(padded([[2]], 6), training=True)
    mean += 0.01 * (document_vector(model, [2]) - mean)
    np.testing.assert_allclose(model.encoder.mean, mean, rtol=1e-4)
