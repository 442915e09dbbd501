"""Topic proportions and perplexity of texts by the model of a RUN, a row a document.

Columns: document (its number), id, label, date, words, unknown_words, topic_words,
perplexity, topic (the largest), topic_0 ... (the proportions); what a model does not
have is left out. docnade has unit_0 ..., its vector. With RUN/topics.csv topics are
called by its labels, merged ones are summed, hidden ones left out: the column hidden
has their sum. A document without a topic word keeps its row; its proportions are empty,
for there is nothing to infer them from.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tcnlm.common.errors import InputError, add_debug, errors_reported
from tcnlm.common.outputs import check_outputs
from tcnlm.common.process import chunks, keep_memory
from tcnlm.common.progress_bar import progress_bar
from tcnlm.common.rows import Row, check_writable, row_writer
from tcnlm.common.runners import add_runner, on_runner
from tcnlm.metrics.over_time import (
    PERIODS,
    WORDS,
    Sums,
    by_day,
    by_period,
    group_rows,
    left_out,
)
from tcnlm.preprocessing.corpora import (
    ids_of,
    read_files,
    refuse_fields,
    refuse_none_left,
    refuse_tables,
)
from tcnlm.preprocessing.documents import (
    QUOTING,
    Document,
    Fields,
    Format,
    is_missing,
)
from tcnlm.preprocessing.sources import FORMATS, WITH_FIELDS, chosen_format
from tcnlm.preprocessing.warnings import Noticed, warn

if TYPE_CHECKING:
    from tcnlm.metrics.scores import Reading
    from tcnlm.run import Run

BATCH = 256  # documents in memory at a time
MOST_UNKNOWN = 0.5  # of the words
ENDS = "", "_low", "_high"  # of the columns of a mean and its interval
MARKS = ("id", "label", "date")  # of a document, in the table's order


def main(options: argparse.Namespace) -> None:
    """Infer as the options say, write the tables and print a summary."""
    # Here, as below: to say how it is used takes no TensorFlow.
    from tcnlm.run import Run

    keep_memory()
    check(options)
    run = Run(options.run)
    _check_fit(options, run)
    marks = [name for name in MARKS if has_mark(options, name)]
    hides = bool(run.names.hidden)
    table = Table(run.reader.vectors_of, marks, run.names.keys, hides)
    with row_writer(options.out, options.quote) as write:
        for documents, reading in readings(options, run):
            for row in table.rows(documents, reading):
                write(row)
        if not table.every.documents:
            raise InputError(f"{options.input[0]}: no document in it")
    print(table)
    unknown = table.every.unknown_share
    if unknown > MOST_UNKNOWN:
        said = (
            "where texts are in another language, or of other matters, trust no topic"
        )
        warn([f"{unknown:.1%} of the words are unknown to {options.run}: {said}"])
    if run.names.hidden:
        print(run.names.hidden)
    print(f"written to {options.out}")
    if options.by_label:
        _write(table.label_rows(), options.by_label, options.quote)
    if options.over_time:
        _write_over_time(table, run, options)


def _check_fit(options: argparse.Namespace, run: Run) -> None:
    """Raise InputError for what this model cannot read or tell."""
    if run.model.reads_order and not format_of(options).ordered:
        raise InputError(
            f"{options.run}: a {run.config['model']} reads words in their order, of "
            f"which --format {options.format} has none"
        )
    if options.over_time and run.reader.vectors_of != "topic":
        raise InputError(f"--over-time: a {run.config['model']} has no topics")
    _check_columns(run.names.keys, ENDS if options.by_label else ENDS[:1])


def _check_columns(keys: Sequence[str | int], ends: Sequence[str]) -> None:
    """Raise InputError where topics are called so that two columns are."""
    columns = {"topic_words": "the number of topic words"}
    for key in keys:
        for column in (f"topic_{key}{end}" for end in ends):
            if column in columns:
                raise InputError(
                    f"topics.csv: the topic {key!r} would have the column {column!r}, "
                    f"and so has {columns[column]}; call it otherwise"
                )
            columns[column] = f"the topic {key!r}"


def _write(rows: Iterable[Row], path: Path, quote: bool) -> None:
    with row_writer(path, quote) as write:
        for row in rows:
            write(row)
    print(f"written to {path}")


def _write_over_time(table: Table, run: Run, options: argparse.Namespace) -> None:
    from tcnlm.models.names import shown_words

    found = by_period(table.days, options.every)
    rows = group_rows("period", found, shown_words(run.model, run.names, WORDS))
    _write(rows, options.over_time, options.quote)
    names, every = found["names"], found["every"]
    print(f"  a row for every topic and {every}, {names[0]} to {names[-1]}")
    for line in left_out(found):
        print(f"  {line}")


def readings(
    options: argparse.Namespace, run: Run
) -> Iterator[tuple[list[Document], Reading]]:
    """Yield documents, their texts gone, and what the model makes of them.

    Topics are as RUN/topics.csv has them: merged ones summed, hidden ones left out.
    """
    waiting: deque[list[Document]] = deque()

    def texts() -> Iterator[list[str]]:
        for documents in chunks(documents_of(options), BATCH):
            waiting.append([document._replace(text="") for document in documents])
            yield [document.text for document in documents]

    for reading in _read(options, run, texts()):
        if run.reader.vectors_of == "topic":
            reading = reading._replace(vectors=run.names.summed(reading.vectors))
        yield waiting.popleft(), reading


def _read(
    options: argparse.Namespace, run: Run, texts: Iterable[list[str]]
) -> Iterator[Reading]:
    from tcnlm.metrics.scores import read_texts

    sentences = run.model.vocabulary.reading(format_of(options).sentences)
    if options.runner is None:
        return map(partial(read_texts, run.reader, sentences), texts)
    # Here, since it is an option.
    from tcnlm.programs.infer_on_beam import read_on

    return read_on(on_runner(options.runner), options.run, sentences, texts)


def check(options: argparse.Namespace) -> None:
    """Refuse options that don't fit together before anything is loaded."""
    refuse_tables(options.format, options.input)
    if options.format not in (None, *WITH_FIELDS):
        refuse_fields(fields_of(options), options.headers == "drop")
    if options.by_label and not has_mark(options, "label"):
        raise InputError("--by-label: name the field of the labels with --label")
    if options.over_time and not options.date:
        raise InputError("--over-time: name the field of the dates with --date")
    if options.every and not options.over_time:
        raise InputError("--every is of --over-time, the file to write")
    _places(options)
    tables = "out", "by_label", "over_time"
    for path in filter(None, (getattr(options, name) for name in tables)):
        check_writable(path)
    check_outputs(options, *tables)


