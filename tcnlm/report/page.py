"""report.html: one or more runs on a page that needs no network, figures inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.files import replacing
from tcnlm.report import figures as draw
from tcnlm.report.published import size
from tcnlm.report.sections import Measured, image, note, sections
from tcnlm.training.runs import read_history

STYLE = Path(__file__).with_name("page.css")


def draw_run(
    run: Path,
    evaluation: Mapping[str, Any],
    config: Mapping[str, Any],
    angles: np.ndarray | None = None,
) -> Measured:
    """Draw RUN/figures/*.png; return what the page needs.

    angles [K, K] between the topics, degrees.
    """
    history, figures = read_history(run), {}
    for name, figure in draw.all_figures(evaluation, history, angles):
        path = run / "figures" / f"{name}.png"
        draw.save(figure, path)
        figures[name] = path.read_bytes()
    return Measured(evaluation, config, history, figures)


def write_report(runs: Sequence[Measured], path: Path) -> None:
    """Write a page about one or more runs, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as aside:
        aside.write_text(render(runs), encoding="utf-8")


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


COLUMNS = (  # title, form, value of a run
    ("layers x units", "{}", lambda run: size(run.config["settings"]) or None),
    ("topics", "{}", lambda run: run.config["settings"].get("num_topics")),
    ("epochs", "{:.0f}", lambda run: _last(run, "epoch")),
    ("parameters", "{:,}", lambda run: run.evaluation["parameters"]),
    ("perplexity", "{:.2f}", lambda run: run.evaluation["perplexity"]),
    ("published", "{}", lambda run: _value(run.published("perplexity"))),
    ("NPMI", "{:.3f}", lambda run: run.evaluation["npmi"]),
    ("published", "{}", lambda run: _value(run.published("npmi"))),
    ("diversity", "{:.2f}", lambda run: run.evaluation["diversity"]),
    ("in use", "{}", lambda run: run.evaluation["topics_in_use"]),
)


def _last(run: Measured, column: str) -> float | None:
    values = run.history.get(column, ())
    return values[-1] if len(values) else None


def _value(figure: Any) -> str | None:
    return figure and figure.value


def _comparison(runs: Sequence[Measured]) -> str:
    """Return the runs side by side, with what is published where there is any."""
    titles = "".join(f'<th class="number">{title}</th>' for title, *_ in COLUMNS)
    rows = "\n".join(map(_comparison_row, runs))
    curves = draw.png(draw.compared_curves({_label(r): r.history for r in runs}))
    return (
        f"<table><thead><tr><th>run</th>{titles}</tr></thead>\n"
        f"<tbody>{rows}</tbody></table>"
        + note(
            "Perplexities compare within one DATA only, NPMI within one reference. "
            "Published: same corpus (--corpus), model, size and number of topics."
        )
        + image(curves, "validation perplexity of all runs")
    )


def _comparison_row(run: Measured) -> str:
    values = [(form, value(run)) for _, form, value in COLUMNS]
    cells = "".join(
        f'<td class="number">{"" if v is None else escape(form.format(v))}</td>'
        for form, v in values
    )
    return f"<tr><td>{escape(_label(run))}</td>{cells}</tr>"
