"""The whole way from a corpus to the DATA directory."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import numpy as np

from tcnlm.common.process import Map, progress_bar
from tcnlm.preprocessing import collect, data_folder, warnings
from tcnlm.preprocessing.collect import DEFAULT_FRACTIONS, Arrays
from tcnlm.preprocessing.corpora import Corpus, refuse_none_left
from tcnlm.preprocessing.documents import Document
from tcnlm.preprocessing.languages import ENGLISH
from tcnlm.preprocessing.phrases import ENGLISH_CONNECTORS, Phrases, Sentences, learn
from tcnlm.preprocessing.text import makes_words
from tcnlm.preprocessing.vocabulary import (
    Rules,
    Vocabulary,
    build_vocabulary,
    choose,
    is_content,
)

UNIT = " documents"


@dataclass(frozen=True)
class Preprocessing:
    """All that the result depends on beside the corpus."""

    rules: Rules = Rules()
    fractions: tuple[float, float, float] = DEFAULT_FRACTIONS
    limit: tuple[int, int, int] | None = None
    seed: int = 0
    valid_from_train: float | None = None  # documents, or a share of them below 1
    sequence_length: int = 30  # targets; TCNLM paper, Section 5
    context: str = "others"
    context_words: int = 300  # TCNLM paper, Section 5; of the topic vocabulary
    language: str | None = ENGLISH  # None of bags of words
    phrases: float | None = None  # the least score of one; None: there are none


def preprocess(
    corpus: Corpus,
    preprocessing: Preprocessing,
    out: Path,
    command: str = "",
    force: bool = False,
    mapped: Map = map,
) -> dict:
    """Write the DATA directory `out` and return its meta.json; InputError if bad."""
    with data_folder.new_folder(out, force) as folder:
        sizes, documents, left_out = _survey(corpus)
        cutting = preprocessing.fractions, preprocessing.limit, preprocessing.seed
        splits = collect.assign(sizes, *cutting, preprocessing.valid_from_train)
        tokenize = partial(_tokenize, corpus, splits, mapped)
        types, arrays, rows = tokenize(folder / "tokens.tmp", corpus.sentences)
        if not corpus.ordered:  # a document is one row, its context all its words
            longest = int(np.diff(arrays.sentences).max(initial=1))
            sizes = {"sequence_length": longest + 1, "context_words": longest}
            of_bags = {**sizes, "context": "all", "language": None}
            preprocessing = replace(preprocessing, **of_bags)
        train = collect.select(arrays, rows["train"])
        phrases = _phrases(types, train, preprocessing)
        if phrases:
            joined = phrases.after(corpus.sentences)
            types, arrays, rows = tokenize(folder / "joined.tmp", joined)
            train = collect.select(arrays, rows["train"])
        vocabulary, preprocessing = _vocabulary(corpus, types, train, preprocessing)
        vocabulary.phrases = phrases
        warnings.warn(warnings.few_texts(types, arrays))
        warnings.warn(warnings.in_training_too(arrays, rows))
        vocabulary.save(folder)
        ids, counts = np.array(vocabulary.ids(types), dtype=np.int32), {}
        for name, numbers in rows.items():
            split = collect.select(arrays, numbers)
            split = split._replace(tokens=ids[split.tokens])
            data_folder.save_arrays(folder / name, split)
            counts[name] = collect.counts_of(split, preprocessing.sequence_length)
        for words in folder.glob("*.tmp"):
            words.unlink()
        meta = _meta(folder, corpus, preprocessing, vocabulary, command)
        if corpus.skip_empty:
            meta["left_out"] = left_out
        classes = data_folder.save_marks(folder, splits, documents)
        held_out = _chosen(corpus, data_folder.held_out(splits))
        data_folder.save_texts(folder, splits, held_out)
        data_folder.write_meta(folder, {**meta, **classes, "splits": counts})
        data_folder.write_sums(folder)
    return data_folder.read_meta(out)


def _survey(corpus: Corpus) -> tuple[dict[str, int], list[Document], int]:
    """Read the corpus once: parts' sizes, textless documents, how many are left out."""
    sizes, kept, left_out = {}, [], 0
    for name, read in corpus.parts.items():
        before = len(kept)
        for document in progress_bar(read(), f"reading {name}", unit=UNIT):
            if corpus.has(document):
                kept.append(document._replace(text=""))
            else:
                left_out += 1
        sizes[name] = len(kept) - before
    refuse_none_left(len(kept), left_out)
    warnings.warn(warnings.odd_marks(kept))
    return sizes, kept, left_out


