"""A trained RUN asked from Python, in texts: topics, perplexities, sentences."""

from __future__ import annotations

import warnings
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.files import owned_file
from tcnlm.common.outputs import Row
from tcnlm.common.process import chunks, refuse_forks
from tcnlm.common.settings import is_whole
from tcnlm.generation import requests
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.saved_model import Program
from tcnlm.metrics.over_time import PERIODS, WORDS, by_period, group_rows, left_out
from tcnlm.metrics.scores import Reader, Reading
from tcnlm.models.names import FILE, automatic_labels, shown_words
from tcnlm.preprocessing.documents import iso_date
from tcnlm.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from pandas import DataFrame

BATCH = 256  # documents in memory at a time


class Run:
    """The model of a RUN folder, and how texts were made ready for it.

    A text is a document as people write it. `model` is the `tf.keras.Model` itself,
    `config` the contents of config.json.
    """

    def __init__(self, path: str | Path):
        folder = self._folder = RunFolder(path)
        self.path, self.config = folder.path, folder.config
        self.preprocessing = folder.preprocessing  # how the training made its rows
        self._model = folder.load()
        self.names = folder.names(self.model)  # of topics.csv, as it was just read
        self._decoders: dict[Any, Any] = {}  # each keeps its graph

    @property
    def model(self) -> Any:
        """The model; InputError where it cannot work, in a forked process."""
        refuse_forks()
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        """Raise InputError, of copy and pickle, which graphs and weights do not fit."""
        raise InputError(
            f"a Run is neither copied nor pickled: tcnlm.load_run({str(self.path)!r}) "
            "opens it again"
        )

    @cached_property
    def _sentences(self) -> Callable[[str], list[list[str]]]:
        """What makes sentences of words of a text, as for the training."""
        return self.model.vocabulary.reading()

    @cached_property
    def reader(self) -> Reader:
        """What reads tokenized documents."""
        return Reader(self.model, self.preprocessing)

    def proportions(self, texts: Iterable[str]) -> np.ndarray:
        """Return the topic proportions of texts, [N, K]; NaN without a topic word."""
        if self.reader.vectors_of != "topic":
            raise InputError(f"{self.path}: a {self.config['model']} has no topics")
        read = [reading.vectors for reading in self._read(texts)]
        return np.concatenate([np.empty([0, len(self.model.topics())]), *read])

    def over_time(
        self, texts: Iterable[str], dates: Iterable[Any], every: str | None = None
    ) -> list[Row]:
        """Return a row for every period and topic, as `tcnlm infer --over-time` writes.

        dates: of each text one, as `preprocessing.documents.iso_date` reads it; every:
        "day", "month", "year" or "decade", by default the shortest that suits them.
        Warns of documents that are left out, as without a date (None, NaN, NaT).
        """
        if every not in (None, *PERIODS):
            raise InputError(
                f"every must be one of {', '.join(PERIODS)}, not {every!r}"
            )
        days = [iso_date(date, f"date {i}") for i, date in enumerate(dates)]
        vectors = self.proportions(texts)
        if len(vectors) != len(days):
            raise InputError(f"{len(vectors)} texts, but {len(days)} dates")
        shown = self.names.summed(vectors)
        found = by_period(days, shown, every)
        missing = "; ".join(left_out(found))
        if missing:
            warnings.warn(missing, stacklevel=2)
        words = shown_words(self.model, self.names, WORDS)
        return list(group_rows("period", found, words))

    def label(
        self,
        labels: Mapping[int, str | None] | None = None,
        merge: Mapping[int, int | None] | None = None,
        hide: Collection[int] | None = None,
    ) -> DataFrame:
        """Name, merge and hide topics in RUN/topics.csv; return it as a table.

        labels: by number, None for the automatic one; merge: {7: 3} makes 7 a part of
        3, {7: None} one of its own again; hide: all that are hidden. What is not given
        stays as topics.csv has it now. Raises InputError for what does not fit.
        """
        from pandas import DataFrame

        if not self.model.offers("topics"):
            raise InputError(f"{self.path}: a {self.config['model']} has no topics")
        _check_chosen(labels, merge, hide)
        path = self.path / FILE
        automatic = automatic_labels(self.model)
        with owned_file(path):
            before = self._folder.names(self.model)
            names = before.changed(automatic, labels or {}, merge or {}, hide)
            names.write(path)
        self.names = names
        return DataFrame(names.records()).astype({"merged_into": "Int64"})

    def perplexity(
        self, texts: Iterable[str], contexts: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return the perplexity of every text, [N]; NaN for one without a word.

        Without contexts, each sentence of a text sees of the others what the training
        let it see. With them, as many as texts, a text is one sentence that sees its
        context alone, as in the SavedModel's `score`.
        """
        if not self.reader.score:
            raise InputError(f"{self.path}: a {self.config['model']} predicts no words")
        if contexts is None:
            read = [reading.perplexity for reading in self._read(texts)]
            return np.concatenate([np.empty(0), *read])
        if not self.model.offers("step"):
            raise InputError(f"{self.path}: a {self.config['model']} takes no contexts")
        texts, contexts = list(checked(texts)), list(checked(contexts))
        if len(texts) != len(contexts):
            raise InputError(f"{len(texts)} texts, but {len(contexts)} contexts")
        strings = tf.constant(texts, tf.string), tf.constant(contexts, tf.string)
        return self._score(*strings)["perplexity"].numpy()

    @cached_property
    def _score(self) -> Callable[[tf.Tensor, tf.Tensor], dict[str, tf.Tensor]]:
        """The signature `score` of a SavedModel."""
        sizes = map(self.preprocessing.get, ("sequence_length", "context_words"))
        return Program(self.model, *sizes).signatures()["score"]

    def _read(self, texts: Iterable[str]) -> Iterator[Reading]:
        refuse_forks()
        documents = map(self._sentences, checked(texts))
        return map(self.reader, chunks(documents, BATCH))

    def generate(
        self,
        topic: int | str | tuple[int, int] | Mapping[Any, float] | None = None,
        document: str = "",
        prompt: str = "",
        number: int = 1,
        seed: int | None = None,
        **decoding: Any,
    ) -> list[str]:
        """Return `number` sentences, as generate.py writes them.

        From a topic, a mixture {3: 0.7, 5: 0.3} or a document's topics, which a model
        with topics needs; a label stands for its topic, the label of merged ones for
        all in equal parts. lclm goes on with the document, bag_lstm reads its bag. Of
        topics in layers, (2, 17) is one of layer 2, 17 one of layer 1. seed: of
        sampling, another each time; decoding: of `Decoding`.
        """
        _check_text("generate: document", document)
        _check_text("generate: prompt", prompt)
        known = [field.name for field in fields(Decoding)]
        for name in (name for name in decoding if name not in known):
            raise InputError(
                f"generate: no argument {name!r}; those of decoding are "
                f"{', '.join(known)}"
            )
        if seed is not None and not (is_whole(seed) and -(2**63) <= seed < 2**63):
            raise InputError(f"seed must be a whole number of 64 bits, not {seed!r}")
        if not isinstance(topic, (Mapping, Hashable)):
            raise InputError(f"topic {topic!r:.40}: {requests.FORM}")
        weights = topic if isinstance(topic, Mapping) else {topic: 1}
        chosen = {k: w for k, w in weights.items() if k is not None}
        about = requests.Document(self._sentences(document)) if document else None
        if chosen and about:
            raise InputError("generate: give a topic or a document, not both")
        if not (chosen or about) and self.model.offers("topics"):
            raise InputError("generate: give a topic or a document to write from")
        size = self.preprocessing["context_words"]
        asked = chosen, about, size, self.names
        topics = requests.requested_topics(self.model, *asked)
        before = requests.document_before(self.model, about, size)
        options = Decoding(**decoding)
        requests.check_effects(options, {**decoding, "seed": seed})
        seed = requests.new_seed() if seed is None else seed
        if options not in self._decoders:
            self._decoders[options] = SentenceDecoder(self.model, options)
        write = self._decoders[options]
        asked = topics, number, prompt, seed, before
        (written,) = requests.write_sentences(write, *asked)
        return list(map(str, written))


def _check_chosen(labels: Any, merge: Any, hide: Any) -> None:
    """Raise InputError where `label` is given no topics by number."""
    for name, given in (("labels", labels), ("merge", merge)):
        if not isinstance(given, (Mapping, type(None))):
            form = '{3: "oil"}' if name == "labels" else "{7: 3}"
            raise InputError(f"{name} must be like {form}, not {given!r:.40}")
    if isinstance(hide, (str, Mapping)) or not isinstance(
        hide, (Collection, type(None))
    ):
        raise InputError(f"hide must be a list like [5], not {hide!r:.40}")


def checked(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts; InputError for one in place of several, and for what is none."""
    alone = isinstance(texts, (str, bytes, Mapping, Set))
    if alone or not isinstance(texts, Iterable):
        raise InputError(
            f"give a list of texts, [text] for a single one, not {texts!r:.40}"
        )
    if getattr(texts, "ndim", 1) != 1:
        raise InputError("give a list of texts, or one column of a table")
    for number, each in enumerate(texts):
        _check_text(f"text {number}", each)
        yield each


def _check_text(name: str, given: Any) -> None:
    """Raise InputError for what is no text, or none that has an encoding."""
    try:
        given.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InputError(f"{name} must be a text, not {given!r:.40}") from None
