"""DocNADE's training speed: python -m benchmarks.documents DATA.

Its full, sampled and split objectives by turns with their floor, the bare matrix
products of the full one, and with gensim's LDA, all on the same documents. Words are
those that DocNADE reads, log counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import LdaModel

from benchmarks.bench import QUARTERS, SEED
from benchmarks.floor import Product
from benchmarks.rates import measure
from benchmarks.systems import Ours, Products, make_model
from preprocessing.vocabulary import Vocabulary
from tcnlm.common.process import keep_memory, make_reproducible
from tcnlm.data.batching import Batch
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Dataset
from tcnlm.data.documents import Documents
from tcnlm.layers.optimization import Training

LDA_DOCUMENTS = 2000  # of gensim's round, in updates of its own default size
OBJECTIVES = {
    "DocNADE, full softmax": {},
    "DocNADE, 200 sampled words": {"sampled": 200},
    "DocNADE, one split": {"objective": "split"},
}
FLOOR = "its matrix products"


def softmax_products(words: int, units: int, size: int) -> list[Product]:
    """Return those of M words: V h, and its gradients to h and to V."""
    forward = Product(words, units, size)
    return [forward, forward.left_gradient, forward.right_gradient]


class Lda:
    """One pass of gensim's LDA over documents, from scratch."""

    def __init__(self, documents: Sequence[np.ndarray], words: Vocabulary, topics: int):
        names = dict(enumerate(words.topic_words))
        self.bags = [_bag(document) for document in documents]
        self.targets = sum(map(len, documents))
        self.make = lambda: LdaModel(id2word=names, num_topics=topics, random_state=1)

    def __call__(self) -> float:
        """Return the seconds of the pass."""
        model, start = self.make(), time.perf_counter()
        model.update(self.bags)
        return time.perf_counter() - start


def _bag(words: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(n)) for i, n in zip(*np.unique(words, return_counts=True))]


def systems(data: Path, units: int) -> dict[str, Any]:
    """Return what takes turns, by name; a round has four batches."""
    dataset = Dataset(data)
    rows = Documents().rows(dataset.split("train"))
    order = rows.order(Training().batch_size, SEED, 0)[:QUARTERS]
    batches = [rows.batch(chosen) for chosen in order]
    models = {
        name: make_model("docnade", dataset.vocabulary, {"units": units, **settings})
        for name, settings in OBJECTIVES.items()
    }
    size, full = len(dataset.vocabulary.topic_words), next(iter(models.values()))
    made: dict[str, Any] = {
        name: Ours(model, batches) for name, model in models.items()
    }
    counts = [full.count_words(batch) for batch in batches]
    products = [p for count in counts for p in softmax_products(count, units, size)]
    made[FLOOR] = Products(products)
    made[FLOOR].targets = sum(counts)
    made["gensim's LDA, a pass"] = Lda(_read(full, rows), dataset.vocabulary, units)
    return made


def _read(model: Any, rows: Any) -> list[np.ndarray]:
    """Return the words of documents that DocNADE reads."""
    chosen = np.arange(min(LDA_DOCUMENTS, len(rows)))
    batch: Batch = rows.batch(chosen)
    return [row[row != NO_WORD] for row in model.read(batch["words"]).numpy()]


def table(rates: dict[str, float]) -> str:
    """Return the rates, and each beside that of the bare products."""
    floor = rates[FLOOR]
    lines = ["| | words a second | over the products |", "|---|---|---|"]
    for name, rate in rates.items():
        lines.append(f"| {name} | {rate:,.0f} | {rate / floor:.2f} |")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    name = "python -m benchmarks.documents"
    parsed = argparse.ArgumentParser(name, description=__doc__)
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path)
    add("--units", type=int, default=50, help="of h, and LDA's topics (default: 50)")
    add("--rounds", type=int, default=8, help="of four batches each (default: 8)")
    add("--threads", type=int, default=0, help="cores to use (default: 0, all)")
    return parsed


def main() -> None:
    """Measure as the command line says."""
    options = parser().parse_args()
    keep_memory()
    make_reproducible(SEED, options.threads)
    print(table(measure(systems(options.data, options.units), options.rounds)))


if __name__ == "__main__":
    main()
