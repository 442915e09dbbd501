"""Topic proportions and perplexity of texts by the model of a RUN, a row a document.

Columns: document (its number), id, label, words, unknown_words, topic_words,
perplexity, topic (the largest), topic_0 ... (the proportions); what a model does not
have is left out. docnade has unit_0 ..., its vector. A document without a topic word
keeps its row; its proportions are empty, for there is nothing to infer them from.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from preprocessing.corpora import read_files, refuse_tables
from preprocessing.errors import InputError, add_debug, errors_reported
from preprocessing.parallel import chunks
from preprocessing.progress_bar import progress_bar
from preprocessing.runners import add_runner, on_runner
from preprocessing.sources import FORMATS, Document, Fields
from tcnlm.evaluation.inferred import Table
from tcnlm.evaluation.reading import Reading, read_texts
from tcnlm.process import keep_memory
from tcnlm.rows import check_writable, row_writer
from tcnlm.run import BATCH, Run


def main(options: argparse.Namespace) -> None:
    """Infer as the options say, write the tables and print a summary."""
    keep_memory()
    check(options)
    run = Run(options.run)
    table = Table(run.reader.vectors_of, bool(options.id), bool(options.label))
    with row_writer(options.out) as write:
        for documents, reading in readings(options, run):
            for row in table.rows(documents, reading):
                write(row)
        if not table.every.documents:
            raise InputError(f"{options.input[0]}: no document in it")
    print(table)
    print(f"written to {options.out}")
    if options.by_label:
        with row_writer(options.by_label) as write:
            for row in table.label_rows():
                write(row)
        print(f"written to {options.by_label}")


def readings(
    options: argparse.Namespace, run: Run
) -> Iterator[tuple[list[Document], Reading]]:
    """Yield documents, their texts gone, and what the model makes of them."""
    waiting: deque[list[Document]] = deque()

    def texts() -> Iterator[list[str]]:
        for documents in chunks(documents_of(options), BATCH):
            waiting.append([document._replace(text="") for document in documents])
            yield [document.text for document in documents]

    for reading in _read(options, run, texts()):
        yield waiting.popleft(), reading


def _read(
    options: argparse.Namespace, run: Run, texts: Iterable[list[str]]
) -> Iterator[Reading]:
    sentences = FORMATS[format_of(options)].sentences
    if options.runner is None:
        return map(partial(read_texts, run.reader, sentences), texts)
    # Here, since it is an option.
    from tcnlm.evaluation.on_beam import read_on

    return read_on(on_runner(options.runner), options.run, sentences, texts)


def check(options: argparse.Namespace) -> None:
    """Refuse options that don't fit together before anything is loaded."""
    refuse_tables(format_of(options), options.input)
    if fields_of(options) != Fields() and format_of(options) != "jsonl":
        raise InputError("--field, --label and --id name fields of --format jsonl")
    if options.headers == "drop" and format_of(options) != "jsonl":
        raise InputError("--headers drop is for messages in --format jsonl")
    if options.by_label and not options.label:
        raise InputError("--by-label: name the field of the labels with --label")
    for path in filter(None, (options.out, options.by_label)):
        check_writable(path)
        if path.resolve() in [file.resolve() for file in options.input]:
            raise InputError(f"{path}: is read, and would be replaced; give another")


def format_of(options: argparse.Namespace) -> str:
    """Return the format: the one that was asked for, or by the name of the input."""
    named = ".jsonl" in options.input[0].suffixes
    return options.format or ("jsonl" if named else "text")


def fields_of(options: argparse.Namespace) -> Fields:
    """Return what the fields of .jsonl are called."""
    return Fields(options.field, options.label, options.id)


def documents_of(options: argparse.Namespace) -> Iterator[Document]:
    """Yield the documents of all files, with a progress bar."""
    fields = fields_of(options)
    paths = [Path("/dev/stdin") if str(p) == "-" else p for p in options.input]
    drop = options.headers == "drop"
    documents = read_files(FORMATS[format_of(options)], paths, fields, drop)
    return iter(progress_bar(documents, "inferring", unit=" documents"))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    formats = "as python -m preprocessing reads it (default: jsonl where the first "
    formats += "file's name says so, else text)"
    by_label = "mean proportions and perplexity of every label, .csv or .jsonl, too"
    headers = "of jsonl documents that are news messages: all up to an empty line"
    parsed = argparse.ArgumentParser(
        "python -m tcnlm.infer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="folder written by train.py")
    source = {"metavar": "FILE", "type": Path, "required": True}
    add("--input", nargs="+", **source, help="documents; - is standard input")
    add("--out", **source, help="the table, .csv or .jsonl by its name")
    add("--format", choices=FORMATS, help=formats)
    add("--field", metavar="NAME", default=Fields().text, help="jsonl: of the text")
    add("--label", metavar="NAME", help="jsonl: the field of a document's class")
    add("--id", metavar="NAME", help="jsonl: the field of a document's name")
    add("--headers", choices=("keep", "drop"), default="keep", help=headers)
    add("--by-label", metavar="FILE", type=Path, help=by_label)
    add_runner(parsed)
    add_debug(parsed)
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
