"""RUN/report.html: one page with all its figures inside, to be read without network."""

from __future__ import annotations

import base64
import csv
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm import figures as draw
from tcnlm.runs import replacing

STYLE = Path(__file__).with_name("report.css")


def write_report(
    run: Path,
    evaluation: Mapping[str, Any],
    config: Mapping[str, Any],
    angles: np.ndarray | None = None,
) -> Path:
    """Draw RUN/figures/*.png and write RUN/report.html around them.

    angles [K, K] between the topics, degrees.
    """
    figures = {}
    for name, figure in draw.all_figures(evaluation, read_history(run), angles):
        figures[name] = run / "figures" / f"{name}.png"
        draw.save(figure, figures[name])
    with replacing(run / "report.html") as aside:
        aside.write_text(render(evaluation, config, figures), encoding="utf-8")
    return run / "report.html"


def read_history(run: Path) -> draw.History:
    """Return the columns of RUN/history.csv; none where there is no such file."""
    path = run / "history.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = rows[0] if rows else ()
    return {name: np.array([_number(row[name]) for row in rows]) for name in names}


def _number(cell: str | None) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        return float("nan")


def render(
    evaluation: Mapping[str, Any],
    config: Mapping[str, Any],
    figures: Mapping[str, Path],
) -> str:
    """Return the page for one run.

    evaluation: the contents of evaluation.json; config: of config.json; figures: PNG
    files by name, of which "learning_curves", "topic_use", "topic_shape" and
    "document_0" ... are shown where they are given.
    """
    name = f"{evaluation['model']} on {_corpus(config)}"
    sections = [
        f"<h1>{escape(name)}</h1>",
        _subtitle(evaluation, config),
        _tiles(evaluation),
        _learning(figures),
        _topics(evaluation, figures),
        _documents(evaluation, figures),
        _settings(config),
        _footer(evaluation),
    ]
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width"/>\n'
        f"<title>{escape(name)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, sections))
        + "\n</body>\n</html>\n"
    )


def _corpus(config: Mapping[str, Any]) -> str:
    return Path(str(config.get("data", {}).get("path", "unknown data"))).name


