"""Punkt, which finds where sentences end, with the abbreviations given to it."""

from __future__ import annotations

import re

from nltk.tokenize.punkt import _ORTHO_LC, PunktParameters, PunktSentenceTokenizer

from tcnlm.preprocessing.languages import Language

_NUMBER = "##number##"  # as Punkt has any
_PLAIN_END = re.compile(r"([A-Za-z]{2,})[.!?]\s+[A-Za-z]")


class Punkt(PunktSentenceTokenizer):
    """nltk's, faster: where a sentence plainly ends, there is nothing to look up."""

    def text_contains_sentbreak(self, text: str) -> bool:
        """Tell whether a sentence ends within a word, its stop and the next word."""
        plain = _PLAIN_END.match(text)
        if plain and plain[1].lower() not in self._params.abbrev_types:
            return True
        return super().text_contains_sentbreak(text)


def punkt(language: Language) -> Punkt:
    """Return a tokenizer to which a language's abbreviations end no sentence.

    Written with a capital after one of them, its starters begin a sentence.
    """
    parameters = PunktParameters()
    parameters.abbrev_types.update(language.abbreviations)
    parameters.collocations.update((_NUMBER, word) for word in language.after_numbers)
    for word in language.starters:
        parameters.add_ortho_context(word, _ORTHO_LC)
    return Punkt(parameters)
