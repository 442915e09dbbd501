"""Raw document to sentences to tokens, as Stanford CoreNLP makes them (PTB style).

The tokenizer is one table of (pattern, replacement) rules, `RULES`, applied in order
to lower-cased text. The patterns keep to what `re` and RE2 both understand and read
the same way (no look-around, no back-references in patterns, character classes
spelled out), so that an exported model tokenizes in its graph with the very same
table: `tf.strings.regex_replace` rule by rule, then `tf.strings.split`.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

ABBREVIATIONS = (
    "adm asst atty ave blvd brig bros capt cmdr co col comdr corp cpl ctr dept det "
    "dist dr est esq etc fr ft gen gov hon inc jr lt ltd maj messrs mfg mlle mme mr "
    "mrs ms msgr mt mts ph.d prof pvt rep reps rev sec sen sens sgt sr st ste supt "
    "univ vol vols vs "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
).split()

# A sentence is taken to start at one of these words, written with a capital, even
# where an abbreviation or an ellipsis comes before it.
SENTENCE_STARTERS = (
    "a after all also although an and another anyway as at because both but by do "
    "does even every everything for from he her here his how however i if in is it "
    "its just let many maybe most my no not nothing now of oh okay on once one or "
    "our overall perhaps she since so some still that the their then there these "
    "they this those though to too under until we well what when where which while "
    "who why with yes yet you your"
).split()

_SPACES = "\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f-\u206f\u3000"
_INVISIBLE = "\xad\u200b-\u200f\u2060\ufeff"
# Whatever is no space, no ASCII or Latin-1 punctuation and no symbol: a letter, a
# digit or a mark of any script.
_CHAR = (
    "[^" + _SPACES + _INVISIBLE + "!-/:-@\\[-`{-~\xa1-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    "\xd7\xf7\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2190-\u2bff\u3001-\u3020"
    "\uff01-\uff0f\uff1a-\uff20]"
)
_WORD = f"{_CHAR}+(?:['&]{_CHAR}+)*(?:-{_CHAR}+(?:['&]{_CHAR}+)*)*"
_ABBREVIATION = "|".join(sorted(map(re.escape, ABBREVIATIONS), key=len, reverse=True))

# What one token may look like; the first alternative that matches wins.
TOKEN = "|".join(
    [
        r"(?:https?://|www\.)[^ \"<>()]*[a-z0-9/]",  # web address
        r"[a-z0-9][a-z0-9._+-]*@[a-z0-9-]+(?:\.[a-z0-9-]+)+",  # e-mail address
        r"[:;=]['-]?[()]",  # smiley
        r"\.\.+",  # ellipsis
        r"[!?]+",
        r"--+",
        r"\*+",
        rf"(?:[a-z]\.)(?:[a-z]\.)+(?:-{_WORD})?",  # u.s., u.s.-based
        rf"(?:{_ABBREVIATION})\.",
        r"\.?[0-9]+(?:[.,:/][0-9]+)*" + f"(?:{_CHAR}|-{_CHAR})*",  # 1,000.5  10/10  20th
        r"[a-z](?:\.[a-z])+",  # u.s
        r"[a-z]\.",  # an initial
        rf"{_WORD}(?:/{_WORD})?(?:/{_WORD})?",  # o'connell, first-rate, and/or
        r"'(?:s|re|ve|ll|d|m|em|till?|cause|n'|t|[2-9]0s)\b",
        r"[^ ]",
    ]
)

NORMALISE = [
    ("[\xad\u200b-\u200f\u2060\ufeff]", ""),
    (f"[{_SPACES}]+", " "),
    ("[\u2018\u2019\u201b`\xb4]", "'"),
    ("[\u201c-\u201f\xab\xbb]|''", '"'),
    ("\u2026", "..."),
    ("[\u2010\u2011]", "-"),
    ("[\u2012-\u2015]", "--"),
    (r"\.(?: \.)+( \.)", r"..\1"),
]

_CLOSING = r"( *[\"')\]]*) *$"

TOKENIZE = [
    # The full stop at the end of the sentence stands apart, even from an abbreviation.
    (rf"\b((?:[a-z]\.)+[a-z]|{_ABBREVIATION})\.{_CLOSING}", r"\1. . \2"),
    (rf"([^.])\.{_CLOSING}", r"\1 . \2"),
    # Contractions.
    (r"([a-z])(n't)\b", r"\1 \2 "),
    (rf"({_CHAR})'(s|re|ve|ll|d|m)\b", r"\1 '\2 "),
    (r"\b(can)(not)\b", r"\1 \2"),
    (r"\b(gon|wan)(na)\b", r"\1 \2"),
    (r"\b(got)(ta)\b", r"\1 \2"),
    (r"\b(gim|lem)(me)\b", r"\1 \2"),
    (r"'t(is|was)\b", r"'t \1"),
    (f"({TOKEN})", r" \1 "),
    (r" \.\.+ ", " ... "),
    (" --+ ", " -- "),
    (" +", " "),
]

RULES = NORMALISE + TOKENIZE

_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:p|div|hr|ul|ol|li|dl|dd|dt|h[1-6]|table|tr|td|th|blockquote|pre|center|"
    r"body|html|head|title|section|article)\b[^<>]*>",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"<!--.*?-->|</?(?:a|b|i|u|s|em|strong|small|big|tt|code|font|span|img|sub|sup|"
    r"cite|q|strike|del|ins)\b[^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z]+[0-9]*);")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_RUN_ON = re.compile(r"([a-z]{2}[.!?]+)([A-Z][a-z])")
# Windows-1252 punctuation that was read as Latin-1.
_WINDOWS = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


def strip_markup(text: str) -> str:
    """`text` without HTML: blocks become blank lines, entities their characters."""
    if "<" in text:
        text = _BREAK.sub("\n", text)
        text = _BLOCK.sub("\n\n", text)
        text = _INLINE.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return text.translate(_WINDOWS)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` (no markup), which never run over a blank line."""
    paragraphs = (_apply(NORMALISE, part) for part in _PARAGRAPH.split(text))
    return [
        sentence
        for paragraph in paragraphs
        for sentence in _punkt().tokenize(_RUN_ON.sub(r"\1 \2", paragraph))
    ]


def tokenize(sentence: str) -> list[str]:
    """The tokens of one sentence, lower-cased."""
    return _apply(RULES, sentence.lower()).split()


def sentences(text: str) -> list[list[str]]:
    """A raw document as tokenized sentences; a document without words has none."""
    tokenized = (
        _apply(TOKENIZE, sentence.lower()).split()
        for sentence in split_sentences(strip_markup(text))
    )
    return [tokens for tokens in tokenized if tokens]


def _apply(rules: list[tuple[str, str]], text: str) -> str:
    for pattern, replacement in rules:
        text = _compiled(pattern).sub(replacement, text)
    return text


@lru_cache(maxsize=None)
def _compiled(pattern: str) -> re.Pattern[str]:
    # RE2 knows only the ASCII word boundary.
    return re.compile(pattern, re.ASCII)


@lru_cache(maxsize=None)
def _punkt() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = {*ABBREVIATIONS, "a.m", "p.m", "e.g", "i.e", "u.s", "u.k"}
    parameters.sent_starters = set(SENTENCE_STARTERS)
    return PunktSentenceTokenizer(parameters)
