"""A map over machines: `process.Map`, as a pipeline on any of Apache Beam's runners."""

from __future__ import annotations

import io
import json
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import apache_beam as beam
import numpy as np
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from tcnlm.common.errors import InputError

Item = list[str]
Arrays = dict[str, np.ndarray]
HERE = "DirectRunner"  # needs no folder that others see


class Beam:
    """Pipelines on a runner; called, a `process.Map` from lists of texts to arrays.

    arguments: the runner and options of Beam. What workers are to see beside the items
    must be importable there; --temp_location (needed but by DirectRunner) is a folder
    that all see.
    """

    def __init__(self, arguments: list[str]):
        self.options = _checked(arguments)

    def __call__(
        self, function: Callable[[Item], Arrays], items: Iterable[Item]
    ) -> Iterator[Arrays]:
        """Map `function`, in order."""
        each = beam.MapTuple(lambda number, item: (number, function(item)))
        return self.run(each, items)

    def run(
        self, transform: beam.PTransform, items: Iterable[Item]
    ) -> Iterator[Arrays]:
        """Yield what `transform` makes of (number, item), by its own numbers."""
        with self._folder() as folder:
            for kind in ("items", "results", "aside"):
                FileSystems.mkdirs(f"{folder}/{kind}")
            number = 0
            for number, item in enumerate(items, 1):
                _write(folder, "items", number, json.dumps(item).encode())
            with beam.Pipeline(options=self.options) as pipeline:
                (
                    pipeline
                    | beam.Create(range(1, number + 1))
                    | beam.Reshuffle()
                    | beam.Map(_read_item, folder)
                    | transform
                    | beam.Map(_write_result, folder)
                )
            (found,) = FileSystems.match([f"{folder}/results/*"])
            for place in sorted(metadata.path for metadata in found.metadata_list):
                with FileSystems.open(place) as file:
                    yield dict(np.load(io.BytesIO(file.read()), allow_pickle=False))

    @contextmanager
    def _folder(self) -> Iterator[str]:
        shared = self.options.view_as(GoogleCloudOptions).temp_location
        if shared is None:
            with tempfile.TemporaryDirectory(prefix="tcnlm-beam-") as folder:
                yield folder
            return
        folder = FileSystems.join(shared, f"tcnlm-beam-{uuid.uuid4().hex}")
        try:
            yield folder
        finally:
            FileSystems.delete([folder])


def _checked(arguments: list[str]) -> PipelineOptions:
    """Beam's options, all of them known to it; argparse ends the program for values."""
    options = PipelineOptions([f"--runner={arguments[0]}", *arguments[1:]])
    known = options.get_all_options()
    unknown = set(options.get_all_options(retain_unknown_options=True)) - set(known)
    if unknown:
        raise InputError(
            f"--{min(unknown)}: not an option of Beam; this program's own go before "
            "--runner"
        )
    if arguments[0] != HERE and known["temp_location"] is None:
        raise InputError(
            f"--runner {arguments[0]}: give --temp_location too, a folder that all "
            "workers see"
        )
    try:
        FileSystems.get_filesystem(known["temp_location"] or "")
    except ValueError as error:
        raise InputError(f"--temp_location: {error}") from None
    return options


def _read_item(number: int, folder: str) -> tuple[int, Item]:
    with FileSystems.open(_place(folder, "items", number)) as file:
        return number, json.loads(file.read())


def _write_result(result: tuple[int, Arrays], folder: str) -> None:
    number, arrays = result
    content = io.BytesIO()
    np.savez(content, **arrays)
    _write(folder, "results", number, content.getvalue())


def _write(folder: str, kind: str, number: int, content: bytes) -> None:
    """Write a file as a whole, whoever writes the same one at the same time."""
    aside = f"{folder}/aside/{uuid.uuid4().hex}"
    with FileSystems.create(aside) as file:
        file.write(content)
    FileSystems.rename([aside], [_place(folder, kind, number)])


def _place(folder: str, kind: str, number: int) -> str:
    return f"{folder}/{kind}/{number:09d}"
