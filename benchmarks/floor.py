"""The floor of a training step of TCNLM: its matrix products and the bytes they move.

A step is a list of parts, a part the products that it cannot do without. What they
leave out, everything elementwise, costs bytes rather than operations; of that only the
optimiser's sweep over all weights is counted. Letters as in `tcnlm/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

import numpy as np

from tcnlm.layers.recurrence import GATES
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary

FLOAT = 4  # bytes
SWEEP_OPERATIONS = 15  # a weight: 2 of its norm, 1 of the clipping, 12 of Adam
SWEEP_FLOATS = 10  # a weight: norm reads 1, clipping 2; Adam reads 4 and writes 3


class Product(NamedTuple):
    """[rows, inner] times [inner, columns], `gates` at once, in each of `steps`."""

    rows: int
    inner: int
    columns: int
    gates: int = 1
    steps: int = 1

    @property
    def times(self) -> int:
        """How often it is computed."""
        return self.gates * self.steps

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each of the inner terms."""
        return 2 * self.times * self.rows * self.inner * self.columns

    @property
    def bytes(self) -> int:
        """Both factors read once each time, and the product written."""
        a, b = self.rows * self.inner, self.inner * self.columns
        return FLOAT * self.times * (a + b + self.rows * self.columns)

    @property
    def left_gradient(self) -> Product:
        """The gradient of the left factor, which a recurrence needs step by step."""
        return self._replace(inner=self.columns, columns=self.inner)

    @property
    def right_gradient(self) -> Product:
        """The gradient of the right factor, a weight: one product for all steps."""
        rows = self.rows * self.steps
        return Product(self.inner, rows, self.columns, self.gates)


class Sweep(NamedTuple):
    """The optimiser's pass over all weights: their norm, the clipping, and Adam."""

    weights: int

    @property
    def flops(self) -> int:
        """See SWEEP_OPERATIONS."""
        return SWEEP_OPERATIONS * self.weights

    @property
    def bytes(self) -> int:
        """See SWEEP_FLOATS."""
        return FLOAT * SWEEP_FLOATS * self.weights


Work = Sequence[Union[Product, Sweep]]


class Part(NamedTuple):
    """A part of the step, with its work there and back."""

    name: str
    forward: Work
    backward: Work = ()


@dataclass(frozen=True)
class Sizes:
    """Those of a TCNLM of one layer; the defaults are "small" on IMDB (Table 1)."""

    units: int = 600  # H
    factors: int = 600  # F
    embedding: int = 300  # E
    topics: int = 100  # K
    topic_words: int = 8713  # D
    vocabulary: int = 34256  # V
    cutoffs: tuple[int, ...] = (2000, 10000)
    div_value: float = 4.0
    encoder: tuple[int, ...] = (256, 256)

    @classmethod
    def of(cls, config: Any, vocabulary: Vocabulary) -> Sizes:
        """Return those of a TCNLM with this configuration."""
        return cls(
            config.units,
            config.num_factors or config.units,
            config.embedding_size,
            config.num_topics,
            len(vocabulary.topic_words),
            len(vocabulary),
            config.cutoffs,
            config.div_value,
            config.encoder_units,
        )

    @property
    def tails(self) -> list[tuple[int, int, int]]:
        """The first word, the end, and the projection's size H_i of each tail."""
        bounds = [*(c for c in self.cutoffs if c < self.vocabulary), self.vocabulary]
        return [
            (low, high, max(1, int(self.units / self.div_value**i)))
            for i, (low, high) in enumerate(zip(bounds[:-1], bounds[1:]), start=1)
        ]

    @property
    def head(self) -> int:
        """The head's entries: its words, and one for each tail."""
        first = self.tails[0][0] if self.tails else self.vocabulary
        return first + len(self.tails)

    @property
    def weights(self) -> int:
        """All weights that are trained."""
        width = GATES * self.factors
        factors = width * (self.embedding + 2 * self.topics + 3 * self.units)
        softmax = self.units * self.head + sum(
            size * (self.units + high - low) for low, high, size in self.tails
        )
        layers = [self.topic_words, *self.encoder]
        encoder = sum((a + 1) * b for a, b in zip(layers[:-1], layers[1:]))
        gaussian = 2 * (layers[-1] + 1) * self.topics
        proportions = (self.topics + 1) * self.topics
        topic_model = encoder + gaussian + proportions + self.topics * self.topic_words
        embedding = self.vocabulary * self.embedding
        return embedding + factors + GATES * self.units + softmax + topic_model


