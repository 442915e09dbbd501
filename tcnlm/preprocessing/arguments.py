"""The command line of `python -m preprocessing`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from math import isclose
from pathlib import Path

from tcnlm.common.errors import InputError, add_debug
from tcnlm.common.parallel import Map, cores, ordered_map
from tcnlm.common.runners import add_runner, on_runner
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.preprocessing import corpora
from tcnlm.preprocessing.checks import LONGEST
from tcnlm.preprocessing.documents import QUOTING, Fields
from tcnlm.preprocessing.encode import CONTEXTS
from tcnlm.preprocessing.fetching import CACHE, MIRROR
from tcnlm.preprocessing.known_corpora import KNOWN, known_corpus
from tcnlm.preprocessing.languages import (
    ENGLISH,
    WITHOUT_SPACES,
    languages,
    read_stop_words,
)
from tcnlm.preprocessing.phrases import ENGLISH_CONNECTORS, THRESHOLD
from tcnlm.preprocessing.pipeline import Preprocessing
from tcnlm.preprocessing.sources import FORMATS, WITH_FIELDS
from tcnlm.preprocessing.splits import DEFAULT_FRACTIONS
from tcnlm.preprocessing.thresholds import ENOUGH_TOPIC_WORDS, LEAST, MOST_UNKNOWN
from tcnlm.preprocessing.vocabulary import LETTERS, Rules, read_topic_words

_PARTS = {
    ("train", "heldout"): {"train": "train", "heldout": "heldout"},
    ("train", "valid", "test"): {"train": "train", "valid": "valid", "test": "test"},
    ("train", "valid_from_train", "test"): {"train": "training", "test": "test"},
    ("input",): {"input": "all"},
}
MOST_PROCESSES = 1000
_positive = whole_number(1, LARGEST)
_PLACES = ("input", "train", "heldout", "valid", "valid_from_train", "test")


def corpus_of(options: argparse.Namespace) -> corpora.Corpus:
    """The corpus that the options name; InputError where they do not fit together."""
    return corpora.in_language(_corpus(options), options.language)


def _corpus(options: argparse.Namespace) -> corpora.Corpus:
    given = {name for name in _PLACES if getattr(options, name)}
    if options.corpus:
        return _known_corpus(options, given)
    _require(
        options.format != "counts" or _about_sequences(options) == _SEQUENCES,
        "--sequence-length, --context and --context-words are of texts: a document of "
        "--format counts is one row, with all its words",
    )
    _require(
        options.format != "counts" or options.language == ENGLISH,
        "--language is of texts: --format counts has words as they are; topic words go "
        "by --vocabulary, or by --stop-words and --topic-letters",
    )
    if options.format not in WITH_FIELDS:
        corpora.refuse_fields(_fields(options), options.headers == "drop")
    lines = [name for name, kind in FORMATS.items() if kind.joint]
    _require(
        options.format in lines or not options.group,
        f"--group makes documents of lines, of --format {' and '.join(lines)}",
    )
    if options.format == "lee":
        _require(not given, "--format lee takes no files: gensim ships them")
        return corpora.lee_corpus()
    if options.format == "aclimdb":
        one = given == {"input"} and len(options.input) == 1
        _require(
            one, "--format aclimdb takes --input, the folder aclImdb or its .tar.gz"
        )
        return corpora.aclimdb_corpus(options.input[0])
    _require(
        given == {"input"} or not options.split,
        "--split cuts --input, which is not given",
    )
    for names, parts in _PARTS.items():
        if given == set(names):
            files = {part: getattr(options, name) for name, part in parts.items()}
            return _file_corpus(options, files)
    raise InputError(
        "give --input, or --train and --heldout, or --train, --valid (or "
        "--valid-from-train) and --test"
    )


def _known_corpus(options: argparse.Namespace, given: set[str]) -> corpora.Corpus:
    name, known = options.corpus, KNOWN[options.corpus]
    _require(
        not options.format, f"--corpus {name} has its own --format: leave that out"
    )
    cut = {"valid_from_train"} if known.cuts_valid else set()
    needed = "needs --valid-from-train and" if cut else "is there as a whole: it"
    _require(given == cut, f"--corpus {name} {needed} takes no files")
    divided = not known.is_whole
    _require(
        not (divided and options.split),
        f"--corpus {name} is divided already: no --split",
    )
    corpora.refuse_fields(_fields(options))
    drop = options.headers == "drop"
    _require(known.has_headers or not drop, f"--corpus {name} has no headers to drop")
    _require(
        known.has_lines or not options.group,
        f"--group makes documents of lines; --corpus {name} has documents",
    )
    return known_corpus(name, drop, options.group)


def _about_sequences(options: argparse.Namespace | type) -> tuple[int, str, int]:
    return options.sequence_length, options.context, options.context_words


_SEQUENCES = _about_sequences(Preprocessing)


def _fields(options: argparse.Namespace) -> Fields:
    named = options.field, options.label, options.id
    flags = options.skip_empty, options.tokenized
    return Fields(*named, *flags, options.date, options.quoting == QUOTING[0])


def _file_corpus(
    options: argparse.Namespace, files: dict[str, list[Path]]
) -> corpora.Corpus:
    ids = corpora.ids_of(options.format, options.vocabulary, options.ids_from)
    asked = options.headers == "drop", options.group, ids
    return corpora.file_corpus(options.format, files, _fields(options), *asked)


def chosen_preprocessing(options: argparse.Namespace) -> Preprocessing:
    """The settings that the options name; InputError for an impossible one."""
    fractions = tuple(options.split or DEFAULT_FRACTIONS)
    good = all(0 < part < 1 for part in fractions) and isclose(sum(fractions), 1)
    _require(good, "--split: three fractions above 0 that sum to 1, like 0.8 0.1 0.1")
    _require(
        0 <= options.topic_top_fraction < 1, "--topic-top-fraction: from 0 to below 1"
    )
    _check_phrases(options)
    return Preprocessing(
        rules=Rules(
            options.min_count,
            options.topic_min_count,
            options.topic_top_fraction,
            _stop_words(options),
            options.vocabulary and read_topic_words(options.vocabulary),
            options.topic_letters or _letters(options.language),
            options.max_words,
        ),
        fractions=fractions,
        valid_from_train=options.valid_from_train,
        limit=options.limit and tuple(options.limit),
        seed=options.seed,
        sequence_length=options.sequence_length,
        context=options.context,
        context_words=options.context_words,
        language=options.language,
        phrases=options.phrases,
        connector_words=_connector_words(options),
    )


def _check_phrases(options: argparse.Namespace) -> None:
    joins = options.phrases is not None
    _require(
        not (joins and options.format == "counts"),
        "--phrases are neighbours, and --format counts has no order of words",
    )
    _require(
        joins or not options.connector_words, "--connector-words goes with --phrases"
    )


def _connector_words(options: argparse.Namespace) -> frozenset[str]:
    if options.phrases is None:
        return frozenset()
    if options.connector_words:
        return read_stop_words(options.connector_words)
    return ENGLISH_CONNECTORS if options.language == ENGLISH else frozenset()


def _stop_words(options: argparse.Namespace) -> frozenset[str]:
    if options.stop_words:
        return read_stop_words(options.stop_words)
    return languages()[options.language].stop_words


def _letters(language: str) -> str:
    return Rules.topic_letters if language == ENGLISH else "unicode"


def map_of(options: argparse.Namespace) -> Map:
    """Where the options say that the corpus is tokenized."""
    if options.runner is not None:
        return on_runner(options.runner)
    if options.processes > cores():
        print(
            f"--processes {options.processes}: {cores()} are started, as many as this "
            "machine has cores",
            file=sys.stderr,
        )
    return partial(ordered_map, processes=min(options.processes, cores()))


def refuse_own_input(options: argparse.Namespace) -> None:
    """InputError where a file to be read lies in the folder to be replaced."""
    given = {name: value for name, value in vars(options).items() if name != "out"}
    for value in given.values():
        for path in value if isinstance(value, list) else [value]:
            inside = isinstance(path, Path) and path.resolve().is_relative_to(
                options.out.resolve()
            )
            _require(not inside, f"{path}: lies in --out {options.out}; give another")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def _positive_or_auto(text: str) -> int | None:
    return None if text == "auto" else _positive(text)


def _score(text: str) -> float:
    score = float(text)
    if not 0 <= score <= LARGEST:
        raise argparse.ArgumentTypeError(
            f"must be a number from 0 to {LARGEST}, not {text}"
        )
    return score


def _count_or_share(text: str) -> float:
    if text.isdecimal():
        return _positive(text)
    share = float(text)
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(
            f"must be a count like 1000 or a share like 0.1, not {text}"
        )
    return share


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of a command line, which has either --verify or what making takes."""
    known = parser()
    options = known.parse_args(arguments)
    making = {
        "--format or --corpus": options.format or options.corpus,
        "--out": options.out,
    }
    missing = [name for name, value in making.items() if value is None]
    if options.verify and len(missing) < len(making):
        known.error("--verify DATA makes nothing: give it without other options")
    if missing and not options.verify:
        known.error(f"the following arguments are required: {', '.join(missing)}")
    return options


