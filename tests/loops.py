"""Models of random weights, three sentences for them, and loops that read these too."""

import numpy as np
import oracle
import tensorflow as tf
from helpers import fix_draws, randomise

from tcnlm.common.settings import names
from tcnlm.preprocessing.vocabulary import SPECIALS, Vocabulary

B, M, C, V, D, K = 3, 5, 8, 13, 6, 4
LENGTHS = (5, 2, 4)  # targets of each sequence; the rest is padding
PRIOR = (0.0, 1.7)
SIZES = {
    "units": 7,
    "embedding_size": 5,
    "cutoffs": (6, 9),
    "num_topics": K,
    "encoder_units": (8, 8),
    "dropout": 0.0,
    "encoder_dropout": 0.0,
    "prior_variance": PRIOR[1],
    "diversity_weight": 0.3,
}


def vocabulary_of(topic_ids, size=V):
    """Return words w4, w5 and so on, called by their ids, and topic words of these."""
    words = [*SPECIALS, *(f"w{i}" for i in range(len(SPECIALS), size))]
    return Vocabulary(words, range(size, 0, -1), [words[i] for i in topic_ids])


VOCABULARY = vocabulary_of(range(len(SPECIALS), len(SPECIALS) + D))


def make_model(kind, rng, vocabulary=VOCABULARY, **settings):
    """Return a model of these sizes, all of whose weights are random."""
    sizes = {k: value for k, value in SIZES.items() if k in names(kind.Config)}
    model = kind(kind.Config(**{**sizes, **settings}), vocabulary)
    model.build_weights()
    return randomise(model, rng)


def draw_batch(rng, topic_words=D, lengths=LENGTHS):
    """Sequences padded at the right; the second document has no content word."""
    rows, steps = len(lengths), max(lengths)
    inputs, targets = rng.integers(2, V, size=[2, rows, steps])
    padding = np.arange(steps) >= np.array(lengths)[:, None]
    inputs[:, 0], inputs[padding], targets[padding] = 1, 0, 0
    context = rng.integers(-1, topic_words, size=[rows, C])
    context[1] = -1
    batch = {"inputs": inputs, "targets": targets, "context": context}
    return {name: ids.astype("int32") for name, ids in batch.items()}


def array(weight):
    return weight.numpy().astype(float)


def arrays(layer):
    return [array(weight) for weight in layer.weights]


def dense(layer):
    return array(layer.kernel), array(layer.bias)


# --- What the loops make of them ------------------------------------------------------


def oracle_terms(model, batch, epsilon, sentence):
    """What eq. 17 and 18 need of every sequence, given the draws epsilon [B, K].

    sentence(model, batch, b, t): log p of every target of sequence b.
    """
    encoder, W_hat = model.encoder, dense(model.proportions.linear)
    beta = [oracle.softmax(row) for row in array(model.decoder.logits)]
    log_p_d, kl, log_p_y = [], [], []
    for b in range(B):
        d = oracle.bag_of_words(batch["context"][b], D)
        seen = np.log1p(d) if model.config.encoder_input == "log" else d
        hidden = [dense(layer) for layer in encoder.hidden]
        mu, log_var = oracle.encoder(
            seen, hidden, dense(encoder.mean), dense(encoder.log_variance)
        )
        theta = oracle.reparameterise(mu, log_var, epsilon[b])
        t = oracle.topic_proportions(theta, W_hat[0].T, W_hat[1])
        log_p_d.append(oracle.log_likelihood(d, beta, t))
        kl.append(oracle.gaussian_kl(mu, log_var, *PRIOR))
        log_p_y.append(sentence(model, batch, b, t))
    return log_p_d, kl, log_p_y, oracle.diversity(beta)


def assert_loss_is_minus_J(model, rng, monkeypatch, sentence, training=True):
    """Hold the loss to the oracle's, for drawn topics in training, else for mean ones.

    Where it says language_topics=mean, sentences alone are given these in training too.
    """
    batch, epsilon = draw_batch(rng), rng.normal(size=[B, K]) * training
    fix_draws(monkeypatch, epsilon)
    terms = tf.function(model.compute_loss)(batch, training=training)
    log_p_d, kl, log_p_y, R = oracle_terms(model, batch, epsilon, sentence)
    if getattr(model.config, "language_topics", "") == "mean":
        _, _, log_p_y, _ = oracle_terms(model, batch, 0 * epsilon, sentence)
    J = oracle.objective(log_p_d, kl, log_p_y, R, lambda_=SIZES["diversity_weight"])
    for name, value in {
        "reconstruction": -np.mean(log_p_d),
        "kl": np.mean(kl),
        "diversity": R,
        "nll": np.log(oracle.perplexity(log_p_y)),
        "loss": -J,
    }.items():
        np.testing.assert_allclose(terms[name], value, rtol=2e-5, err_msg=name)


def word_log_probs(softmax, hidden):
    """log p of every word [M, V] after each of the hidden states [M, H]."""
    tables = ([array(w) for w in ws] for ws in (softmax.projections, softmax.tails))
    head, tables = array(softmax.head), list(tables)
    return np.stack([oracle.adaptive_log_probs(h, head, *tables) for h in hidden])


def of_targets(log_probs, batch, b):
    """Those of the words that stand in sequence b."""
    return [row[batch["targets"][b, m]] for m, row in enumerate(log_probs)]


def embedded(model, batch, b):
    """The embeddings of a sequence's inputs [M, E], padding left off."""
    return array(model.embedding.embeddings)[batch["inputs"][b, : LENGTHS[b]]]


def keras_lstm(layer):
    """W [4, n_h, n_x], U and bias of a Keras LSTM, whose gates are i, f, c, o."""
    order = [0, 1, 3, 2]
    return tuple(np.stack(np.split(w.T, 4))[order] for w in arrays(layer))


def lstm(layer, x):
    """The outputs [M, H] of a Keras LSTM over x [M, E]."""
    return oracle.lstm(*keras_lstm(layer), x[None])[0][0]


def beside_topics(model, batch, b, q):
    """log p(y_m | y_<m, d) of every target of sequence b: softmax(V [h_m; q])."""
    h = lstm(model.recurrent[0], embedded(model, batch, b))
    seen = np.concatenate([h, np.tile(q, [len(h), 1])], axis=1)
    return of_targets(word_log_probs(model.softmax, seen), batch, b)