@dataclass(frozen=True)
class Load:
    """What one batch asks for."""

    sequences: int  # B
    steps: int  # T, the longest
    targets: int  # real ones
    in_tails: tuple[int, ...] = field(default=())  # of these, in each tail

    @classmethod
    def of(cls, batch: dict[str, np.ndarray], sizes: Sizes) -> Load:
        """Count it in a batch."""
        targets = batch["targets"]
        in_tails = (
            np.count_nonzero((targets >= low) & (targets < high))
            for low, high, _ in sizes.tails
        )
        return cls(*targets.shape, np.count_nonzero(targets != PAD), tuple(in_tails))


def training_step(sizes: Sizes, load: Load) -> list[Part]:
    """Return the parts of one step; t Wb and t Ub, too, are a product each."""
    of_topics = Product(load.sequences, sizes.topics, GATES * sizes.factors)
    return [
        _both_ways("input side", [of_topics, *_input_side(sizes, load)]),
        _both_ways("recurrence", [of_topics, *_recurrence(sizes, load)]),
        _both_ways("softmax head", [_head(sizes, load.targets)]),
        _both_ways("softmax tails", _tails(sizes, load.in_tails)),
        _topic_model(sizes, load.sequences),
        Part("optimiser", [], [Sweep(sizes.weights)]),
    ]


def generated_word(sizes: Sizes, load: Load) -> list[Part]:
    """Return the parts of writing one word in each sentence, from given topics.

    What the topics make of the factors is the same for all words, and left out. A tail
    is computed for the words that are in it.
    """
    return [
        Part("input side", _input_side(sizes, load)),
        Part("recurrence", _recurrence(sizes, load)),
        Part("softmax head", [_head(sizes, load.targets)]),
        Part("softmax tails", _tails(sizes, load.in_tails)),
    ]


def products(parts: Iterable[Part]) -> list[Product]:
    """Return the matrix products of parts, there and back."""
    return [item for item in _work(parts) if isinstance(item, Product)]


def sweeps(parts: Iterable[Part]) -> list[Sweep]:
    """Return the rest."""
    return [item for item in _work(parts) if isinstance(item, Sweep)]


def total(work: Iterable[Product | Sweep], what: str = "flops") -> int:
    """Return the "flops" or the "bytes" of it all."""
    return sum(getattr(item, what) for item in work)


def together(steps: Sequence[list[Part]]) -> list[Part]:
    """Return several steps as one: each part with the work of all."""
    return [
        Part(
            each[0].name,
            [work for part in each for work in part.forward],
            [work for part in each for work in part.backward],
        )
        for each in zip(*steps)
    ]


def _work(parts: Iterable[Part]) -> list[Product | Sweep]:
    return [item for part in parts for item in (*part.forward, *part.backward)]


def _both_ways(name: str, forward: list[Product]) -> Part:
    return Part(name, forward, _backward(forward))


def _backward(forward: Sequence[Product]) -> list[Product]:
    return [p for f in forward for p in (f.left_gradient, f.right_gradient)]


def _input_side(sizes: Sizes, load: Load) -> list[Product]:
    """x Wc and (...) Wa for all positions at once."""
    width, positions = GATES * sizes.factors, load.sequences * load.steps
    return [
        Product(positions, sizes.embedding, width),
        Product(positions, sizes.factors, sizes.units, GATES),
    ]


def _recurrence(sizes: Sizes, load: Load) -> list[Product]:
    """h Uc and (...) Ua step by step."""
    width = GATES * sizes.factors
    return [
        Product(load.sequences, sizes.units, width, steps=load.steps),
        Product(load.sequences, sizes.factors, sizes.units, GATES, load.steps),
    ]


def _head(sizes: Sizes, targets: int) -> Product:
    return Product(targets, sizes.units, sizes.head)


def _tails(sizes: Sizes, in_tails: Sequence[int]) -> list[Product]:
    """A projection and a tail, for the targets that are in it."""
    return [
        product
        for (low, high, size), rows in zip(sizes.tails, in_tails)
        for product in (
            Product(rows, sizes.units, size),
            Product(rows, size, high - low),
        )
    ]


def _topic_model(sizes: Sizes, sequences: int) -> Part:
    """Encoder, mean and variance, proportions, beta t, and the angles of the topics."""
    layers = [sizes.topic_words, *sizes.encoder]
    bag, *hidden = (Product(sequences, a, b) for a, b in zip(layers[:-1], layers[1:]))
    gaussian = Product(sequences, layers[-1], sizes.topics)
    proportions = Product(sequences, sizes.topics, sizes.topics)
    words = Product(sequences, sizes.topics, sizes.topic_words)
    angles = Product(sizes.topics, sizes.topic_words, sizes.topics)
    rest = _both_ways("", [*hidden, gaussian, gaussian, proportions, words, angles])
    # Nothing asks for the gradient of the counts.
    backward = [bag.right_gradient, *rest.backward]
    return Part("topic model", [bag, *rest.forward], backward)
