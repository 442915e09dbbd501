"""Mixtures of topics, as --topic asks for them, of one layer or of several.

Topics in layers stand one layer after another, the lowest first: [K_1 + ... + K_L].
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import is_real, is_whole
from tcnlm.models.base import Model
from tcnlm.models.gbn_rnn import spread
from tcnlm.models.names import Names
from tcnlm.models.topics import top_words

FORM = (
    "give a topic's number or label, alone or with a weight above 0, such as 3, 3:0.7 "
    "or oil:0.7"
)
LAYERED_FORM = (
    "topics are in layers here: give layer:topic, or layer:topic:weight with a weight "
    "above 0, such as 2:17 or 2:17:0.5; a number alone is a topic of layer 1, "
    "and so is a label"
)

PYTHON_FORM = (
    "give a topic's number or label, (layer, number) of topics in layers, or a mixture "
    "such as {3: 0.7, 5: 0.3}"
)


def checked_request(model: Any, topic: Any, weight: Any, names: Names) -> str:
    """Return what Python gives as a topic as --topic takes it.

    topic: a number, a label or (layer, number). InputError, which names the argument,
    for what the model does not have.
    """
    called = f"topic {topic!r:.40}"
    if not is_real(weight) or not 0 < weight < math.inf:
        said = f"must be a number above 0, not {weight!r:.40}"
        raise InputError(f"{called}: its weight {said}")
    if isinstance(topic, str):
        if names.labelled(topic):
            return as_request(model, topic, weight)
        if not re.fullmatch("[0-9]{1,9}(:[0-9]{1,9})?", topic):
            raise InputError(f"topic: {names.unknown(topic)}")
        topic = tuple(map(int, topic.split(":")))
    numbers = topic if isinstance(topic, tuple) else (topic,)
    layered = model.layered
    if not all(map(is_whole, numbers)) or not 0 < len(numbers) <= 1 + layered:
        raise InputError(f"{called}: {PYTHON_FORM}")
    sizes = model.sizes if layered else (len(model.topics()),)
    layer, number = (1, *numbers)[-2:]
    if not 1 <= layer <= len(sizes):
        raise InputError(f"{called}: the model has layers 1 to {len(sizes)}")
    if not 0 <= number < sizes[layer - 1]:
        has = f"layer {layer} has" if layered else "the model has"
        raise InputError(f"{called}: {has} topics 0 to {sizes[layer - 1] - 1}")
    return as_request(model, (layer, number) if layered else number, weight)


def as_request(model: Any, topic: int | tuple[int, int], weight: float) -> str:
    """Return a topic, or a layer's (2, 17), as --topic takes it."""
    if model.layered and isinstance(topic, Integral):
        topic = 1, topic
    numbers = topic if isinstance(topic, tuple) else (topic,)
    return ":".join(map(str, (*numbers, weight)))


def by_number(model: Any, chosen: Sequence[str], names: Names) -> list[str]:
    """Return values of --topic with the numbers of topics that are given by label.

    A merged group has its topics in equal parts. InputError for an unknown label.
    """
    found = []
    for value in chosen:
        label, _, weight = value.partition(":")
        members = names.labelled(label)
        if not members and any(map(str.isalpha, label)):
            raise InputError(f"--topic {value}: {names.unknown(label)}")
        if not members:
            found.append(value)
            continue
        _, share = _numbers(value, ["0"], weight, FORM)
        found += [as_request(model, k, share / len(members)) for k in members]
    return found


def mixture(chosen: Sequence[str], number: int) -> np.ndarray:
    """Return the topics [K] that values like "3" or "3:0.7" stand for, weights summed.

    A topic alone is one-hot (section 5.3), several are their weighted mean.
    """
    weights = []
    for value in chosen:
        topic, _, weight = value.partition(":")
        topic, weight = _numbers(value, [topic], weight, FORM)
        if topic >= number:
            raise InputError(f"--topic {value}: the model has topics 0 to {number - 1}")
        weights.append((topic, weight))
    return _shares(weights, number)


def layered_mixture(chosen: Sequence[str], sizes: Sequence[int]) -> np.ndarray:
    """Return the topics [K_1 + ... + K_L] of values like "2:17" or "2:17:0.5".

    sizes: K_1 to K_L. Layers are counted from 1, the lowest, their topics from 0.
    """
    weights = []
    for value in chosen:
        layer, topic, weight = _layer_topic_weight(value)
        if not 1 <= layer <= len(sizes):
            raise InputError(f"--topic {value}: the model has layers 1 to {len(sizes)}")
        if topic >= sizes[layer - 1]:
            raise InputError(
                f"--topic {value}: layer {layer} has topics 0 to {sizes[layer - 1] - 1}"
            )
        weights.append((sum(sizes[: layer - 1]) + topic, weight))
    return _shares(weights, sum(sizes))


def _shares(weights: Sequence[tuple[int, float]], number: int) -> np.ndarray:
    topics = np.zeros(number)
    largest = max(weight for _, weight in weights)  # a sum of weights may be infinite
    for topic, weight in weights:
        topics[topic] += weight / largest
    return (topics / topics.sum()).astype("float32")


def _layer_topic_weight(value: str) -> tuple[int, int, float]:
    layer, colon, rest = value.partition(":")
    topic, _, weight = rest.partition(":")
    if not colon:
        layer, topic = "1", value
    return _numbers(value, [layer, topic], weight, LAYERED_FORM)


def _numbers(value: str, whole: Sequence[str], weight: str, form: str) -> tuple:
    """Return whole numbers and a weight, 1 where there is none."""
    try:
        numbers, share = list(map(int, whole)), float(weight or 1)
    except ValueError:
        numbers, share = [-1], 0.0
    if min(numbers) < 0 or not 0 < share < math.inf:
        raise InputError(f"--topic {value}: {form}")
    return (*numbers, share)


def of_lowest(model: Any, topics: np.ndarray) -> np.ndarray:
    """Return topics [N, K] as they stand among those of all layers, if there are."""
    if not model.layered:
        return topics
    return np.pad(topics, [(0, 0), (0, sum(model.sizes[1:]))])


def layers_of(model: Model, topics: np.ndarray) -> list[tf.Tensor]:
    """Return the proportions of every layer [N, K_l] of topics [N, K_1 + ... + K_L]."""
    parts = tf.split(tf.cast(topics, tf.float32), list(model.sizes), axis=1)
    shared = [spread(model, part, layer) for layer, part in enumerate(parts, 1)]
    return [tf.add_n(each) for each in zip(*shared)]


def context_of(model: Any, topics: np.ndarray) -> Any:
    """Return the context of topics [N, K], one layer after another."""
    topics = tf.constant(topics, tf.float32)
    if model.layered:
        topics = layers_of(model, topics)
    return model.context({"topics": topics})


def named_topics(model: Any, number: int, names: Names) -> list[dict[str, Any]]:
    """Return every topic's number and first words, layer or label if there are any."""
    own = [{"label": row.label} if names.given else {} for row in names.rows]
    if not model.layered:
        words = top_words(model, number)
        return [{"topic": k, "words": each} | own[k] for k, each in enumerate(words)]
    return [
        {"layer": layer, "topic": k, "words": words} | (own[k] if layer == 1 else {})
        for layer, _ in enumerate(model.sizes, 1)
        for k, words in enumerate(top_words(model, number, layer))
    ]


def written_as(topic: Mapping[str, Any]) -> str:
    """Return a topic as --topic takes it: "17", or "2:17" in layers."""
    layer = f"{topic['layer']}:" if "layer" in topic else ""
    return f"{layer}{topic['topic']}"
