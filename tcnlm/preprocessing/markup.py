"""Raw text without HTML, and its letters in one form."""

from __future__ import annotations

import html
import re
from unicodedata import normalize

_LINE_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:p|div|hr|ul|ol|li|dl|dd|dt|h[1-6]|table|tr|td|th|blockquote|pre|center|"
    r"body|html|head|title|section|article)\b[^<>]*>",
    re.IGNORECASE,
)
# Only names that HTML knows: people write <sigh> and <spoiler> as words.
_TAG = re.compile(
    r"</?(?:a|b|i|u|s|em|strong|small|big|tt|code|font|span|img|sub|sup|cite|q|strike|"
    r"del|ins)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG_OR_COMMENT = re.compile(f"<!--.*?-->|{_TAG.pattern}", re.IGNORECASE | re.DOTALL)
# Text that was escaped twice has "&amp;quot;".
_ENTITY = re.compile(
    r"&(?:(?:amp|#38|#[xX]26);)*(#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z]+[0-9]*);"
)
_LONGEST_NUMBER = 4000
# Windows-1252 read as Latin-1 leaves its quotes, dashes and ellipses as controls.
_WINDOWS = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_CONTROL = re.compile("[\x80-\x9f]")
# Of Latin and Armenian, which PDFs have in place of letters.
LIGATURES = {
    chr(code): normalize("NFKC", chr(code))
    for code in (*range(0xFB00, 0xFB07), *range(0xFB13, 0xFB18))
}
# These, and Arabic's letters by their place in a word; none has a space in it.
_FORMS = re.compile(f"[{''.join(LIGATURES)}\ufb50-\ufc5d\ufc64-\ufdf2\ufe80-\ufefc]")
APOSTROPHES = "\u2018\u2019\u201b\u02bc\uff07\xb4"
# A hyphen at the end of a line; but "two-" before "and three" is a word of its own.
_BROKEN = re.compile(
    r"\xad[^\S\n]*\n\s*|[-\u2010](?<=[^\W\d_]{2}.)[^\S\n]*\n[^\S\n]*"
    r"(?!(?:and|or|to|und|oder|bis)\b)(?=([^\W\d_]{2,})(-?))"
)
_LONGEST_WORD = 40  # characters before such a hyphen that are looked at


def strip_markup(text: str) -> str:
    """`text` without HTML: blocks become blank lines, entities their characters."""
    if "<" in text:
        text = _BLOCK.sub("\n\n", _LINE_BREAK.sub("\n", text))
        # Behind the last "-->" each "<!--" would look for its end through all the rest.
        head, end, rest = text.rpartition("-->")
        text = _TAG_OR_COMMENT.sub("", head + end) + _TAG.sub("", rest)
    if "&" in text:
        text = _ENTITY.sub(_character, text)
    # Looked for first, since `translate` takes a tenth of all the time of a text.
    return text.translate(_WINDOWS) if _CONTROL.search(text) else text


def _character(entity: re.Match[str]) -> str:
    # int() refuses a longer number; HTML has U+FFFD for all that are no character.
    if entity[1].startswith("#") and len(entity[1]) > _LONGEST_NUMBER:
        return "\ufffd"
    return html.unescape(f"&{entity[1]};")


def normalized(text: str) -> str:
    """`text` in NFC, a letter and its mark one character, and without ligatures."""
    if text.isascii():
        return text
    text = normalize("NFC", text)
    return _FORMS.sub(lambda form: normalize("NFKC", form[0]), text)


def join_lines(text: str) -> str:
    """`text` where the words that a line's end divides are whole: infor-\\nmation."""
    return _BROKEN.sub(_joint, text) if "\n" in text else text


def _joint(broken: re.Match[str]) -> str:
    after, hyphen = broken.groups()
    if not after:  # a soft hyphen
        return ""
    if not after.islower():
        return broken[0]
    before = broken.string[max(0, broken.start() - _LONGEST_WORD) : broken.start()]
    return "-" if hyphen or "-" in before.split()[-1] else ""
