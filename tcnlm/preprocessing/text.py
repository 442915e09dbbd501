"""Raw document to sentences to tokens, much as Stanford CoreNLP makes them.

The tokenizer is one table of `rules` for lower-cased text; what they leave is split at
spaces. `re` and RE2 read them the same way, so that an exported model has the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from functools import cache, lru_cache, partial
from itertools import chain, groupby
from unicodedata import category

from tcnlm.preprocessing import markup
from tcnlm.preprocessing.languages import ENGLISH, Language, languages
from tcnlm.preprocessing.markup import normalized, strip_markup

__all__ = ["rules", "sentences", "split_sentences", "strip_markup", "tokenize"]

# Dropped: what joins, directs or selects the look of other characters. So a picture
# counts as one word in all its skin tones, and a family of joined pictures as several.
_INVISIBLE = (
    "\xad\u061c\u180b-\u180f\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e01ef"
)
_SPACES = "\x80-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f-\u206f\u3000"
_FLAG = "[\U0001f1e6-\U0001f1ff][\U0001f1e6-\U0001f1ff]"
_IN_WORDS = "\u055a\u055b\u055c\u055e\u058a\u05be\u05f3\u05f4"  # Armenian, Hebrew
# No sign of ASCII; any other has been set apart.
_CHAR = r"[^\x00-\x20!-/:-@\[-`{-\x7f]"
_WORD = f"{_CHAR}+(?:['&@-]{_CHAR}+)*"
# Small letters of the alphabets that initials are written in: Latin, Greek, Cyrillic.
_LETTER = "[a-z\xdf-\xf6\xf8-\u024f\u03ac-\u03ce\u0430-\u0481]"


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of `words`, by first letter: tried once, not word by word."""
    longest_first = sorted(words, key=lambda word: (word[0], -len(word), word))
    letters = groupby(longest_first, key=lambda word: word[0])
    return "|".join(
        f"{letter}(?:{'|'.join(re.escape(word[1:]) for word in group)})"
        for letter, group in letters
    )


