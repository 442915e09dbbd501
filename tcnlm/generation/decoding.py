"""Sentences from a language model: greedy, sampled, or by beam search.

Everything goes through the model's `step(token, state, context)`. The loops are those
of tensorflow_addons, which nothing else here needs but `lazy_adam=true`. A sentence
starts from `<go>` and the zero state, or goes on from a prompt, and stops at `<eos>`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from preprocessing.vocabulary import EOS, GO, PAD, UNK
from tcnlm.common.errors import InputError
from tcnlm.generation.pieces import SENTENCES
from tcnlm.generation.sampling import MAX_LENGTH, draw, forbid, step_seed
from tcnlm.layers.graphs import graph

with warnings.catch_warnings():  # a notice that its development has ended
    warnings.filterwarnings("ignore", message="\\s*TensorFlow Addons")
    import tensorflow_addons as tfa

METHODS = ("greedy", "sample", "beam")


@dataclass(frozen=True)
class Decoding:
    """How to choose words. Raises InputError for a setting out of its range."""

    method: str = "sample"  # the paper's "greedily sample" cannot be the argmax
    temperature: float = 1.0  # of sampling
    top_k: int | None = None  # sample from the k most probable words
    top_p: float = 1.0  # sample from the fewest words that have this mass
    beam_width: int = 10
    max_length: int = MAX_LENGTH  # words beyond the prompt
    allow_unknown: bool = True  # the paper's sentences contain <unk>

    def __post_init__(self):
        if self.method not in METHODS:
            raise InputError(f"method must be one of {METHODS}, not {self.method!r}")
        for name in ("beam_width", "max_length", "top_k"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise InputError(
                    f"{name} must be a whole number, at least 1, not {value!r}"
                )
        limits = np.finfo("float32")
        if not limits.tiny <= self.temperature <= limits.max:
            raise InputError(
                f"temperature must be a number above 0, not {self.temperature}"
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p}")

    @property
    def forbidden(self) -> list[int]:
        """The word ids that are never written."""
        return [PAD, GO] if self.allow_unknown else [PAD, GO, UNK]

    def copies(self, number: int) -> int:
        """Return how many sentences to write at once to have `number` for a context."""
        most = {"greedy": 1, "sample": number, "beam": self.beam_width}[self.method]
        if number < 1 or number > most:
            limit = "at least 1" if self.method == "sample" else f"1 to {most}"
            raise InputError(
                f"number must be {limit} with method {self.method}, not {number}"
            )
        return most


@dataclass(frozen=True)
class Sentence:
    """A written sentence, the prompt included.

    `log_probability` is that of all its words, and of `<eos>` where `ended`, in nats,
    under the model itself: neither temperature nor forbidden words change it. Only a
    beam's words have theirs among the allowed ones, by which beams are ranked.
    """

    words: list[str]
    log_probability: float
    ended: bool  # with <eos>, not by the maximum length

    def __str__(self) -> str:
        return " ".join(self.words)


class SentenceDecoder:
    """Writes sentences with a language model; its graph is built once and kept."""

    def __init__(self, model: Any, options: Decoding | None = None):
        self.model = model
        self.options = options or Decoding()
        self._graph = graph(self._decode, reduce_retracing=True)

    def __call__(
        self,
        context: Any,
        batch_size: int,
        number: int = 1,
        prompt: Sequence[int] = (),
        seed: int = 0,
    ) -> list[list[Sentence]]:
        """Return `number` sentences for each row of the context; beams best first.

        context: nest of [batch_size, ...] tensors, as the model's `context` returns;
        prompt: word ids. The same seed gives the same sentences. Beam search may find
        fewer than `number`, where fewer are possible.
        """
        copies = self.options.copies(number)
        context = tf.nest.map_structure(lambda x: tf.repeat(x, copies, axis=0), context)
        together = copies if self.options.method == "beam" else 1
        size, rows = max(SENTENCES // together, 1) * together, batch_size * copies
        written = []
        for first in range(0, rows, size):
            last = min(first + size, rows)
            written += self._piece(context, first, last, prompt, seed)
        groups = [written[i : i + copies] for i in range(0, len(written), copies)]
        return [[s for s in group if s is not None][:number] for group in groups]

    def _piece(
        self, context: Any, first: int, last: int, prompt: Sequence[int], seed: int
    ) -> list[Sentence | None]:
        """Return the sentences of these rows of the context."""
        context = tf.nest.map_structure(lambda x: x[first:last], context)
        seeds = tf.constant([seed, first], tf.int64)
        prefix, rows = tf.constant([GO, *prompt]), tf.constant(last - first)
        inputs = prefix, context, rows, seeds
        # Concrete, since TensorFlow counts the traces of other decoders' as its own
        # and warns.
        graph = self._graph.get_concrete_function(*inputs)
        ids, log_probability = graph(*inputs)
        found = zip(ids.numpy(), log_probability.numpy())
        return [self._sentence(prompt, *row) for row in found]

    def _sentence(
        self, prompt: Sequence[int], ids: np.ndarray, log_probability: float
    ) -> Sentence | None:
        """Return the sentence of ids [T], or None for a beam that led nowhere."""
        names = self.model.vocabulary.words
        words = [names[i] for i in (*prompt, *ids[ids > EOS])]
        sentence = Sentence(words, float(log_probability), bool((ids == EOS).any()))
        return sentence if ids.any() else None

    def _decode(
        self, prefix: tf.Tensor, context: Any, rows: tf.Tensor, seeds: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Go on from the prefix: word ids [N, T], 0 after `<eos>`, and log p [N]."""
        context = self.model.for_steps(context)
        state, before = self._read(prefix, context, rows)
        cell = _StepCell(self.model, self.options.forbidden, (state, context))
        start = tf.fill([rows], prefix[-1])
        if self.options.method == "beam":
            ids, after = self._beam_search(cell, start)
        else:
            ids, after = self._word_by_word(cell, start, seeds)
        return tf.where(_until_end(ids), ids, PAD), before + after

    def _read(
        self, prefix: tf.Tensor, context: Any, rows: tf.Tensor
    ) -> tuple[Any, tf.Tensor]:
        """Return the state before the prefix's last word, and log p(prefix) [N]."""

        def read(i: tf.Tensor, state: Any, total: tf.Tensor) -> tuple[Any, ...]:
            token = tf.fill([rows], prefix[i])
            log_probs, state = self.model.step(token, state, context)
            return i + 1, state, total + log_probs[:, prefix[i + 1]]

        last, state = tf.size(prefix) - 1, self.model.initial_state(rows)
        start = tf.constant(0), state, tf.zeros([rows])
        return tf.while_loop(lambda i, *_: i < last, read, start)[1:]

    def _word_by_word(
        self, cell: _StepCell, start: tf.Tensor, seeds: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Choose each word for good: ids [N, T], log p of those up to `<eos>` [N]."""
        if self.options.method == "greedy":
            sampler = tfa.seq2seq.GreedyEmbeddingSampler(tf.identity)
        else:
            sampler = _SeededSampler(self.options, seeds)
        outputs, _ = self._run(_WordDecoder(cell, sampler), cell, start)
        log_probs = tf.where(_until_end(outputs.sample_id), outputs.rnn_output, 0.0)
        return outputs.sample_id, tf.reduce_sum(log_probs, axis=1)

    def _beam_search(
        self, cell: _StepCell, start: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Keep the most probable beams of a context: ids [N, T], log p [N]."""
        width = self.options.beam_width
        decoder = tfa.seq2seq.BeamSearchDecoder(cell, width, embedding_fn=tf.identity)
        outputs, final = self._run(decoder, cell, start[::width])
        ids = tf.transpose(outputs.predicted_ids, [0, 2, 1])
        # Where fewer sentences are possible than beams, tfa adds impossible ones.
        possible = final.log_probs > tf.float32.min / 2
        ids = tf.where(possible[:, :, None], ids, PAD)
        log_probs = tf.reshape(final.log_probs, [-1])
        return tf.reshape(ids, [-1, tf.shape(ids)[2]]), log_probs

    def _run(self, decoder: Any, cell: _StepCell, start: tf.Tensor) -> tuple[Any, Any]:
        outputs, final_state, _ = tfa.seq2seq.dynamic_decode(
            decoder,
            maximum_iterations=self.options.max_length,
            decoder_init_kwargs={
                "start_tokens": start,
                "end_token": EOS,
                "initial_state": cell.get_initial_state(),
            },
        )
        return outputs, final_state


class _StepCell(tf.keras.layers.Layer):
    """A model's `step` as the RNN cell that tfa's decoders drive.

    inputs: word ids [N]; state: the model's state and its context
    -> log p [N, V], minus infinity at forbidden words; state.

    tfa's beam search normalises log p over the allowed words.
    """

    def __init__(self, model: Any, forbidden: Sequence[int], start: Any):
        super().__init__()
        self._step = model.step
        self._forbidden = forbidden
        # The state is a flat list here: Keras wraps nested tuples among a layer's
        # attributes, tfa's decoders included, which they do not survive.
        self._nest = partial(_unflatten, start)
        self._start = _flatten(start)
        self.output_size = tf.TensorShape([len(model.vocabulary.words)])
        self.state_size = [x.shape[1:] for x in self._start]

    def get_initial_state(self, **_: Any) -> list[tf.Tensor]:
        """Return the state to start from."""
        return list(self._start)

    def call(self, token: tf.Tensor, flat_state: Any) -> tuple[tf.Tensor, list]:
        """Make one step; see the class."""
        state, context = self._nest(flat_state)
        log_probs, state = self._step(token, state, context)
        return forbid(log_probs, self._forbidden), _flatten((state, context))


def _flatten(nest: Any) -> list[tf.Tensor]:
    """Return a nest's tensors [N, ...] as [N] or [N, size].

    tfa's beam search reorders no others.
    """
    return [
        x if x.shape.rank < 3 else tf.reshape(x, [-1, x.shape[1:].num_elements()])
        for x in tf.nest.flatten(nest)
    ]


def _unflatten(nest: Any, rows: list[tf.Tensor]) -> Any:
    """Return what `_flatten` made of tensors like those of the nest as it was."""
    pairs = zip(rows, tf.nest.flatten(nest))
    leaves = [tf.reshape(row, [-1, *x.shape[1:]]) for row, x in pairs]
    return tf.nest.pack_sequence_as(nest, leaves)


class _WordDecoder(tfa.seq2seq.BasicDecoder):
    """tfa's decoder, but of the log p [N, V] of a step it keeps the chosen word's."""

    @property
    def output_size(self) -> Any:
        return super().output_size._replace(rnn_output=tf.TensorShape([]))

    def step(self, time: Any, inputs: Any, state: Any, training: Any = None) -> tuple:
        outputs, *rest = super().step(time, inputs, state, training)
        chosen = tf.gather(outputs.rnn_output, outputs.sample_id, batch_dims=1)
        return (outputs._replace(rnn_output=chosen), *rest)


class _SeededSampler(tfa.seq2seq.SampleEmbeddingSampler):
    """tfa's sampler with top-k and top-p, and with draws that a seed repeats."""

    def __init__(self, options: Decoding, seeds: tf.Tensor):
        super().__init__(tf.identity)
        self.options, self.seeds = options, seeds  # [2]: the seed, and the first row

    def sample(self, time: tf.Tensor, outputs: tf.Tensor, state: Any) -> tf.Tensor:
        """Draw a word for every row of log p [N, V]."""
        seed, options = step_seed(*tf.unstack(self.seeds), time), self.options
        return draw(outputs, seed, options.temperature, options.top_k, options.top_p)


def _until_end(ids: tf.Tensor) -> tf.Tensor:
    """Mask ids [N, T] up to the first `<eos>`, itself included."""
    return tf.cumsum(tf.cast(ids == EOS, tf.int32), axis=1, exclusive=True) == 0
