"""Raw text to sentences to tokens: worked examples, and what holds for any text."""

import re
import time
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktSentenceTokenizer

from tcnlm.preprocessing import text
from tcnlm.preprocessing.languages import languages
from tcnlm.preprocessing.markup import join_lines, normalized
from tcnlm.preprocessing.text import (
    rules,
    sentences,
    spellings,
    split_sentences,
    strip_markup,
    tokenize,
    tokenize_beginning,
)

# Sentence and its tokens, apart by spaces.
TOKENS = {
    "He doesn't, can't, won't.": "he does n't , ca n't , wo n't .",
    "I'm sure they've said it's Tom's; we'll see.": (
        "i 'm sure they 've said it 's tom 's ; we 'll see ."
    ),
    '"Great," she said.': '" great , " she said .',
    "``Great,'' she said.": '" great , " she said .',
    "\u201cGreat\u201d \u2014 she didn\u2019t\u2026": '" great " -- she did n\'t ...',
    "It cost $1,000.50 (50%).": "it cost $ 1,000.50 ( 50 % ) .",
    "A first-rate 10/10 by the writer/director.": (
        "a first-rate 10/10 by the writer/director ."
    ),
    "Mr. O'Connell met Dr. J. R. Smith at 5:30 p.m. in D.C.": (
        "mr. o'connell met dr. j. r. smith at 5:30 p.m. in d.c. ."
    ),
    "He lives in the U.S.": "he lives in the u.s. .",
    "A U.S.-based film, e.g. this, etc.": "a u.s.-based film , e.g. this , etc. .",
    "On to plan B.": "on to plan b .",
    'He said "no."': 'he said " no . "',
    "Wait... what?! No!!!!! . . . So": "wait ... what ?! no !!!!! ... so",
    "You cannot go; I'm gonna, gotta, wanna - gimme!": (
        "you can not go ; i 'm gon na , got ta , wan na - gim me !"
    ),
    "'Tis rock 'n' roll of the '80s, get 'em.": (
        "'t is rock 'n' roll of the '80s , get 'em ."
    ),
    "the actors' names": "the actors ' names",
    "See imdb.com or http://example.org/a_b?c=d.": (
        "see imdb.com or http://example.org/a_b?c=d ."
    ),
    "Q&A -- with R2D2 :) *** S**t": "q&a -- with r2d2 :) *** s**t",
    "Caf\u00e9 na\u00efve \u017di\u017eek \u4e2d\u6587 5\u00a3": (
        "caf\u00e9 na\u00efve \u017ei\u017eek \u4e2d\u6587 5 \u00a3"
    ),
    "a\u00a0b\u2003c\u200bd\u00ade": "a b cde",
    "The \ufb01rst o\ufb03ce: he don\u02bct, I can\uff07t": (
        "the first office : he do n't , i ca n't"
    ),
    "Movie\U0001f60d\U0001f60d! I \u2764\ufe0f it\U0001f60d.": (
        "movie \U0001f60d \U0001f60d ! i \u2764 it \U0001f60d ."
    ),
    # A skin tone, a joined family and two flags.
    "\U0001f44d\U0001f3fd \U0001f468\u200d\U0001f467 "
    "\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea": (
        "\U0001f44d \U0001f468 \U0001f467 \U0001f1eb\U0001f1f7 \U0001f1e9\U0001f1ea"
    ),
    "Disney\u2122 at 20\u00b0C, 7\u00bd of 10 \u2605\u2605": (
        "disney \u2122 at 20 \u00b0 c , 7 \u00bd of 10 \u2605 \u2605"
    ),
    # Hindi's full stop; Japanese, whose sign of repetition is a letter; Hebrew's quote.
    "\u092f\u0939 \u0939\u0948\u0964": "\u092f\u0939 \u0939\u0948 \u0964",
    "\u300c\u4eba\u3005\u300d\u3002": "\u300c \u4eba\u3005 \u300d \u3002",
    "\u05e6\u05d4\u05f4\u05dc": "\u05e6\u05d4\u05f4\u05dc",
    "The <unk> said <UNK>'s <sigh>.": "the <unk> said <unk> 's < sigh > .",
    "": "",
    " \t\r\n": "",
}

