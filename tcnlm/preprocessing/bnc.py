"""The British National Corpus as XML (TEI): its sentences and words as marked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.documents import Document, Fields, checked_name
from tcnlm.preprocessing.files import numbered_lines

_ID = "{http://www.w3.org/XML/1998/namespace}id"
_BODIES = ("wtext", "stext")  # of what is written, of what is spoken


def read_bnc(path: Path, fields: Fields) -> Iterator[Document]:
    """A text a document: of a file, or of all *.xml below a folder, by their names.

    Its sentences are the s, its words the w and c anywhere in them (a w within an mw
    too), in lower case; the header has none. The label is the type of wtext or stext,
    the id that of bncDoc. InputError, with file and line, for what is no such XML.
    """
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: no *.xml in it; give BNC's folder Texts, or files")
    for file in files:
        yield _read(file)


def _read(path: Path) -> Document:
    sentences: list[list[str]] = []
    label = name = None
    for element in _elements(path):
        tag = _tag(element)
        if tag == "s":
            sentences.append(_words(element))
        elif tag == "teiHeader":
            sentences.clear()
        elif tag in _BODIES:
            label = element.get("type")
        elif tag == "bncDoc":
            name = element.get(_ID)
        if tag in ("s", "teiHeader"):
            element.clear()  # or all of a text would stay in memory
    marks = (m and checked_name(m, f"{path}: its type or id") for m in (label, name))
    return Document("\t".join(map(" ".join, filter(None, sentences))), *marks)


def _words(sentence: Element) -> list[str]:
    marked = (element for element in sentence.iter() if _tag(element) in ("w", "c"))
    text = " ".join("".join(element.itertext()) for element in marked)
    return text.lower().split()


def _tag(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _elements(path: Path) -> Iterator[Element]:
    """The elements of a file as they end, the outermost being a bncDoc."""
    parser, number, root = XMLPullParser(("start", "end")), 0, None
    try:
        for number, line in numbered_lines(path):
            parser.feed(f"{line}\n")
            for event, element in parser.read_events():
                root = root or _check_root(element, f"{path}:{number}")
                if event == "end":
                    yield element
        parser.close()
    except ParseError as error:
        reason, _, _ = str(error).partition(":")
        raise InputError(f"{path}:{max(number, 1)}: no XML: {reason}") from None


def _check_root(element: Element, where: str) -> str:
    tag = _tag(element)
    if tag != "bncDoc":
        raise InputError(
            f"{where}: <{tag[:40]}>, but a text of the BNC as XML is a <bncDoc>"
        )
    return tag
