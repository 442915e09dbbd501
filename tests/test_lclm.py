"""LCLM against its equations in loops; what reaches its context, and what that does."""

import loops
import numpy as np
import oracle
import pytest
import tensorflow as tf
import tiny
from loops import V, array, lstm, of_targets, vocabulary_of, word_log_probs
from oracle import sigmoid

from tcnlm.data.dataset import Dataset
from tcnlm.generation import requests as generation
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.saved_model import export
from tcnlm.models.lclm import LCLM
from tcnlm.preprocessing.text import sentences, tokenize

B, N = 4, 3
LENGTHS = (5, 2, 4, 3)  # targets of each sequence; the rest is padding
SENTENCES = (  # before each sequence; at most N
    [[4, 7, 7, 3], [12], [9, 4]],
    [],
    [[5, 6, 8, 10, 11, 3, 3]],
    [[6], [], [8, 9]],
)


def make_model(rng, vocabulary=vocabulary_of([6, 7, 8]), **settings):  # noqa: B008
    sizes = {"layers": 2, "context_sentences": N, "context_units": 4}
    return loops.make_model(LCLM, rng, vocabulary, **{**sizes, **settings})


def padded(sentences, number=N, width=8):
    array = np.full([len(sentences), number, width], -1, np.int32)
    for row, before in enumerate(sentences):
        for j, words in enumerate(before):
            array[row, j, : len(words)] = words
    return array


def draw_batch(rng):
    return {**loops.draw_batch(rng, 3, LENGTHS), "preceding": padded(SENTENCES)}


# --- The oracle ---------------------------------------------------------------------


def sentence_states(model, sentences):
    """z_j = [forward; backward] over the bags of the sentences that have words."""
    table, bags = array(model.encoder.embedding.embeddings), []
    for words in sentences:
        if words:
            counts = np.zeros(V)
            for w in words:
                counts[w] += 1
            bags.append(table.T @ (counts / sum(counts)))
    if not bags:
        return []
    both = model.encoder.sequence
    forward = lstm(both.forward_layer, np.array(bags))
    backward = lstm(both.backward_layer, np.array(bags[::-1]))[::-1]
    return [np.concatenate(pair) for pair in zip(forward, backward)]


def late_fusion_step(cell, x, h, c, z):
    H = len(h)
    gates = array(cell.kernel).T @ x + array(cell.recurrent_kernel).T @ h
    gates += array(cell.bias)
    i, f, o = (sigmoid(gates[k * H : (k + 1) * H]) for k in range(3))
    c = f * c + i * np.tanh(gates[3 * H :])
    q = np.zeros(H)
    if z:
        scores = []
        for z_j in z:
            inside = array(cell.Wa).T @ z_j + array(cell.Ua).T @ h
            scores.append(array(cell.v) @ np.tanh(inside))
        for a_j, z_j in zip(oracle.softmax(np.array(scores)), z):
            q += a_j * (array(cell.Wp).T @ z_j)
    r = sigmoid(array(cell.Wr).T @ q + array(cell.Ur).T @ c + array(cell.br))
    return o * np.tanh(c + r * q), c


def log_word_probabilities(model, words, sentences):
    """log p of all words after each of `words`."""
    h, z = array(model.embedding.embeddings)[words], sentence_states(model, sentences)
    for layer in model.recurrent:
        state, outputs = [np.zeros(layer.cell.units)] * 2, []
        for x in h:
            state = late_fusion_step(layer.cell, x, *state, z)
            outputs.append(state[0])
        h = np.array(outputs)
    return word_log_probs(model.softmax, h)


def test_the_loss_is_the_oracles(rng):
    model, batch, expected = make_model(rng), draw_batch(rng), []
    for b in range(B):
        inputs = batch["inputs"][b, : LENGTHS[b]]
        rows = log_word_probabilities(model, inputs, SENTENCES[b])
        expected.append(of_targets(rows, batch, b))
    for b, values in enumerate(expected):
        found = model(batch)[b, : LENGTHS[b]]
        np.testing.assert_allclose(found, values, rtol=1e-4)
    terms = tf.function(model.compute_loss)(batch, training=False)
    np.testing.assert_allclose(terms["loss"], -sum(map(sum, expected)) / B, rtol=2e-5)
    nll = np.log(oracle.perplexity(expected))
    np.testing.assert_allclose(terms["nll"], nll, rtol=2e-5)


