"""`python -m preprocessing SOURCE --out DATA`: raw text to the DATA directory.

`python -m preprocessing --verify DATA` tells whether one is as it was made.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from functools import partial
from math import isclose
from pathlib import Path

from tcnlm.common.errors import InputError, add_debug, errors_reported
from tcnlm.common.process import Map, cores, ordered_map
from tcnlm.common.runners import add_runner, on_runner, without_runner
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.preprocessing import corpora
from tcnlm.preprocessing.data_folder import CONTEXTS, open_data
from tcnlm.preprocessing.documents import LONGEST, QUOTING, Fields
from tcnlm.preprocessing.known_corpora import CACHE, KNOWN, MIRROR, known_corpus
from tcnlm.preprocessing.languages import (
    ENGLISH,
    WITHOUT_SPACES,
    languages,
    read_stop_words,
)
from tcnlm.preprocessing.phrases import ENGLISH_CONNECTORS, THRESHOLD
from tcnlm.preprocessing.pipeline import Preprocessing, preprocess
from tcnlm.preprocessing.sources import FORMATS, WITH_FIELDS
from tcnlm.preprocessing.splits import DEFAULT_FRACTIONS, SPLITS
from tcnlm.preprocessing.vocabulary import (
    ENOUGH_TOPIC_WORDS,
    FEWEST_TOPIC_WORDS,
    LEAST,
    LETTERS,
    MOST_UNKNOWN,
    OFTEN,
    Rules,
    read_topic_words,
)

_COLUMNS = ("documents", "sentences", "tokens", "targets", "sequences", "unknown")
_PARTS = {
    ("train", "heldout"): {"train": "train", "heldout": "heldout"},
    ("train", "valid", "test"): {"train": "train", "valid": "valid", "test": "test"},
    ("train", "valid_from_train", "test"): {"train": "training", "test": "test"},
    ("input",): {"input": "all"},
}
_PLACES = ("input", "train", "heldout", "valid", "valid_from_train", "test")
_OF_SEQUENCES = ("sequence_length", "context", "context_words")
_AS_GIVEN = (*_OF_SEQUENCES, "valid_from_train", "seed", "language", "phrases")
MOST_PROCESSES = 1000
_positive = whole_number(1, LARGEST)


def main(arguments: list[str]) -> int:
    """Run the command; the exit status is 2 for bad input, 130 if interrupted."""
    options = parse(arguments)
    command = ["python", "-m", "preprocessing", *without_runner(arguments)]
    try:
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
    """Return Table 1 of the TCNLM paper: vocabulary sizes, the size of every split."""
    splits = meta["splits"]
    sizes = meta["vocabulary_size"], meta["topic_vocabulary_size"]
    lines = ["vocabulary: LM {:,}, TM {:,}".format(*sizes)]
    lines.append(f"{'':7}" + "".join(f"{name:>13}" for name in _COLUMNS))
    for name in SPLITS:
        counts = splits[name]
        cells = "".join(f"{counts[column]:>13,}" for column in _COLUMNS[:-1])
        share = counts["unknown"] / max(counts["tokens"], 1)
        lines.append(f"{name:7}{cells}{share:>13.2%}")
    without = (f"{name} {splits[name]['without_topic_words']:,}" for name in SPLITS)
    lines.append(f"documents without a topic word: {', '.join(without)}")
    if "left_out" in meta:
        lines.append(f"left out by --skip-empty, without a text: {meta['left_out']:,}")
    return "\n".join(lines)


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


# --- What the options name: InputError where they do not fit together ---------------


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def _refuse_own_input(options: argparse.Namespace) -> None:
    """InputError where a file to be read lies in the folder to be replaced."""
    out = options.out.resolve()
    for name, value in vars(options).items():
        for path in value if isinstance(value, list) else [value]:
            if name != "out" and isinstance(path, Path):
                inside = path.resolve().is_relative_to(out)
                _require(
                    not inside, f"{path}: lies in --out {options.out}; give another"
                )


def _corpus(options: argparse.Namespace) -> corpora.Corpus:
    given = {name for name in _PLACES if getattr(options, name)}
    named = options.field, options.label, options.id
    flags = options.skip_empty, options.tokenized
    fields = Fields(*named, *flags, options.date, options.quoting == QUOTING[0])
    drop = options.headers == "drop"
    if options.corpus:
        _check_known_corpus(options, given)
        corpora.refuse_fields(fields)
        has_headers = KNOWN[options.corpus].has_headers
        _require(
            has_headers or not drop, f"--corpus {options.corpus} has no headers to drop"
        )
        return known_corpus(options.corpus, drop, options.group)
    _check_format(options)
    if options.format not in WITH_FIELDS:
        corpora.refuse_fields(fields, drop)
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
    parts = next((_PARTS[names] for names in _PARTS if given == set(names)), None)
    _require(
        parts is not None,
        "give --input, or --train and --heldout, or --train, --valid (or "
        "--valid-from-train) and --test",
    )
    files = {part: getattr(options, name) for name, part in parts.items()}
    ids = corpora.ids_of(options.format, options.vocabulary, options.ids_from)
    return corpora.file_corpus(options.format, files, fields, drop, options.group, ids)


def _check_known_corpus(options: argparse.Namespace, given: set[str]) -> None:
    name, known = options.corpus, KNOWN[options.corpus]
    _require(
        not options.format, f"--corpus {name} has its own --format: leave that out"
    )
    cut = {"valid_from_train"} if known.cuts_valid else set()
    needed = "needs --valid-from-train and" if cut else "is there as a whole: it"
    _require(given == cut, f"--corpus {name} {needed} takes no files")
    _require(
        known.is_whole or not options.split,
        f"--corpus {name} is divided already: no --split",
    )
    _require(
        known.has_lines or not options.group,
        f"--group makes documents of lines; --corpus {name} has documents",
    )


def _check_format(options: argparse.Namespace) -> None:
    is_text = options.format != "counts"
    as_ever = all(
        getattr(options, name) == getattr(Preprocessing, name) for name in _OF_SEQUENCES
    )
    _require(
        is_text or as_ever,
        "--sequence-length, --context and --context-words are of texts: a document of "
        "--format counts is one row, with all its words",
    )
    _require(
        is_text or options.language == ENGLISH,
        "--language is of texts: --format counts has words as they are; topic words go "
        "by --vocabulary, or by --stop-words and --topic-letters",
    )
    lines = [name for name, kind in FORMATS.items() if kind.joint]
    _require(
        options.format in lines or not options.group,
        f"--group makes documents of lines, of --format {' and '.join(lines)}",
    )


def _chosen_preprocessing(options: argparse.Namespace) -> Preprocessing:
    fractions = tuple(options.split or DEFAULT_FRACTIONS)
    good = all(0 < part < 1 for part in fractions) and isclose(sum(fractions), 1)
    _require(good, "--split: three fractions above 0 that sum to 1, like 0.8 0.1 0.1")
    _require(
        0 <= options.topic_top_fraction < 1, "--topic-top-fraction: from 0 to below 1"
    )
    is_english, joins = options.language == ENGLISH, options.phrases is not None
    _require(
        not (joins and options.format == "counts"),
        "--phrases are neighbours, and --format counts has no order of words",
    )
    _require(
        joins or not options.connector_words, "--connector-words goes with --phrases"
    )
    # English is in every text: titles, quotations, what a web page has around it.
    known = languages()
    stop_words = known[options.language].stop_words | known[ENGLISH].stop_words
    connectors: frozenset[str] = frozenset()
    if options.stop_words:
        stop_words = read_stop_words(options.stop_words)
    if options.connector_words:
        connectors = read_stop_words(options.connector_words)
    elif joins and is_english:
        connectors = ENGLISH_CONNECTORS
    return Preprocessing(
        rules=Rules(
            options.min_count,
            options.topic_min_count,
            options.topic_top_fraction,
            stop_words,
            options.vocabulary and read_topic_words(options.vocabulary),
            options.topic_letters or (Rules.topic_letters if is_english else "unicode"),
            options.max_words,
        ),
        fractions=fractions,
        limit=options.limit and tuple(options.limit),
        connector_words=connectors,
        **{name: getattr(options, name) for name in _AS_GIVEN},
    )


# --- The command line ---------------------------------------------------------------

_HELP = {
    "format": "lee: the news corpus that gensim ships; aclimdb: the folder aclImdb or "
    "its .tar.gz (train is for training, test is held out); tdlm: a document a line, "
    "sentences apart by tabs, tokens by white space; text: a document a line; jsonl: a "
    "JSON object a line; table: a row of CSV, TSV (.tsv) or parquet; counts: a label "
    "and word:count or id:count a line, for models that need no order of words; bnc: "
    "XML of the British National Corpus, files or a folder. Files may be plain, .gz, "
    ".xz or .bz2, in UTF-8",
    "corpus": "fetched once, in place of --format and files: imdb (aclimdb), 20news "
    "(by date; needs --valid-from-train), ptb (Penn Treebank as language models take "
    "it; with --group), wikitext103, wikitext2, oanc (open American National Corpus, "
    f"cut by --split). Environment: {CACHE}, the folder they are kept in; {MIRROR}, an "
    "address to fetch them from",
    "field": "jsonl, table: the field or column that holds the document (default: "
    "%(default)s)",
    "label": "jsonl, table: the field that holds the document's class, null or an "
    "empty cell where it has none (aclimdb has pos and neg), for DATA/SPLIT/labels.npy",
    "id": "jsonl, table: the field that holds the document's name (aclimdb has that of "
    "its file), for DATA/SPLIT/ids.txt",
    "date": "jsonl, table: the field that holds the document's date, like 2020-12-24, "
    "2020-12, 2020 or 24 December 2020, null or an empty cell where it has none, for "
    "DATA/SPLIT/dates.txt",
    "quoting": "of CSV: double quotes stand around cells, or none do and they are a "
    "part of what is in them, a line a row (default: %(default)s)",
    "skip-empty": "jsonl, table: leave out documents whose text is missing, null, "
    "blank or NA, and say how many (default: missing and null are refused)",
    "headers": "of jsonl or table documents that are news messages: all up to the "
    "first empty line (default: %(default)s)",
    "language": "that the text is in, for its stop words, abbreviations and letters: "
    f"{', '.join(languages())}; {', '.join(WITHOUT_SPACES)} only as words already, by "
    "--format tdlm or --tokenized; not for counts (default: %(default)s)",
    "tokenized": "jsonl, table: the field holds words already, and nothing is split or "
    "changed: a text with spaces between words and line ends or tabs between "
    "sentences, a list of words, or a list of sentences, lists of words",
    "ids-from": "counts: its words are ids, lines of --vocabulary counted from 0 or "
    "from 1 (default: they are words)",
    "group": "tdlm, text: consecutive lines of a file that make one document, for a "
    "text without documents such as the Penn Treebank (default: a line is one)",
    "input": "all documents, to be cut by --split",
    "train": "training documents",
    "heldout": "documents to be shuffled and halved into validation and test",
    "valid": "validation documents",
    "test": "test documents",
    "split": "fractions of --input, or of oanc, shuffled before (default: 0.8 0.1 0.1)",
    "valid-from-train": "validation documents to take out of --train, which is "
    "shuffled before: so many (1000), or a share (0.1)",
    "limit": "keep the first so many documents of the shuffled splits (files given "
    "with --train --valid --test keep their order, and are shuffled only for this)",
    "seed": "of the shuffling (default: %(default)s)",
    "min-count": "times that a word occurs in the training documents, at least; auto: "
    f"the paper's {Rules.min_count}, for small corpora the largest number that leaves "
    f"at most {MOST_UNKNOWN:.0%}% of the words unknown, but at least {LEAST} (default: "
    "%(default)s)",
    "max-words": "words at most, the most frequent of those, ties by first occurrence; "
    "<unk> and other symbols come beside them (default: all)",
    "topic-min-count": "times that a topic word occurs in all of them together, at "
    f"least; auto: the paper's {Rules.topic_min_count}, for small corpora the largest "
    f"number that leaves {ENOUGH_TOPIC_WORDS:,} topic words, or {OFTEN}, or the "
    f"largest that leaves {FEWEST_TOPIC_WORDS:,}, but at least --min-count (default: "
    "%(default)s)",
    "topic-top-fraction": "the most frequent types, this fraction of all, are no topic "
    "words (default: %(default)s)",
    "stop-words": "no topic words: a word a line, # for comments (default: those of "
    "--language, of English MALLET's)",
    "topic-letters": "that a topic word has one of: english, a to z, as in the paper; "
    "unicode, those of any script (default: english if --language is, else unicode)",
    "vocabulary": "the topic words, exactly these whatever their counts, in place of "
    "those by the rules above: a word a line",
    "phrases": "join neighbours that the training documents have together too often "
    "for chance, in all documents: new_york is one word. SCORE: gensim's, at least "
    "(default: no phrases; %(const)s where none is given)",
    "connector-words": "that stand within a phrase, as in bank_of_england, but never "
    "at its ends: a word a line (default: of English gensim's, of other languages "
    "none)",
    "sequence-length": "targets of a sequence; a longer sentence makes several "
    "(default: %(default)s)",
    "context": "what the topics of a sequence are inferred from: all other sentences "
    "of the document, the preceding ones, all but the sequence itself (which leaks the "
    "rest of a long sentence), as the predecessor TDLM does, or all, the sentence that "
    "is predicted among them (only to measure what that would give away) (default: "
    "%(default)s)",
    "context-words": "topic words of a context: the first so many (default: "
    "%(default)s)",
    "out": "the folder to make",
    "verify": "read all of a folder made before, and say whether its text, "
    "vocabularies and sequences, labels, ids and dates are those it was made with; "
    "without any other option",
    "force": "replace an existing DATA",
    "processes": "to tokenize with; the result does not depend on it (default: "
    "%(default)s)",
}


def parser() -> argparse.ArgumentParser:
    """All options, each with its default."""
    result = argparse.ArgumentParser(
        "python -m preprocessing",
        description="Raw text to the DATA directory: sentences, tokens, vocabularies, "
        "arrays and meta.json.",
    )

    add = partial(_add, result.add_argument_group("source"))
    add("format", choices=corpora.NAMES)
    add("corpus", choices=KNOWN)
    add("field", default=Fields().text, metavar="NAME")
    for name in ("label", "id", "date"):
        add(name, metavar="NAME")
    add("quoting", choices=QUOTING, default=QUOTING[0])
    add("skip-empty", action="store_true")
    add("headers", choices=("keep", "drop"), default="keep")
    add("language", choices=languages(), default=ENGLISH, metavar="CODE")
    add("tokenized", action="store_true")
    add("ids-from", type=int, choices=(0, 1))
    add("group", type=_positive, default=0, metavar="N")
    add = partial(_add, result.add_argument_group("files"))
    for name in ("input", "train", "heldout", "valid", "test"):
        add(name, nargs="+", type=Path, metavar="FILE")
    add = partial(_add, result.add_argument_group("splits"))
    three = {"nargs": 3, "metavar": ("TRAIN", "VALID", "TEST")}
    add("split", type=float, **three)
    add("valid-from-train", type=_count_or_share, metavar="N")
    add("limit", type=_positive, **three)
    add(
        "seed", type=whole_number(0, 2**63 - 1), default=Preprocessing.seed, metavar="N"
    )
    add = partial(_add, result.add_argument_group("vocabularies"))
    add("min-count", type=_positive_or_auto, default="auto", metavar="N")
    add("max-words", type=_positive, metavar="N")
    add("topic-min-count", type=_positive_or_auto, default="auto", metavar="N")
    add("topic-top-fraction", type=float, default=Rules.top_fraction, metavar="N")
    add("stop-words", type=Path, metavar="FILE")
    add("topic-letters", choices=LETTERS)
    add("vocabulary", type=Path, metavar="FILE")
    add("phrases", type=_score, nargs="?", const=THRESHOLD, metavar="SCORE")
    add("connector-words", type=Path, metavar="FILE")
    add = partial(_add, result.add_argument_group("sequences and their contexts"))
    number = whole_number(1, LONGEST)
    length, words = Preprocessing.sequence_length, Preprocessing.context_words
    add("sequence-length", type=number, default=length, metavar="N")
    add("context", choices=CONTEXTS, default=Preprocessing.context)
    add("context-words", type=number, default=words, metavar="N")
    run = result.add_argument_group("run")
    add, most = partial(_add, run), whole_number(1, MOST_PROCESSES)
    add("out", type=Path, metavar="DATA")
    add("verify", type=Path, metavar="DATA")
    add("force", action="store_true")
    add("processes", type=most, default=cores(), metavar="N")
    add_runner(run)
    add_debug(result)
    return result


def _add(group: argparse._ArgumentGroup, name: str, **how: object) -> None:
    group.add_argument(f"--{name}", help=_HELP[name], **how)


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


def run() -> None:
    """Run the program on the command line's arguments."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with errors_reported():
        status = main(sys.argv[1:])
    sys.exit(status)


if __name__ == "__main__":
    run()
