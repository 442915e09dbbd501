"""HTML and mis-decoded characters out of raw text."""

from __future__ import annotations

import html
import re

_LINE_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:p|div|hr|ul|ol|li|dl|dd|dt|h[1-6]|table|tr|td|th|blockquote|pre|center|"
    r"body|html|head|title|section|article)\b[^<>]*>",
    re.IGNORECASE,
)
# Only names that HTML knows: people write <sigh> and <spoiler> as words.
_INLINE = re.compile(
    r"<!--.*?-->|</?(?:a|b|i|u|s|em|strong|small|big|tt|code|font|span|img|sub|sup|"
    r"cite|q|strike|del|ins)\b[^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z]+[0-9]*);")
# Windows-1252 read as Latin-1 leaves its quotes, dashes and ellipses as controls.
_WINDOWS = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


def strip_markup(text: str) -> str:
    """`text` without HTML: blocks become blank lines, entities their characters."""
    if "<" in text:
        text = _LINE_BREAK.sub("\n", text)
        text = _BLOCK.sub("\n\n", text)
        text = _INLINE.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return text if text.isascii() else text.translate(_WINDOWS)
