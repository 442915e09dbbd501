"""The whole way from a corpus to the DATA directory."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from tqdm import tqdm

from preprocessing import encode
from preprocessing.errors import InputError
from preprocessing.splits import DEFAULT_FRACTIONS, assign
from preprocessing.vocabulary import Rules, Vocabulary

CONTEXTS = ("others", "preceding", "leak")


@dataclass(frozen=True)
class Corpus:
    """Parts of a corpus (see `splits.assign`), each a way to read its documents."""

    parts: Mapping[str, Callable[[], Iterator[str]]]
    sentences: Callable[[str], list[list[str]]]
    source: str


@dataclass(frozen=True)
class Settings:
    """All that the result depends on, apart from the corpus, and `processes`."""

    rules: Rules = Rules()
    fractions: tuple[float, float, float] = DEFAULT_FRACTIONS
    limit: tuple[int, int, int] | None = None
    sequence_length: int = 30  # TCNLM paper, Section 5: words in a sequence
    context: str = "others"
    context_words: int = 300
    seed: int = 0
    processes: int = 1


def preprocess(
    corpus: Corpus, settings: Settings, out: Path, command: str, force: bool = False
) -> dict:
    """Writes the DATA directory `out` and returns its meta.json."""
    with encode.new_folder(out, force) as folder:
        splits = assign(
            _count(corpus), settings.fractions, settings.limit, settings.seed
        )
        wanted = np.sort(np.concatenate(list(splits.values())))
        file = folder / "tokens.tmp"
        documents = _progress(_pick(_read(corpus), wanted), "tokenizing", len(wanted))
        types, arrays = encode.tokenize_all(
            documents, corpus.sentences, file, settings.processes
        )
        rows = {name: np.searchsorted(wanted, numbers) for name, numbers in splits.items()}
        train = encode.select(arrays, rows["train"])
        vocabulary = encode.vocabulary_of(types, train, settings.rules)
        _check(vocabulary, settings.rules)
        vocabulary.save(folder)
        counts = _save_splits(folder, types, arrays, rows, vocabulary, settings)
        file.unlink()
        meta = _meta(corpus, settings, command, vocabulary, counts, folder)
        (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    return meta


def _save_splits(folder, types, arrays, rows, vocabulary, settings) -> dict:
    final_ids = np.array(vocabulary.ids(types), dtype=np.int32)
    counts = {}
    for name, numbers in rows.items():
        split = encode.select(arrays, numbers)
        split = split._replace(tokens=final_ids[split.tokens])
        encode.save_arrays(folder / name, split)
        counts[name] = encode.counts_of(split, settings.sequence_length)
    return counts


def _count(corpus: Corpus) -> dict[str, int]:
    sizes = {
        name: sum(1 for _ in _progress(read(), f"reading {name}"))
        for name, read in corpus.parts.items()
    }
    if not sum(sizes.values()):
        raise InputError(f"{corpus.source}: no document in it")
    return sizes


def _read(corpus: Corpus) -> Iterator[str]:
    for read in corpus.parts.values():
        yield from read()


def _pick(items: Iterable[str], wanted: np.ndarray) -> Iterator[str]:
    wanted = iter(wanted)
    following = next(wanted, None)
    for number, item in enumerate(items):
        if number == following:
            yield item
            following = next(wanted, None)


def _progress(items: Iterable[str], label: str, total: int | None = None):
    # disable=None: no bar where stderr is no terminal.
    return tqdm(items, label, total, unit=" documents", disable=None)


def _check(vocabulary: Vocabulary, rules: Rules) -> None:
    if not vocabulary.topic_words:
        raise InputError(
            f"no topic word is left: none of the {len(vocabulary)} words is a content "
            f"word that occurs {rules.topic_min_count} times in the training text; "
            "lower --topic-min-count"
        )


def _meta(corpus, settings, command, vocabulary, counts, folder) -> dict:
    rules = settings.rules
    matters = {
        "sequence_length": settings.sequence_length,
        "context": settings.context,
        "context_words": settings.context_words,
    }
    return {
        "format_version": encode.FORMAT_VERSION,
        "command": command,
        "source": corpus.source,
        "seed": settings.seed,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "nltk")},
        },
        "settings": {
            "min_count": rules.min_count,
            "topic_min_count": rules.topic_min_count,
            "top_fraction": rules.top_fraction,
            "stop_words": len(rules.stop_words),
            "fractions": settings.fractions,
            "limit": settings.limit,
            **matters,
        },
        "vocabulary_size": len(vocabulary),
        "topic_vocabulary_size": len(vocabulary.topic_words),
        "fingerprint": encode.fingerprint(folder, matters),
        "splits": counts,
    }
