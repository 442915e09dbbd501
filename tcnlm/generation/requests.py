"""What generate.py is asked for, as topics, and what it answers, as text or JSON."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import NO_WORD
from tcnlm.generation.decoding import Decoding, Sentence, SentenceDecoder
from tcnlm.generation.mixtures import (
    context_of,
    layered_mixture,
    mixture,
    named_topics,
    of_lowest,
    written_as,
)
from tcnlm.models.names import Names
from tcnlm.preprocessing.phrases import Sentences
from tcnlm.preprocessing.text import sentences
from tcnlm.preprocessing.vocabulary import Vocabulary

SHOWN_TOPICS = 5  # of a mixture, the largest
SHOWN_WORDS = 8
METHOD_OF = {  # the method that an option is of
    **dict.fromkeys(("temperature", "top_k", "top_p", "seed"), "sample"),
    "beam_width": "beam",
}

Topic = dict[str, Any]


class Document(NamedTuple):
    """A tokenized document, and what an error calls it."""

    sentences: list[list[str]]
    name: str = "document"


def requested_topics(
    model: Any,
    chosen: Sequence[str],
    document: Document | None,
    context_words: int,
    sign: str = "--",
) -> np.ndarray | None:
    """Return the topics [N, K] to write from; None for a model that has none.

    chosen: values of --topic, which make one mixture; without them and a document,
    every topic by itself, of layers those of the lowest. Topics in layers are the
    columns of `mixtures`. A document that a model without topics reads is
    `document_before`'s. sign: of an option, "" of an argument in Python.
    """
    if not model.offers("step"):
        raise InputError(f"model {type(model).__name__} writes no sentences")
    if not model.offers("topics"):
        if chosen or (document and not model.reads_document):
            text = "" if model.reads_document else f" and {sign}document"
            raise InputError(
                f"model {type(model).__name__} has no topics: leave out {sign}topic"
                f"{text}"
            )
        return None
    if document:
        topics = document_topics(model, document, context_words)
    elif chosen and model.layered:
        return layered_mixture(chosen, model.sizes)[None]
    elif chosen:
        return mixture(chosen, len(model.topics()))[None]
    else:
        topics = np.eye(len(model.topics()), dtype="float32")
    return of_lowest(model, topics)


class DocumentReader:
    """A document of tokenized sentences as ids, by the words that trained the model."""

    def __init__(self, vocabulary: Vocabulary, context_words: int):
        self.vocabulary = vocabulary
        self.context_words = context_words

    def content(self, document: list[list[str]]) -> tf.Tensor:
        """Return its first topic-word ids [1, C], as in training."""
        words = [word for sentence in self._ids(document) for word in sentence]
        topic_ids = self.vocabulary.topic_ids[np.array(words, int)]
        content = topic_ids[topic_ids >= 0][: self.context_words]
        return tf.constant(content[None], tf.int32)

    def last_sentences(self, document: list[list[str]], number: int) -> tf.Tensor:
        """Return the word ids [1, number, W] of its last sentences, padded with -1."""
        words = self._ids(document)
        last = words[-number:] + [[]] * (number - len(words))
        return tf.ragged.constant([last], tf.int32).to_tensor(NO_WORD)

    def _ids(self, document: list[list[str]]) -> list[list[int]]:
        return [self.vocabulary.ids(sentence) for sentence in document]


def document_topics(model: Any, document: Document, context_words: int) -> np.ndarray:
    """Infer a document's topics [1, K] from its first content words, as in training."""
    return model.infer(document_content(model, document, context_words)).numpy()


def document_content(model: Any, document: Document, context_words: int) -> tf.Tensor:
    """Return a document's first topic-word ids [1, C], one at least."""
    reader = DocumentReader(model.vocabulary, context_words)
    content = reader.content(document.sentences)
    if not content.shape[1]:
        words = sum(map(len, document.sentences))
        raise InputError(
            f"{document.name}: none of its {words} words is in the model's topic "
            f"vocabulary ({len(model.vocabulary.topic_words)} words)"
        )
    return content


def document_before(
    model: Any, document: Document | None, context_words: int
) -> dict[str, tf.Tensor]:
    """Return what a batch says of a document, for a model without topics to read.

    Nothing for another model, or without a document.
    """
    if not (document and model.reads_document):
        return {}
    if not model.batching.reads_before:
        return {"context": document_content(model, document, context_words)}
    if not any(document.sentences):
        raise InputError(f"{document.name}: has no word")
    reader = DocumentReader(model.vocabulary, context_words)
    return model.batching.of_texts(reader, document.sentences)


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
    """Return the decoding that the command line chose, of all its options.

    What a method makes no use of is refused: it was meant for another.
    """
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
    words, known = _beginning(model, prompt), model.vocabulary.index
    return list(dict.fromkeys(word for word in words if word not in known))


def beginning_ids(model: Any, prompt: str) -> list[int]:
    """Return the word ids of a sentence's beginning."""
    return model.vocabulary.ids(_beginning(model, prompt))


def _beginning(model: Any, prompt: str) -> list[str]:
    return model.vocabulary.beginning(prompt)


def write_sentences(
    write: SentenceDecoder,
    topics: np.ndarray | None,
    number: int = 1,
    prompt: str = "",
    seed: int = 0,
    before: Mapping[str, tf.Tensor] | None = None,
) -> list[list[Sentence]]:
    """Return `number` sentences for each row of topics, or for no topics at all.

    before: what `document_before` made of a document to go on with.
    """
    model = write.model
    if topics is None:
        context = model.context({**model.batching.empty(1), **(before or {})})
    else:
        context = context_of(model, topics)
    rows = 1 if topics is None else len(topics)
    start = beginning_ids(model, prompt)
    return write(context, rows, number, start, seed)


def largest_topics(
    model: Any, topics: np.ndarray | None, names: Names
) -> list[list[Topic]]:
    """Return, for each row of topics, its largest with their weights and words."""
    if topics is None:
        return [[]]
    named = named_topics(model, SHOWN_WORDS, names)
    order = np.argsort(-topics, kind="stable")
    return [
        [
            {**named[k], "weight": float(row[k])}
            for k in best[:SHOWN_TOPICS]
            if row[k] > 0
        ]
        for row, best in zip(topics, order)
    ]


def as_json(topics: list[Topic], written: list[Sentence]) -> str:
    """Return a line of JSON for every sentence."""
    return "\n".join(json.dumps(record(topics, sentence)) for sentence in written)


def record(topics: list[Topic], sentence: Sentence) -> dict[str, Any]:
    """Return what JSON says of a sentence."""
    return {
        "topics": topics,
        "sentence": str(sentence),
        "log_probability": sentence.log_probability,
        "ended": sentence.ended,
    }


def as_text(topics: list[Topic], written: list[Sentence]) -> str:
    """Return the topics with their words and the sentences indented below.

    A sentence that the maximum length cut ends with three dots.
    """
    lines = [
        f"topic {_called(topic)} ({topic['weight']:.2f}): {' '.join(topic['words'])}"
        for topic in topics
    ]
    indent = "    " if topics else ""
    lines += [f"{indent}{s}" + ("" if s.ended else " ...") for s in written]
    return "\n".join(lines)


def _called(topic: Topic) -> str:
    return " ".join(filter(None, (written_as(topic), topic.get("label"))))
