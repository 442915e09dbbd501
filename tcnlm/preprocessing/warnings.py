"""What is said of a corpus that is not fit for topics, and what to do about it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.corpora import SEGMENT
from tcnlm.preprocessing.documents import Document, is_missing
from tcnlm.preprocessing.languages import ENGLISH, WITHOUT_SPACES, guessed, languages
from tcnlm.preprocessing.vocabulary import (
    MOST_UNKNOWN,
    SPECIALS,
    UNK,
    Rules,
    Vocabulary,
    choose,
    is_content,
)

FEW_TOPIC_WORDS = 200
MANY_BLANK = 0.2  # of the lines
MANY_STOP_WORDS = 20  # of the topic words
SHOWN = 5  # words of a list
MANY_REPEATED = 0.1  # of the documents
LONG = 20  # words: so many are no chance where they come again
MOST_UNSPACED = 0.3  # of the characters
MANY_LABELS = 20  # so few may be as many as there are documents
# Thai, Lao, Burmese, Khmer, Japanese and Chinese, which have no spaces between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_LETTER_RULES = {
    "english": "one of the letters a to z; --topic-letters unicode takes those of any "
    "script",
    "unicode": "a letter",
}


def warn(lines: Iterable[str | None]) -> None:
    """Print a line for each that there is."""
    for line in filter(None, lines):
        print(f"warning: {line}", file=sys.stderr)


class Noticed:
    """What is odd in how documents are written, counted as they are read."""

    def __init__(self):
        self._missing = {"text": Counter(), "label": Counter(), "id": Counter()}
        self._labels, self._ids = Counter(), Counter()
        self._doubts: list[str] = []

    def seen(self, document: Document) -> Document:
        """Count a document; return it without a label or id that says there is none."""
        if document.text.strip() and is_missing(document.text):
            self._missing["text"][document.text.strip()] += 1
        for mark, given in (("label", self._labels), ("id", self._ids)):
            value = getattr(document, mark)
            if value is not None and is_missing(value):
                self._missing[mark][value] += 1
                document = document._replace(**{mark: None})
            elif value is not None:
                given[value] += 1
        if document.doubt:
            self._doubts.append(document.doubt)
        return document

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind that there was."""
        for mark, words in self._missing.items():
            if words:
                shown = ", ".join(repr(word) for word, _ in words.most_common(SHOWN))
                cure = f"taken to have no {mark}"
                if mark == "text":
                    cure = "of jsonl and tables --skip-empty leaves them out"
                number = sum(words.values())
                documents = f"{number:,} document{'s' * (number > 1)}"
                yield f"{documents} whose {mark} says there is none ({shown}): {cure}"
        shared = Counter({name: n for name, n in self._ids.items() if n > 1})
        if shared:
            ((name, times),) = shared.most_common(1)
            yield (
                f"{sum(shared.values()):,} documents share their ids with others, "
                f"{times:,} of them {name!r:.40}: no table can be joined by these"
            )
        labelled, labels = sum(self._labels.values()), len(self._labels)
        if labels > max(MANY_LABELS, labelled / 2):
            yield (
                f"{labelled:,} documents have {labels:,} labels, which are hardly "
                "classes: name another --label"
            )
        if self._doubts:
            others = f", as do {len(self._doubts) - 1:,} others"
            yield (
                f"{self._doubts[0]}, and all its lines look like rows"
                f"{others if self._doubts[1:] else ''}: where double quotes are stray, "
                "take them out, or give --quoting none"
            )


def warnings(
    types: list[str],
    counts: np.ndarray,
    train: Arrays,
    vocabulary: Vocabulary,
    rules: Rules,
    context: str,
    language: str | None,
) -> list[str | None]:
    """What a user should know before training, a line each.

    types, counts: the distinct words of the training text; train: the same text in
    ids of the vocabulary; context, language: see `Preprocessing`.
    """
    open_rules = replace(rules, min_count=None, topic_min_count=None)
    better = choose(types, counts, open_rules)
    return [
        _few_topic_words(vocabulary, rules, better),
        _many_unknown(train, vocabulary, rules, better),
        _empty_contexts(train, vocabulary, context),
        _stop_words(types, counts, vocabulary, rules, language),
    ]


