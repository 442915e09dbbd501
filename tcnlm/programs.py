"""The three programs, for the scripts at the top and for those that pip installs.

Each ends in one line where it is interrupted during its imports, which take seconds.
"""

from __future__ import annotations

from tcnlm.training.interrupts import end_at_once


def train() -> None:
    """Train a model: train.py, tcnlm-train."""
    end_at_once()
    from tcnlm.train import run

    run()


def evaluate() -> None:
    """Measure models: evaluate.py, tcnlm-evaluate."""
    end_at_once()
    from tcnlm.evaluate import run

    run()


def generate() -> None:
    """Write sentences: generate.py, tcnlm-generate."""
    end_at_once()
    from tcnlm.generate import run

    run()