def _tokenize(
    corpus: Corpus,
    splits: dict[str, np.ndarray],
    mapped: Map,
    file: Path,
    sentences: Sentences,
) -> tuple[list[str], Arrays, dict[str, np.ndarray]]:
    wanted = np.sort(np.concatenate(list(splits.values())))
    texts = (document.text for document in _chosen(corpus, wanted))
    texts = progress_bar(texts, "tokenizing", len(wanted), unit=UNIT)
    types, arrays = collect.tokenize_all(texts, sentences, file, mapped)
    rows = {name: np.searchsorted(wanted, numbers) for name, numbers in splits.items()}
    return types, arrays, rows


def _chosen(corpus: Corpus, numbers: np.ndarray) -> Iterator[Document]:
    read = chain.from_iterable(read() for read in corpus.parts.values())
    wanted = set(numbers.tolist())
    return (d for n, d in enumerate(filter(corpus.has, read)) if n in wanted)


def _phrases(types: list[str], train: Arrays, preprocessing: Preprocessing) -> Phrases:
    """The phrases of the training text, as frequent as a word must be; none unasked."""
    if preprocessing.phrases is None:
        return Phrases({})
    rules = choose(*collect.counted(types, train), preprocessing.rules)
    bounds = zip(train.sentences, train.sentences[1:])
    sentences = ([types[i] for i in train.tokens[a:b]] for a, b in bounds)

    def accept(words: list[str]) -> bool:
        spelled = (is_content(w, frozenset(), rules.topic_letters) for w in words)
        return all(spelled) and not rules.stop_words.issuperset(words)

    is_english = preprocessing.language == ENGLISH
    connectors = ENGLISH_CONNECTORS if is_english else frozenset()
    threshold = preprocessing.phrases
    return learn(sentences, rules.min_count, threshold, connectors, accept)


def _vocabulary(
    corpus: Corpus, types: list[str], train: Arrays, preprocessing: Preprocessing
) -> tuple[Vocabulary, Preprocessing]:
    """The vocabulary, and the preprocessing with the counts that were left open."""
    words, counts = collect.counted(types, train)
    if makes_words(corpus.sentences):
        warnings.refuse_without_spaces(words, counts)
    rules = choose(words, counts, preprocessing.rules)
    vocabulary = build_vocabulary(words, counts, len(train.sentences) - 1, rules)
    warnings.refuse_no_topics(vocabulary, rules)
    ids = np.array(vocabulary.ids(types), dtype=np.int32)
    train = train._replace(tokens=ids[train.tokens])
    given = preprocessing.context, preprocessing.language
    warnings.warn(warnings.of_training(words, counts, train, vocabulary, rules, *given))
    return vocabulary, replace(preprocessing, rules=rules)


def _meta(
    folder: Path,
    corpus: Corpus,
    preprocessing: Preprocessing,
    vocabulary: Vocabulary,
    command: str,
) -> dict:
    values = asdict(preprocessing)
    rules = values.pop("rules")
    rules["stop_words"] = len(rules["stop_words"])
    rules["topic_words"] = rules["topic_words"] and len(rules["topic_words"])
    return {
        "command": command,
        "source": corpus.source,
        **({} if corpus.ordered else {"word_order": False}),
        "seed": values.pop("seed"),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "nltk")},
        },
        "settings": {**rules, **values},
        "vocabulary_size": len(vocabulary),
        "topic_vocabulary_size": len(vocabulary.topic_words),
        "fingerprint": data_folder.fingerprint(folder, values),
    }
