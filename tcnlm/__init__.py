"""The Topic Compositional Neural Language Model (Wang et al., AISTATS 2018).

Symbols, in the papers' letters where there are any, and shapes used throughout:

    B   batch                 d    [B, D]     bag of words of a context, counts
    T   steps (time)          theta [B, K]    Gaussian topic vector
    V   words                 t    [B, K]     topic proportions, on the simplex
    D   topic words           beta [K, D]     topics: distributions over topic words
    K   topics                mu, sigma^2     mean and variance of q(theta | d)
    E   embedding (n_x)       Wa, Wb, Wc      factors of the input weights (eq. 12)
    H   hidden units (n_h)    Ua, Ub, Uc      factors of the recurrent weights
    F   factors (n_f)         i, f, o, c      gates: input, forget, output, candidate
    J   sentences in a group  Phi, Pi         topics [K_(l-1), K_l] of layer l, and
                                              transitions [K_l, K_l], by columns

Losses and likelihoods are in nats (natural logarithm).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from tcnlm.common.stack import choose_keras

choose_keras()
# Read once, when TensorFlow is imported: its notices of processors, plug-ins and costs.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def load(run: str) -> Any:
    """Return the trained model of a RUN folder; see `RunFolder.load`."""
    from tcnlm.runs.run_folder import RunFolder

    return RunFolder(run).load()


def load_run(run: str) -> Any:
    """Return a RUN folder to be asked about texts; see `tcnlm.run.Run`."""
    from tcnlm.run import Run

    return Run(run)


def label(
    run: str,
    labels: Mapping[int, str | None] | None = None,
    merge: Mapping[int, int | None] | None = None,
    hide: Collection[int] | None = None,
) -> Any:
    """Name, merge and hide a RUN's topics; see `tcnlm.run.Run.label`."""
    return load_run(run).label(labels, merge, hide)


def __getattr__(name: str) -> Any:
    """Return `TopicModel`; see `tcnlm.topic_model`, which takes seconds to import."""
    if name != "TopicModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tcnlm.topic_model import TopicModel

    return TopicModel
