"""A run and what was measured of it: what pages and tables are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tcnlm.drawing.figures import History
from tcnlm.metrics.scores import DocumentNats
from tcnlm.report.published import COMPARED, beside, other_data


@dataclass(frozen=True)
class Measured:
    """A run and what was measured of it."""

    evaluation: Mapping[str, Any]  # the contents of evaluation.json
    config: Mapping[str, Any]  # of config.json
    history: History  # of history.csv
    figures: Mapping[str, bytes]  # SVG files by name
    drawn: Mapping[str, Figure] = field(default_factory=dict)  # the same, to be saved
    nats: DocumentNats | None = None  # of a model that predicts words
    unsaved: Mapping[str, Any] = field(default_factory=dict)  # by measure

    @property
    def name(self) -> str:
        """What the run is called on the page."""
        return f"{self.evaluation['model']} on {corpus(self.config)}"

    def published(self, measure: str) -> Any:
        """Return the published figure for the same corpus, size and topics, or None."""
        model, settings = self.evaluation["model"], self.config.get("settings", {})
        return beside(self.evaluation.get("corpus"), model, settings, measure)

    @property
    def beside(self) -> list[str]:
        """What is published of its figures, and how near they are, in a line each."""
        pairs = ((self.published(name), self.evaluation.get(name)) for name in COMPARED)
        return [found.beside(ours) for found, ours in pairs if found and ours]

    @property
    def other_data(self) -> str:
        """How its data differs from that of the published figures; "" if not."""
        return other_data(self.evaluation.get("corpus"), self.config.get("data", {}))


def corpus(config: Mapping[str, Any]) -> str:
    """Return the name of the DATA folder."""
    return Path(str(config.get("data", {}).get("path", "unknown data"))).name