def in_training_too(arrays: Arrays, rows: dict[str, np.ndarray]) -> list[str]:
    """Say of each split how many of its long documents training has word for word.

    rows: the numbers of a split's documents.
    """
    sizes = np.diff(arrays.sentences[arrays.documents])
    long = {name: numbers[sizes[numbers] >= LONG] for name, numbers in rows.items()}
    texts = {name: [*map(hash, _texts(arrays, long[name]))] for name in rows}
    known = set(texts.pop("train"))
    counts = {
        name: sum(text in known for text in found) for name, found in texts.items()
    }
    return [
        f"{count:,} of {len(rows[name]):,} {name} documents are in training word for "
        "word: take them out of one, or figures tell what was learned by heart"
        for name, count in counts.items()
        if count
    ]


def few_texts(types: list[str], arrays: Arrays) -> str | None:
    """A warning if few short texts make up many documents, as fillers of a survey do.

    A text counts that is one document in a hundred, and three at least.
    """
    sizes = np.diff(arrays.sentences[arrays.documents])
    short = np.flatnonzero((sizes > 0) & (sizes < LONG))
    texts, least = Counter(_texts(arrays, short)), max(3, len(sizes) / 100)
    often = [(text, n) for text, n in texts.most_common() if n >= least]
    documents = sum(n for _, n in often)
    if not often or documents < MANY_REPEATED * len(sizes):
        return None
    words = (np.frombuffer(text, np.int32) for text, _ in often[:SHOWN])
    shown = (f"{' '.join(types[i] for i in text)!r:.40}" for text in words)
    more = ", ..." if len(often) > SHOWN else ""
    return (
        f"{documents:,} of {len(sizes):,} documents are the same {len(often):,} "
        f"text{'s' * (len(often) > 1)} ({', '.join(shown)}{more}): leave out fillers, "
        "which flatter the figures of held-out documents"
    )


def _texts(arrays: Arrays, numbers: np.ndarray) -> Iterator[bytes]:
    """The words of documents, each document's as bytes."""
    bounds = arrays.sentences[arrays.documents]
    return (arrays.tokens[bounds[i] : bounds[i + 1]].tobytes() for i in numbers)


def _stop_words(
    types: list[str],
    counts: np.ndarray,
    vocabulary: Vocabulary,
    rules: Rules,
    language: str | None,
) -> str | None:
    spoken = guessed(dict(zip(types, counts.tolist())), language or ENGLISH)
    known = languages()[spoken]
    found = [word for word in vocabulary.topic_words if word in known.stop_words]
    is_known = language in (spoken, None)
    few = len(found) < MANY_STOP_WORDS or rules.topic_words is not None
    if is_known and few:
        return None
    shown = f" ({', '.join(found[:SHOWN])} ...)" if found else ""
    stop_words = f"{len(found)} topic words{shown} are stop words of {known.name}"
    if is_known:
        return f"{stop_words}: give a better list to --stop-words, or leave it out"
    return (
        f"the text seems to be {known.name}, not {languages()[language].name}; "
        f"{stop_words}: give --language {spoken}"
    )


def refuse_without_spaces(types: list[str], counts: np.ndarray) -> None:
    """InputError if much of a text is in a script without spaces between words."""
    unspaced = [len(_UNSPACED.findall(word)) for word in types]
    lengths = [len(word) for word in types]
    if np.dot(unspaced, counts) > MOST_UNSPACED * np.dot(lengths, counts):
        names = ", ".join(languages()[code].name for code in WITHOUT_SPACES)
        raise InputError(
            f"the text has no spaces between its words, as {names} have none, and each "
            f"sentence would be a word; {SEGMENT}"
        )


def unseen_words(
    vocabulary: Vocabulary, rules: Rules, sentences: Callable[[str], list[list[str]]]
) -> str | None:
    """A warning that names words of --vocabulary that the training text never has.

    sentences: what made words of it, and may make several of one that was given.
    """
    counts = dict(zip(vocabulary.topic_words, vocabulary.topic_counts))
    unseen = [word for word in rules.topic_words or () if not counts[word]]
    if not unseen:
        return None
    more = " ..." if len(unseen) > SHOWN else ""
    line = (
        f"{len(unseen):,} of the {len(counts):,} words of --vocabulary never occur in "
        f"the training documents: {', '.join(unseen[:SHOWN])}{more}"
    )
    made = ((word, list(chain.from_iterable(sentences(word)))) for word in unseen)
    split = next(((word, parts) for word, parts in made if parts != [word]), None)
    return f"{line}; of {split[0]!r} a text has {split[1]}" if split else line


