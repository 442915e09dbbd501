"""A corpus: its parts, how to read each, and how its documents become sentences."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.preprocessing import text
from tcnlm.preprocessing.documents import Document, Fields, Format, is_missing
from tcnlm.preprocessing.languages import ENGLISH, WITHOUT_SPACES, languages
from tcnlm.preprocessing.sources import FORMATS, WITH_FIELDS, chosen_format, read_plain
from tcnlm.preprocessing.vocabulary import read_ids

NAMES = ("lee", *FORMATS)
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
    skip_empty: bool = False  # whether documents without a text are left out
    ordered: bool = True  # whether the order of words is that of a text

    def has(self, document: Document) -> bool:
        """Whether a document that is read is one of the corpus."""
        return not (self.skip_empty and is_missing(document.text))


def lee_corpus() -> Corpus:
    """The Lee news corpus, found in gensim without importing it."""
    package = importlib.util.find_spec("gensim")
    path = Path(package.origin).parent / "test" / "test_data" / "lee_background.cor"
    # Seven of its 300 stories are there twice; a test story must not be in training.
    parts = {"all": lambda: iter(dict.fromkeys(read_plain(path, Fields())))}
    return Corpus(parts, text.sentences, f"lee: gensim/{path.name}")


def file_corpus(
    name: str,
    files: Mapping[str, Sequence[Path]],
    fields: Fields,
    group: int = 0,
    ids: Mapping[int, str] | None = None,
) -> Corpus:
    """A corpus of files by part; group: lines a document; ids: of `read_counts`."""
    every = list(chain(*files.values()))
    for path in every:
        if path.exists() and not (path.is_file() or path.is_dir()):  # it is read twice
            raise InputError(f"{path}: a pipe or device; write it to a file first")
    chosen = chosen_format(name, fields, ids)
    parts = {
        part: partial(read_files, chosen, paths, fields, group)
        for part, paths in files.items()
    }
    lines = f", {group} lines a document" if group else ""
    source = f"{name}: {' '.join(map(str, every))}{lines}"
    return Corpus(parts, chosen.sentences, source, fields.skip_empty, chosen.ordered)


def in_language(corpus: Corpus, language: str) -> Corpus:
    """A corpus whose text is in a language; tokens apart by spaces stay as they are."""
    if language == ENGLISH or not text.makes_words(corpus.sentences):
        return corpus
    if language in WITHOUT_SPACES:
        raise InputError(
            f"--language {language}: {languages()[language].name} has no spaces "
            f"between its words; {SEGMENT}"
        )
    return replace(corpus, sentences=text.in_language(language))


def refuse_fields(fields: Fields) -> None:
    """InputError for an option that only the formats with fields have."""
    if fields != Fields():
        raise InputError(
            "--field, --label, --id, --date, --quoting, --tokenized and --skip-empty "
            f"are for fields of --format {' or '.join(WITH_FIELDS)}"
        )


def ids_of(
    name: str | None, vocabulary: Path | None, first: int | None
) -> dict[int, str] | None:
    """The words of --vocabulary by ids from `first`; None where that is not given."""
    if first is None:
        return None
    if name != "counts" or vocabulary is None:
        raise InputError("--ids-from is for --format counts with a --vocabulary")
    return read_ids(vocabulary, first)


def read_files(
    chosen: Format, paths: Sequence[Path], fields: Fields, group: int = 0
) -> Iterator[Document]:
    """The documents of files, one after the other; group: see `file_corpus`."""
    for path in paths:
        documents = chosen.read(path, fields)
        while lines := list(islice(documents, group)):
            texts = (line.text.removesuffix("\t") for line in lines)
            yield Document(chosen.joint.join(texts))
        yield from documents


def refuse_none_left(kept: int, left_out: int) -> None:
    """InputError where documents were left out as empty, and none is left."""
    if left_out and not kept:
        raise InputError(
            f"all {left_out:,} documents have no text; name its field with --field"
        )
