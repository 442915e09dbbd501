"""Sentences from a language model: greedy, sampled, or by beam search.

Everything goes through the model's `step(token, state, context)`, by the loop of
`decoder.py`. A sentence starts from `<go>` and the zero state, or goes on from a
prompt, and stops at `<eos>`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.generation import decoder
from tcnlm.generation.chunking import SENTENCES
from tcnlm.generation.methods import Decoding
from tcnlm.layers.tf_function import graph
from tcnlm.preprocessing.vocabulary import EOS, GO


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
        context = decoder.repeated(context, copies)
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
        """Return word ids [N, T], 0 after `<eos>`, and log p, the prefix's too, [N]."""
        options, choose = self.options, self._chooser(seeds)
        limits = options.forbidden, options.max_length
        return decoder.decode(self.model, context, rows, choose, prefix, *limits)

    def _chooser(self, seeds: tf.Tensor) -> Callable[..., tuple]:
        """Return what chooses the words; seeds [2]: the seed, and the first row."""
        options = self.options
        if options.method == "greedy":
            return decoder.greedy
        if options.method == "beam":
            return decoder.beams(options.beam_width)
        return decoder.sampled(seeds, options.temperature, options.top_k, options.top_p)
