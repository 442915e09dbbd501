"""Topic proportions and perplexity of texts by the model of a RUN, a row a document.

Columns: document (its number, without those left out), id, label, date, words,
unknown_words, topic_words, perplexity, topic (the largest), topic_0 ... (the
proportions); what a model does not have is left out. docnade has unit_0 ..., its
vector. With RUN/topics.csv topics are called by its labels, merged ones are summed,
hidden ones left out: the column hidden has their sum. A document without a topic word
keeps its row with empty proportions: there is nothing to infer them from.
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tcnlm.common import process
from tcnlm.common.errors import InputError, add_debug
from tcnlm.common.outputs import Row, check_outputs, check_writable, write_rows
from tcnlm.metrics import over_time
from tcnlm.preprocessing import corpora
from tcnlm.preprocessing.documents import Document, Format, is_missing
from tcnlm.preprocessing.sources import FORMATS, WITH_FIELDS, chosen_format
from tcnlm.preprocessing.warnings import odd_marks, warn
from tcnlm.programs.preprocess import add_fields, add_forms, add_option, fields_of

if TYPE_CHECKING:
    from tcnlm.metrics.scores import Reading
    from tcnlm.run import Run

BATCH = 256  # documents in memory at a time
MOST_UNKNOWN = 0.5  # of the words
ENDS = "", "_low", "_high"  # of the columns of a mean and its interval
MARKS = ("id", "label", "date")  # of a document, in the table's order
TABLES = ("out", "by_label", "over_time")


def main(arguments: Sequence[str]) -> None:
    """Infer as the options say, write the tables and print a summary."""
    options = parser().parse_args(arguments)
    # Here, as below: to say how it is used takes no TensorFlow.
    from tcnlm.metrics.scores import joined
    from tcnlm.models.names import shown_words
    from tcnlm.run import Run

    process.keep_memory()
    check(options)
    run = Run(options.run)
    _check_fit(options, run)
    marks = [name for name in MARKS if has_mark(options, name)]
    told, kept = [], []

    def rows() -> Iterator[Row]:
        for documents, reading in readings(options, run):
            yield from document_rows(run, marks, len(told), documents, reading)
            told.extend(documents)
            grouped = options.by_label or options.over_time
            kept.append(reading if grouped else reading._replace(vectors=None))
        if not told:
            raise InputError(f"{options.input[0]}: no document in it")

    write_rows(options.out, rows(), options.quote)
    warn(odd_marks(told))
    whole = joined(kept)
    _summarise(run, whole)
    print(f"written to {options.out}")
    if options.by_label:
        labels = [document.label for document in told]
        write_rows(options.by_label, label_rows(run, labels, whole), options.quote)
        print(f"written to {options.by_label}")
    if options.over_time:
        dates = [document.date for document in told]
        found = over_time.by_period(dates, whole.vectors, options.every)
        words = shown_words(run.model, run.names, over_time.WORDS)
        periods = over_time.group_rows("period", found, words)
        write_rows(options.over_time, periods, options.quote)
        print(f"written to {options.over_time}")
        names = found["names"]
        print(f"  by {found['every']}, {names[0]} to {names[-1]}")
        for line in over_time.left_out(found):
            print(f"  {line}")


def _summarise(run: Run, whole: Reading) -> None:
    unknown = whole.unknown.sum() / max(whole.words.sum(), 1)
    said = f"{len(whole.words):,} documents, {whole.words.sum():,} words"
    if whole.nats is not None and whole.predicted.any():
        perplexity = math.exp(whole.nats.sum() / whole.predicted.sum())
        said += f", perplexity {perplexity:.2f}"
    print(f"{said}; {unknown:.1%} of the words are unknown")
    missing, of = np.count_nonzero(whole.topic_words == 0), run.reader.vectors_of
    if of and missing:
        print(f"{missing:,} without a topic word, so without {of}s")
    if unknown > MOST_UNKNOWN:
        where = "where texts are in another language, or of other matters"
        share = f"{unknown:.1%} of the words are unknown to {run.path}"
        warn([f"{share}: {where}, trust no topic"])
    if run.names.hidden:
        print(run.names.hidden)


def _check_fit(options: argparse.Namespace, run: Run) -> None:
    """Raise InputError for what this model cannot read or tell."""
    if run.model.reads_order and not format_of(options).ordered:
        raise InputError(
            f"{options.run}: a {run.config['model']} reads words in their order, of "
            f"which --format {options.format} has none"
        )
    if options.over_time and run.reader.vectors_of != "topic":
        raise InputError(f"--over-time: a {run.config['model']} has no topics")
    ends = ENDS if options.by_label else ENDS[:1]
    columns = [f"topic_{key}{end}" for key in run.names.keys for end in ends]
    for column in columns:
        if [*columns, "topic_words"].count(column) > 1:
            raise InputError(
                f"topics.csv: two columns would be called {column!r}; give the topic "
                "another label"
            )


def document_rows(
    run: Run,
    marks: Sequence[str],
    first: int,
    documents: Sequence[Document],
    reading: Reading,
) -> Iterator[Row]:
    """Yield a row for every document of a reading, numbered from `first`."""
    columns = columns_of(run, reading)
    for i, document in enumerate(documents):
        row = {"document": first + i}
        row |= {name: getattr(document, name) for name in marks}
        row["words"] = int(reading.words[i])
        row["unknown_words"] = int(reading.unknown[i])
        row["topic_words"] = int(reading.topic_words[i])
        if reading.nats is not None:
            row["perplexity"] = over_time.number(reading.perplexity[i])
        if columns:
            vector, keys = reading.vectors[i], run.names.keys
            if run.reader.vectors_of == "topic":
                known = reading.topic_words[i]
                row["topic"] = keys[vector.argmax()] if known else None
            row |= zip(columns, map(over_time.number, vector))
            if run.names.hidden:  # of which rounding makes no -1e-8
                row["hidden"] = over_time.number(np.clip(1 - vector.sum(), 0, 1))
        yield row


def columns_of(run: Run, reading: Reading) -> list[str]:
    """Return what the columns of vectors are called; none without vectors."""
    if reading.vectors is None:
        return []
    keys = run.names.keys or range(reading.vectors.shape[1])
    return [f"{run.reader.vectors_of}_{key}" for key in keys]


def label_rows(
    run: Run, labels: Sequence[str | None], reading: Reading
) -> Iterator[Row]:
    """Yield a row for every label, by name; the documents without one come last."""
    import pandas as pd

    counts = pd.DataFrame({"documents": 1, "words": reading.words})
    counts["unknown_words"] = reading.unknown
    counts["without_topic_words"] = (reading.topic_words == 0).astype(int)
    if reading.nats is not None:
        counts = counts.assign(nats=reading.nats, predicted=reading.predicted)
    of = pd.Series(labels, dtype=object)
    table = counts.groupby(of, dropna=False).sum()
    if reading.nats is not None:
        table["perplexity"] = np.exp(table.pop("nats") / table.pop("predicted"))
    if reading.vectors is not None:
        vectors = reading.vectors.astype(float)
        frame = pd.DataFrame(vectors, columns=columns_of(run, reading))
        groups = frame.groupby(of, dropna=False)
        topics = run.reader.vectors_of == "topic"
        means = over_time.intervals(groups) if topics else [groups.mean()]
        ended = (mean.add_suffix(end) for mean, end in zip(means, ENDS))
        table = pd.concat([table, *ended], axis=1)
    for label, row in zip(table.index, table.to_dict("records")):
        for name, value in row.items():
            row[name] = value if isinstance(value, int) else over_time.number(value)
        yield {"label": label if isinstance(label, str) else None, **row}


def readings(
    options: argparse.Namespace, run: Run
) -> Iterator[tuple[list[Document], Reading]]:
    """Yield documents without their texts, and readings, topics as topics.csv says."""
    from tcnlm.metrics.scores import read_texts

    waiting: deque[list[Document]] = deque()

    def texts() -> Iterator[list[str]]:
        for documents in process.chunks(documents_of(options), BATCH):
            waiting.append([document._replace(text="") for document in documents])
            yield [document.text for document in documents]

    sentences = run.model.vocabulary.reading(format_of(options).sentences)
    if options.runner is None:
        found = map(partial(read_texts, run.reader, sentences), texts())
    else:
        # Here, since it is an option.
        from tcnlm.programs.infer_on_beam import read_on

        runner = process.on_runner(options.runner)
        found = read_on(runner, options.run, sentences, texts())
    for reading in found:
        if run.reader.vectors_of == "topic":
            reading = reading._replace(vectors=run.names.summed(reading.vectors))
        yield waiting.popleft(), reading


def check(options: argparse.Namespace) -> None:
    """Refuse options that don't fit together before anything is loaded."""
    if options.format not in (None, *WITH_FIELDS):
        corpora.refuse_fields(fields_of(options))
    if options.by_label and not has_mark(options, "label"):
        raise InputError("--by-label: name the field of the labels with --label")
    if options.over_time and not options.date:
        raise InputError("--over-time: name the field of the dates with --date")
    if options.vocabulary and options.ids_from is None:
        raise InputError("--vocabulary FILE is for --ids-from")
    if options.every and not options.over_time:
        raise InputError("--every is for --over-time FILE")
    for path in filter(None, (getattr(options, name) for name in TABLES)):
        check_writable(path)
    check_outputs(options, *TABLES)


