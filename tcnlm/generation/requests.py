"""What generate.py is asked for, as topics, and what it answers, as text or JSON.

Topics in layers stand one layer after another, the lowest first: [K_1 + ... + K_L].
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import is_real, is_whole
from tcnlm.data.dataset import NO_WORD
from tcnlm.generation.decoding import Decoding, Sentence, SentenceDecoder
from tcnlm.models.gbn_rnn import spread
from tcnlm.models.names import Names
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.phrases import Sentences
from tcnlm.preprocessing.text import sentences

FORM = (
    "give a topic's number or label, or layer:number of topics in layers, alone or "
    "with a weight above 0, such as 3, 3:0.7, oil:0.7 or 2:17:0.7 (in Python {3: 0.7}, "
    "(2, 17))"
)
UNNAMED = Names(())
LARGEST_WEIGHT = sys.float_info.max
SHOWN_TOPICS = 5  # of a mixture, the largest
SHOWN_WORDS = 8
METHOD_OF = {  # the method that an option is of
    **dict.fromkeys(("temperature", "top_k", "top_p", "seed"), "sample"),
    "beam_width": "beam",
}

Topic = dict[str, Any]
Weighted = tuple[int, float]  # a topic by its place among those of all layers


class Document(NamedTuple):
    """A tokenized document, and what an error calls it."""

    sentences: list[list[str]]
    name: str = "document"


def requested_topics(
    model: Any,
    chosen: Sequence[str] | Mapping[Any, float],
    document: Document | None,
    context_words: int,
    names: Names = UNNAMED,
) -> np.ndarray | None:
    """Return the topics [N, K] to write from; None for a model that has none.

    chosen: see `mixture`; without them and a document, every topic by itself.
    """
    if not model.offers("step"):
        raise InputError(f"model {type(model).__name__} writes no sentences")
    if not model.offers("topics"):
        if chosen or (document and not model.reads_document):
            sign = "" if isinstance(chosen, Mapping) else "--"
            out = f"{sign}topic" + f" and {sign}document" * (not model.reads_document)
            kind = type(model).__name__
            raise InputError(f"model {kind} has no topics: leave out {out}")
        return None
    if chosen and not document:
        return mixture(model, chosen, names)[None]
    topics = np.eye(len(model.topics()), dtype="float32")
    if document:
        content = document_content(model, document, context_words)
        topics = model.infer(content).numpy()
    above = sum(model.sizes[1:]) if model.layered else 0
    return np.pad(topics, [(0, 0), (0, above)])


def mixture(
    model: Any, chosen: Sequence[str] | Mapping[Any, float], names: Names = UNNAMED
) -> np.ndarray:
    """Return the topics [K] that are asked for, their weighted mean.

    chosen: values of --topic, or weights by topics as Python has them: number, label,
    or (layer, number). A label of merged topics stands for all in equal parts. Raises
    InputError for what the model does not have.
    """
    if isinstance(chosen, Mapping):
        asked = [(f"topic {k!r:.40}", k, weight) for k, weight in chosen.items()]
    else:
        asked = [_of_option(model, value, names) for value in chosen]
    weights = [pair for each in asked for pair in _weighted(model, *each, names)]
    topics = np.zeros(sum(_sizes(model)))
    largest = max(weight for _, weight in weights)  # a sum of weights may be infinite
    for place, weight in weights:
        topics[place] += weight / largest
    return (topics / topics.sum()).astype("float32")


def _of_option(model: Any, value: str, names: Names) -> tuple[str, str, float]:
    """Return what an error calls a value of --topic, its topic and its weight."""
    parts = value.split(":")
    in_layers = model.layered and len(parts) > 1 and not names.labelled(parts[0])
    size, share = 1 + in_layers, math.nan
    with suppress(ValueError):
        share = float(":".join(parts[size:] or ["1"]))
    return f"--topic {value}", ":".join(parts[:size]), share


def _weighted(
    model: Any, called: str, topic: Any, weight: Any, names: Names
) -> list[Weighted]:
    """Return a topic, or the members of a label, with their weights."""
    if not is_real(weight) or not 0 < float(weight) <= LARGEST_WEIGHT:
        raise InputError(f"{called}: {FORM}")
    if isinstance(topic, str):
        members = names.labelled(topic)
        if members:
            return [(k, weight / len(members)) for k in members]
        if any(map(str.isalpha, topic)):
            raise InputError(f"{called}: {names.unknown(topic)}")
        numbers = re.fullmatch("([0-9]{1,9}):([0-9]{1,9})|([0-9]{1,9})", topic)
        topic = tuple(int(n) for n in numbers.groups() if n) if numbers else ()
    numbers = topic if isinstance(topic, tuple) else (topic,)
    if not all(map(is_whole, numbers)) or not 0 < len(numbers) <= 1 + model.layered:
        raise InputError(f"{called}: {FORM}")
    return [(_place(model, called, *(1, *numbers)[-2:]), weight)]


def _place(model: Any, called: str, layer: int, number: int) -> int:
    sizes = _sizes(model)
    if not 1 <= layer <= len(sizes):
        raise InputError(f"{called}: the model has layers 1 to {len(sizes)}")
    if not 0 <= number < sizes[layer - 1]:
        has = f"layer {layer} has" if model.layered else "the model has"
        raise InputError(f"{called}: {has} topics 0 to {sizes[layer - 1] - 1}")
    return sum(sizes[: layer - 1]) + number


def _sizes(model: Any) -> Sequence[int]:
    return model.sizes if model.layered else (len(model.topics()),)


def layers_of(model: Any, topics: np.ndarray) -> list[tf.Tensor]:
    """Return the proportions of every layer [N, K_l] of topics [N, K_1 + ... + K_L]."""
    parts = tf.split(tf.cast(topics, tf.float32), list(model.sizes), axis=1)
    shared = [spread(model, part, layer) for layer, part in enumerate(parts, 1)]
    return [tf.add_n(each) for each in zip(*shared)]


def document_content(model: Any, document: Document, context_words: int) -> tf.Tensor:
    """Return a document's first topic-word ids [1, C], one at least."""
    words = list(chain.from_iterable(document.sentences))
    known = model.vocabulary
    topic_ids = known.topic_ids[np.array(known.ids(words), int)]
    content = topic_ids[topic_ids >= 0][:context_words]
    if not len(content):
        raise InputError(
            f"{document.name}: none of its {len(words)} words is in the model's topic "
            f"vocabulary ({len(known.topic_words)} words)"
        )
    return tf.constant(content[None], tf.int32)