def parser() -> argparse.ArgumentParser:
    """All options, each with its default."""
    result = argparse.ArgumentParser(
        "python -m preprocessing",
        description="Raw text to the DATA directory: sentences, tokens, vocabularies, "
        "arrays and meta.json.",
    )
    source = result.add_argument_group("source")
    for add in (_add_source, _add_fields, _add_words):
        add(source)
    _add_files(result.add_argument_group("files"))
    _add_splits(result.add_argument_group("splits"))
    _add_vocabularies(result.add_argument_group("vocabularies"))
    _add_sequences(result.add_argument_group("sequences and their contexts"))
    _add_run(result.add_argument_group("run"))
    add_debug(result)
    return result


def _add_source(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    kinds = (
        "lee: the news corpus that gensim ships; aclimdb: the folder aclImdb or its "
        ".tar.gz (train is for training, test is held out); tdlm: a document a line, "
        "sentences apart by tabs, tokens by white space; text: a document a line; "
        "jsonl: a JSON object a line; table: a row of CSV, TSV (.tsv) or parquet; "
        "counts: a label and word:count or id:count a line, for models that need no "
        "order of words; bnc: XML of the British National Corpus, files or a folder. "
        "Files may be plain, .gz, .xz or .bz2, in UTF-8"
    )
    add("--format", choices=corpora.NAMES, help=kinds)
    purpose = (
        "fetched once, in place of --format and files: imdb (aclimdb), 20news (by "
        "date; needs --valid-from-train), ptb (Penn Treebank as language models take "
        "it; with --group), wikitext103, wikitext2, oanc (open American National "
        f"Corpus, cut by --split). Environment: {CACHE}, the folder they are kept in; "
        f"{MIRROR}, an address to fetch them from"
    )
    add("--corpus", choices=KNOWN, help=purpose)


def _add_fields(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    purpose = (
        "jsonl, table: the field or column that holds the document "
        "(default: %(default)s)"
    )
    add("--field", default=Fields().text, metavar="NAME", help=purpose)
    purpose = (
        "jsonl, table: the field that holds the document's class, null or an empty "
        "cell where it has none (aclimdb has pos and neg), for DATA/SPLIT/labels.npy"
    )
    add("--label", metavar="NAME", help=purpose)
    purpose = (
        "jsonl, table: the field that holds the document's name (aclimdb has that of "
        "its file), for DATA/SPLIT/ids.txt"
    )
    add("--id", metavar="NAME", help=purpose)
    purpose = (
        "jsonl, table: the field that holds the document's date, like 2020-12-24, "
        "2020-12, 2020 or 24 December 2020, null or an empty cell where it has none, "
        "for DATA/SPLIT/dates.txt"
    )
    add("--date", metavar="NAME", help=purpose)
    purpose = (
        "of CSV: double quotes stand around cells, or none do and they are a part of "
        "what is in them, a line a row (default: %(default)s)"
    )
    add("--quoting", choices=QUOTING, default=QUOTING[0], help=purpose)
    purpose = (
        "jsonl, table: leave out documents whose text is missing, null, blank or NA, "
        "and say how many (default: missing and null are refused)"
    )
    add("--skip-empty", action="store_true", help=purpose)
    purpose = (
        "of jsonl or table documents that are news messages: all up to the first empty "
        "line (default: %(default)s)"
    )
    add("--headers", choices=("keep", "drop"), default="keep", help=purpose)


def _add_words(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    purpose = (
        "that the text is in, for its stop words, abbreviations and letters: "
        f"{', '.join(languages())}; {', '.join(WITHOUT_SPACES)} only as words already, "
        "by --format tdlm or --tokenized; not for counts (default: %(default)s)"
    )
    language = {"choices": languages(), "default": ENGLISH, "metavar": "CODE"}
    add("--language", help=purpose, **language)
    purpose = (
        "jsonl, table: the field holds words already, and nothing is split or changed: "
        "a text with spaces between words and line ends or tabs between sentences, a "
        "list of words, or a list of sentences, lists of words"
    )
    add("--tokenized", action="store_true", help=purpose)
    purpose = (
        "counts: its words are ids, lines of --vocabulary counted from 0 or from 1 "
        "(default: they are words)"
    )
    add("--ids-from", type=int, choices=(0, 1), help=purpose)
    purpose = (
        "tdlm, text: consecutive lines of a file that make one document, for a text "
        "without documents such as the Penn Treebank (default: a line is one)"
    )
    add("--group", type=_positive, default=0, metavar="N", help=purpose)


def _add_files(group: argparse._ArgumentGroup) -> None:
    files = {
        "input": "all documents, to be cut by --split",
        "train": "training documents",
        "heldout": "documents to be shuffled and halved into validation and test",
        "valid": "validation documents",
        "test": "test documents",
    }
    for name, purpose in files.items():
        group.add_argument(
            f"--{name}", nargs="+", type=Path, metavar="FILE", help=purpose
        )


def _add_splits(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    names = ("TRAIN", "VALID", "TEST")
    purpose = "fractions of --input, or of oanc, shuffled before (default: 0.8 0.1 0.1)"
    add("--split", nargs=3, type=float, metavar=names, help=purpose)
    purpose = (
        "validation documents to take out of --train, which is shuffled before: so "
        "many (1000), or a share (0.1)"
    )
    kind = {"type": _count_or_share, "metavar": "N"}
    add("--valid-from-train", help=purpose, **kind)
    purpose = (
        "keep the first so many documents of the shuffled splits (files given with "
        "--train --valid --test keep their order, and are shuffled only for this)"
    )
    add("--limit", nargs=3, type=_positive, metavar=names, help=purpose)
    purpose = "of the shuffling (default: %(default)s)"
    seed = whole_number(0, 2**63 - 1)
    add("--seed", type=seed, default=Preprocessing.seed, metavar="N", help=purpose)


def _add_vocabularies(group: argparse._ArgumentGroup) -> None:
    def add(name: str, kind: Callable, default: float | str, purpose: str) -> None:
        purpose += " (default: %(default)s)"
        group.add_argument(name, type=kind, default=default, metavar="N", help=purpose)

    purpose = (
        "times that a word occurs in the training documents, at least; auto: the "
        f"paper's {Rules.min_count}, for small corpora the largest number that leaves "
        f"at most {MOST_UNKNOWN:.0%}% of the words unknown, but at least {LEAST}"
    )
    add("--min-count", _positive_or_auto, "auto", purpose)
    purpose = (
        "words at most, the most frequent of those, ties by first occurrence; <unk> "
        "and other symbols come beside them (default: all)"
    )
    group.add_argument("--max-words", type=_positive, metavar="N", help=purpose)
    purpose = (
        "times that a topic word occurs in all of them together, at least; auto: the "
        f"paper's {Rules.topic_min_count}, for small corpora the largest number that "
        f"leaves {ENOUGH_TOPIC_WORDS:,} topic words, but at least --min-count"
    )
    add("--topic-min-count", _positive_or_auto, "auto", purpose)
    purpose = "the most frequent types, this fraction of all, are no topic words"
    add("--topic-top-fraction", float, Rules.top_fraction, purpose)
    purpose = (
        "no topic words: a word a line, # for comments (default: those of --language, "
        "of English MALLET's)"
    )
    add = group.add_argument
    add("--stop-words", type=Path, metavar="FILE", help=purpose)
    purpose = (
        "that a topic word has one of: english, a to z, as in the paper; unicode, "
        "those of any script (default: english if --language is, else unicode)"
    )
    add("--topic-letters", choices=LETTERS, help=purpose)
    purpose = (
        "the topic words, exactly these whatever their counts, in place of those by "
        "the rules above: a word a line"
    )
    add("--vocabulary", type=Path, metavar="FILE", help=purpose)
    score = {"type": _score, "nargs": "?", "const": THRESHOLD, "metavar": "SCORE"}
    purpose = (
        "join neighbours that the training documents have together too often for "
        "chance, in all documents: new_york is one word. SCORE: gensim's, at least "
        "(default: no phrases; %(const)s where none is given)"
    )
    add("--phrases", help=purpose, **score)
    purpose = (
        "that stand within a phrase, as in bank_of_england, but never at its ends: a "
        "word a line (default: of English gensim's, of other languages none)"
    )
    add("--connector-words", type=Path, metavar="FILE", help=purpose)


def _add_sequences(group: argparse._ArgumentGroup) -> None:
    def add(name: str, purpose: str, **options: object) -> None:
        purpose += " (default: %(default)s)"
        group.add_argument(name, help=purpose, **options)

    number = {"type": whole_number(1, LONGEST), "metavar": "N"}
    purpose = "targets of a sequence; a longer sentence makes several"
    add("--sequence-length", purpose, default=Preprocessing.sequence_length, **number)
    purpose = (
        "what the topics of a sequence are inferred from: all other sentences of the "
        "document, the preceding ones, all but the sequence itself (which leaks the "
        "rest of a long sentence), as the predecessor TDLM does, or all, the sentence "
        "that is predicted among them (only to measure what that would give away)"
    )
    add("--context", purpose, default=Preprocessing.context, choices=CONTEXTS)
    purpose = "topic words of a context: the first so many"
    add("--context-words", purpose, default=Preprocessing.context_words, **number)


def _add_run(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--out", type=Path, metavar="DATA", help="the folder to make")
    purpose = (
        "read all of a folder made before, and say whether its text, vocabularies and "
        "sequences, labels, ids and dates are those it was made with; "
        "without any other option"
    )
    add("--verify", type=Path, metavar="DATA", help=purpose)
    add("--force", action="store_true", help="replace an existing DATA")
    purpose = (
        "to tokenize with; the result does not depend on it (default: %(default)s)"
    )
    most = whole_number(1, MOST_PROCESSES)
    add("--processes", type=most, default=cores(), metavar="N", help=purpose)
    add_runner(group)
