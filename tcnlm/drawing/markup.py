"""The pieces that a page is made of: paragraphs, figures, tables."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from typing import Any

ABSOLUTE = re.compile(r"(?<![\w./…-])/(?:[^\s/'\",;]+/)+(?=[^\s/'\",;]+/[^\s/'\",;]+)")


class Best(str):
    """The text of a cell that stands out: the best of its column."""


def local(text: str) -> str:
    """Return a text in which paths from the root are cut to their last two names."""
    return ABSOLUTE.sub("…/", text)


def note(text: str) -> str:
    """Return a paragraph in small print."""
    return f'<p class="note">{escape(text)}</p>'


def image(png: bytes | None, text: str) -> str:
    """Return a figure with its file inside the page; nothing where there is none."""
    if png is None:
        return ""
    data = base64.b64encode(png).decode("ascii")
    source = f"data:image/png;base64,{data}"
    return f'<figure><img src="{source}" alt="{escape(text)}"/></figure>'


def table(
    titles: Sequence[str], kinds: Sequence[str], rows: Sequence[Sequence[Any]]
) -> str:
    """Return a table of text.

    kinds: what each column is: "number", "sentence" or "".
    """
    head = "".join(map(_cell, ["th"] * len(titles), _heads(kinds), titles))
    body = "\n".join(
        f"<tr>{''.join(map(_cell, ['td'] * len(row), kinds, row))}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def _heads(kinds: Sequence[str]) -> list[str]:
    return [kind if kind == "number" else "" for kind in kinds]


def _cell(tag: str, kind: str, content: Any) -> str:
    kinds = " ".join(filter(None, [kind, "best" if isinstance(content, Best) else ""]))
    name = f' class="{kinds}"' if kinds else ""
    return f"<{tag}{name}>{escape(str(content))}</{tag}>"
