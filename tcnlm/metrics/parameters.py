"""How large a model is: the numbers that it learns or is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcnlm.metrics.base import Figure, Metric

if TYPE_CHECKING:
    from tcnlm.metrics.evaluation_context import EvaluationContext


def parameters(subject: EvaluationContext) -> int:
    """Return the number of a model's parameters."""
    model = subject.model
    learned = [*model.trainable_variables, *model.fitted]
    return sum(int(np.prod(weight.shape)) for weight in learned)


class Parameters(Metric):
    """The number of parameters."""

    key = "parameters"
    figures = (Figure("parameters", "parameters", "{:,}", compute=parameters),)