def document_before(
    model: Any, document: Document | None, context_words: int
) -> dict[str, tf.Tensor]:
    """Return what a batch says of a document, for a model without topics to read."""
    if not (document and model.reads_document):
        return {}
    if not model.batching.reads_before:
        return {"context": document_content(model, document, context_words)}
    if not any(document.sentences):
        raise InputError(f"{document.name}: has no word")
    words, number = model.vocabulary.ids, model.batching.preceding
    last = list(map(words, document.sentences))[-number:]
    last += [[]] * (number - len(last))
    return {"preceding": tf.ragged.constant([last], tf.int32).to_tensor(NO_WORD)}


def read_document(path: str, split: Sentences = sentences) -> Document:
    """Read the document of a file, or "-" for standard input; split: of its words."""
    name = f"--document {path}"
    if path == "-" and sys.stdin is None:
        raise InputError(f"{name}: standard input is closed")
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return Document(split(content.decode("utf-8")), name)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text ({error})") from None


def decoding_options(chosen: Mapping[str, Any]) -> Decoding:
    """Return the decoding that the command line chose, of all its options."""
    fields = [field.name for field in dataclasses.fields(Decoding)]
    options = Decoding(**{name: chosen[name] for name in fields if name in chosen})
    check_effects(options, chosen, "--")
    return options


def check_effects(options: Decoding, chosen: Mapping[str, Any], sign: str = "") -> None:
    """Raise InputError for what was chosen of another method; sign: of an option."""
    for name, method in METHOD_OF.items():
        if chosen.get(name) is not None and method != options.method:
            option = name.replace("_", "-") if sign else name
            raise InputError(
                f"{sign}{option}: has no effect with {sign}method {options.method}; it "
                f"goes with {sign}method {method}"
            )


def new_seed() -> int:
    """Return a seed that nobody chose."""
    return secrets.randbelow(2**31)


def unknown_words(model: Any, prompt: str) -> list[str]:
    """Return the words of a prompt that the model reads as `<unk>`, each once."""
    words, known = model.vocabulary.beginning(prompt), model.vocabulary.index
    return list(dict.fromkeys(word for word in words if word not in known))


def beginning_ids(model: Any, prompt: str) -> list[int]:
    """Return the word ids of a sentence's beginning."""
    return model.vocabulary.ids(model.vocabulary.beginning(prompt))


def write_sentences(
    write: SentenceDecoder,
    topics: np.ndarray | None,
    number: int = 1,
    prompt: str = "",
    seed: int = 0,
    before: Mapping[str, tf.Tensor] | None = None,
) -> list[list[Sentence]]:
    """Return `number` sentences for each row of topics, or for no topics at all."""
    model, rows = write.model, 1 if topics is None else len(topics)
    if topics is None:
        batch = {**model.batching.empty(1), **(before or {})}
    else:
        shares = tf.constant(topics, tf.float32)
        batch = {"topics": layers_of(model, shares) if model.layered else shares}
    start = beginning_ids(model, prompt)
    return write(model.context(batch), rows, number, start, seed)


def largest_topics(
    model: Any, topics: np.ndarray | None, names: Names
) -> list[list[Topic]]:
    """Return, for each row of topics, its largest with their weights and words."""
    if topics is None:
        return [[]]
    named = []
    for layer in range(1, 1 + len(_sizes(model))):
        of_layer = {"layer": layer} if model.layered else {}
        for k, words in enumerate(top_words(model, SHOWN_WORDS, **of_layer)):
            own = layer == 1 and names.rows and names.rows[k].given
            label = {"label": names.rows[k].label} if own else {}
            named.append({**of_layer, "topic": k, "words": words, **label})
    order = np.argsort(-topics, kind="stable")[:, :SHOWN_TOPICS]
    return [
        [{**named[k], "weight": float(row[k])} for k in best if row[k] > 0]
        for row, best in zip(topics, order)
    ]


def as_json(topics: list[Topic], written: list[Sentence]) -> str:
    """Return a line of JSON for every sentence."""
    lines = []
    for s in written:
        how = {"log_probability": s.log_probability, "ended": s.ended}
        lines.append(json.dumps({"topics": topics, "sentence": str(s), **how}))
    return "\n".join(lines)


def as_text(topics: list[Topic], written: list[Sentence]) -> str:
    """Return topics as --topic takes them, and sentences; a cut one ends in dots."""
    lines = []
    for topic in topics:
        called = f"{topic['layer']}:" if "layer" in topic else ""
        called += " ".join(str(topic[n]) for n in ("topic", "label") if n in topic)
        weight, words = f"{topic['weight']:.2f}", " ".join(topic["words"])
        lines.append(f"topic {called} ({weight}): {words}")
    indent = "    " if topics else ""
    lines += [f"{indent}{s}" + ("" if s.ended else " ...") for s in written]
    return "\n".join(lines)
