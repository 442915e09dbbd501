"""What a model makes of texts, by workers of Apache Beam."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from apache_beam.ml.inference.base import KeyedModelHandler, ModelHandler, RunInference

from tcnlm.common.beam import Arrays, Beam, Item
from tcnlm.data.dataset import Tokens
from tcnlm.metrics.scores import Reader, Reading, read_texts
from tcnlm.run import Run

Sentences = Callable[[str], Tokens]


def read_on(
    runner: Beam, run: Path, sentences: Sentences, texts: Iterable[Item]
) -> Iterator[Reading]:
    """Yield `read_texts` of each list of raw documents; all workers see `run`."""
    transform = RunInference(KeyedModelHandler(_Reads(run.resolve(), sentences)))
    for arrays in runner.run(transform, texts):
        yield Reading(*map(arrays.get, Reading._fields))


class _Reads(ModelHandler[Item, Arrays, Reader]):
    """Lists of raw documents to the arrays of a `Reading`, one list at a time."""

    def __init__(self, run: Path, sentences: Sentences):
        super().__init__()
        self.run, self.sentences = run, sentences

    def load_model(self) -> Reader:
        return Run(self.run).reader

    def run_inference(
        self, batch: Sequence[Item], model: Reader, inference_args: Any = None
    ) -> Iterator[Arrays]:
        for texts in batch:
            reading = read_texts(model, self.sentences, texts)._asdict()
            yield {name: a for name, a in reading.items() if a is not None}

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        return {"max_batch_size": 1}
