"""rGBN-RNN in NumPy, from the paper's equations, a sentence, a unit, a word at a time.

A document is a list of its sentences' contexts, lists of topic-word ids.
"""

import math

import numpy as np
from loops import lstm
from oracle import bag_of_words, sigmoid


def softplus(x):
    return math.log1p(math.exp(x))


def coupled(inputs, theta, layer):
    """Return a [B, T, H] by eq. 3 and 4."""
    W, U, Uh, b = (w.numpy() for w in (layer.W, layer.U, layer.Uh, layer.bias))
    units = layer.units
    found = np.zeros((*inputs.shape[:2], units))
    for n, sentence in enumerate(inputs):
        for t, h in enumerate(lstm(layer.lstm, sentence)):
            topics = theta[n] @ W + b
            z = [topics[k] + h @ U[:, k] for k in range(units)]
            r = [topics[units + k] + h @ U[:, units + k] for k in range(units)]
            z, r = sigmoid(np.array(z)), sigmoid(np.array(r))
            for k in range(units):
                candidate = np.tanh(topics[2 * units + k] + (r * h) @ Uh[:, k])
                found[n, t, k] = (1 - z[k]) * h[k] + z[k] * candidate
    return found


def encoded(document, encoder):
    """Return (k, lambda [K]) of a document's sentences by eq. 9: [layer][sentence]."""
    found = [[] for _ in encoder.sizes]
    before = [np.zeros(size) for size in encoder.sizes]
    for words in document:
        below = bag_of_words(words, encoder.num_words)
        for n, size in enumerate(encoder.sizes):
            W, b = encoder.W[n].numpy(), encoder.b[n].numpy()
            U = encoder.U[n].numpy() if encoder.recurrent else np.zeros((size, size))
            h = np.zeros(size)
            for i in range(size):
                h[i] = math.tanh(below @ W[:, i] + before[n] @ U[:, i] + b[i])
            (kernel, bias), (V, c) = (
                [w.numpy() for w in head.weights]
                for head in (encoder.k[n], encoder.scale[n])
            )
            k = min(max(softplus(h @ kernel[:, 0] + bias[0]), 0.1), 10)
            found[n].append((k, [softplus(h @ V[:, i] + c[i]) for i in range(size)]))
            below = before[n] = h
    return found


def mean_theta(document, model):
    """Return (k [K], lambda [K], the Weibull's mean [K]): [layer][sentence]."""
    layers = encoded(document, model.encoder)
    Phi = [each.numpy() for each in model.network.Phi]
    found = [[None] * len(document) for _ in layers]
    for n in reversed(range(len(layers))):
        for j, (k, scale) in enumerate(layers[n]):
            shape = np.full(len(scale), k)
            if not model.network.Pi and n + 1 < len(layers):
                shape = shape + Phi[n + 1] @ found[n + 1][j][2]
            theta = [s * math.gamma(1 + 1 / a) for s, a in zip(scale, shape)]
            found[n][j] = shape, scale, np.array(theta)
    return found


def prior_shape(theta, model, n, j):
    """Return the shape [K] of theta_j^n's gamma prior (eq. 2); theta[layer][sentence].

    Without recurrence every sentence is a document's first.
    """
    top = n + 1 == len(theta)
    shape = np.zeros(len(theta[n][j]))
    if model.network.Pi and j:
        shape = shape + model.network.Pi[n].numpy() @ theta[n][j - 1]
    elif top:
        shape = shape + 1
    if not top:
        shape = shape + model.network.Phi[n + 1].numpy() @ theta[n + 1][j]
    return shape


def kl(k, scale, shape):
    """Return KL(Weibull(k, scale) || Gamma(shape, 1)) of one number, nats."""
    gamma = 0.57721566490153286
    mean = scale * math.gamma(1 + 1 / k)
    return (
        gamma * shape / k - shape * math.log(scale) + math.log(k)
        + mean - gamma - 1 + math.lgamma(shape)
    )  # fmt: skip


def log_poisson(words, theta, Phi):
    """Return log p(d | Phi theta) without ln d!, nats."""
    rates, bag = Phi @ theta, bag_of_words(words, len(Phi))
    return sum(bag[v] * math.log(rates[v]) - rates[v] for v in range(len(Phi)))


def topic_terms(document, model):
    """Return reconstruction and each layer's KL, nats, summed over the sentences."""
    q = mean_theta(document, model)
    theta = [[each[2] for each in layer] for layer in q]
    reconstruction, kls = 0.0, [0.0] * len(q)
    for j, words in enumerate(document):
        reconstruction -= log_poisson(words, theta[0][j], model.network.Phi[0].numpy())
        for n, layer in enumerate(q):
            shapes = prior_shape(theta, model, n, j)
            kls[n] += sum(map(kl, layer[j][0], layer[j][1], shapes))
    return reconstruction, kls


def hidden(words, theta, model):
    """Return [a^1; ...; a^L] [T, sum H] of a sentence's word ids; theta: [layer]."""
    below, found = model.embedding.embeddings.numpy()[words][None], []
    for layer, each in zip(model.recurrent, theta):
        below = coupled(below, each[None], layer)
        found.append(below[0])
    return np.concatenate(found, axis=1)