# Text and where it is cut.
SENTENCES = {
    "Mr. Smith came. He left.": ["Mr. Smith came.", "He left."],
    "He lives in the U.S. and works.": ["He lives in the U.S. and works."],
    "He left the U.S. She stayed.": ["He left the U.S.", "She stayed."],
    "J. R. R. Tolkien wrote it.": ["J. R. R. Tolkien wrote it."],
    "So do I. He does too.": ["So do I.", "He does too."],
    "At 5 a.m. Tom woke.": ["At 5 a.m. Tom woke."],
    "Wow!!! What?! Yes.": ["Wow!!!", "What?!", "Yes."],
    "Well... it was long.": ["Well... it was long."],
    '"Go." He went. "(Why?)" She knew.': ['"Go."', "He went.", '"(Why?)"', "She knew."],
    "It cost 1.5 million. In 1999. Then 2.": [
        "It cost 1.5 million.",
        "In 1999.",
        "Then 2.",
    ],
    "It ended.The film was bad.": ["It ended.", "The film was bad."],
    "A title\n\nThe text\nruns on.": ["A title", "The text runs on."],
    "": [],
}

MARKUP = {
    "one<br /><br />two<BR>three": "one\n\ntwo\nthree",
    "<p>An <i>old</i> <a href='x'>film</a></p>": "\n\nAn old film\n\n",
    "Tom &amp; Jerry &#233; &quot;x&quot; &none;": 'Tom & Jerry \u00e9 "x" &none;',
    "R&amp;amp;D &amp;quot;x&#38;amp;quot; it&amp;#39;s &amp;T; &amp;amp": (
        'R&D "x" it\'s &T; &amp'
    ),
    "I <sigh> love <3 and 2 < 3 > 1": "I <sigh> love <3 and 2 < 3 > 1",
    f"a &#{'9' * 10};b &#{'9' * 5000};c &#x{'f' * 5000};": "a \ufffdb \ufffdc \ufffd",
    "it\x92s \x93so\x94 \x85": "it\u2019s \u201cso\u201d \u2026",
}


@pytest.mark.parametrize("sentence", TOKENS)
def test_tokens_are_those_of_the_penn_treebank(sentence):
    assert tokenize(sentence) == TOKENS[sentence].split()


@pytest.mark.parametrize("raw", SENTENCES)
def test_sentences_end_where_a_reader_would_end_them(raw):
    assert split_sentences(raw) == SENTENCES[raw]


@pytest.mark.parametrize("raw", MARKUP)
def test_markup_goes_and_words_stay(raw):
    assert strip_markup(raw) == MARKUP[raw]


