"""Pages made of Jinja templates, in which all text is escaped."""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

ABSOLUTE = re.compile(r"(?<![\w./…-])/(?:[^\s/'\",;]+/)+(?=[^\s/'\",;]+/[^\s/'\",;]+)")
MACROS = (
    '{% from "macros.html" import note, picture, image, plots, table with context %}'
)


class Best(str):
    """The text of a cell that stands out: the best of its column."""


def local(text: str) -> str:
    """Return a text in which paths from the root are cut to their last two names."""
    return ABSOLUTE.sub("…/", text)


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters["base64"] = lambda file: base64.b64encode(file).decode("ascii")
ENVIRONMENT.filters["local"] = local
ENVIRONMENT.tests["best"] = lambda cell: isinstance(cell, Best)


def filled(template: str, **values: Any) -> Markup:
    """Return a template with its values; those of macros.html are at hand in it."""
    return Markup(_compiled(template).render({"figures": {}, **values}))


@cache
def _compiled(template: str) -> Template:
    return ENVIRONMENT.from_string(MACROS + template)