def format_of(options: argparse.Namespace) -> Format:
    """Return the format: the one that was asked for, or each file's own."""
    ids = corpora.ids_of(options.format, options.vocabulary, options.ids_from)
    return chosen_format(options.format, fields_of(options), ids)


def has_mark(options: argparse.Namespace, name: str) -> bool:
    """Return whether documents come with one of `MARKS`."""
    return getattr(options, name) is not None or name in format_of(options).marks


def documents_of(options: argparse.Namespace) -> Iterator[Document]:
    """Yield the documents of all files, with a progress bar."""
    fields = fields_of(options)
    places = [Path("/dev/stdin") if str(p) == "-" else p for p in options.input]
    documents = corpora.read_files(format_of(options), places, fields)
    seen = kept = 0
    for document in process.progress_bar(documents, "inferring", unit=" documents"):
        seen += 1
        if not (options.skip_empty and is_missing(document.text)):
            kept += 1
            yield document
    if options.skip_empty:
        corpora.refuse_none_left(kept, seen - kept)
        print(f"left out by --skip-empty because they have no text: {seen - kept:,}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    formats = (
        "as python -m preprocessing reads it (default: jsonl where a file's first "
        "line is JSON, table of .csv, .tsv and parquet, else text)"
    )
    by_label = "mean proportions and perplexity of every label, .csv or .jsonl, too"
    periods = "mean proportions of every period, .csv or .jsonl, too; needs --date"
    every = "the period (default: the shortest that all dates tell, 60 at the most)"
    parsed = process.command_parser("infer", __doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="folder written by train.py")
    source = {"metavar": "FILE", "type": Path, "required": True}
    add("--input", nargs="+", **source, help="documents; - is standard input")
    add("--out", **source, help="the table, .csv or .jsonl by its name")
    add("--format", choices=FORMATS, help=formats)
    add_fields(partial(add_option, parsed))
    add_forms(partial(add_option, parsed))
    words = "counts: what --ids-from counts, a word a line"
    add("--vocabulary", metavar="FILE", type=Path, help=words)
    add("--by-label", metavar="FILE", type=Path, help=by_label)
    add("--over-time", metavar="FILE", type=Path, help=periods)
    add("--every", choices=over_time.PERIODS, help=every)
    unquoted = "texts in .csv as they are (default: with an apostrophe before = + - @, "
    unquoted += "lest spreadsheets run what others wrote)"
    add("--unquoted", dest="quote", action="store_false", help=unquoted)
    process.add_runner(parsed)
    add_debug(parsed)
    return parsed