def _signs() -> str:
    """A class of all punctuation and symbols that are not ASCII's, and of ½, ², ①."""
    kinds = {"Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "No"}
    chars = map(chr, range(0x80, 0x1F000))
    found = [ord(c) for c in chars if category(c) in kinds and c not in _IN_WORDS]
    found += range(0x1F000, 0x1FBF0)
    runs = groupby(enumerate(found), key=lambda pair: pair[1] - pair[0])
    ends = [[chr(point) for _, point in run] for _, run in runs]
    return f"[{''.join(f'{run[0]}-{run[-1]}' for run in ends)}]"


def _token(known: Language, letter: str) -> str:
    """What one token may look like: the first alternative that matches is taken."""
    elided = [f"(?:{_any_of(known.elisions)})'"] if known.elisions else []
    abbreviations = rf"(?:{_any_of(known.abbreviations)})\."
    return "|".join(
        [
            "<unk>",  # as a model writes it
            *elided,  # l', qu'
            rf"{letter}\.{letter}\.(?:{letter}\.)*(?:-{_WORD})?",  # u.s., u.s.-based
            *([abbreviations] if known.abbreviations else []),
            r"https?://[^ \"<>()]*[a-z0-9/]",
            r"www\.[^ \"<>()]*[a-z0-9/]",
            rf"\.?[0-9]+(?:[.,:/][0-9]+)*(?:-?{_CHAR})*",  # 1,000.5, 10/10, 20th, 3-d
            r"[a-z](?:\.[a-z])+\b",  # u.s without its last full stop
            rf"{letter}\.",  # an initial
            # imdb.com, m*a*s*h
            rf"{_WORD}(?:\.(?:com|net|org|edu)\b|(?:\*+{_CHAR}+)+)",
            rf"{_WORD}(?:/{_WORD})?(?:/{_WORD})?",  # o'connell, first-rate, and/or
            r"'n'",
            r"'(?:s|re|ve|ll|d|m|em|till?|cause|n|tis|twas|t|[2-9]0s)\b",
            r"[:;=]['-]?[()]",  # smiley
            r"\.\.+",
            r"[!?]+",
            r"--+",
            r"\*+",
            r"[^ ]",
        ]
    )


# These leave ASCII text as it is.
_TO_ASCII = [
    (f"[{_INVISIBLE}]", ""),
    (f"[{_SPACES}]", " "),
    (f"[{markup.APOSTROPHES}]", "'"),
    ("[\u201c-\u201f\xab\xbb]", '"'),
    ("\u2026", "..."),
    ("[\u2010\u2011]", "-"),
    ("[\u2012-\u2015]", "--"),
]
_FROM_UNICODE = [*_TO_ASCII, (f"({_FLAG}|{_signs()})", r" \1 ")]
_BEFORE = [
    (r"[\x00-\x20\x7f]+", " "),
    ("''|``", '"'),
    ("`", "'"),
    (r"\. \. \.(?: \.)*", "... "),
]
_CONTRACTIONS = [(r"n't\b", " n't "), (r"'(s|re|ve|ll|d|m)\b", r" '\1 ")]
# The last full stop stands apart, even from an abbreviation: "u.s. ."; the first two
# rules below the tokens take back what this does to "end." and "plan b."
_LAST_STOP = (r"\.( *[\"')\]]*) *$", r". .\1")
_AFTER = [(r" \.\.+ ", " ... "), (" --+ ", " -- ")]
_CONTRACTED = [
    (" cannot ", " can  not "),
    (" (gon|wan)na ", r" \1  na "),
    (" gotta ", " got  ta "),
    (" (gim|lem)me ", r" \1  me "),
    (" 't(is|was) ", r" 't  \1 "),
]

# What any rule of a list needs to find something.
_OF_BEFORE = re.compile(r"[\x00-\x20\x7f'`.]")
_OF_INNER = re.compile(r"['`]")  # rules about full stops need spaces, or the end
_OF_AFTER = re.compile(r"\. +\.|\.\.|--|cannot|nna |gotta|mme |'t")
_CLOSING = "\"'`)]"  # which may follow a sentence's full stop
_REMEMBERED = 2**16  # chunks, some 25 MB

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
# The ends of sentences that Punkt does not know: Arabic's, Urdu's and Hindi's.
_END = re.compile(rf"{_PARAGRAPH.pattern}|(?<=[\u061f\u06d4\u0964\u0965])\s+")
_RUN_ON = re.compile(r"([a-z]{2}[.!?]+)([A-Z][a-z])")
_OF_RUN_ON = re.compile(r"[.!?][A-Z]")  # what it needs, and is found faster
_PLAIN_END = re.compile(r"([A-Za-z]{2,})[.!?]\s+[A-Za-z]")
_LAST_WORD, _FIRST_WORD = re.compile(r"([\w.]+)\.$"), re.compile(r"\w*")
_ELLIPSIS = re.compile(r"\.\.+|\. \. \.(?: \.)*")


def split_sentences(text: str, language: str = ENGLISH) -> list[str]:
    """The sentences of `text` (no markup), which never run over a blank line."""
    ends = _PARAGRAPH if language == ENGLISH else _END
    return [
        sentence.replace("\u2026", "...")
        for paragraph in ends.split(text)
        for sentence in _split(language)(_prepare(paragraph))
    ]


def tokenize(sentence: str, language: str = ENGLISH) -> list[str]:
    """The tokens of one sentence, lower-cased."""
    return _tokenizer(language).tokenize(sentence)


def plain(text: str) -> str:
    """`text` with its letters in one form, and the signs that tokens have."""
    return _apply(_TO_ASCII, normalized(text))


def tokenize_beginning(text: str, language: str = ENGLISH) -> list[str]:
    """The tokens of a sentence's beginning, which no full stop ends, lower-cased."""
    return _tokenizer(language).tokenize_beginning(text)


def rules(language: str = ENGLISH) -> list[tuple[str, str]]:
    """The table of a language: (pattern, replacement) in order."""
    of = _tokenizer(language)
    return [*_FROM_UNICODE, *of.before, (f"({of.token})", r" \1 "), *of.after]


def spellings(language: str) -> list[tuple[str, str]]:
    """Pairs of what is replaced before lower-casing: ligatures, some capitals."""
    return _tokenizer(language).spellings


class _Tokenizer:
    """The rules of a language, and the chunks of its texts that have been seen."""

    def __init__(self, language: str):
        known, is_english = languages()[language], language == ENGLISH
        letter = "[a-z]" if is_english else _LETTER
        self.spellings = [*markup.LIGATURES.items(), *known.lower]
        self.token = _token(known, letter)
        self.inner = [*_BEFORE, *(_CONTRACTIONS if is_english else ())]
        self.before = [*self.inner, _LAST_STOP]
        self.after = [
            (r" (\.+) +\. ", r" \1 "),
            (rf" ({letter})\. +\. ", r" \1  . "),
            *_AFTER,
            *(_CONTRACTED if is_english else ()),
        ]
        # Most of a text's chunks have been seen before.
        self.inner_tokens = lru_cache(_REMEMBERED)(
            lambda chunk: tuple(self._tokens(chunk, self.inner, _OF_INNER))
        )
        self.last_tokens = lru_cache(_REMEMBERED)(
            lambda chunk: tuple(self._tokens(chunk, self.before))
        )

    def lowered(self, text: str) -> str:
        for found, letters in self.spellings:
            text = text.replace(found, letters)
        return text.lower()

    def tokenize(self, sentence: str) -> list[str]:
        text = self.lowered(sentence)
        if not text.isascii():
            text = _apply(_FROM_UNICODE, text)
        chunks = text.split()
        # Whether no rule reaches over the spaces between chunks.
        apart = chunks and text.isprintable() and " ." not in text
        if not (apart and chunks[-1].strip(_CLOSING)):
            return self._tokens(text, self.before)
        *inner, last = chunks
        found = chain.from_iterable(map(self.inner_tokens, inner))
        return [*found, *self.last_tokens(last)]

    def tokenize_beginning(self, text: str) -> list[str]:
        text = self.lowered(normalized(text))
        return self._tokens(_apply(_FROM_UNICODE, text), self.inner)

    def _tokens(
        self,
        text: str,
        before: list[tuple[str, str]],
        needed: re.Pattern[str] = _OF_BEFORE,
    ) -> list[str]:
        if needed.search(text):
            text = _apply(before, text)
        # Finding the tokens is what the rule `({token})` does, in a third of the time.
        tokens = _compiled(self.token).findall(text)
        text = f" {'  '.join(tokens)} "
        return (_apply(self.after, text) if _OF_AFTER.search(text) else text).split()


_tokenizer = cache(_Tokenizer)


def sentences(text: str, language: str = ENGLISH) -> list[list[str]]:
    """A raw document as tokenized sentences; a document without words has none."""
    text = markup.join_lines(normalized(strip_markup(text)))
    split = split_sentences(text, language)
    tokenized = map(_tokenizer(language).tokenize, split)
    return [tokens for tokens in tokenized if tokens]


def in_language(language: str) -> Callable[[str], list[list[str]]]:
    """`sentences` of a language, to be sent to other processes."""
    return partial(sentences, language=language)


def makes_words(split: Callable[[str], list[list[str]]]) -> bool:
    """Whether it is `sentences`, of whatever language, and no reader of tokens."""
    return getattr(split, "func", split) is sentences


def _prepare(paragraph: str) -> str:
    if not paragraph.isascii():
        paragraph = _apply(_TO_ASCII, paragraph)
    text = " ".join(paragraph.split())
    if _OF_RUN_ON.search(text):
        text = _RUN_ON.sub(r"\1 \2", text)
    # To CoreNLP an ellipsis ends no sentence; Punkt knows only the three dots.
    return _ELLIPSIS.sub("\u2026", text)


def _apply(rules: list[tuple[str, str]], text: str) -> str:
    for pattern, replacement in rules:
        text = _compiled(pattern).sub(replacement, text)
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # RE2 knows only the word boundary of ASCII.
    return re.compile(pattern, re.ASCII)


@cache
def _split(language: str) -> Callable[[str], list[str]]:
    """What finds where sentences end: Punkt, with the abbreviations of a language."""
    # Here, or programs that split no text would wait for nltk, a fifth of their start.
    from nltk.tokenize.punkt import _ORTHO_LC, PunktParameters, PunktSentenceTokenizer

    known, parameters = languages()[language], PunktParameters()
    parameters.abbrev_types.update(known.abbreviations)
    number = "##number##"  # as Punkt has any
    parameters.collocations.update((number, word) for word in known.after_numbers)
    for word in known.starters:
        parameters.add_ortho_context(word, _ORTHO_LC)

    class Punkt(PunktSentenceTokenizer):
        """Faster: where a sentence plainly ends, there is nothing to look up."""

        def text_contains_sentbreak(self, text: str) -> bool:
            plain = _PLAIN_END.match(text)
            if plain and plain[1].lower() not in parameters.abbrev_types:
                return True
            return super().text_contains_sentbreak(text)

    tokenize = Punkt(parameters).tokenize
    if language == ENGLISH:
        return tokenize
    begins, ordinals = known.stop_words.union(known.starters), bool(known.after_numbers)
    return lambda text: _rejoined(tokenize(text), begins, ordinals)


def _rejoined(found: Sequence[str], begins: Set[str], ordinals: bool) -> list[str]:
    """Undo ends of sentences after short abbreviations and a language's ordinals."""
    joined: list[str] = []
    for sentence in found:
        before = _LAST_WORD.search(joined[-1]) if joined else None
        if before and _runs_on(before[1], sentence, begins, ordinals):
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined


def _runs_on(word: str, after: str, begins: Set[str], ordinals: bool) -> bool:
    if after[0].isdigit():  # "Art. 7", "Hauptstr. 5"
        short = len(word) == 1 or len(word) <= 4 and word.lower() not in begins
        return word.isalpha() and (short or word.endswith("str"))
    if after[0].islower() and len(word) == 1:  # "z. B. im"
        return True
    if not (ordinals and word.isdecimal() and len(word) <= 2) and "." not in word:
        return False
    return after[0].islower() or _FIRST_WORD.match(after)[0].lower() not in begins