def _few_topic_words(vocabulary: Vocabulary, rules: Rules, better: Rules) -> str | None:
    number = len(vocabulary.topic_words)
    if rules.topic_words is not None or number >= FEW_TOPIC_WORDS:
        return None
    advice = "give more documents"
    if better.topic_min_count < max(rules.min_count, rules.topic_min_count):
        advice = f"try --topic-min-count {better.topic_min_count}"
        if rules.min_count > better.topic_min_count:
            advice += f" --min-count {better.min_count}"
    return f"only {number} topic words, too few to tell topics by: {advice}"


def _many_unknown(
    train: Arrays, vocabulary: Vocabulary, rules: Rules, better: Rules
) -> str | None:
    share = np.mean(train.tokens == UNK) if len(train.tokens) else 0.0
    if share <= MOST_UNKNOWN:
        return None
    advice = "give more documents"
    if len(vocabulary) - len(SPECIALS) == rules.max_words:
        advice = "raise --max-words"
    elif better.min_count < rules.min_count:
        advice = f"try --min-count {better.min_count}"
    return f"{share:.0%} of the training words are unknown: {advice}"


def _empty_contexts(train: Arrays, vocabulary: Vocabulary, context: str) -> str | None:
    share = np.mean(context_sizes(train, vocabulary.topic_ids, context) == 0)
    if share <= 0.5:
        return None
    return (
        f"{share:.0%} of the training sentences have no topic word in their context "
        f"(--context {context}), so that nothing tells their topics: lower "
        "--topic-min-count, or give documents of more sentences"
    )


def context_sizes(arrays: Arrays, topic_ids: np.ndarray, context: str) -> np.ndarray:
    """Topic words that the context of every sentence has: int64 [S].

    A sentence is taken to be one sequence, so that "leak" is the same as "others".
    """
    before = np.concatenate([[0], np.cumsum(topic_ids[arrays.tokens] >= 0)])
    before = before[arrays.sentences]  # topic words before each sentence
    sentences = np.diff(arrays.documents)
    first = np.repeat(before[arrays.documents[:-1]], sentences)
    last = np.repeat(before[arrays.documents[1:]], sentences)
    if context == "preceding":
        return before[:-1] - first
    own = np.diff(before)
    return last - first - (0 if context == "all" else own)


def without_tabs(train: Arrays) -> str | None:
    """A warning if documents of the format tdlm are all of one sentence."""
    documents = len(train.documents) - 1
    if documents < 2 or len(train.sentences) - 1 > documents:
        return None
    return (
        "no training document has a tab, so that each is one sentence: tdlm has tabs "
        "between sentences and tokens as they are; for plain text take --format text"
    )


def blank_lines(train: Arrays) -> str | None:
    """A warning if many training documents, each a line of text, have no word."""
    share = np.mean(np.diff(train.documents) == 0)
    if share < MANY_BLANK:
        return None
    return (
        f"{share:.0%} of the training lines are blank, and of --format text every line "
        "is a document: where yours have several lines, make JSON Lines of them as "
        "docs/corpora.md shows"
    )


def refuse_no_topics(vocabulary: Vocabulary, rules: Rules) -> None:
    """InputError, with the reason, where no topic word occurs in the training text."""
    if vocabulary.topic_counts.any():
        return
    if rules.topic_words is not None:
        raise InputError(
            f"none of the {len(rules.topic_words)} words of --vocabulary occurs in the "
            "training documents, whose words are in lower case (those of tdlm: as they "
            "are)"
        )
    words, letters = vocabulary.words[len(SPECIALS) :], rules.topic_letters
    reason = (
        f"none of the {len(words)} words occurs {rules.topic_min_count} times in the "
        "training documents, has a letter (--topic-letters) and is neither a stop word "
        "nor among the most frequent; lower --topic-min-count (auto finds a number)"
    )
    if not words:
        reason = (
            f"no word occurs {rules.min_count} times in the training documents; lower "
            "--min-count, or give more of them"
        )
    elif not any(is_content(word, frozenset(), letters) for word in words):
        reason = f"none of the {len(words)} words has {_LETTER_RULES[letters]}"
    raise InputError(f"no topic word is left: {reason}")