def format_of(options: argparse.Namespace) -> Format:
    """Return the format: the one that was asked for, or each file's own."""
    ids = ids_of(options.format, options.vocabulary, options.ids_from)
    return chosen_format(options.format, fields_of(options), ids)


def has_mark(options: argparse.Namespace, name: str) -> bool:
    """Return whether documents come with one of `MARKS`."""
    return bool(getattr(options, name)) or name in format_of(options).marks


def fields_of(options: argparse.Namespace) -> Fields:
    """Return what the fields of .jsonl and the columns of tables are called."""
    named = options.field, options.label, options.id
    flags = options.skip_empty, options.tokenized
    return Fields(*named, *flags, options.date, options.quoting == QUOTING[0])


def documents_of(options: argparse.Namespace) -> Iterator[Document]:
    """Yield the documents of all files, with a progress bar.

    With --skip-empty those that have a text; says at the end how many have none.
    """
    fields = fields_of(options)
    drop = options.headers == "drop"
    documents = read_files(format_of(options), _places(options), fields, drop)
    noticed, number, kept = Noticed(), 0, 0
    for document in progress_bar(documents, "inferring", unit=" documents"):
        number += 1
        if not (options.skip_empty and is_missing(document.text)):
            kept += 1
            yield noticed.seen(document)
    warn(noticed.lines())
    if options.skip_empty:
        refuse_none_left(kept, number - kept)
        print(f"left out by --skip-empty, without a text: {number - kept:,}")


