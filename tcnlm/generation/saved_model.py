"""A trained model as a TensorFlow SavedModel: strings in, strings out.

`tf.saved_model.load` is all that its user needs, and not this package. Its signatures
(N texts, K topics):

    infer_topics  documents [N] -> topics [N, K], rows on the simplex,
                  topic_words [N]: how many they were inferred from; of 0 topics are NaN
    topic_words   number -> words [K, number], best first
    score         sentences [N], contexts [N]
                  -> log_probability [N] nats, targets [N], perplexity [N]
    generate      topics [N, K], seed, temperature
                  -> sentences [N], log_probability [N] nats
    generate_known  the same, without <unk>
    beam_search   topics [N, K], width
                  -> sentences [N, width], log_probability [N, width] nats, best first
    features      documents [N] -> features [N, F]
    score_document  documents [N]
                  -> log_probability [N] nats, words [N], perplexity [N]

The last two are those of a model of documents (`docnade`). A model without topics has
`score`, `generate` and `generate_known`, which then take `number` for `topics`, and
`beam_search`, which takes `width` alone (N = 1); one that writes no sentences has the
first two.

Every text is tokenized in the graph by the rules of its language in
`preprocessing.text`, and its phrases are joined; what comes before them in
preprocessing is the caller's. A text may be in Unicode's NFC or in NFD, with Latin's
and Armenian's ligatures. Markup, entities and hyphens at the ends of lines are taken as
text, and every string as one sentence: of a document or context with more, only the
full stop after an abbreviation or initial can come out otherwise. To a model that reads
the preceding sentences (`lclm`) each line of a context is one, the last line the
nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.files import check_folder, plain_path, writing
from tcnlm.common.replacing import replacing
from tcnlm.data.dataset import NO_WORD
from tcnlm.generation import chunking, input_checks
from tcnlm.generation import warm_up as warm_ups
from tcnlm.generation.chunking import in_pieces
from tcnlm.generation.decoder import beams, decode, repeated, sampled
from tcnlm.generation.methods import Decoding
from tcnlm.generation.phrases import JoinedPhrases
from tcnlm.layers.tf_function import graph
from tcnlm.models.topics import relevance, word_shares
from tcnlm.preprocessing.text import rules, spellings
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD, UNK, Vocabulary

Tensors = dict[str, tf.Tensor]
Contexts = tuple[tf.Tensor, Callable[..., Any]]  # how many, and context(first, last)

DOCUMENTS, SENTENCES, CONTEXTS = (
    tf.TensorSpec([None], tf.string, name)
    for name in ("documents", "sentences", "contexts")
)
NUMBER = tf.TensorSpec([], tf.int32, "number")
SEED = tf.TensorSpec([], tf.int64, "seed")
TEMPERATURE = tf.TensorSpec([], tf.float32, "temperature")
WIDTH = tf.TensorSpec([], tf.int32, "width")
NATS = tf.TensorSpec([None], tf.float32)
ANY, KNOWN = Decoding(allow_unknown=True), Decoding(allow_unknown=False)
SOURCE = "source.txt"  # which weights it was made of
PARTS = {"assets", "assets.extra", "fingerprint.pb", "variables", SOURCE}


def export(
    model: Any,
    folder: str | Path,
    sequence_length: int = 30,
    context_words: int = 300,
    source: str = "",
    warm_up: bool = False,
) -> None:
    """Write a model as a SavedModel; one that is there already is replaced.

    sequence_length, context_words: those of the data that the model was trained on;
    source: a name of its weights, see `is_export_of`; warm_up: with requests for
    TensorFlow Serving to warm up by.
    """
    folder = Path(folder)
    check_free(folder)
    program = Program(model, sequence_length, context_words)
    module = tf.Module()
    # The weights and not the model, or Keras would save every layer of it besides.
    module.weights, module.table = model.variables, program.texts.table
    module.phrases = program.texts.joined and program.texts.joined.table
    with writing(folder, tf.errors.OpError), replacing(folder) as aside:
        signatures = program.signatures()
        aside.mkdir(parents=True)
        with plain_path(aside) as plain:
            tf.saved_model.save(module, str(plain), signatures)
        if warm_up:
            warm_ups.write(aside, signatures)
        (aside / SOURCE).write_text(f"{source}\n", encoding="utf-8")


def check_free(folder: Path) -> None:
    """Raise InputError where a SavedModel cannot be written."""
    if _holds_others(folder):
        raise InputError(f"{folder}: exists and is no SavedModel; give another --out")
    check_folder(folder.parent)


def is_export_of(folder: Path, source: str) -> bool:
    """Whether a folder is the SavedModel that was made of these weights."""
    if not (folder / "saved_model.pb").exists() or not (folder / SOURCE).exists():
        return False
    return (folder / SOURCE).read_bytes() == f"{source}\n".encode()


def _holds_others(folder: Path) -> bool:
    """Whether a folder holds more than a SavedModel, or parts of one."""
    if not folder.exists() or (folder / "saved_model.pb").exists():
        return False
    return not folder.is_dir() or not {p.name for p in folder.iterdir()} <= PARTS


class Texts:
    """Texts to word ids in the graph, by the rules and words that trained the model."""

    def __init__(self, vocabulary: Vocabulary, context_words: int):
        self.context_words = context_words
        # A graph has no NFC, in which the words are.
        apart = {normalize("NFD", word): i for word, i in vocabulary.index.items()}
        words = apart | vocabulary.index
        ids = tf.constant(list(words.values()), tf.int32)
        pairs = tf.lookup.KeyValueTensorInitializer(list(words), ids)
        self.table = tf.lookup.StaticHashTable(pairs, UNK)
        self.topic_ids = vocabulary.topic_ids
        self.spellings = spellings(vocabulary.language)
        self.rules = rules(vocabulary.language)
        phrases = vocabulary.phrases
        self.joined = JoinedPhrases(phrases) if phrases else None

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the tokens [N, (tokens)] of texts [N]."""
        texts = tf.strings.regex_replace(texts, r"\x00", " ")  # lower() stops at it
        for found, letters in self.spellings:
            texts = tf.strings.regex_replace(texts, found, letters)
        texts = tf.strings.lower(texts, "utf-8")
        for pattern, replacement in self.rules:
            texts = tf.strings.regex_replace(texts, pattern, replacement)
        words = tf.strings.split(texts)
        return self.joined(words) if self.joined else words

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the word ids [N, (tokens)] of texts [N]."""
        return tf.ragged.map_flat_values(self.table.lookup, self.tokens(texts))

    def content(self, texts: tf.Tensor) -> tf.Tensor:
        """Return the first topic-word ids of texts [N], padded with -1."""
        ids = self.ids(texts)
        ids = ids.with_values(tf.gather(self.topic_ids, ids.values))
        content = tf.ragged.boolean_mask(ids, ids >= 0)
        return content[:, : self.context_words].to_tensor(NO_WORD)

    def last_sentences(self, texts: tf.Tensor, number: int) -> tf.Tensor:
        """Return the word ids [N, number, W] of the last lines with words of texts [N].

        A line is a sentence. In order, padded with -1; where there are fewer lines, the
        last rows are empty.
        """
        lines = tf.strings.split(texts, "\n")
        has_words = tf.ragged.map_flat_values(tf.strings.strip, lines) != ""
        last = tf.ragged.boolean_mask(lines, has_words)[:, -number:]
        each = tf.reshape(last.to_tensor(shape=[None, number]), [-1])
        ids = self.ids(each).to_tensor(NO_WORD)
        return tf.reshape(ids, [tf.shape(texts)[0], number, tf.shape(ids)[1]])


class Program:
    """What the SavedModel offers, each a method from tensors to named tensors."""

    def __init__(self, model: Any, sequence_length: int, context_words: int):
        self.model = model
        self.texts = Texts(model.vocabulary, context_words)
        self.sequence_length = sequence_length

    def signatures(self) -> dict[str, Any]:
        """Return the functions that the model has, ready to be saved."""
        found = {}
        if self.model.offers("topics"):
            found["infer_topics"] = graph(self.infer_topics, [DOCUMENTS])
            found["topic_words"] = graph(self.topic_words, [NUMBER])
        if self.model.offers("step"):
            found["score"] = graph(self.score, [SENTENCES, CONTEXTS])
            found |= self._writing()
        if self.model.documental:
            found["features"] = graph(self.features, [DOCUMENTS])
            found["score_document"] = graph(self.score_document, [DOCUMENTS])
        return found

    def _writing(self) -> dict[str, Any]:
        write, known = self.generate, self.generate_known
        search = self.beam_search
        source, contexts = [NUMBER], []
        if self.model.offers("topics"):
            number = self.model.topics().shape[0]
            source = contexts = [tf.TensorSpec([None, number], tf.float32, "topics")]
            write, known = self.generate_from_topics, self.generate_known_from_topics
            search = self.beam_search_from_topics
        return {
            "generate": graph(write, [*source, SEED, TEMPERATURE]),
            "generate_known": graph(known, [*source, SEED, TEMPERATURE]),
            "beam_search": graph(search, [*contexts, WIDTH]),
        }

    def infer_topics(self, documents: tf.Tensor) -> Tensors:
        """Infer the topics of documents [N] from their content words: [N, K].

        A document without any has none, a row of NaN, as in Python.
        """
        content, topics = self.texts.content(documents), self.model.topics().shape[0]
        [found] = in_pieces(
            lambda first, last: [self.model.infer(content[first:last])],
            tf.size(documents),
            [tf.TensorSpec([None, topics], tf.float32)],
        )
        words = _number_of_words(content)
        return {"topics": _known(found, words), "topic_words": words}

    def topic_words(self, number: tf.Tensor) -> Tensors:
        """Return the most relevant words of every topic, [K, number]."""
        topics = self.model.topics()
        number = tf.minimum(input_checks.counted(number), topics.shape[1])
        shares = word_shares(self.model.vocabulary).astype(np.float32)
        best = tf.math.top_k(relevance(topics, shares), number).indices
        return {"words": tf.gather(self.model.vocabulary.topic_words, best)}

    def features(self, documents: tf.Tensor) -> Tensors:
        """Return the vectors of documents [N], [N, F]; NaN without a topic word."""
        batch = self._batch(documents)
        [found] = in_pieces(
            lambda first, last: [self.model.features(_rows(batch, first, last))],
            tf.size(documents),
            [tf.TensorSpec([None, None], tf.float32)],
        )
        return {"features": _known(found, _number_of_words(batch["words"]))}

    def score_document(self, documents: tf.Tensor) -> Tensors:
        """Score the content words of documents [N], one order for all.

        The perplexity of none is NaN.
        """
        batch = self._batch(documents)
        [total] = in_pieces(
            lambda first, last: [self._document_log_probs(_rows(batch, first, last))],
            tf.size(documents),
            [NATS],
        )
        words = _number_of_words(self.model.read(batch["words"]))
        perplexity = tf.exp(-total / tf.cast(words, total.dtype))
        return {"log_probability": total, "words": words, "perplexity": perplexity}

    def _document_log_probs(self, batch: Tensors) -> tf.Tensor:
        return tf.reduce_sum(self.model(batch), axis=1)

    def _batch(self, documents: tf.Tensor) -> Tensors:
        return self.model.batching.of_texts(self.texts, documents)

    def score(self, sentences: tf.Tensor, contexts: tf.Tensor) -> Tensors:
        """Score sentences [N], each under its context [N], cut up as in training."""
        ids = self.texts.ids(sentences)
        edge = tf.ones([tf.size(sentences), 1], tf.int32)
        inputs = self._cut(tf.concat([GO * edge, ids], axis=1))
        targets = self._cut(tf.concat([ids, EOS * edge], axis=1))
        sequences = tf.where(targets[:, :, 0] != PAD)  # (sentence, cut) of each
        contexts = input_checks.one_context_each(sentences, contexts)
        documents = self.model.batching.of_texts(self.texts, contexts)

        def log_probs(first: tf.Tensor, last: tf.Tensor) -> list[tf.Tensor]:
            chosen = sequences[first:last]
            own = {"inputs": inputs, "targets": targets}
            batch = {name: tf.gather_nd(ids, chosen) for name, ids in own.items()}
            for name, ids in documents.items():
                batch[name] = tf.gather(ids, chosen[:, 0])
            return [self._sequence_log_probs(batch)]

        [found] = in_pieces(log_probs, tf.shape(sequences)[0], [NATS])
        return _scores(found, sequences[:, 0], targets)

    def _cut(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Cut word ids [N, (length)] into [N, cuts, sequence length], padded."""
        length, ids = self.sequence_length, ids.to_tensor(PAD)
        ids = tf.pad(ids, [[0, 0], [0, -tf.shape(ids)[1] % length]])
        return tf.reshape(ids, [tf.shape(ids)[0], tf.shape(ids)[1] // length, length])

    def _sequence_log_probs(self, batch: Tensors) -> tf.Tensor:
        """Return log p of the targets of every sequence together, nats, [B]."""
        return tf.reduce_sum(self.model(batch), axis=1)

    def generate(
        self, number: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor
    ) -> Tensors:
        """Sample sentences, each in an empty context."""
        return self._sample(self._empty(number), seed, temperature)

    def generate_from_topics(
        self, topics: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor
    ) -> Tensors:
        """Sample a sentence for every row of topics [N, K]."""
        return self._sample(self._mixed(topics), seed, temperature)

    def generate_known(
        self, number: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor
    ) -> Tensors:
        """Sample sentences of known words, each in an empty context."""
        return self._sample(self._empty(number), seed, temperature, KNOWN)

    def generate_known_from_topics(
        self, topics: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor
    ) -> Tensors:
        """Sample a sentence of known words for every row of topics [N, K]."""
        return self._sample(self._mixed(topics), seed, temperature, KNOWN)

    def beam_search(self, width: tf.Tensor) -> Tensors:
        """Find the most probable sentences in an empty context: [1, width]."""
        return self._search(self._empty(tf.constant(1)), width)

    def beam_search_from_topics(self, topics: tf.Tensor, width: tf.Tensor) -> Tensors:
        """Find the most probable sentences of topics [N, K]: [N, width]."""
        return self._search(self._mixed(topics), width)

    def _empty(self, number: tf.Tensor) -> Contexts:
        number, empty = input_checks.counted(number), self.model.batching.empty
        return number, lambda first, last: self.model.context(empty(last - first))

    def _mixed(self, topics: tf.Tensor) -> Contexts:
        topics, start = input_checks.mixtures(topics), self.model.context

        def context(first: tf.Tensor, last: tf.Tensor) -> Any:
            return start({"topics": topics[first:last]})

        return tf.shape(topics)[0], context

    def _sample(
        self,
        contexts: Contexts,
        seed: tf.Tensor,
        temperature: tf.Tensor,
        options: Decoding = ANY,
    ) -> Tensors:
        temperature = input_checks.positive(temperature)

        def choose(first: tf.Tensor) -> Any:
            return sampled(tf.stack([seed, tf.cast(first, tf.int64)]), temperature)

        return self._write(contexts, choose, options=options)

    def _search(self, contexts: Contexts, width: tf.Tensor) -> Tensors:
        width = input_checks.counted(width, "width")
        found = self._write(contexts, lambda _: beams(width), width)
        return {name: tf.reshape(x, [-1, width]) for name, x in found.items()}

    def _write(
        self, contexts: Contexts, choose: Any, width: Any = 1, options: Decoding = ANY
    ) -> Tensors:
        """Write `width` sentences for each of N contexts, [N * width].

        choose: makes of the number of a piece's first row what chooses its words.
        """
        number, context = contexts
        names = [""] * (EOS + 1) + self.model.vocabulary.words[EOS + 1 :]

        def write(first: tf.Tensor, last: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rows = repeated(context(first, last), width), (last - first) * width
            how = {"forbidden": options.forbidden}
            ids, log_probability = decode(self.model, *rows, choose(first), **how)
            joined = tf.strings.reduce_join(tf.gather(names, ids), 1, separator=" ")
            return tf.strings.strip(joined), log_probability

        specs = [tf.TensorSpec([None], tf.string), NATS]
        size = tf.maximum(chunking.SENTENCES // width, 1)
        written = in_pieces(write, number, specs, size)
        return dict(zip(("sentences", "log_probability"), written))


def _number_of_words(content: tf.Tensor) -> tf.Tensor:
    """Return how many content words [N] are in rows [N, W] of them."""
    return tf.math.count_nonzero(content != NO_WORD, axis=1)


def _rows(batch: Tensors, first: tf.Tensor, last: tf.Tensor) -> Tensors:
    return {name: ids[first:last] for name, ids in batch.items()}


def _known(vectors: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
    """Return vectors [N, F], NaN where there are no words [N] to know them by."""
    return tf.where((words > 0)[:, None], vectors, np.nan)


def _scores(log_probs: tf.Tensor, sentence: tf.Tensor, targets: tf.Tensor) -> Tensors:
    """Add up the log p of sequences [B] by their sentence [B] of the N.

    targets: [N, cuts, sequence length].
    """
    log_probability = tf.math.segment_sum(log_probs, sentence)
    counts = tf.math.count_nonzero(targets, [1, 2], dtype=tf.int32)
    mean = log_probability / tf.cast(counts, tf.float32)
    return {
        "log_probability": log_probability,
        "targets": counts,
        "perplexity": tf.exp(-mean),
    }
