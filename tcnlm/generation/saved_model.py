"""A trained model as a TensorFlow SavedModel, of which docs/serving.md has signatures.

Every text is one sentence, tokenized in the graph by the rules of its language. To a
model that reads the preceding sentences each line of a context is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.files import check_folder, plain_path, replacing, writing
from tcnlm.data.dataset import NO_WORD
from tcnlm.generation import decoding
from tcnlm.generation.decoding import beams, decode, repeated, sampled
from tcnlm.generation.graph_texts import Texts
from tcnlm.generation.methods import Decoding
from tcnlm.layers.tf_function import graph
from tcnlm.models.topics import relevance, word_shares
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD

Tensors = dict[str, tf.Tensor]

DOCUMENTS, SENTENCES, CONTEXTS = (
    tf.TensorSpec([None], tf.string, name)
    for name in ("documents", "sentences", "contexts")
)
NUMBER, WIDTH = (tf.TensorSpec([], tf.int32, name) for name in ("number", "width"))
SEED = tf.TensorSpec([], tf.int64, "seed")
TEMPERATURE = tf.TensorSpec([], tf.float32, "temperature")
NATS = tf.TensorSpec([None], tf.float32)
ANY, KNOWN = Decoding(allow_unknown=True), Decoding(allow_unknown=False)
SOURCE = "source.txt"  # which weights it was made of
MODEL = "saved_model.pb"
PARTS = {"assets", "assets.extra", "fingerprint.pb", "variables", MODEL, SOURCE}
ROWS = 256  # read or scored at a time
TOLERANCE = 0.01  # of the sum of a topic mixture
WARM_UP = Path("assets.extra", "tf_serving_warmup_requests")
WARM_UP_TEXT = "the model is ready ."


def export(
    model: Any,
    folder: str | Path,
    sequence_length: int = 30,
    context_words: int = 300,
    source: str = "",
    warm_up: bool = False,
) -> None:
    """Write a model as a SavedModel; one that is there already is replaced.

    sequence_length, context_words: those of the training; source: a name of its
    weights, see `is_export_of`; warm_up: with requests for TensorFlow Serving.
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
            _write_requests(aside / WARM_UP, signatures)
        (aside / SOURCE).write_text(f"{source}\n", encoding="utf-8")


def check_free(folder: Path) -> None:
    """Raise InputError where a SavedModel cannot be written."""
    names = {p.name for p in folder.iterdir()} if folder.is_dir() else set()
    if names - PARTS or (folder.exists() and not folder.is_dir()):
        told = "exists and is not a SavedModel alone; move it away"
        raise InputError(f"{folder}: {told}")
    check_folder(folder.parent)


def is_export_of(folder: Path, source: str) -> bool:
    """Whether a folder is the SavedModel that was made of these weights."""
    made, of = folder / MODEL, folder / SOURCE
    return made.exists() and of.exists() and of.read_bytes() == f"{source}\n".encode()


def check_warm_up() -> None:
    """Raise InputError where the messages of requests can't be had."""
    try:
        import tensorflow_serving.apis  # noqa: F401
    except ImportError:
        package = "pip install '/path/to/tcnlm[serving]'"
        raise InputError(f"--warm-up: needs one more package: {package}") from None


def _write_requests(path: Path, signatures: Mapping[str, Any]) -> None:
    """Write what TensorFlow Serving asks itself before it says that it is ready."""
    # Here, since only who warms up has the package.
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as file:
        for name, signature in signatures.items():
            log = PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = name
            for spec in signature.input_signature:
                if spec.dtype == tf.string:
                    value = tf.constant([WARM_UP_TEXT])
                elif spec.shape.rank == 2:
                    value = tf.one_hot([0], spec.shape[1], dtype=spec.dtype)
                else:
                    value = tf.ones(spec.shape, spec.dtype)
                request.inputs[spec.name].CopyFrom(tf.make_tensor_proto(value))
            file.write(log.SerializeToString())


