"""LDA's topics fitted to the documents of a split: by variational Bayes, by Gibbs.

Either returns lambda [K, D], of the posteriors q(beta_k) = Dir(lambda_k), and takes its
settings from LDA's `Config`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.common.settings import Settings
from tcnlm.data.dataset import Split

TOMOTOPY = "tomotopy==0.14.0"


class Bags:
    """The documents of a split, again and again, as gensim's (id, count) pairs."""

    def __init__(self, split: Split):
        self.split = split

    def __len__(self) -> int:
        return self.split.num_documents

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for row in progress_bar(range(len(self)), "LDA, a pass", leave=False):
            ids, counts = np.unique(self.split.content(row), return_counts=True)
            yield list(zip(ids.tolist(), counts.tolist()))


def variational(
    split: Split, topic_words: list[str], config: Settings, seed: int
) -> np.ndarray:
    """Fit by gensim's online variational Bayes (Hoffman et al. 2010)."""
    # Here, or whoever loads any model would wait seconds for gensim.
    from gensim.models import LdaModel

    fitted = LdaModel(
        Bags(split),
        num_topics=config.num_topics,
        id2word=dict(enumerate(topic_words)),
        alpha=config.alpha,
        eta=config.eta,
        passes=config.passes,
        chunksize=config.chunk_size,
        iterations=config.iterations,
        eval_every=None,
        random_state=seed,
    )
    return fitted.state.get_lambda()


def gibbs(
    split: Split, topic_words: list[str], config: Settings, seed: int
) -> np.ndarray:
    """Fit by collapsed Gibbs sampling (Griffiths and Steyvers 2004), tomotopy's.

    lambda_kw is eta and the words w that the last sweep left in topic k: what that
    draw of all z makes of the prior. The counts of one draw, not a mean of several.
    """
    model = tomotopy("fit=gibbs").LDAModel(
        k=config.num_topics, alpha=config.alpha, eta=config.eta, seed=seed
    )
    model.optim_interval = 0  # or alpha would not stay what the E-step takes
    for row in range(split.num_documents):
        if len(ids := split.content(row)):
            model.add_doc([str(i) for i in ids])
    for _ in progress_bar(range(config.sweeps), "LDA, sweeps"):
        model.train(1, workers=1)
    seen = [int(word) for word in model.used_vocabs]
    weights = np.full([config.num_topics, len(topic_words)], config.eta)
    for topic, row in enumerate(weights):
        row[seen] = model.get_topic_word_dist(topic, normalize=False)
    return weights


def tomotopy(asked: str) -> Any:
    """Return the package; InputError, naming what asked for it, where there is none."""
    try:
        import tomotopy
    except ImportError:
        wanted = f"tomotopy, which is not installed; pip install {TOMOTOPY}"
        raise InputError(f"{asked}: needs {wanted}") from None
    return tomotopy


FITS = {"variational": variational, "gibbs": gibbs}
