"""report.html: one or more runs on a page that needs no network, figures inside."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.evaluation.measures import BY_KEY, MEASURES, Measure
from tcnlm.files import write_file
from tcnlm.report import figures as draw
from tcnlm.report.markup import image, note, table
from tcnlm.report.published import layered, size
from tcnlm.report.sections import Measured, sections
from tcnlm.training.runs import read_history

STYLE = Path(__file__).with_name("page.css")


def draw_run(
    folder: Path,
    run: Path,
    evaluation: Mapping[str, Any],
    config: Mapping[str, Any],
    angles: np.ndarray | None = None,
) -> Measured:
    """Draw a run's figures as PNG files in a folder; return what the page needs.

    angles [K, K] between the topics, degrees.
    """
    history, figures = read_history(run), {}
    drawn = dict(draw.all_figures(evaluation, history, angles))
    for name, figure in drawn.items():
        path = folder / f"{name}.png"
        draw.save(figure, path)
        figures[name] = path.read_bytes()
    return Measured(evaluation, config, history, figures, drawn)


def write_report(runs: Sequence[Measured], path: Path) -> None:
    """Write a page about one or more runs, whole or not at all."""
    write_file(path, render(runs).encode())


def render(runs: Sequence[Measured]) -> str:
    """Return the page; several runs are compared before each is shown."""
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs compared"
    body = [f"<h1>{escape(title)}</h1>"]
    if len(runs) == 1:
        body.append(sections(runs[0]))
    else:
        body += [_comparison(runs), *map(_one_of_several, runs)]
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width"/>\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _one_of_several(run: Measured) -> str:
    title = f"<h1>{escape(_label(run))}</h1>"
    return f'<section class="run">{title}\n{sections(run)}</section>'


def _label(run: Measured) -> str:
    return f"{Path(run.evaluation['run']).name}: {run.name}"


OTHER_DATA = " ≠"  # marks a published figure

Column = tuple[str, Callable[[Measured], Any]]  # title, text of a run or None

COLUMNS: tuple[Column, ...] = (
    ("layers x units", lambda run: size(run.config["settings"])),
    ("topics", lambda run: layered(run.config["settings"].get("num_topics", ""))),
    ("epochs", lambda run: _epochs(run)),
    ("parameters", lambda run: BY_KEY["parameters"].text(run.evaluation)),
)


def _epochs(run: Measured) -> str | None:
    values = run.history.get("epoch", ())
    return f"{values[-1]:g}" if len(values) else None


def _measured(measure: Measure) -> tuple[Column, Column]:
    """Return the columns of a measure and of what is published of it."""

    def published(run: Measured) -> str | None:
        figure = run.published(measure.key)
        return figure and figure.value + (OTHER_DATA if run.other_data else "")

    return (
        (measure.title, lambda run: measure.text(run.evaluation)),
        ("published", published),
    )


def _differing(runs: Sequence[Measured]) -> str:
    """Explain the mark of published figures, where there is one."""
    said = dict.fromkeys(run.other_data for run in runs if run.other_data)
    return f";{OTHER_DATA} on other data: {'; '.join(said)}" if said else ""


def _comparison(runs: Sequence[Measured]) -> str:
    """Return the runs side by side, with what is published where there is any."""
    judged = [m for m in MEASURES if m.headline and m.better]
    columns = [*COLUMNS, *itertools.chain.from_iterable(map(_measured, judged))]
    columns = [column for column in columns if any(map(column[1], runs))]
    titles = ["run", *(title for title, _ in columns)]
    rows = [[_label(r), *(text(r) or "" for _, text in columns)] for r in runs]
    curves = draw.png(draw.compared_curves({_label(r): r.history for r in runs}))
    return (
        table(titles, ["", *["number"] * len(columns)], rows)
        + note(
            "Perplexities compare within one DATA only, NPMI within one reference. "
            "Published: same corpus (--corpus), model, size and number of topics"
            f"{_differing(runs)}."
        )
        + image(curves, "validation perplexity of all runs")
    )
