"""The Large Movie Review Dataset as distributed: its folder, or its .tar.gz."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.documents import Document, checked_name
from tcnlm.preprocessing.files import DAMAGED, bounded, decode, opened, unreadable

ACLIMDB_LABELS = {"train": ("neg", "pos", "unsup"), "test": ("neg", "pos")}


def read_aclimdb(path: Path, part: str) -> Iterator[Document]:
    """Part "train" or "test" of the Large Movie Review Dataset, as distributed.

    path: the folder aclImdb or its .tar.gz. A file a document, its folder the label,
    its place (test/pos/0_10.txt) the id; train has the 50,000 reviews without a label
    too.
    """
    found = False
    for name, content in _aclimdb_files(path, part):
        found = True
        label = PurePosixPath(name).parent.name
        checked_name(name, f"{path}: the file's name {name!r}")
        text = decode(content, f"{path}/{name}", 1)
        yield Document(text, None if label == "unsup" else label, name)
    if not found:
        raise InputError(
            f"{path}: no {part}/pos/*.txt in it; give the folder aclImdb or "
            "aclImdb_v1.tar.gz as distributed"
        )


def _aclimdb_files(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    try:
        yield from (_from_folder if path.is_dir() else _from_tar)(path, part)
    except DAMAGED as error:
        raise InputError(
            f"{path}: the archive is damaged or cut short ({error}); fetch it again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


def _from_folder(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    for label in ACLIMDB_LABELS[part]:
        for file in sorted((path / part / label).glob("*.txt"), key=_by_number):
            yield f"{part}/{label}/{file.name}", file.read_bytes()


def _by_number(file: Path) -> tuple[int, str]:
    """Order reviews NUMBER_RATING.txt by their numbers: 2 before 10."""
    number, _, _ = file.name.partition("_")
    return len(number), file.name


def _from_tar(path: Path, part: str) -> Iterator[tuple[str, bytes]]:
    # Opened here, since tarfile takes a gzip file that is cut short for a whole one.
    with opened(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
        for member in bounded(archive):
            place = PurePosixPath(member.name).parts[-3:]
            if member.isfile() and _is_review(place, part):
                yield "/".join(place), archive.extractfile(member).read()


def _is_review(place: tuple[str, ...], part: str) -> bool:
    return (
        len(place) == 3
        and place[0] == part
        and place[1] in ACLIMDB_LABELS[part]
        and place[2].endswith(".txt")
    )