@pytest.mark.parametrize(
    "piece",
    ["<!--", "<!-->", "<!-- --> <!--", "<!--->-", "&#", "&amp;", "ab-\n", "ab-\nab-"],
)
def test_a_megabyte_of_broken_markup_takes_less_than_a_second(piece):
    raw = piece * (2**20 // len(piece))
    start = time.process_time()
    join_lines(normalized(strip_markup(raw)))
    assert time.process_time() - start < 1


# Spelled otherwise, and as text whose words are the same.
LETTERS = {
    normalize("NFD", "Caf\xe9s na\xefve \u1ebfm"): "Caf\xe9s na\xefve \u1ebfm",
    "o\ufb03ce &#64257;rst \ufb06 \ufedf\ufeee\ufe8e": (
        "office first st \u0644\u0648\u0627"
    ),
    "infor-\nmation, Infor-\r\n  mation": "information, Information",
    "infor\xad\nmation infor\u2010\nmation": "information information",
    "state-of-\nthe-art mother-in-\nlaw": "state-of-the-art mother-in-law",
    "It didn't.<br />\nSee &quot;it&quot;": 'It didn\'t.\n\nSee "it"',
    "two-\nand Nord-\nS\xfcd, -\nnot x-\nray": "two- and Nord- S\xfcd, - not x- ray",
}


@pytest.mark.parametrize("raw", LETTERS)
def test_a_word_is_the_same_however_its_letters_are_written(raw):
    assert sentences(raw) == sentences(LETTERS[raw])
    assert sentences(" <p></p>\n") == []


def characters(kinds):
    """Return all characters of some categories but ASCII's and rare ideographs."""
    chars = map(chr, range(0x80, 0x20000))
    return [char for char in chars if category(char) in kinds.split()]


def test_every_sign_between_letters_is_a_token_of_its_own():
    ours = {*"\xab\xb4\xbb", *map(chr, range(0x2010, 0x2030))}  # as ASCII has them
    signs = set(characters("Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So No")) - ours
    signs -= {*"\u055a\u055b\u055c\u055e\u058a\u05be\u05f3\u05f4"}  # are in words
    signs -= {"\uff07", *map(chr, range(0x1F3FB, 0x1F400))}  # apostrophe, skin tones
    for sign in signs:
        lower = sign.lower()  # as a letter in a circle has it
        assert tokenize(f"a{sign}b{sign}") == ["a", lower, "b", lower], ascii(sign)


def by_the_table(sentence, language="en"):
    for found, letters in spellings(language):
        sentence = sentence.replace(found, letters)
    sentence = sentence.lower()
    for pattern, replacement in rules(language):
        sentence = re.sub(pattern, replacement, sentence, flags=re.ASCII)
    return [token for token in sentence.split(" ") if token]


# Random letters seldom meet a rule; pieces of real text do.
PIECES = st.sampled_from(
    "n't 's .com .. . ! ? ' '' \" ` -- - ( ) $ 1,000.5 10/10 u.s. mr. b. cannot gonna "
    "'tis l'x u.\xe4. d'\xe9 "
    "\u2026 \u2019 \u201c \xa0 \x85 \x7f \xad *** / @ & :) don it word "
    "\U0001f60d \U0001f3fd \U0001f1eb \ufe0f \u200d \xb0 \u0964".split(" ")
    + [" ", "  ", "\n"]
)
ANY_TEXT = st.one_of(st.text(), st.lists(PIECES, max_size=20).map("".join))


@given(ANY_TEXT, st.sampled_from(["en", "de", "fr", "tr", "ru", "hi"]))
def test_tokenize_does_what_the_table_of_rules_says(sentence, language):
    assert tokenize(sentence, language) == by_the_table(sentence, language)


@given(ANY_TEXT)
def test_tokens_and_sentences_lose_nothing_but_white_space_and_have_none(document):
    def kept(string):
        return re.sub("[^a-z0-9]", "", string.lower())

    whole = document.replace("\u2026", "...")
    assert kept("".join(tokenize(document))) == kept(document)
    assert kept("".join(split_sentences(whole))) == kept(whole)
    for sentence in sentences(document):
        assert sentence
        assert all(token and not re.search(r"\s", token) for token in sentence)


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        ("He told Mr.", "he told mr."),
        ("in the U.S.", "in the u.s."),
        ("John F.", "john f."),
        ("The end.", "the end ."),
        ("It doesn\u2019t", "it does n't"),
        ("", ""),
    ],
)
def test_a_beginning_keeps_the_full_stop_of_its_last_word(beginning, expected):
    assert " ".join(tokenize_beginning(beginning)) == expected


@pytest.mark.parametrize("language", languages())
def test_the_rules_keep_to_what_re2_reads_the_same_way(language):
    known = languages()[language].abbreviations
    assert len(set(known)) == len(known)
    assert all(word == word.lower() for word in known)
    for pattern, replacement in rules(language):
        assert not re.search(r"\\[0-9a-wyzA-Z](?<!\\b)", pattern), "class or reference"
        outline = re.sub(r"\\x[0-9a-f]{2}|\\.|\[(?:\\.|[^\\\]])*\]", "c", pattern)
        assert not re.search(r"\(\?[^:]", outline), "look-around or flag"
        assert not re.search(r"[*+?}][*+?]", outline), "lazy or possessive"
        assert re.fullmatch(r"(?:[^\\]|\\[0-9])*", replacement)


@pytest.mark.parametrize("stop", [".", "!", "?", "..", "?!", '."', ".)"])
@pytest.mark.parametrize("word", ["end", "Mr", "ETC", "U.S", "x", "is", "3", "ex-vol"])
def test_punkt_decides_at_a_glance_as_nltk_s_own_does(word, stop):
    punkt = text._split("en").__self__
    for space in (" ", "  ", "\n", ""):
        for after in ("The", "the", "Smith", "a", "3", '"So', "(x)", "'s", "i.e."):
            context = word + stop + space + after
            expected = PunktSentenceTokenizer.text_contains_sentbreak(punkt, context)
            assert punkt.text_contains_sentbreak(context) == expected, context
