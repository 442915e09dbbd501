"""report.html: one or more runs on a page that needs no network, figures inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.common.files import write_file
from tcnlm.drawing import figures as draw
from tcnlm.measures.nats import DocumentNats
from tcnlm.report import explore
from tcnlm.report.comparison import comparison, label
from tcnlm.report.hierarchy import hierarchy_figures
from tcnlm.report.sections import Measured, sections
from tcnlm.training.runs import read_history

STYLE = Path(__file__).with_name("page.css")


def draw_run(
    folder: Path,
    run: Path,
    evaluation: Mapping[str, Any],
    config: Mapping[str, Any],
    angles: np.ndarray | None = None,
    nats: DocumentNats | None = None,
    exploration: Mapping[str, Any] | None = None,
) -> Measured:
    """Draw a run's figures as PNG files in a folder; return what the page needs.

    angles [K, K] between the topics, degrees.
    """
    history, figures = read_history(run), {}
    drawn = dict(draw.all_figures(evaluation, history, angles))
    drawn.update(hierarchy_figures(evaluation))
    for name, figure in drawn.items():
        path = folder / f"{name}.png"
        draw.save(figure, path)
        figures[name] = path.read_bytes()
    return Measured(evaluation, config, history, figures, drawn, nats, exploration)


def write_report(runs: Sequence[Measured], path: Path) -> None:
    """Write a page about one or more runs, whole or not at all."""
    write_file(path, render(runs).encode())


def render(runs: Sequence[Measured]) -> str:
    """Return the page; several runs are compared before each is shown."""
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs compared"
    body = [f"<h1>{escape(title)}</h1>"]
    if len(runs) == 1:
        body.append(sections(runs[0], "run-1-"))
    else:
        body += [_contents(runs), comparison(runs)]
        body += [_one_of_several(*each) for each in enumerate(runs, 1)]
    explored = {
        f"run-{number}-": run.exploration
        for number, run in enumerate(runs, 1)
        if run.exploration
    }
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width"/>\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + f"\n{explore.script(explored)}\n</body>\n</html>\n"
    )


def _one_of_several(number: int, run: Measured) -> str:
    title = f'<h1 id="run-{number}">{escape(label(run))}</h1>'
    return f'<section class="run">{title}\n{sections(run, f"run-{number}-")}</section>'


def _contents(runs: Sequence[Measured]) -> str:
    links = (
        f'<li><a href="#run-{number}">{escape(label(run))}</a></li>'
        for number, run in enumerate(runs, 1)
    )
    return f"<nav><ul>\n{''.join(links)}</ul></nav>"
