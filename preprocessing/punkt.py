"""Punkt, which finds where sentences end, with the abbreviations given to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nltk.tokenize.punkt import _ORTHO_LC, PunktParameters, PunktSentenceTokenizer

ACRONYMS = "a.d a.k.a a.m b.c d.c e.g i.e l.a n.y o.k p.m p.s t.v u.k u.n u.s u.s.a"
# Written with a capital after an abbreviation, one of these starts a sentence. ("a" is
# none of them, for it would end one at "J. A. Smith".)
SENTENCE_STARTERS = (
    "after all also although an and another anyway as at because both but by do does "
    "even every everything for from he her here his how however i if it its just let "
    "many maybe most my no not nothing now of oh okay on once one or our overall "
    "perhaps she since so some still that the their then there these they this those "
    "though to too under until we well what when where which while who why with yes "
    "yet you your"
).split()
_PLAIN_END = re.compile(r"([A-Za-z]{2,})[.!?]\s+[A-Za-z]")


class Punkt(PunktSentenceTokenizer):
    """nltk's, faster: where a sentence plainly ends, there is nothing to look up."""

    def text_contains_sentbreak(self, text: str) -> bool:
        """Tell whether a sentence ends within a word, its stop and the next word."""
        plain = _PLAIN_END.match(text)
        if plain and plain[1].lower() not in self._params.abbrev_types:
            return True
        return super().text_contains_sentbreak(text)


def punkt(abbreviations: Iterable[str]) -> Punkt:
    """Return a tokenizer to which `abbreviations` and acronyms end no sentence."""
    parameters = PunktParameters()
    parameters.abbrev_types.update(abbreviations, ACRONYMS.split())
    for word in SENTENCE_STARTERS:
        parameters.add_ortho_context(word, _ORTHO_LC)
    return Punkt(parameters)
