"""The registry: every method by name, each in a file of its own."""

from __future__ import annotations

from importlib import import_module

MODELS = {
    "lstm": "tcnlm.models.lstm:LSTM",  # the papers' basic-LSTM
    "tcnlm": "tcnlm.models.tcnlm:TCNLM",  # Wang et al. 2018
}


def model_class(name: str) -> type:
    """Return the class of a method; unknown names are refused, naming the known."""
    if name not in MODELS:
        raise ValueError(f"no model {name!r}; there are {', '.join(sorted(MODELS))}")
    module, _, attribute = MODELS[name].partition(":")
    return getattr(import_module(module), attribute)
