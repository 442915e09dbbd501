"""The weights of the published models, by arithmetic, as Guo et al. (2020) count them.

Neither embeddings nor softmax nor biases nor topics, and of an encoder not the matrix
that reads the words (their Table 3).
"""

from tcnlm.report.published import Published

WORD, FILTERS, WIDTH, TOPIC = 300, 20, 2, 50  # Lau et al. 2017: numbers of a vector
KNOWN = {"lstm", "lda_lstm", "tdlm", "gbn_rnn", "rgbn_rnn"}


def parameters(figure: Published) -> int | None:
    """Return the weights that a figure counts; None where it counts none of these."""
    model, _, flipped = figure.model.partition("-")
    if model not in KNOWN or not figure.measure.endswith("parameters"):
        return None
    units, topics = numbers(figure.size), numbers(figure.topics)
    parts = {"LM": language(model, units, topics[:: -1 if flipped else 1])}
    parts["topic"] = topic_model(model, topics)
    return parts.get(figure.measure.partition(" ")[0], sum(parts.values()))


def numbers(text: str) -> list[int]:
    """Return the numbers of every layer: of 2x900, of 600-512, of nothing."""
    layers, _, units = text.partition("x")
    return (
        [int(units)] * int(layers) if units else [int(n) for n in text.split("-") if n]
    )


def language(model: str, units: list[int], topics: list[int]) -> int:
    """Return the weights of stacked LSTMs, and of the gates that topics come in by."""
    lstms = sum(4 * (below + h) * h for below, h in zip([WORD, *units], units))
    coupled = {"tdlm": [(TOPIC, units[-1])]}.get(model, zip(topics, units))
    gates = sum(3 * (k + h) * h for k, h in coupled)
    return lstms + gates * (model not in ("lstm", "lda_lstm"))


def topic_model(model: str, topics: list[int]) -> int:
    """Return TDLM's filters and tables, or an encoder; of rGBN-RNN its chain and Pi."""
    if model == "tdlm":
        return WIDTH * WORD * FILTERS + (FILTERS + TOPIC) * topics[0]
    if model not in ("gbn_rnn", "rgbn_rnn"):
        return 0
    over_sentences = (model == "rgbn_rnn") * sum(2 * k * k for k in topics)
    return over_sentences + sum(
        low * k + k + k * k for low, k in zip([0, *topics], topics)
    )
