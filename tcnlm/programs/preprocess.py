"""Raw text to the DATA directory: sentences, tokens, vocabularies, arrays, meta.json.

docs/corpora.md says more of formats, corpora and options.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

from tcnlm.common import process
from tcnlm.common.errors import InputError, add_debug, interrupts
from tcnlm.common.outputs import paths_of
from tcnlm.common.process import Map
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.preprocessing import corpora
from tcnlm.preprocessing.collect import DEFAULT_FRACTIONS, SPLITS
from tcnlm.preprocessing.data_folder import CONTEXTS, open_data
from tcnlm.preprocessing.documents import LONGEST, QUOTING, Fields
from tcnlm.preprocessing.known_corpora import KNOWN, known_corpus
from tcnlm.preprocessing.languages import ENGLISH, languages, read_stop_words
from tcnlm.preprocessing.phrases import THRESHOLD
from tcnlm.preprocessing.pipeline import Preprocessing, preprocess
from tcnlm.preprocessing.sources import FORMATS, WITH_FIELDS
from tcnlm.preprocessing.vocabulary import LETTERS, Rules, read_topic_words

_COLUMNS = ("documents", "sentences", "tokens", "targets", "sequences", "unknown")
# Options of files, given together, to the parts of the corpus that they make.
_PARTS = (
    {"train": "train", "heldout": "heldout"},
    {"train": "train", "valid": "valid", "test": "test"},
    {"train": "training", "valid_from_train": None, "test": "test"},
    {"input": "all"},
)
_PLACES = ("input", "train", "heldout", "valid", "valid_from_train", "test")
_OF_SEQUENCES = ("sequence_length", "context", "context_words")
_AS_GIVEN = (*_OF_SEQUENCES, "valid_from_train", "seed", "language", "phrases")
_positive = whole_number(1, LARGEST)


def main(arguments: list[str]) -> int:
    """Run the command; the exit status is 2 for bad input, 130 if interrupted."""
    options = parse(arguments)
    command = ["python", "-m", "preprocessing", *process.without_runner(arguments)]
    try:
        with interrupts.listen():
            if options.verify:
                meta, _ = open_data(options.verify)
                print(f"{options.verify}: as it was made, {meta['fingerprint']}")
                return 0
            _refuse_own_input(options)
            meta = preprocess(
                corpora.in_language(_corpus(options), options.language),
                _chosen_preprocessing(options),
                options.out,
                shlex.join(command),
                options.force,
                map_of(options),
            )
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing written", file=sys.stderr)
        return 130
    print(_table(meta))
    print(f"written to {options.out}")
    return 0


def _table(meta: dict) -> str:
    """Return Table 1 of the paper: vocabulary sizes, the size of every split."""
    sizes = meta["vocabulary_size"], meta["topic_vocabulary_size"]
    lines = ["vocabulary: LM {:,}, TM {:,}".format(*sizes)]
    lines.append(f"{'':7}" + "".join(f"{name:>13}" for name in _COLUMNS))
    for name in SPLITS:
        counts = meta["splits"][name]
        cells = "".join(f"{counts[column]:>13,}" for column in _COLUMNS[:-1])
        share = counts["unknown"] / max(counts["tokens"], 1)
        lines.append(f"{name:7}{cells}{share:>13.2%}")
    if "left_out" in meta:
        lines.append(
            f"left out by --skip-empty because they have no text: {meta['left_out']:,}"
        )
    return "\n".join(lines)


def map_of(options: argparse.Namespace) -> Map:
    """Where the options say that the corpus is tokenized."""
    if options.runner is not None:
        return process.on_runner(options.runner)
    return partial(
        process.ordered_map, processes=min(options.processes, process.cores())
    )


# --- What the options name: InputError where they do not fit together ---------------


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def _refuse_own_input(options: argparse.Namespace) -> None:
    given = {name: value for name, value in vars(options).items() if name != "out"}
    for path in paths_of(given):
        inside = path.resolve().is_relative_to(options.out.resolve())
        _require(not inside, f"{path}: lies in --out {options.out}; give another")


def _corpus(options: argparse.Namespace) -> corpora.Corpus:
    given = {name for name in _PLACES if getattr(options, name)}
    fields = fields_of(options)
    ids = corpora.ids_of(options.format, options.vocabulary, options.ids_from)
    if options.corpus or options.format not in WITH_FIELDS:
        corpora.refuse_fields(fields)
    if options.corpus:
        takes = KNOWN[options.corpus].takes
        asked = ("format", "headers", "group", "split", *_PLACES)
        wrong = [n for n in asked if getattr(options, n) and n not in takes]
        _require(not wrong, f"--corpus {options.corpus} goes without {_named(wrong)}")
        needs = "valid_from_train" in takes and not options.valid_from_train
        _require(not needs, f"--corpus {options.corpus} needs --valid-from-train")
        drop = options.headers == "drop"
        return known_corpus(options.corpus, drop, options.group)
    _require(not options.headers, "--headers is of --corpus 20news")
    lines = [name for name, kind in FORMATS.items() if kind.joint]
    _require(
        options.format in lines or not options.group,
        f"--group makes documents of lines, of --format {' and '.join(lines)}",
    )
    if options.format == "counts":
        _check_counts(options)
    if options.format == "lee":
        _require(not given, "--format lee takes no files: gensim ships them")
        return corpora.lee_corpus()
    cuts = given == {"input"} or not options.split
    _require(cuts, "--split cuts --input, which is not given")
    parts = next((each for each in _PARTS if given == each.keys()), {})
    ways = "--input, or --train and --heldout, or --train, --valid (or "
    _require(bool(parts), f"give {ways}--valid-from-train) and --test")
    files = {part: getattr(options, name) for name, part in parts.items() if part}
    return corpora.file_corpus(options.format, files, fields, options.group, ids)


def fields_of(options: argparse.Namespace) -> Fields:
    """Return what the fields of .jsonl and the columns of tables are called."""
    named = options.field, options.label, options.id
    flags = options.skip_empty, options.tokenized
    return Fields(*named, *flags, options.date, options.quoting == QUOTING[0])


def _check_counts(options: argparse.Namespace) -> None:
    names = (*_OF_SEQUENCES, "language", "phrases")
    wrong = [n for n in names if getattr(options, n) != getattr(Preprocessing, n)]
    said = f"{_named(wrong)}: of texts, and --format counts has bags of words"
    _require(not wrong, said)


def _named(options: Sequence[str]) -> str:
    return " and ".join(f"--{name.replace('_', '-')}" for name in options)


def _chosen_preprocessing(options: argparse.Namespace) -> Preprocessing:
    fractions = tuple(options.split or DEFAULT_FRACTIONS)
    good = all(0 < part < 1 for part in fractions) and isclose(sum(fractions), 1)
    _require(good, "--split: three fractions above 0 that sum to 1, like 0.8 0.1 0.1")
    top = options.topic_top_fraction
    _require(0 <= top < 1, "--topic-top-fraction: from 0 to below 1")
    good = 0 <= (options.phrases or 0) <= LARGEST
    _require(good, f"--phrases: a score must be a number from 0 to {LARGEST}")
    letters = Rules.topic_letters if options.language == ENGLISH else "unicode"
    if options.stop_words:
        stop_words = read_stop_words(options.stop_words)
    else:  # English is in every text: titles, quotations, what a page has around it
        spoken = (languages()[code] for code in (options.language, ENGLISH))
        stop_words = frozenset().union(*(each.stop_words for each in spoken))
    return Preprocessing(
        rules=Rules(
            options.min_count,
            options.topic_min_count,
            top,
            stop_words,
            options.vocabulary and read_topic_words(options.vocabulary),
            options.topic_letters or letters,
            options.max_words,
        ),
        fractions=fractions,
        limit=options.limit and tuple(options.limit),
        **{name: getattr(options, name) for name in _AS_GIVEN},
    )


# --- The command line ---------------------------------------------------------------


_DEFAULT = "(default: %(default)s)"
_FILES = {"nargs": "+", "type": Path, "metavar": "FILE"}
_FOLDER = {"type": Path, "metavar": "DATA"}
_THREE = {"nargs": 3, "metavar": ("TRAIN", "VALID", "TEST")}
_NUMBER = {"type": _positive, "metavar": "N"}
_COUNT = {**_NUMBER, "type": lambda n: None if n == "auto" else _positive(n)}
_COUNT["default"] = "auto"


def parser() -> argparse.ArgumentParser:
    """All options, each with its default; those that one needs first on top."""
    name = "python -m preprocessing"
    usage = f"{name} --format NAME --input FILE --out DATA ..."
    parsed = argparse.ArgumentParser(name, usage, description=__doc__)
    _add_first(partial(add_option, parsed.add_argument_group("needed first")))
    add = partial(add_option, parsed.add_argument_group("documents and their splits"))
    add("train", "training documents", **_FILES)
    add("heldout", "to be shuffled and halved into validation and test", **_FILES)
    add("valid", "validation documents", **_FILES)
    add("test", "test documents", **_FILES)
    share = "validation documents to take out of --train: so many, or a share (0.1)"
    add("valid-from-train", share, type=_count_or_share, metavar="N")
    limit = "keep the first so many documents of every split, all shuffled before"
    add("limit", limit, type=_positive, **_THREE)
    seed, known = whole_number(0, 2**63 - 1), Preprocessing.seed
    add("seed", f"of the shuffling {_DEFAULT}", type=seed, default=known, metavar="N")
    add_forms(add)
    group = "tdlm, text: consecutive lines that make one document (default: 1)"
    add("group", group, default=0, **_NUMBER)
    headers = "20news: leave out all of a message up to its first empty line, or not"
    add("headers", headers, choices=("keep", "drop"))
    _add_vocabularies(partial(add_option, parsed.add_argument_group("vocabularies")))
    add = partial(add_option, parsed.add_argument_group("sequences and their contexts"))
    number = {"type": whole_number(1, LONGEST), "metavar": "N"}
    length = f"targets of a sequence; a longer sentence makes several {_DEFAULT}"
    add("sequence-length", length, default=Preprocessing.sequence_length, **number)
    context = f"which sentences of the document tell a sequence's topics {_DEFAULT}"
    add("context", context, choices=CONTEXTS, default=Preprocessing.context)
    words = f"topic words of a context: the first so many {_DEFAULT}"
    add("context-words", words, default=Preprocessing.context_words, **number)
    run = parsed.add_argument_group("run")
    add = partial(add_option, run)
    add("verify", "alone: tell whether DATA is as it was made", **_FOLDER)
    add("force", "replace an existing DATA", action="store_true")
    processes = f"to tokenize with; the result does not depend on it {_DEFAULT}"
    add("processes", processes, type=_positive, default=process.cores(), metavar="N")
    process.add_runner(run)
    add_debug(run)
    return parsed


def add_option(group: Any, name: str, purpose: str, **how: Any) -> None:
    """Add an option to a group."""
    group.add_argument(f"--{name}", help=purpose, **how)


def _add_first(add: Callable[..., None]) -> None:
    form = "text: one document per line; table: CSV or parquet; jsonl: one object per "
    form += "line; lee: news for trying"
    add("format", form, choices=corpora.NAMES)
    add("corpus", "in place of --format and files: fetch it once", choices=KNOWN)
    add("input", "all documents, .gz, .xz and .bz2 too; --split cuts them", **_FILES)
    add("out", "the folder to make", **_FOLDER)
    add_fields(add)
    code = f"of the text: en, de, fr ...; docs/languages.md lists all {_DEFAULT}"
    add("language", code, choices=languages(), default=ENGLISH, metavar="CODE")
    least = f"occurrences in training that a word needs; auto: by the corpus {_DEFAULT}"
    add("min-count", least, **_COUNT)
    split = "fractions of --input, shuffled before (default: 0.8 0.1 0.1)"
    add("split", split, type=float, **_THREE)


def add_fields(add: Callable[..., None]) -> None:
    """Add options that say in which fields documents are."""
    field = f"jsonl, table: the field or column with the text {_DEFAULT}"
    add("field", field, default=Fields().text, metavar="NAME")
    add("label", "jsonl, table: the field with the document's class", metavar="NAME")
    add("id", "jsonl, table: the field with the document's name", metavar="NAME")
    empty = "jsonl, table: leave out documents without a text (null, blank or NA)"
    add("skip-empty", empty, action="store_true")


def add_forms(add: Callable[..., None]) -> None:
    """Add options that say how documents are written in their fields."""
    dates = "jsonl, table: the field with the date, like 2020-12-24, 2020-12 or 2020"
    add("date", dates, metavar="NAME")
    quotes = f"of CSV: double quotes stand around cells, or are text {_DEFAULT}"
    add("quoting", quotes, choices=QUOTING, default=QUOTING[0])
    words = "jsonl, table: the text is in words, or a list of words or sentences"
    add("tokenized", words, action="store_true")
    ids = "counts: words are ids, lines of --vocabulary from 0 or 1"
    add("ids-from", ids, type=int, choices=(0, 1))


def _add_vocabularies(add: Callable[..., None]) -> None:
    least = f"occurrences that a topic word needs; auto: by the corpus {_DEFAULT}"
    add("topic-min-count", least, **_COUNT)
    add("max-words", "the most frequent so many (default: all)", **_NUMBER)
    top = f"this share of all types, the most frequent, are no topic words {_DEFAULT}"
    add("topic-top-fraction", top, type=float, default=Rules.top_fraction, metavar="N")
    stop = "words that are no topic words, one a line (default: those of --language)"
    add("stop-words", stop, type=Path, metavar="FILE")
    letters = "of which a topic word has one (default: english if --language is)"
    add("topic-letters", letters, choices=LETTERS)
    words = "exactly these are the topic words, one a line, whatever their counts"
    add("vocabulary", words, type=Path, metavar="FILE")
    joined = "join neighbours of at least gensim's SCORE: new_york (default: none; "
    joined += "%(const)s without a number)"
    phrases = {"type": float, "nargs": "?", "const": THRESHOLD, "metavar": "SCORE"}
    add("phrases", joined, **phrases)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of a command line, which has either --verify or what making takes."""
    known = parser()
    options = known.parse_args(arguments)
    if not options.verify and not (options.format or options.corpus):
        known.error("--format or --corpus is required")
    if not options.verify and options.out is None:
        known.error("--out DATA is required")
    return options


def _count_or_share(text: str) -> float:
    if text.isdecimal():
        return _positive(text)
    with suppress(ValueError):
        if 0 < float(text) < 1:
            return float(text)
    raise argparse.ArgumentTypeError(
        f"must be a count like 1000 or a share like 0.1, not {text}"
    )
