"""What is said of a corpus that is not fit for topics, and what to do about it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.corpora import SEGMENT
from tcnlm.preprocessing.documents import Document
from tcnlm.preprocessing.languages import ENGLISH, WITHOUT_SPACES, guessed, languages
from tcnlm.preprocessing.vocabulary import MOST_UNKNOWN, UNK, Rules, Vocabulary

FEW_TOPIC_WORDS = 200
MANY_STOP_WORDS = 20  # of the topic words
SHOWN = 5  # words of a list
LONG = 20  # words: so many are no chance where they come again
MANY_REPEATED = 0.1  # of the documents
MANY_LABELS = 20  # so few may be as many as there are documents
MOST_UNSPACED = 0.3  # of the characters
# Thai, Lao, Burmese, Khmer, Japanese and Chinese, which have no spaces between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)


def warn(lines: Iterable[str]) -> None:
    """Print a line for each."""
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)


def of_training(
    types: list[str],
    counts: np.ndarray,
    train: Arrays,
    vocabulary: Vocabulary,
    rules: Rules,
    context: str,
    language: str | None,
) -> Iterator[str]:
    """Yield what a user should know; train is in ids of the vocabulary."""
    number = len(vocabulary.topic_words)
    if rules.topic_words is None and number < FEW_TOPIC_WORDS:
        yield (
            f"only {number} topic words, too few to tell topics by: lower "
            "--topic-min-count, --min-count (or auto), or give more documents"
        )
    unknown = np.mean(train.tokens == UNK) if len(train.tokens) else 0.0
    if unknown > MOST_UNKNOWN:
        yield (
            f"{unknown:.0%} of the training words are unknown: lower --min-count, "
            "raise --max-words, or give more documents"
        )
    single = np.mean(np.diff(train.documents) <= 1)
    if single > 0.5 and context != "all":
        yield (
            f"{single:.0%} of the training documents are of one sentence, so that no "
            f"context (--context {context}) tells its topics: give longer documents"
        )
    words = zip(vocabulary.topic_words, vocabulary.topic_counts)
    never = [word for word, times in words if not times]
    if never:
        yield (
            f"{len(never):,} of the {number:,} words of --vocabulary never occur in "
            f"the training documents: {', '.join(never[:SHOWN])} ..."
        )
    yield from _stop_words(types, counts, vocabulary, rules, language)


def odd_marks(documents: Sequence[Document]) -> Iterator[str]:
    """Yield what is odd in the ids and labels of documents, and what readers doubt."""
    ids = Counter(each.id for each in documents if each.id is not None)
    shared = Counter({name: times for name, times in ids.items() if times > 1})
    for name, times in shared.most_common(1):
        yield (
            f"{sum(shared.values()):,} documents share their ids with others, "
            f"{times:,} of them {name!r:.40}: no table can be joined by these"
        )
    labels = [each.label for each in documents if each.label is not None]
    if len(set(labels)) > max(MANY_LABELS, len(labels) / 2):
        yield (
            f"{len(labels):,} documents have {len(set(labels)):,} labels, which are "
            "hardly classes: name another --label"
        )
    doubts: dict[str, list[str]] = {}
    for where, what in filter(None, (each.doubt for each in documents)):
        doubts.setdefault(what, []).append(where)
    for what, places in doubts.items():
        more = f" (and {len(places) - 1:,} times more)" if places[1:] else ""
        yield f"{places[0]}: {what}{more}"


def few_texts(types: list[str], arrays: Arrays) -> Iterator[str]:
    """Yield a line if few short texts are many documents, as fillers of a survey."""
    bounds = arrays.sentences[arrays.documents]
    short = ((a, b) for a, b in zip(bounds, bounds[1:]) if a < b < a + LONG)
    counts = Counter(arrays.tokens[a:b].tobytes() for a, b in short)
    number = len(bounds) - 1
    often = {text: n for text, n in counts.items() if n >= max(3, number / 100)}
    documents = sum(often.values())
    if often and documents >= MANY_REPEATED * number:
        common = np.frombuffer(max(often, key=often.get), arrays.tokens.dtype)
        shown = " ".join(types[i] for i in common)
        yield (
            f"{documents:,} of {number:,} documents are only {len(often):,} different "
            f"texts, such as {shown!r:.40}: leave out fillers, which flatter the "
            "figures of held-out documents"
        )


def in_training_too(arrays: Arrays, rows: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield how many of a split's long documents training has word for word."""
    bounds = arrays.sentences[arrays.documents]

    def long_texts(numbers: np.ndarray) -> list[int]:
        ends = zip(bounds[numbers], bounds[numbers + 1])
        return [hash(arrays.tokens[a:b].tobytes()) for a, b in ends if b - a >= LONG]

    texts = {name: long_texts(numbers) for name, numbers in rows.items()}
    known = set(texts.pop("train"))
    for name, found in texts.items():
        count = sum(text in known for text in found)
        if count:
            yield (
                f"{count:,} of {len(rows[name]):,} {name} documents are in training "
                "word for word: take them out of one, or figures tell what was "
                "learned by heart"
            )


def _stop_words(
    types: list[str],
    counts: np.ndarray,
    vocabulary: Vocabulary,
    rules: Rules,
    language: str | None,
) -> Iterator[str]:
    spoken = guessed(dict(zip(types, counts.tolist())), language or ENGLISH)
    known = languages()[spoken]
    found = [word for word in vocabulary.topic_words if word in known.stop_words]
    is_known = language in (spoken, None)
    few = len(found) < MANY_STOP_WORDS or rules.topic_words is not None
    if is_known and few:
        return
    shown = f" ({', '.join(found[:SHOWN])} ...)" if found else ""
    stop_words = f"{len(found)} topic words{shown} are stop words of {known.name}"
    if is_known:
        yield f"{stop_words}: give a better list to --stop-words, or leave it out"
    else:
        yield (
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


def refuse_no_topics(vocabulary: Vocabulary, rules: Rules) -> None:
    """InputError where no topic word occurs in the training text."""
    if vocabulary.topic_counts.any():
        return
    if rules.topic_words is not None:
        raise InputError(
            f"none of the {len(rules.topic_words)} words of --vocabulary occurs in the "
            "training documents, whose words are in lower case (those of tdlm: as they "
            "are)"
        )
    raise InputError(
        f"no topic word is left: none occurs {rules.min_count} (--min-count) and "
        f"{rules.topic_min_count} times (--topic-min-count) in the training documents, "
        f"has a letter (--topic-letters {rules.topic_letters}) and is neither a stop "
        "word nor among the most frequent"
    )
