"""Topics and documents to be explored: readable without a script, lively with it.

The script is page.js; what it needs lies in a JSON element. Every name in the page has
a prefix, so that several runs can share it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tcnlm.drawing.markup import note

SCRIPT = Path(__file__).with_name("page.js")
WIDTH, HEIGHT, MARGIN = 560, 420, 46  # of the map
LARGEST = 34  # radius
CELL, LABEL = 13, 120  # of the heat map
COLUMNS = 40  # topics of the heat map
GOLDEN = 137.5  # degrees between the colours of two topics

Exploration = Mapping[str, Any]


def colour(topic: int, lightness: int = 82) -> str:
    """Return a topic's colour, the same all over the page."""
    return f"hsl({topic * GOLDEN % 360:.0f},62%,{lightness}%)"


def topic_map(exploration: Exploration, prefix: str) -> str:
    """Return the topics in the plane: near ones share words, large ones are used."""
    topics = exploration["topics"]
    most = max(topic["share"] for topic in topics) or 1
    circles = (_circle(topic, most, prefix) for topic in _by_use(topics))
    marks = *circles, *map(_number, _by_use(topics))  # numbers lie on all circles
    return (
        "<h2>Map of the topics</h2>"
        + note(
            "Near topics share words (classical scaling of the Jensen-Shannon "
            "divergence); the area is the mean share of documents."
        )
        + f'<div class="map"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="map of the topics">{"".join(marks)}</svg>'
        + f'<div class="panel" id="{prefix}panel"></div></div>'
    )


def _by_use(topics: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(topics, key=lambda topic: -topic["share"])


def _centre(topic: Mapping[str, Any]) -> tuple[float, float]:
    x, y = (
        MARGIN + (place + 1) / 2 * (size - 2 * MARGIN)
        for place, size in zip(topic["place"], (WIDTH, HEIGHT))
    )
    return x, y


def _number(topic: Mapping[str, Any]) -> str:
    x, y = _centre(topic)
    return f'<text x="{x:.1f}" y="{y + 4:.1f}">{topic["topic"]}</text>'


def _circle(topic: Mapping[str, Any], most: float, prefix: str) -> str:
    number, (x, y) = topic["topic"], _centre(topic)
    radius = max(6.0, LARGEST * (topic["share"] / most) ** 0.5)
    words = " ".join(word for word, *_ in topic["words"][:8])
    title = escape(f"{number}: {words} ({topic['share']:.1%})")
    return (
        f'<a href="#{prefix}topic-{number}" data-topic="{number}">'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour(number)}" '
        f'stroke="{colour(number, 45)}"><title>{title}</title></circle></a>'
    )


def topic_rows(
    rows: Sequence[Sequence[Any]], columns: Sequence[tuple[str, str]], prefix: str
) -> str:
    """Return the table of topics; a row's first cell is its number and anchor."""
    head = "".join(
        f'<th class="{kind if kind == "number" else ""}">{escape(title)}</th>'
        for title, kind in columns
    )
    body = "\n".join(
        f'<tr id="{prefix}topic-{row[0]}" data-topic="{row[0]}">'
        + "".join(
            f'<td class="{kind}">{escape(str(cell))}</td>'
            for cell, (_, kind) in zip(row, columns)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<table class="topics"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table>"
    )


def documents(exploration: Exploration, prefix: str) -> str:
    """Return a heat map of typical documents by topics, and their words in colour."""
    found = exploration["documents"]
    if not found:
        return ""
    return (
        "<h2>Typical documents</h2>"
        + note(
            "Those with the largest shares of the most used topics. A word of the "
            "topic model has the colour of the topic that it likeliest comes from."
        )
        + _heat_map(exploration, prefix)
        + f'<div class="documents" id="{prefix}documents">'
        + "\n".join(_document(each, prefix) for each in found)
        + "</div>"
    )


def _heat_map(exploration: Exploration, prefix: str) -> str:
    topics = [topic["topic"] for topic in _by_use(exploration["topics"])[:COLUMNS]]
    rows = exploration["documents"]
    width, height = LABEL + CELL * len(topics), CELL * (len(rows) + 1)
    titles = "".join(
        f'<text class="small" x="{LABEL + CELL * (i + 0.5):.1f}" y="{CELL - 3}">'
        f"{topic}</text>"
        for i, topic in enumerate(topics)
    )
    cells = "".join(
        _heat_row(i, row, topics, prefix) for i, row in enumerate(rows, start=1)
    )
    return (
        f'<div class="scroll"><svg class="heat" viewBox="0 0 {width} {height}" '
        f'width="{width}" role="img" aria-label="documents by topics">'
        f"{titles}{cells}</svg></div>"
    )


def _heat_row(
    line: int, document: Mapping[str, Any], topics: Sequence[int], prefix: str
) -> str:
    y, number = CELL * line, document["document"]
    name = f'<text x="0" y="{y + CELL - 3}">{escape(_name(document)[:18])}</text>'
    cells = "".join(
        f'<rect x="{LABEL + CELL * i}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
        f'fill="#1f6f9f" fill-opacity="{share:.2f}"><title>'
        f"{escape(_name(document))}, topic {topic}: {share:.1%}</title></rect>"
        for i, topic in enumerate(topics)
        if (share := document["proportions"].get(topic, 0.0))
    )
    return f'<a href="#{prefix}document-{number}">{name}{cells}</a>'


def _name(document: Mapping[str, Any]) -> str:
    return document["id"] or f"document {document['document']}"


def _document(document: Mapping[str, Any], prefix: str) -> str:
    largest = list(document["proportions"].items())[:4]
    shares = "; ".join(f"topic {k} {share:.0%}" for k, share in largest)
    label = f", {document['label']}" if document["label"] else ""
    words = " ".join(map(_word, document["words"], document["topics"]))
    number = document["document"]
    return (
        f'<details id="{prefix}document-{number}" data-document="{number}">'
        f"<summary><b>{escape(_name(document))}</b>{escape(label)}: {shares}</summary>"
        f"<p>{words}</p>{_original(document.get('text'))}</details>"
    )


def _original(text: str | None) -> str:
    """Return how a document began before it was tokenized, if that was kept."""
    if text is None:
        return ""
    return f'<p class="original"><b>As it came:</b> {escape(text)}</p>'


def _word(word: str, topic: int) -> str:
    if topic < 0:
        return escape(word)
    style = f"background:{colour(topic)}"
    return f'<span style="{style}" title="topic {topic}">{escape(word)}</span>'


def script(explorations: Mapping[str, Exploration]) -> str:
    """Return the script and its data, by prefix; nothing where there are none."""
    if not explorations:
        return ""
    data = json.dumps(
        {prefix: _for_script(found) for prefix, found in explorations.items()},
        separators=(",", ":"),
    )
    for character in "<>&":  # so that no text can end the element
        data = data.replace(character, f"\\u{ord(character):04x}")
    code = SCRIPT.read_text(encoding="utf-8")
    return (
        f'<script type="application/json" id="exploration">{data}</script>\n'
        f"<script>//<![CDATA[\n{code}//]]></script>"
    )


def _for_script(found: Exploration) -> dict[str, Any]:
    shares = {each["document"]: each["proportions"] for each in found["documents"]}
    topics = {topic["topic"]: topic["words"] for topic in found["topics"]}
    colours = {topic: colour(topic, 45) for topic in topics}
    return {"words": topics, "colours": colours, "documents": shares}