def _subtitle(evaluation: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    source = config.get("data", {}).get("source")
    text = f"Run {evaluation['run']}, measured on the {evaluation['split']} split"
    return _note(text + (f". Corpus: {source}." if source else "."))


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _tiles(evaluation: Mapping[str, Any]) -> str:
    """Return the headline figures that apply to this model."""
    elbo = evaluation["elbo"] or {}
    figures = [
        ("perplexity", "{:.2f}", evaluation["perplexity"]),
        ("topic coherence (NPMI)", "{:.3f}", evaluation["npmi"]),
        ("topic diversity", "{:.2f}", evaluation["diversity"]),
        (
            f"of {len(evaluation['topics'] or ())} topics in use",
            "{}",
            evaluation["topics_in_use"],
        ),
        ("mean largest proportion", "{:.2f}", evaluation["largest_proportion"]),
        ("nats per target", "{:.3f}", evaluation["nll"]),
        ("KL, nats per sequence", "{:.2f}", elbo.get("kl")),
        ("parameters", "{:,}", evaluation["parameters"]),
    ]
    tiles = "".join(
        f'<div class="tile"><b>{form.format(value)}</b>{escape(label)}</div>'
        for label, form, value in figures
        if value is not None
    )
    return f'<div class="tiles">{tiles}</div>{_how_scored(evaluation)}'


def _how_scored(evaluation: Mapping[str, Any]) -> str:
    if evaluation["perplexity"] is None:
        return ""
    given = f"{evaluation['targets']:,} targets, <eos> and <unk> counted, no KL"
    if evaluation["samples"]:
        given += f"; likelihood averaged over {evaluation['samples']} draws of t"
    elif evaluation["topics"]:
        given += "; topics at their posterior mean"
    return _note(f"Perplexity over {given}.")


def _figure(figures: Mapping[str, Path], name: str, text: str) -> str:
    """Return a figure with its file inside the page; nothing where there is none."""
    if name not in figures:
        return ""
    data = base64.b64encode(figures[name].read_bytes()).decode("ascii")
    source = f"data:image/png;base64,{data}"
    return f'<figure><img src="{source}" alt="{escape(text)}"/></figure>'


def _learning(figures: Mapping[str, Path]) -> str:
    figure = _figure(figures, "learning_curves", "learning curves")
    return figure and f"<h2>Learning curves</h2>{figure}"


def _topics(evaluation: Mapping[str, Any], figures: Mapping[str, Path]) -> str:
    topics = evaluation["topics"]
    if topics is None:
        return ""
    order = sorted(topics, key=lambda topic: -topic["proportion"])
    head = (
        '<tr><th class="number">topic</th><th>ten most probable words</th>'
        '<th class="number">NPMI</th><th class="number">documents</th>'
        '<th class="number">mean<br/>share</th><th>a sentence written from it</th></tr>'
    )
    rows = "\n".join(map(_topic_row, order))
    return (
        "<h2>Topics</h2>"
        + _note(_protocol(evaluation["coherence"]))
        + f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table>"
        + _note(
            "The most used first. Documents: those in which it is the largest topic."
        )
        + "<h2>Use and shape of the topics</h2>"
        + _figure(figures, "topic_use", "use of the topics")
        + _figure(figures, "topic_shape", "coherence and angles of the topics")
    )


def _protocol(coherence: Mapping[str, Any]) -> str:
    size = f"{coherence['documents']:,} documents, {coherence['tokens']:,} tokens"
    tops = "/".join(map(str, coherence["tops"]))
    window = f"windows of {coherence['window']} tokens"
    return (
        f"NPMI counted on {coherence['reference']} ({size}), "
        f"{window if coherence['window'] else 'whole documents as windows'}, "
        f"{coherence['zero']}, mean over the first {tops} words. "
        f"Topic words absent from the reference: {len(coherence['absent_words'])}. "
        "The published figures were counted on English Wikipedia: only figures "
        "from the same reference can be compared."
    )


def _topic_row(topic: Mapping[str, Any]) -> str:
    words = escape(" ".join(topic["words"][:10]))
    sentence = escape(topic["sentence"] or "")
    return (
        f'<tr><td class="number">{topic["topic"]}</td><td>{words}</td>'
        f'<td class="number">{topic["npmi"]:.3f}</td>'
        f'<td class="number">{topic["documents"]:,}</td>'
        f'<td class="number">{topic["proportion"]:.3f}</td>'
        f'<td class="sentence">{sentence}</td></tr>'
    )


def _documents(evaluation: Mapping[str, Any], figures: Mapping[str, Path]) -> str:
    if not evaluation["documents"]:
        return ""
    parts = [
        f'<div class="document"><b>Document {document["document"]}</b>'
        f"<blockquote>{escape(document['text'])}</blockquote>"
        + _figure(figures, f"document_{i}", "topic proportions of the document")
        + "</div>"
        for i, document in enumerate(evaluation["documents"])
    ]
    text = f"The first documents of the {evaluation['split']} split (paper, Figure 2)."
    return "<h2>Topics of documents</h2>" + _note(text) + "".join(parts)


def _settings(config: Mapping[str, Any]) -> str:
    names = {"seed": config.get("seed")}
    entries = {**config.get("settings", {}), **config.get("training", {}), **names}
    rows = "".join(
        f"<div><span>{escape(name)}</span><span>{escape(_short(value))}</span></div>"
        for name, value in entries.items()
    )
    return f'<h2>Settings</h2><div class="settings">{rows}</div>'


def _short(value: Any) -> str:
    return (
        ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    )


def _footer(evaluation: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in evaluation.get("versions", {}).items())
    return (
        f"<footer>Made by <code>{escape(evaluation['command'])}</code> in "
        f"{evaluation['seconds']:.0f} s, with {escape(versions)}.</footer>"
    )
