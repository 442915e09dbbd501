"""The command line of `python -m preprocessing`."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

from preprocessing import sources
from preprocessing.errors import InputError
from preprocessing.pipeline import CONTEXTS, Corpus, Settings
from preprocessing.splits import DEFAULT_FRACTIONS
from preprocessing.vocabulary import STOP_WORDS, Rules, read_stop_words

_PARTS = {
    ("train", "heldout"): ("train", "heldout"),
    ("train", "valid", "test"): ("train", "valid", "test"),
    ("input",): ("all",),
}


def parse(arguments: list[str]) -> tuple[Corpus, Settings, argparse.Namespace]:
    """The corpus, the settings and all options; InputError for impossible ones."""
    options = _parser().parse_args(arguments)
    settings = Settings(
        rules=Rules(
            options.min_count,
            options.topic_min_count,
            options.topic_top_fraction,
            read_stop_words(options.stop_words),
        ),
        fractions=tuple(options.split or DEFAULT_FRACTIONS),
        limit=tuple(options.limit) if options.limit else None,
        sequence_length=options.sequence_length,
        context=options.context,
        context_words=options.context_words,
        seed=options.seed,
        processes=options.processes,
    )
    return _corpus(options), settings, options


def _corpus(options: argparse.Namespace) -> Corpus:
    chosen = sources.FORMATS[options.format]
    files = _files(options)
    parts = {
        part: partial(_read_all, chosen, paths, options.field)
        for part, paths in files.items()
    }
    names = [str(path) for paths in files.values() for path in paths]
    return Corpus(parts, chosen.sentences, f"{options.format}: {' '.join(names)}")


def _files(options: argparse.Namespace) -> dict[str, list[Path]]:
    if options.format == "lee":
        return {"all": [sources.lee_path()]}
    names = [
        name for name in ("input", "train", "heldout", "valid", "test")
        if getattr(options, name)
    ]
    for wanted, parts in _PARTS.items():
        if set(wanted) == set(names):
            return {p: getattr(options, name) for p, name in zip(parts, wanted)}
    raise InputError(
        "give either --input, or --train and --heldout, or --train, --valid and --test"
    )


def _read_all(chosen: sources.Format, paths: list[Path], field: str):
    for path in paths:
        yield from chosen.read(path, field)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m preprocessing", description="Raw text to the DATA directory."
    )
    add = parser.add_argument
    add("--format", choices=sources.FORMATS, required=True)
    add("--field", default="text", help="jsonl: the field that holds the document")
    for name in ("input", "train", "heldout", "valid", "test"):
        add(f"--{name}", nargs="+", type=Path, metavar="FILE")
    add("--split", nargs=3, type=float)
    add("--limit", nargs=3, type=int)
    add("--out", type=Path, required=True)
    add("--force", action="store_true")
    add("--min-count", type=int, default=Rules.min_count)
    add("--topic-min-count", type=int, default=Rules.topic_min_count)
    add("--topic-top-fraction", type=float, default=Rules.top_fraction)
    add("--stop-words", type=Path, default=STOP_WORDS)
    add("--sequence-length", type=int, default=Settings.sequence_length)
    add("--context", choices=CONTEXTS, default=Settings.context)
    add("--context-words", type=int, default=Settings.context_words)
    add("--seed", type=int, default=Settings.seed)
    add("--processes", type=int, default=os.cpu_count())
    return parser
