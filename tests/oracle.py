"""The oracle: Wang et al. 2018 (AISTATS) in loops over NumPy float64.

Written from the paper's equations alone, never from the code under test. Letters are
the paper's: n_x embedding, n_h hidden, n_f factors, T topics, D topic words, M steps.
Vectors are columns, as printed; arrays stored the Keras way (inputs first) are
transposed where they enter. Logarithms are natural: everything is in nats.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

GATES = ("i", "f", "o", "c")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softmax(z):
    e = np.exp(z - np.max(z))
    return e / e.sum()


def log_softmax(z):
    shifted = z - np.max(z)
    return shifted - np.log(np.exp(shifted).sum())


# --- The topic compositional LSTM, equations 12 to 15 ------------------------------


def factors(weights, gate):
    """Wa [n_h, n_f], Wb [n_f, T], Wc [n_f, n_x], then Ua, Ub, Uc, of one gate."""
    g, n_f = GATES.index(gate), weights["Wa"].shape[1]
    block = slice(g * n_f, (g + 1) * n_f)
    for side in "WU":
        yield np.asarray(weights[side + "a"][g], float).T
        yield np.asarray(weights[side + "b"][:, block], float).T
        yield np.asarray(weights[side + "c"][:, block], float).T


def gate_matrices(weights, gate, t):
    """W(t) [n_h, n_x], U(t) [n_h, n_h] of one gate and one document, eq. 12."""
    Wa, Wb, Wc, Ua, Ub, Uc = factors(weights, gate)
    return Wa @ np.diag(Wb @ t) @ Wc, Ua @ np.diag(Ub @ t) @ Uc


def preactivation(weights, gate, x, h, t):
    """Eq. 13 inside the nonlinearity: W(t) x + U(t) h, with the bias it omits."""
    W, U = gate_matrices(weights, gate, t)
    n_h, g = len(h), GATES.index(gate)
    return W @ x + U @ h + np.asarray(weights["bias"], float)[g * n_h : (g + 1) * n_h]


def lstm_update(z, c, candidate):
    """Eq. 13 outside the nonlinearity; z maps each gate to its pre-activation."""
    i, f, o = sigmoid(z["i"]), sigmoid(z["f"]), sigmoid(z["o"])
    c = i * candidate(z["c"]) + f * c
    return o * np.tanh(c), c


def topic_compositional_cell(weights, x, h, c, t, candidate=np.tanh):
    """One step of a batch: x [B, n_x], h and c [B, n_h], t [B, T] -> h, c, eq. 13."""
    new_h, new_c = np.zeros(np.shape(h)), np.zeros(np.shape(c))
    for b in range(len(x)):
        z = {g: preactivation(weights, g, x[b], h[b], t[b]) for g in GATES}
        new_h[b], new_c[b] = lstm_update(z, c[b], candidate)
    return new_h, new_c


def topic_compositional_lstm(weights, x, t, state=None, candidate=np.tanh):
    """x [B, M, n_x], t [B, T] -> h of every step [B, M, n_h], (h, c) of the last."""
    n_h = weights["Wa"].shape[2]
    h, c = state or (np.zeros((len(x), n_h)), np.zeros((len(x), n_h)))
    outputs = []
    for m in range(x.shape[1]):
        h, c = topic_compositional_cell(weights, x[:, m], h, c, t, candidate)
        outputs.append(h)
    return np.stack(outputs, axis=1), (h, c)


def lstm(W, U, bias, x, state=None):
    """Plain LSTM: W [4, n_h, n_x], U [4, n_h, n_h], bias [4, n_h], x [B, M, n_x]."""
    n_h = U.shape[1]
    h, c = state or (np.zeros((len(x), n_h)), np.zeros((len(x), n_h)))
    h, c, outputs = np.array(h, float), np.array(c, float), []
    for m in range(x.shape[1]):
        for b in range(len(x)):
            z = {k: W[g] @ x[b, m] + U[g] @ h[b] + bias[g] for g, k in enumerate(GATES)}
            h[b], c[b] = lstm_update(z, c[b], np.tanh)
        outputs.append(h.copy())
    return np.stack(outputs, axis=1), (h, c)


# --- The neural topic model, equations 4 to 6 and 17 -------------------------------


def bag_of_words(words, D):
    """Counts [D] of the ids of one document; negative ids are padding."""
    d = np.zeros(D)
    for w in words:
        if w >= 0:
            d[w] += 1
    return d


def encoder(d, hidden, mu, log_var):
    """q(theta | d) of one bag [D]: every layer a pair of kernel [in, out] and bias."""
    for kernel, bias in hidden:
        d = np.maximum(0, np.transpose(kernel) @ d + bias)
    return np.transpose(mu[0]) @ d + mu[1], np.transpose(log_var[0]) @ d + log_var[1]


def reparameterise(mu, log_var, epsilon):
    """theta = mu + sigma * epsilon, epsilon from N(0, I)."""
    return mu + np.sqrt(np.exp(log_var)) * epsilon


def topic_proportions(theta, W_hat, b_hat):
    """t = g(theta) = softmax(W^ theta + b^): theta [T], W^ [T, T], b^ [T]."""
    return softmax(W_hat @ theta + b_hat)


def word_probabilities(beta, t):
    """Eq. 6, p(w | beta, t) [D]; beta is the list of the topics beta_1 .. beta_T."""
    p = np.zeros(len(beta[0]))
    for k in range(len(beta)):
        p += t[k] * np.asarray(beta[k], float)
    return p


def log_likelihood(d, beta, t):
    """log p(d | t) = sum_w d_w log (beta t)_w, the last line of eq. 5."""
    p, total = word_probabilities(beta, t), 0.0
    for w in range(len(d)):
        if d[w] > 0:
            total += d[w] * np.log(p[w])
    return total


def gaussian_kl(mu, log_var, mu_0=0.0, var_0=1.0):
    """KL( N(mu, diag var) || N(mu_0, var_0 I) ), one term per dimension."""
    total = 0.0
    for m, v in zip(mu, np.exp(log_var)):
        total += 0.5 * ((v + (m - mu_0) ** 2) / var_0 - 1 - np.log(v / var_0))
    return total


def angle(beta_i, beta_j):
    """a(beta_i, beta_j) = arccos( |beta_i . beta_j| / (|beta_i| |beta_j|) )."""
    norms = np.linalg.norm(beta_i) * np.linalg.norm(beta_j)
    return np.arccos(min(1.0, abs(beta_i @ beta_j) / norms))


def diversity(beta):
    """R = phi - nu over all T^2 ordered pairs; a topic is at angle 0 to itself."""
    T, pairs = len(beta), []
    for i in range(T):
        for j in range(T):
            pairs.append(0.0 if i == j else angle(beta[i], beta[j]))
    phi = sum(pairs) / T**2
    nu = sum((a - phi) ** 2 for a in pairs) / T**2
    return phi - nu


def objective(log_p_d, kl, log_p_y, R, lambda_=0.1):
    """J = L + lambda R of a batch, eq. 17 and 18, one sample of t, maximised.

    log_p_d [B], kl [B]; log_p_y: for each of the B sequences, one value per target.
    """
    L = [log_p_d[b] - kl[b] + sum(log_p_y[b]) for b in range(len(kl))]
    return sum(L) / len(L) + lambda_ * R


# --- The output layer: Grave et al. 2016, and perplexity ---------------------------


def adaptive_log_probs(h, head, projections, tails):
    """log p(word) for all V words given one h [H], no biases.

    head [H, c0 + n_tails]; cluster i: projections[i] [H, d_i], tails[i] [d_i, size_i].
    """
    scores = log_softmax(np.transpose(head) @ h)
    c0 = len(scores) - len(tails)
    log_p = list(scores[:c0])
    for i, (projection, tail) in enumerate(zip(projections, tails)):
        inside = log_softmax(np.transpose(tail) @ (np.transpose(projection) @ h))
        log_p.extend(scores[c0 + i] + inside)
    return np.array(log_p)


def perplexity(log_p):
    """exp of the mean negative log-probability of all targets of all sequences."""
    values = [value for sequence in log_p for value in sequence]
    return np.exp(-sum(values) / len(values))


# --- Latent Dirichlet allocation: Hoffman et al. 2010 ------------------------------


def dirichlet_log_mean(a):
    """E log x_k = psi(a_k) - psi(sum a) of x ~ Dir(a)."""
    return digamma(a) - digamma(sum(a))


def lda_responsibilities(n, gamma, lambda_):
    """phi [D, T] of one document n [D]: phi_wk ~ exp(E log t_k + E log beta_kw)."""
    log_t = dirichlet_log_mean(gamma)
    log_beta = [dirichlet_log_mean(row) for row in lambda_]
    phi = np.zeros([len(n), len(gamma)])
    for w in range(len(n)):
        phi[w] = softmax(
            np.array([log_t[k] + log_beta[k][w] for k in range(len(phi[w]))])
        )
    return phi


def lda_gamma(n, lambda_, alpha, iterations):
    """Algorithm 1's E-step from an even start: gamma_k = alpha + sum_w n_w phi_wk."""
    T = len(lambda_)
    gamma = np.array([alpha + sum(n) / T] * T)
    for _ in range(iterations):
        phi = lda_responsibilities(n, gamma, lambda_)
        gamma = np.array([alpha + sum(n * phi[:, k]) for k in range(T)])
    return gamma


def lda_bound(n, lambda_, alpha, gamma):
    """Equation 1 for one document, q(beta) given: E log p(w, z, t) - E log q(z, t)."""
    log_t, total = dirichlet_log_mean(gamma), 0.0
    phi = lda_responsibilities(n, gamma, lambda_)
    for k, row in enumerate(lambda_):
        log_beta = dirichlet_log_mean(row)
        for w in range(len(n)):
            gain = log_t[k] + log_beta[w] - np.log(phi[w, k])
            total += n[w] * phi[w, k] * gain
        total += (alpha - gamma[k]) * log_t[k] + gammaln(gamma[k]) - gammaln(alpha)
    return total + gammaln(alpha * len(gamma)) - gammaln(sum(gamma))
