"""report.html: one or more runs on a page that needs no network, figures inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tcnlm.common.files import write_file
from tcnlm.drawing import figures as draw
from tcnlm.drawing.markup import filled, local
from tcnlm.metrics.registry import METRICS, figures
from tcnlm.metrics.scores import DocumentNats
from tcnlm.report.comparison import comparison, label
from tcnlm.report.measured import Measured, is_fit, stated
from tcnlm.runs.run_folder import RunFolder


def draw_run(
    folder: Path,
    run: RunFolder,
    evaluation: Mapping[str, Any],
    nats: DocumentNats | None = None,
    unsaved: Mapping[str, Any] | None = None,
) -> Measured:
    """Draw a run's figures as SVG files in a folder; return what the page needs."""
    history, unsaved = run.history(), unsaved or {}
    drawn = dict(draw.learning_curves(history))
    for measure in METRICS:
        drawn.update(measure.draw(evaluation, unsaved.get(measure.key)))
    files = {name: draw.svg(figure) for name, figure in drawn.items()}
    for name, file in files.items():
        write_file(folder / f"{name}.svg", file)
    return Measured(evaluation, run.config, history, files, drawn, nats, unsaved)


def write_report(runs: Sequence[Measured], path: Path) -> None:
    """Write a page about one or more runs, whole or not at all."""
    write_file(path, render(runs).encode())


def render(runs: Sequence[Measured]) -> str:
    """Return the page; several runs are compared before each is shown."""
    several, parts, explored = len(runs) > 1, [], {}
    for number, run in enumerate(runs, 1):
        prefix = f"run-{number}-"  # of the names by which its parts are linked to
        more, shown = {"figures": run.figures, "prefix": prefix}, {}
        for m in METRICS:
            values = m.shown(run.evaluation, run.unsaved.get(m.key))
            if values:
                shown[m.key] = filled(m.template, **values, **more)
            if values and values.get("map"):
                explored[prefix] = values["map"]["script"]  # what page.js reads
        parts.append({"label": label(run), "sections": _sections(run, shown)})
    page = filled(
        _read("page.html"),
        title=f"{len(runs)} runs compared" if several else runs[0].name,
        runs=parts,
        comparison=comparison(runs) if several else "",
        explored=explored,
        style=Markup(_read("page.css")),
        script=Markup(_read("page.js")),
    )
    return str(page)  # no longer a part of another


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _sections(run: Measured, told: dict[str, Markup]) -> Markup:
    """Return all that is said of one run; told: by metrics that have something."""
    evaluation, corpus = run.evaluation, run.evaluation.get("corpus")
    source = run.config.get("data", {}).get("source")
    subtitle = f"Run {local(evaluation['run'])}, measured on the {evaluation['split']} "
    subtitle += ", ".join(filter(None, ("split", stated(evaluation)))) + "."
    subtitle += f" Corpus: {local(source)}." if source else ""
    published = f"Nothing is published for {corpus} at this size." if corpus else ""
    if run.beside:
        published = f"Published for {corpus} at this size: {'; '.join(run.beside)}."
        if run.other_data:
            published += f" Not of the same data: {run.other_data}."
    tiles = [(f.title, f.text(evaluation)) for f in figures() if f.headline]
    versions = evaluation.get("versions", {}).items()
    loop = {} if is_fit(run.history) else run.config.get("training", {})
    chosen = {**run.config.get("settings", {}), **loop, "seed": run.config.get("seed")}
    return filled(
        _read("run.html"),
        figures=run.figures,
        evaluation=evaluation,
        subtitle=subtitle,
        topics=told.pop("topics", ""),
        tiles=[(title, text) for title, text in tiles if text],
        published=published,
        sections=told.values(),
        settings=[
            (name, local(str(value)))
            if not isinstance(value, (list, tuple))
            else (name, ", ".join(map(str, value)))
            for name, value in chosen.items()
        ],
        versions=", ".join(f"{name} {version}" for name, version in versions),
    )