class Program:
    """What the SavedModel offers, each a method from tensors to named tensors.

    source: topics [N, K] or, of a model without, the number of sentences. Bad inputs
    are refused by name, by TensorFlow's InvalidArgumentError.
    """

    def __init__(self, model: Any, sequence_length: int, context_words: int):
        self.model = model
        self.texts = Texts(model.vocabulary, context_words)
        self.sequence_length = sequence_length
        self.topical = model.offers("topics")

    def signatures(self) -> dict[str, Any]:
        """Return the functions that the model has, ready to be saved."""
        found, source, topics = {}, NUMBER, []
        if self.topical:
            number = self.model.topics().shape[0]
            source = tf.TensorSpec([None, number], tf.float32, "topics")
            topics = [source]
            found |= {self.infer_topics: [DOCUMENTS], self.topic_words: [NUMBER]}
        if self.model.offers("step"):
            drawn = [source, SEED, TEMPERATURE]
            found |= {self.score: [SENTENCES, CONTEXTS], self.generate: drawn}
            found |= {self.generate_known: drawn, self.beam_search: [*topics, WIDTH]}
        if self.model.documental:
            found |= {self.features: [DOCUMENTS], self.score_document: [DOCUMENTS]}
        return {method.__name__: graph(method, spec) for method, spec in found.items()}

    def infer_topics(self, documents: tf.Tensor) -> Tensors:
        """Infer the topics of documents [N], [N, K]; without a topic word NaN."""
        content, topics = self.texts.content(documents), self.model.topics().shape[0]
        spec = tf.TensorSpec([None, topics], tf.float32)
        found = _by_rows(self.model.infer, content, spec)
        words = _number_of_words(content)
        return {"topics": _known(found, words), "topic_words": words}

    def topic_words(self, number: tf.Tensor) -> Tensors:
        """Return the most relevant words of every topic, [K, number]."""
        topics = self.model.topics()
        number = tf.minimum(_counted(number), topics.shape[1])
        shares = word_shares(self.model.vocabulary).astype(np.float32)
        best = tf.math.top_k(relevance(topics, shares), number).indices
        return {"words": tf.gather(self.model.vocabulary.topic_words, best)}

    def features(self, documents: tf.Tensor) -> Tensors:
        """Return the vectors of documents [N], [N, F]; NaN without a topic word."""
        batch = self.model.batching.of_texts(self.texts, documents)
        spec = tf.TensorSpec([None, None], tf.float32)
        found = _by_rows(self.model.features, batch, spec)
        return {"features": _known(found, _number_of_words(batch["words"]))}

    def score_document(self, documents: tf.Tensor) -> Tensors:
        """Score the content words of documents [N], one order for all."""
        batch = self.model.batching.of_texts(self.texts, documents)
        total = _by_rows(self._log_probs, batch, NATS)
        words = _number_of_words(self.model.read(batch["words"]))
        perplexity = tf.exp(-total / tf.cast(words, total.dtype))
        return {"log_probability": total, "words": words, "perplexity": perplexity}

    def _log_probs(self, batch: Tensors) -> tf.Tensor:
        return tf.reduce_sum(self.model(batch), axis=1)

    def score(self, sentences: tf.Tensor, contexts: tf.Tensor) -> Tensors:
        """Score sentences [N], each under its context [N], cut up as in training."""
        ids = self.texts.ids(sentences)
        edge = tf.ones([tf.size(sentences), 1], tf.int32)
        inputs = self._cut(tf.concat([GO * edge, ids], axis=1))
        targets = self._cut(tf.concat([ids, EOS * edge], axis=1))
        sequences = tf.where(targets[:, :, 0] != PAD)  # (sentence, cut) of each
        alike = tf.size(sentences) == tf.size(contexts)
        wanted = "contexts: give as many as sentences, one for each"
        contexts = _checked(contexts, alike, wanted)
        documents = self.model.batching.of_texts(self.texts, contexts)

        def log_probs(chosen: tf.Tensor) -> tf.Tensor:
            words = {"inputs": inputs, "targets": targets}
            batch = {name: tf.gather_nd(ids, chosen) for name, ids in words.items()}
            for name, ids in documents.items():
                batch[name] = tf.gather(ids, chosen[:, 0])
            return self._log_probs(batch)

        found = _by_rows(log_probs, sequences, NATS)
        log_probability = tf.math.segment_sum(found, sequences[:, 0])
        counts = tf.math.count_nonzero(targets, [1, 2], dtype=tf.int32)
        perplexity = tf.exp(-log_probability / tf.cast(counts, tf.float32))
        found = {"targets": counts, "perplexity": perplexity}
        return {"log_probability": log_probability, **found}

    def _cut(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Cut word ids [N, (length)] into [N, cuts, sequence length], padded."""
        length, ids = self.sequence_length, ids.to_tensor(PAD)
        ids = tf.pad(ids, [[0, 0], [0, -tf.shape(ids)[1] % length]])
        return tf.reshape(ids, [tf.shape(ids)[0], tf.shape(ids)[1] // length, length])

    def generate(
        self, source: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor
    ) -> Tensors:
        """Sample a sentence for every row of topics, or each in an empty context."""
        return self._sample(source, seed, temperature, ANY)

    def generate_known(
        self, source: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor
    ) -> Tensors:
        """Sample sentences of known words alone."""
        return self._sample(source, seed, temperature, KNOWN)

    def beam_search(self, *inputs: tf.Tensor) -> Tensors:
        """Find the most probable sentences [N, width] of topics [N, K], width.

        In an empty context of width alone: [1, width].
        """
        source, width = inputs if self.topical else (tf.constant(1), *inputs)
        width = _counted(width, "width")
        found = self._write(source, lambda _: beams(width), width)
        return {name: tf.reshape(x, [-1, width]) for name, x in found.items()}

    def _sample(
        self, source: tf.Tensor, seed: tf.Tensor, heat: tf.Tensor, options: Decoding
    ) -> Tensors:
        limits = np.finfo("float32")
        good = (heat >= limits.tiny) & (heat <= limits.max)
        heat = _checked(heat, good, "temperature: must be a finite number above 0")

        def choose(first: tf.Tensor) -> Any:
            return sampled(tf.stack([seed, tf.cast(first, tf.int64)]), heat)

        return self._write(source, choose, options=options)

    def _checked_topics(self, source: tf.Tensor) -> tf.Tensor:
        number = source.shape[1]
        # By their count, since TensorFlow takes a width that its graph knows as given.
        shares = tf.math.count_nonzero(source >= 0, dtype=tf.int32)
        sums = tf.reduce_sum(source, axis=1)
        good = shares == number * tf.shape(source)[0]
        good &= tf.reduce_all(abs(sums - 1) <= TOLERANCE)
        wanted = f"topics: every row must be {number} shares from 0 on that sum to 1"
        return _checked(source, good, wanted)

    def _write(
        self, source: tf.Tensor, choose: Any, width: Any = 1, options: Decoding = ANY
    ) -> Tensors:
        """Write [N * width] sentences; choose: of the number of a piece's first row."""
        names = [""] * (EOS + 1) + self.model.vocabulary.words[EOS + 1 :]
        topics = self._checked_topics(source) if self.topical else None
        number = tf.shape(topics)[0] if self.topical else _counted(source)

        def write(first: tf.Tensor, last: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            if self.topical:
                batch = {"topics": topics[first:last]}
            else:
                batch = self.model.batching.empty(last - first)
            context = repeated(self.model.context(batch), width)
            rows, how = (last - first) * width, {"forbidden": options.forbidden}
            found = decode(self.model, context, rows, choose(first), **how)
            words = tf.gather(names, found[0])
            joined = tf.strings.reduce_join(words, 1, separator=" ")
            return tf.strings.strip(joined), found[1]

        specs = [tf.TensorSpec([None], tf.string), NATS]
        size = tf.maximum(decoding.SENTENCES // width, 1)
        written = in_pieces(write, number, specs, size)
        return dict(zip(("sentences", "log_probability"), written))


def _checked(value: tf.Tensor, good: tf.Tensor, wanted: str) -> tf.Tensor:
    with tf.control_dependencies([tf.debugging.Assert(good, [wanted])]):
        return tf.identity(value)


def _counted(number: tf.Tensor, name: str = "number") -> tf.Tensor:
    return _checked(number, number >= 1, f"{name}: must be 1 or more")


def _number_of_words(content: tf.Tensor) -> tf.Tensor:
    return tf.math.count_nonzero(content != NO_WORD, axis=1)


def _known(vectors: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
    """Return vectors [N, F], NaN where there are no words [N] to know them by."""
    return tf.where((words > 0)[:, None], vectors, np.nan)


def _by_rows(
    function: Callable[[Any], tf.Tensor], inputs: Any, spec: tf.TensorSpec
) -> tf.Tensor:
    """Return what a function makes of a nest of [N, ...], `ROWS` rows at a time."""

    def of_rows(*ends: tf.Tensor) -> list[tf.Tensor]:
        return [function(tf.nest.map_structure(lambda x: x[slice(*ends)], inputs))]

    number = tf.shape(tf.nest.flatten(inputs)[0])[0]
    return in_pieces(of_rows, number, [spec], ROWS)[0]


def in_pieces(
    function: Callable[[tf.Tensor, tf.Tensor], Sequence[tf.Tensor]],
    number: tf.Tensor,
    specs: Sequence[tf.TensorSpec],
    size: int | tf.Tensor,
) -> list[tf.Tensor]:
    """Return function(first, last + 1) of all rows, `size` of them at a time, joined.

    function: returns tensors [rows, ...], as `specs`; without rows it is called once.
    """
    pieces = tf.maximum((number + size - 1) // size, 1)
    arrays = [
        tf.TensorArray(spec.dtype, pieces, element_shape=spec.shape, infer_shape=False)
        for spec in specs
    ]

    def step(i: tf.Tensor, arrays: Any) -> tuple[tf.Tensor, Any]:
        found = function(i * size, tf.minimum((i + 1) * size, number))
        return i + 1, [array.write(i, x) for array, x in zip(arrays, found)]

    _, arrays = tf.while_loop(
        lambda i, _: i < pieces, step, (tf.constant(0), arrays), parallel_iterations=1
    )
    return [array.concat() for array in arrays]
