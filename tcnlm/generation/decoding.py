"""Sentences from a language model: greedy, sampled, or by beam search.

`decode` is TensorFlow's alone, the same in Python and in the SavedModel. How words are
chosen is a function of a step of it,

    i, the `NextWord` of N sentences, log p [N] before, ended [N]
    -> words [N], log p [N] with them, rows [N] that they continue; None: each its own
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.generation.methods import MAX_LENGTH, NEVER, Decoding
from tcnlm.layers.softmax import Drawn, NextWord, chosen, draw_by_blocks
from tcnlm.layers.tf_function import graph
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD

SENTENCES = 1024  # written at a time: memory does not grow with their number

Chosen = tuple[tf.Tensor, tf.Tensor, Any]


@dataclass(frozen=True)
class Sentence:
    """A written sentence, the prompt included.

    `log_probability` is in nats, of all words and `<eos>`, under the model itself; a
    beam's words have theirs among the allowed ones.
    """

    words: list[str]
    log_probability: float
    ended: bool  # with <eos>, not by the maximum length

    def __str__(self) -> str:
        return " ".join(self.words)


class SentenceDecoder:
    """Writes sentences with a language model; its graph is built once and kept."""

    def __init__(self, model: Any, options: Decoding | None = None):
        self.model, self.options = model, options or Decoding()
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

        context: [batch_size, ...], of the model's `context`; prompt: word ids. Beam
        search may find fewer than `number`.
        """
        copies = self.options.copies(number)
        context = repeated(context, copies)
        together = copies if self.options.method == "beam" else 1
        size, rows = max(SENTENCES // together, 1) * together, batch_size * copies
        written, names = [], self.model.vocabulary.words
        for first in range(0, rows, size):
            last = min(first + size, rows)
            part, seeds = slice(first, last), tf.constant([seed, first], tf.int64)
            piece = tf.nest.map_structure(lambda x, part=part: x[part], context)
            inputs = tf.constant([GO, *prompt]), piece, tf.constant(last - first), seeds
            # Concrete, since TensorFlow counts the traces of other decoders' as its own
            # and warns.
            ids, log_probs = self._graph.get_concrete_function(*inputs)(*inputs)
            for row, log_prob in zip(ids.numpy(), log_probs.numpy()):
                words = [names[i] for i in (*prompt, *row[row > EOS])]
                ended = bool((row == EOS).any())
                sentence = Sentence(words, float(log_prob), ended)
                written.append(sentence if row.any() else None)  # a beam led nowhere
        groups = [written[i : i + copies] for i in range(0, len(written), copies)]
        return [[s for s in group if s is not None][:number] for group in groups]

    def _decode(
        self, prefix: tf.Tensor, context: Any, rows: tf.Tensor, seeds: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        options = self.options
        choose = {
            "greedy": greedy,
            "beam": beams(options.beam_width),
            "sample": sampled(seeds, options.temperature, options.top_k, options.top_p),
        }[options.method]
        limits = options.forbidden, options.max_length
        return decode(self.model, context, rows, choose, prefix, *limits)


def decode(
    model: Any,
    context: Any,
    rows: int | tf.Tensor,
    choose: Callable[..., Chosen],
    prefix: Any = (GO,),
    forbidden: Sequence[int] = NEVER,
    max_length: int = MAX_LENGTH,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Go on from the ids of a prefix: ids [N, T], 0 after `<eos>`, and log p [N].

    context: of N rows, as the model's `context` returns; log p: the prefix's too. A
    beam that led nowhere has zeros alone, and a log p of minus infinity.
    """
    prefix = tf.convert_to_tensor(prefix)
    state, constants = model.initial_state(context, rows)

    def step(i, token, state, ended, total, ids):
        word, state = model.step(token, state, constants)
        words, total, kept = choose(i, word.without(forbidden), total, ended)
        if kept is not None:
            old = state, ended, ids
            state, ended, ids = tf.nest.map_structure(lambda x: tf.gather(x, kept), old)
        words = tf.where(ended, PAD, words)
        ended |= (words == EOS) | (total == -np.inf)
        return i + 1, words, state, ended, total, tf.concat([ids, words[:, None]], 1)

    state, before = _read(model, state, constants, rows, prefix)
    start = tf.fill([rows], prefix[-1]), state, tf.fill([rows], False), tf.zeros([rows])
    shapes = tf.nest.map_structure(lambda x: x.shape, start)
    *_, total, ids = tf.while_loop(
        lambda i, token, state, ended, *_: ~tf.reduce_all(ended),
        step,
        (tf.constant(0), *start, tf.zeros([rows, 0], tf.int32)),
        (tf.TensorShape([]), *shapes, tf.TensorShape([None, None])),
        maximum_iterations=max_length,
    )
    return tf.where(total[:, None] > -np.inf, ids, PAD), before + total


def _read(
    model: Any, state: Any, constants: Any, rows: Any, prefix: tf.Tensor
) -> tuple:
    """Return the state before the prefix's last word, and log p(prefix) [N]."""

    def read(i: tf.Tensor, state: Any, total: tf.Tensor) -> tuple[Any, ...]:
        word, state = model.step(tf.fill([rows], prefix[i]), state, constants)
        return i + 1, state, total + word.log_probs()[:, prefix[i + 1]]

    start = tf.constant(0), state, tf.zeros([rows])
    if prefix.shape[0] == 1:  # spares a loop that does nothing
        return start[1:]
    last = tf.size(prefix) - 1
    return tf.while_loop(lambda i, *_: i < last, read, start)[1:]


def repeated(context: Any, copies: int | tf.Tensor) -> Any:
    """Return a context with as many copies of each row, side by side."""
    return tf.nest.map_structure(lambda x: tf.repeat(x, copies, axis=0), context)


def greedy(_: Any, word: NextWord, total: tf.Tensor, ended: tf.Tensor) -> Chosen:
    """Choose the most probable words."""
    log_probs = word.log_probs()
    words = tf.argmax(log_probs, axis=-1, output_type=tf.int32)
    return _each(chosen(log_probs, words), total, ended)


def sampled(
    seeds: tf.Tensor,
    temperature: float | tf.Tensor = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Callable[..., Chosen]:
    """Return what draws words as `draw`; seeds [2]: a seed, the first row's number."""
    unchanged = top_k is None and top_p >= 1 and temperature == 1

    def choose(i: Any, word: NextWord, *before: tf.Tensor) -> Chosen:
        seed = tf.random.experimental.stateless_fold_in(seeds, i)

        def from_all() -> Drawn:
            log_probs = word.log_probs()
            return chosen(log_probs, draw(log_probs, seed, temperature, top_k, top_p))

        if isinstance(unchanged, bool):  # known beforehand: only one has a graph
            drawn = word.draw(seed) if unchanged else from_all()
        else:
            drawn = tf.cond(unchanged, lambda: word.draw(seed), from_all)
        return _each(drawn, *before)

    return choose


def _each(drawn: Drawn, total: tf.Tensor, ended: tf.Tensor) -> Chosen:
    words, more = drawn
    return words, total + tf.where(ended, 0.0, more), None


def beams(width: int | tf.Tensor) -> Callable[..., Chosen]:
    """Return what keeps the `width` most probable beams of each context, best first.

    The rows of a context lie together. Log p is that among the allowed words.
    """

    def choose(i: Any, word: NextWord, total: tf.Tensor, ended: tf.Tensor) -> Chosen:
        log_probs = word.log_probs()
        # The beams of a context begin alike: before the first word one alone counts.
        counts = (i > 0) | (tf.range(tf.size(total)) % width == 0)
        size = tf.minimum(width, log_probs.shape[-1])
        more, words = tf.math.top_k(log_probs, size)
        more -= tf.reduce_logsumexp(log_probs, axis=-1, keepdims=True)
        nothing = tf.where(tf.range(size) == 0, 0.0, -np.inf)
        more = tf.where(ended[:, None], nothing, more)
        scores = tf.where(counts, total, -np.inf)[:, None] + more
        total, best = tf.math.top_k(tf.reshape(scores, [-1, width * size]), width)
        first = tf.range(tf.shape(best)[0])[:, None] * width * size
        best = tf.reshape(first + best, [-1])
        words = tf.gather(tf.reshape(words, [-1]), best)
        return words, tf.reshape(total, [-1]), best // size

    return choose


def draw(
    log_probs: tf.Tensor,
    seed: tf.Tensor,
    temperature: float | tf.Tensor = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> tf.Tensor:
    """Draw a word id a row from softmax(log p / temperature): [N, V] -> [N] int32.

    `top_k` keeps the k most probable words; of these, `top_p` the fewest whose
    probability together is at least p (Holtzman et al. 2020). Equal words are kept by
    rank, so `top_k=1` is the argmax. The same `seed` [2] draws the same words.
    """
    # The maximum goes first, or a small temperature would take every score to -inf.
    best = tf.reduce_max(log_probs, axis=-1, keepdims=True)
    scores = (log_probs - best) / temperature
    if top_k is None and top_p >= 1:
        return draw_by_blocks(scores, seed)
    size = scores.shape[-1]
    scores, words = tf.math.top_k(scores, min(top_k or size, size))
    more_probable = tf.cumsum(tf.nn.softmax(scores), axis=-1, exclusive=True)
    scores = tf.where(more_probable < top_p, scores, -np.inf)
    return tf.gather(words, draw_by_blocks(scores, seed), batch_dims=1)
