"""What a hierarchy of topics is: its tree, how it moves, and what its LSTM does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics.base import Drawing, EvaluationContext, Metric
from tcnlm.metrics.features import DocumentTopics
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.vocabulary import GO, SPECIALS, UNK

if TYPE_CHECKING:
    import tensorflow as tf

    from tcnlm.models.base import Model

SHOWN_WORDS = 10  # of a topic
SHOWN_LINKS = 4  # of a topic: the topics below it, and those that follow
MOST_SENTENCES = 30  # of the sample document
FEWEST_SENTENCES = 5
SENTENCE = range(8, 31)  # words of the sample sentence
ROWS = 64
CHARTED = 8  # topics of a layer, in the heat map: those of the largest weights
CHARTED_WORDS = 4  # of a topic, beside it


def hierarchy(model: Model, dataset: Dataset, split: Split) -> dict[str, Any]:
    """Return the layers' topics, the lowest first, and a sample document's weights.

    Of a topic: words, "use" (mean proportion), the largest "below" (of Phi's column)
    and "next" (of Pi's), and "stays", its own entry in Pi.
    """
    from tcnlm.models.gbn_rnn import proportions, theta_of_sentences

    uses = _uses(model, split)
    layers = [_layer(model, n, use.shares) for n, use in enumerate(uses, 1)]
    names, filled = model.vocabulary.words, np.diff(split.sentences) > 0
    sizes = np.diff(np.cumsum([0, *filled])[split.documents])
    enough = np.flatnonzero(sizes >= FEWEST_SENTENCES)
    sample = int(enough[0] if len(enough) else np.argmax(sizes))
    document = [[names[word] for word in s] for s in split.document(sample) if s]
    document = document[:MOST_SENTENCES]
    preprocessing = {**dataset.meta["settings"], "context": split.contexts.rule}
    theta = theta_of_sentences(model, document, preprocessing)
    return {
        "layers": layers,
        "effective_topics": [use.effective for use in uses],
        "document": {
            "document": sample,
            "sentences": [" ".join(words) for words in document],
            "proportions": [_rounded(proportions(each)) for each in theta],
        },
        "norms": _norms(model, document, theta),
    }


def _uses(model: Model, split: Split) -> list[DocumentTopics]:
    from tcnlm.models.gbn_rnn import infer_theta, proportions

    rows, has_words = [], []
    for contexts in split.document_contexts(ROWS):
        rows.append(map(proportions, infer_theta(model, contexts)))
        has_words.append((contexts >= 0).any(axis=1))
    known = np.concatenate(has_words)
    layers = map(np.concatenate, zip(*rows))
    return [DocumentTopics(layer, known) for layer in layers]


def _layer(model: Model, layer: int, use: np.ndarray) -> list[dict[str, Any]]:
    network, topics = model.network, []
    Phi = network.Phi[layer - 1].numpy() if layer > 1 else None
    Pi = network.Pi[layer - 1].numpy() if network.Pi else None
    for k, words in enumerate(top_words(model, SHOWN_WORDS, layer)):
        below = [] if Phi is None else _largest(Phi[:, k])
        after = [] if Pi is None else _largest(Pi[:, k], without=k)
        links = {"below": below, "next": after}
        stays = None if Pi is None else float(Pi[k, k])
        own = {"topic": k, "words": words, "use": float(use[k])}
        topics.append({**own, **links, "stays": stays})
    return topics


def _largest(column: np.ndarray, without: int | None = None) -> list[list[float]]:
    """Return the largest entries of a column, with their rows."""
    order = [int(k) for k in np.argsort(-column, kind="stable") if k != without]
    return [[k, float(column[k])] for k in order[:SHOWN_LINKS] if column[k] > 0]


def _norms(
    model: Any, document: Sequence[Sequence[str]], theta: Sequence[tf.Tensor]
) -> dict[str, Any]:
    """Return the norms of h, not yet coupled, by word (Guo et al., figure 4)."""
    from tcnlm.models.gbn_rnn import as_seen

    # The fewest unknown words, of sentences of fitting length.
    fitting = [j for j, words in enumerate(document) if len(words) in SENTENCE]
    chosen = min(fitting or [0], key=lambda j: document[j].count(SPECIALS[UNK]))
    words = document[chosen][: SENTENCE.stop - 1]
    x, norms = model.embedding(np.array([[GO, *model.vocabulary.ids(words)]])), []
    seen = as_seen(model, [each[chosen : chosen + 1] for each in theta])
    for layer, weights in zip(model.recurrent, seen):
        norms.append(np.linalg.norm(layer.lstm(x)[0, 1:], axis=-1))
        x = layer((x, weights))
    return {"words": list(words), "norms": list(map(_rounded, norms))}


def _rounded(values: Any) -> list:
    return np.round(np.asarray(values, float), 5).tolist()


class Hierarchy(Metric):
    """Topics in layers: their tree, and a document's way through them."""

    key = "hierarchy"
    applies = staticmethod(lambda kind: kind.layered)
    entries = ("hierarchy",)
    unrecorded = ("hierarchy.layers", "hierarchy.document", "hierarchy.norms")
    template = """
<h2>Topics in layers</h2>
{{ image("topic_tree", "tree of topics") }}
{{ note("The most used topics of the highest layer and the largest below them. 2:17 is "
        "topic 17 of layer 2; %: mean proportion in documents; thick: more.") }}
{{ table(("topic", "share", "words"), ("", "number", ""), rows) }}
<h2>From sentence to sentence</h2>
{{ note("Document " ~ document.document ~ ": the proportions of each sentence's "
        "topics, the largest of every layer, inferred as in training.") }}
{{ image("sentences", "topics by sentence") }}
<details><summary>the sentences</summary><ol>
{%- for text in document.sentences %}<li>{{ text }}</li>{% endfor -%}
</ol></details>
<h2>What the LSTM layers keep</h2>
{{ note("The norm of each layer's state after every word of one sentence.") }}
{{ image("norms", "norms of states by word") }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        return {"hierarchy": hierarchy(subject.model, subject.dataset, subject.split)}

    def section(self, entry: Any) -> dict[str, Any]:
        rows = [
            (_name(topic, n, 0), f"{topic['use']:.1%}", " ".join(topic["words"]))
            for n, layer in reversed(list(enumerate(entry["layers"], 1)))
            for topic in sorted(layer, key=lambda topic: -topic["use"])
        ]
        return {"rows": rows, "document": entry["document"]}

    def plots(self, entry: Any) -> Iterator[tuple[str, Drawing]]:
        from tcnlm.drawing.tree import topic_tree

        yield "topic_tree", topic_tree(entry["layers"])
        yield "sentences", sentence_topics(entry)
        yield "norms", state_norms(**entry["norms"])


def sentence_topics(found: Mapping[str, Any]) -> Drawing:
    """Draw every layer's proportions in a document's sentences, the highest on top."""
    from tcnlm.drawing.figures import INK, axes_of, blank, verbatim

    layers = found["document"]["proportions"]
    rows = [min(CHARTED, len(layer[0])) for layer in layers][::-1]
    figure = blank(9, 0.24 * sum(rows) + 0.6 * len(rows) + 0.4)
    shape = {"sharex": True, "squeeze": False, "height_ratios": rows}
    panels = figure.subplots(len(rows), 1, **shape)
    for (axes,), layer in zip(panels, range(len(layers), 0, -1)):
        values = np.array(layers[layer - 1]).T  # [K, J]
        shown = np.argsort(-values.mean(axis=1), kind="stable")[:CHARTED]
        axes_of(axes, f"Layer {layer}")
        whole = {"vmin": 0, "vmax": max(map(np.max, layers)), "aspect": "auto"}
        drawn = axes.imshow(values[shown], cmap="Blues", **whole)
        names = [verbatim(_name(found["layers"][layer - 1][k], layer)) for k in shown]
        axes.set_yticks(range(len(shown)), names)
    places = range(values.shape[1])
    axes.set_xticks(places, [str(j + 1) for j in places])
    axes.set_xlabel("sentence", fontsize=9, color=INK)
    bar = figure.colorbar(drawn, ax=panels.ravel().tolist(), fraction=0.03)
    bar.set_label("proportion", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    return figure


def state_norms(words: Sequence[str], norms: Sequence[Sequence[float]]) -> Drawing:
    """Draw the norm of each layer's state after every word, the highest on top."""
    from tcnlm.drawing.figures import BLUE, axes_of, blank, verbatim

    figure = blank(9, 1.3 * len(norms) + 0.8)
    panels = figure.subplots(len(norms), 1, sharex=True, squeeze=False)
    for (axes,), layer in zip(panels, range(len(norms), 0, -1)):
        axes_of(axes, f"LSTM layer {layer}", y="norm of h")
        axes.plot(norms[layer - 1], "o-", color=BLUE, ms=3, lw=1.5)
    axes.set_xticks(range(len(words)), [*map(verbatim, words)], rotation=60, ha="right")
    return figure


def _name(topic: Mapping[str, Any], layer: int, count: int = CHARTED_WORDS) -> str:
    return " ".join([f"{layer}:{topic['topic']}", *topic["words"][:count]])
