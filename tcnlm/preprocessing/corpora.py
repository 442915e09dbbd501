"""A corpus: its parts, how to read each, and how its documents become sentences."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing import text
from tcnlm.preprocessing.archives import read_aclimdb
from tcnlm.preprocessing.documents import (
    Document,
    Fields,
    Format,
    body,
    is_missing,
)
from tcnlm.preprocessing.files import plain_suffix
from tcnlm.preprocessing.languages import ENGLISH, WITHOUT_SPACES, languages
from tcnlm.preprocessing.sources import (
    FORMATS,
    TABLES,
    WITH_FIELDS,
    chosen_format,
    grouped,
    read_plain,
)
from tcnlm.preprocessing.vocabulary import read_ids

NAMES = ("lee", "aclimdb", *FORMATS)
SEGMENT = (
    "segment it first, by a program for its language, and give the words apart by "
    "spaces, sentences apart by tabs, with --format tdlm or --tokenized "
    "(docs/languages.md)"
)


@dataclass(frozen=True)
class Corpus:
    """Parts of a corpus, each a way to read its documents, again and again.

    The parts are train, valid and test; or training, from which valid is to be cut, and
    test; or train and heldout, which is to be halved; or all, which is to be cut.
    """

    parts: Mapping[str, Callable[[], Iterator[Document]]]
    sentences: Callable[[str], list[list[str]]]
    source: str
    of_lines: bool = False  # whether every line of plain text is a document
    skip_empty: bool = False  # whether documents without a text are left out
    ordered: bool = True  # whether the order of words is that of a text

    def has(self, document: Document) -> bool:
        """Whether a document that is read is one of the corpus."""
        return not (self.skip_empty and is_missing(document.text))


def lee_corpus() -> Corpus:
    """The Lee news corpus, found in gensim without importing it; each story once.

    Seven of its 300 stories are there twice, and a test story must not be in training.
    """
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        raise InputError("--format lee: gensim, which ships it, is not installed")
    path = Path(spec.origin).parent / "test" / "test_data" / "lee_background.cor"
    parts = {"all": lambda: iter(dict.fromkeys(read_plain(path, Fields())))}
    return Corpus(parts, text.sentences, f"lee: gensim/{path.name}")


def aclimdb_corpus(path: Path) -> Corpus:
    """The Large Movie Review Dataset, from its folder or its .tar.gz."""
    _refuse_pipe(path)
    parts = {
        "train": partial(read_aclimdb, path, "train"),
        "heldout": partial(read_aclimdb, path, "test"),
    }
    return Corpus(parts, text.sentences, f"aclimdb: {path}")


def file_corpus(
    name: str,
    files: Mapping[str, Sequence[Path]],
    fields: Fields,
    drop_headers: bool = False,
    group: int = 0,
    ids: Mapping[int, str] | None = None,
) -> Corpus:
    """A corpus in the format `name`, the `files` of every part given.

    drop_headers: of documents that are news messages, take the bodies; group: lines of
    a file that make a document, 0 where a line is one; ids: see `read_counts`.
    """
    refuse_tables(name, chain(*files.values()))
    for path in chain(*files.values()):
        _refuse_pipe(path)
    chosen = chosen_format(name, fields, ids)
    parts = {
        part: partial(read_files, chosen, paths, fields, drop_headers, group)
        for part, paths in files.items()
    }
    lines = f", {group} lines a document" if group else ""
    source = f"{name}: {' '.join(map(str, chain(*files.values())))}{lines}"
    flags = name == "text" and not group, fields.skip_empty, chosen.ordered
    return Corpus(parts, chosen.sentences, source, *flags)


def in_language(corpus: Corpus, language: str) -> Corpus:
    """A corpus whose text is in a language; tokens apart by spaces stay as they are.

    Raises InputError for text of a language that has no spaces between its words.
    """
    if language == ENGLISH or not text.makes_words(corpus.sentences):
        return corpus
    if language in WITHOUT_SPACES:
        raise InputError(
            f"--language {language}: {languages()[language].name} has no spaces "
            f"between its words; {SEGMENT}"
        )
    return replace(corpus, sentences=text.in_language(language))


def refuse_tables(name: str, paths: Iterable[Path]) -> None:
    """InputError for the first table, by its name, among files of plain text.

    Its rows would be taken for documents line by line, the names of its columns too.
    """
    for path in paths if name == "text" else ():
        if plain_suffix(path) in TABLES:
            raise InputError(
                f"{path}: a table, and of plain text every line is a document; give "
                "--format table --field COLUMN"
            )


def refuse_fields(fields: Fields, drop_headers: bool = False) -> None:
    """InputError for an option that only the formats with fields have."""
    formats = " or ".join(WITH_FIELDS)
    if fields != Fields():
        raise InputError(
            "--field, --label, --id, --date, --quoting, --tokenized and --skip-empty "
            f"are for fields of --format {formats}"
        )
    if drop_headers:
        raise InputError(
            "--headers drop is for news messages of several lines, in --format "
            f"{formats}"
        )


def ids_of(
    name: str | None, vocabulary: Path | None, first: int | None
) -> dict[int, str] | None:
    """What the ids of the format counts stand for; None where it has words.

    vocabulary, first: --vocabulary and --ids-from. InputError where they do not fit.
    """
    if first is None:
        return None
    if name != "counts" or vocabulary is None:
        raise InputError("--ids-from is of --format counts with a --vocabulary")
    return read_ids(vocabulary, first)


def _refuse_pipe(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{path}: a pipe or device, and a corpus is read twice; write it to a file "
            "first"
        )


def read_files(
    chosen: Format,
    paths: Sequence[Path],
    fields: Fields,
    drop_headers: bool = False,
    group: int = 0,
) -> Iterator[Document]:
    """The documents of files, one after the other; the options are `file_corpus`'s."""
    for path in paths:
        documents = chosen.read(path, fields)
        if group:
            documents = grouped(documents, group, chosen.joint)
        for document in documents:
            if drop_headers:
                document = document._replace(text=body(document.text))
            yield document


def refuse_none_left(kept: int, left_out: int) -> None:
    """InputError where documents were left out as empty, and none is left."""
    if left_out and not kept:
        raise InputError(
            f"all documents, {left_out:,}, are without a text; name its field with "
            "--field"
        )