# --- What reaches what ----------------------------------------------------------------


def test_in_batches_no_word_of_a_sentence_or_after_it_reaches_its_context(
    toy_data, rng
):
    """Batches as training has them: the words that move z are those before alone."""
    dataset = Dataset(toy_data)
    model = make_model(rng, dataset.vocabulary, cutoffs=(9,))
    rows = model.batching.rows(dataset.split("train"))
    split, table = rows.split, model.encoder.embedding.embeddings
    for row in rng.permutation(len(rows))[:20]:
        with tf.GradientTape() as tape:
            z, _ = model.context(rows.batch(np.array([row])))
        gradient = tf.convert_to_tensor(tape.gradient(z, table)).numpy()
        own = rows.sentence[row]
        document = np.flatnonzero(split.documents <= own)[-1]
        place = own - split.documents[document]
        before = split.document(document)[max(0, place - N) : place]
        reached = set(np.flatnonzero(gradient.any(axis=1)))
        assert reached == {w for words in before for w in words}


# --- Through the programs -------------------------------------------------------------


@pytest.mark.parametrize("text", ["A court. The trial of a judge!", "Sea. " * 6])
def test_sentences_go_on_with_a_document(tmp_path, text):
    model, path = tiny.make_model("lclm"), tmp_path / "document.txt"
    path.write_text(text, encoding="utf-8")
    document = generation.read_document(str(path))
    assert generation.requested_topics(model, [], document, 300) is None
    before = generation.document_before(model, document, 300)
    n, split = model.batching.preceding, sentences(text)
    expected = padded([[model.vocabulary.ids(s) for s in split][-n:]], n)
    context = model.context({"preceding": expected})
    assert before["preceding"].shape[:2] == (1, n)
    options = Decoding(method="greedy", max_length=12, **tiny.AS_IT_IS)
    greedy = SentenceDecoder(model, options)
    [[written]] = generation.write_sentences(greedy, None, before=before)
    ids = [*map(tiny.WORDS.index, written.words), *[2] * written.ended]
    log_prob = tiny.log_prob(model, ids, context)
    assert written.log_probability == pytest.approx(log_prob, abs=1e-4)
    assert log_prob != pytest.approx(
        tiny.log_prob(model, ids, model.context(model.batching.empty(1))), abs=1e-3
    )


CONTEXTS = [
    "A court.\nThe trial of a judge!\r\n \n\nBread and ships.\n",
    "The oven, the cook; bread",
    "",
    "\n".join(["Sea of bread", "A sail", "the", "Ship's cook", "naïve", "of court"]),
]


@pytest.mark.slow
def test_a_saved_model_takes_the_lines_of_a_context_for_sentences(tmp_path):
    model = tiny.make_model("lclm")
    export(model, tmp_path / "saved_model")
    offered = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    assert set(offered) == {"score", "generate", "generate_known", "beam_search"}
    sentence = " ".join(["the sea of"] * 11)  # 33 words: two sequences
    found = offered["score"](
        sentences=tf.constant([sentence] * len(CONTEXTS)),
        contexts=tf.constant(CONTEXTS),
    )
    n, expected = model.batching.preceding, []
    ids = [1, *model.vocabulary.ids(tokenize(sentence)), 2]
    for text in CONTEXTS:
        lines = [line for line in text.split("\n") if line.strip()]
        words = [model.vocabulary.ids(tokenize(line)) for line in lines[-n:]]
        context = model.context({"preceding": padded([words], n)})
        pieces = [tf.constant([ids[k : k + 31]]) for k in (0, 30)]
        batches = [{"inputs": p[:, :-1], "targets": p[:, 1:]} for p in pieces]
        values = [model(batch, context=context) for batch in batches]
        expected.append(sum(float(tf.reduce_sum(value)) for value in values))
    assert len(set(expected)) == len(expected)
    np.testing.assert_allclose(found["log_probability"], expected, rtol=1e-5)