def _places(options: argparse.Namespace) -> list[Path]:
    if Path("-") in options.input and sys.stdin is None:
        raise InputError("--input -: standard input is closed")
    return [Path("/dev/stdin") if str(p) == "-" else p for p in options.input]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    formats = (
        "as python -m preprocessing reads it (default: jsonl where a file's first "
        "line is JSON, table of .csv, .tsv and parquet, else text)"
    )
    by_label = "mean proportions and perplexity of every label, .csv or .jsonl, too"
    over_time = "mean proportions of every period, .csv or .jsonl, too; needs --date"
    every = "the period (default: the shortest that all dates tell, 60 at the most)"
    headers = "of documents that are news messages: all up to an empty line"
    parsed = argparse.ArgumentParser(
        "python -m tcnlm infer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="folder written by train.py")
    source = {"metavar": "FILE", "type": Path, "required": True}
    add("--input", nargs="+", **source, help="documents; - is standard input")
    add("--out", **source, help="the table, .csv or .jsonl by its name")
    add("--format", choices=FORMATS, help=formats)
    field = "jsonl, table: of the text"
    add("--field", metavar="NAME", default=Fields().text, help=field)
    add("--label", metavar="NAME", help="jsonl, table: the field of its class")
    add("--id", metavar="NAME", help="jsonl, table: the field of its name")
    add("--date", metavar="NAME", help="jsonl, table: the field of its date")
    quoting = "CSV: double quotes stand around cells, or are a part of them"
    add("--quoting", choices=QUOTING, default=QUOTING[0], help=quoting)
    skipped = "leave out documents whose text is missing, null, blank or NA; "
    skipped += "the others are numbered without them"
    add("--skip-empty", action="store_true", help=skipped)
    add("--tokenized", action="store_true", help="jsonl, table: it is in words already")
    ids = "counts: its words are ids, lines of --vocabulary from 0 or from 1"
    add("--ids-from", type=int, choices=(0, 1), help=ids)
    words = "counts: what --ids-from counts, a word a line"
    add("--vocabulary", metavar="FILE", type=Path, help=words)
    add("--headers", choices=("keep", "drop"), default="keep", help=headers)
    add("--by-label", metavar="FILE", type=Path, help=by_label)
    add("--over-time", metavar="FILE", type=Path, help=over_time)
    add("--every", choices=PERIODS, help=every)
    unquoted = "texts in .csv as they are (default: with an apostrophe before = + - @, "
    unquoted += "lest spreadsheets run what others wrote)"
    add("--unquoted", dest="quote", action="store_false", help=unquoted)
    add_runner(parsed)
    add_debug(parsed)
    return parsed


def run() -> None:
    """Run the program on the command line's arguments."""
    with errors_reported():
        main(parser().parse_args())


SHOWN_TOPICS = 3  # of a label, the largest


class Totals:
    """Documents, those of a label or all of them, as sums."""

    def __init__(self):
        self.documents = self.words = self.unknown = self.predicted = 0
        self.nats, self.vectors = 0.0, Sums()

    def add(self, reading: Reading, chosen: np.ndarray) -> None:
        """Add the documents of a reading that a mask [N] chooses."""
        self.documents += int(chosen.sum())
        self.words += int(reading.words[chosen].sum())
        self.unknown += int(reading.unknown[chosen].sum())
        if reading.nats is not None:
            self.nats += float(reading.nats[chosen].sum())
            self.predicted += int(reading.predicted[chosen].sum())
        vectors = np.empty([len(chosen), 0])
        vectors = vectors if reading.vectors is None else reading.vectors
        self.vectors.add(vectors[chosen], reading.topic_words[chosen] > 0)

    @property
    def unknown_share(self) -> float:
        """Of the words."""
        return self.unknown / max(self.words, 1)

    @property
    def perplexity(self) -> float:
        """That of all predicted words together, as evaluate.py has it."""
        return math.exp(self.nats / self.predicted) if self.predicted else math.nan


class Table:
    """Readings as rows; adds up what it has seen.

    vectors_of: "topic", "unit" or None, what the columns of vectors are called; marks:
    those of `MARKS` that documents have; keys: what topics are called, by default their
    numbers; hides: whether there are topics that the vectors leave out.
    """

    def __init__(
        self,
        vectors_of: str | None,
        marks: Sequence[str] = (),
        keys: Sequence[str | int] = (),
        hides: bool = False,
    ):
        self.vectors_of, self.marks, self.keys = vectors_of, marks, keys
        self.hides = hides
        self.every, self.labels = Totals(), defaultdict(Totals)
        self.days = defaultdict(Sums)

    def rows(self, documents: Sequence[Document], reading: Reading) -> Iterator[Row]:
        """Yield a row for every document of the next reading."""
        first = self.every.documents
        self._count(documents, reading)
        for i, document in enumerate(documents):
            row = {"document": first + i}
            row.update((name, getattr(document, name)) for name in self.marks)
            row["words"] = int(reading.words[i])
            row["unknown_words"] = int(reading.unknown[i])
            row["topic_words"] = int(reading.topic_words[i])
            if reading.nats is not None:
                row["perplexity"] = _number(reading.perplexity[i])
            yield {**row, **self._vector(reading, i)}

    def _vector(self, reading: Reading, i: int) -> Row:
        if reading.vectors is None:
            return {}
        vector, row = reading.vectors[i], {}
        if self.vectors_of == "topic":
            row["topic"] = (
                self._key(vector.argmax()) if reading.topic_words[i] else None
            )
        rest = np.clip(1 - vector.sum(), 0, 1)  # lest rounding makes it -1e-8
        hidden = {"hidden": _number(rest)} if self.hides else {}
        return {**row, **self._named(vector), **hidden}

    def _named(self, vector: np.ndarray, end: str = "") -> Row:
        names = (f"{self.vectors_of}_{self._key(k)}{end}" for k in range(len(vector)))
        return dict(zip(names, map(_number, vector)))

    def _key(self, k: int) -> str | int:
        return self.keys[k] if self.keys else int(k)

    def _count(self, documents: Sequence[Document], reading: Reading) -> None:
        self.every.add(reading, np.ones(len(documents), bool))
        labels = np.array([document.label for document in documents], object)
        for label in dict.fromkeys(labels) if "label" in self.marks else ():
            self.labels[label].add(reading, labels == label)
        if self.vectors_of == "topic" and "date" in self.marks:
            dates = [document.date for document in documents]
            of_topics = reading.vectors, reading.topic_words > 0
            for day, sums in by_day(dates, *of_topics).items():
                self.days[day].join(sums)

    def label_rows(self) -> Iterator[Row]:
        """Yield a row for every label, by name; the documents without one come last."""
        for label, totals in self._by_name():
            row = {"label": label, "documents": totals.documents, "words": totals.words}
            row["unknown_words"] = totals.unknown
            row["without_topic_words"] = totals.documents - totals.vectors.counted
            if self.every.predicted:
                found = _number(totals.perplexity) if totals.predicted else None
                row["perplexity"] = found
            if self.vectors_of:
                row.update(self._means(totals.vectors))
            yield row

    def _means(self, vectors: Sums) -> Row:
        row = self._named(vectors.mean)
        if self.vectors_of == "topic":
            for end, values in zip(ENDS[1:], vectors.interval):
                row |= self._named(values, end)
        return row

    def _by_name(self) -> list[tuple[str | None, Totals]]:
        return sorted(self.labels.items(), key=lambda pair: (pair[0] is None, pair[0]))

    def __str__(self) -> str:
        every = self.every
        known = f"{every.unknown_share:.1%} of the words are unknown"
        lines = [f"{_counted(every)}; {known}"]
        missing = every.documents - every.vectors.counted
        if self.vectors_of and missing:
            lines.append(f"{missing:,} without a topic word: no {self.vectors_of}s")
        lines += [
            f"  {label or 'no label'}: {_counted(totals)}{self._largest(totals)}"
            for label, totals in self._by_name()
        ]
        return "\n".join(lines)

    def _largest(self, totals: Totals) -> str:
        """Return the largest topics with their mean shares, as text."""
        if self.vectors_of != "topic" or not totals.vectors.counted:
            return ""
        mean = totals.vectors.mean
        best = np.argsort(-mean)[:SHOWN_TOPICS]
        said = (f"{self._key(k)} ({mean[k]:.2f})" for k in best)
        return f"; topics {', '.join(said)}"


def _counted(totals: Totals) -> str:
    documents = f"{totals.documents:,} document{'s' * (totals.documents != 1)}"
    text = f"{documents}, {totals.words:,} words"
    return text + (f", perplexity {totals.perplexity:.2f}" if totals.predicted else "")


def _number(value: float) -> float | None:
    """Return a number of six digits; None for what is none."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
