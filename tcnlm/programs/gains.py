"""Where a run's language model predicts better than another's, on the same data.

Targets by kind (topic words: those of the topic model), rank of the word, place in the
sentence, and content words of the document. `gain` is in nats a target, with its
standard error over documents; `ratio` that of the perplexities.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.errors import InputError, add_debug
from tcnlm.common.outputs import check_outputs, check_writable, write_rows
from tcnlm.common.process import command_parser, keep_memory, progress_bar
from tcnlm.preprocessing.vocabulary import EOS, PAD, SPECIALS, UNK, Vocabulary

if TYPE_CHECKING:
    from tcnlm.data.dataset import Split

RANKS = (100, 1000, 10000)  # of words by their count in the training text
POSITIONS = (1, 2, 5, 10, 20)  # of a target in its sentence
CONTENT = (25, 50, 100, 200)  # content words of a document

Gain = dict[str, Any]  # of a class of targets: a row of the table


def main(arguments: Sequence[str]) -> None:
    """Score both runs, print the table and write it if asked."""
    options = parser().parse_args(arguments)
    # Here, as below: to say how it is used takes no TensorFlow.
    import pandas as pd

    from tcnlm.models import model_class
    from tcnlm.runs.run_folder import RunFolder

    keep_memory()
    if options.out:
        check_writable(options.out)
        check_outputs(options, "out")
    if options.baseline.resolve() == options.run.resolve():
        raise InputError(f"{options.run}: is also the baseline; give two runs")
    runs = [RunFolder(run) for run in (options.baseline, options.run)]
    datasets = [run.data(options.data) for run in runs]
    if len({dataset.meta["fingerprint"] for dataset in datasets}) > 1:
        raise InputError(
            f"{options.baseline}, {options.run}: were trained on different DATA; "
            "their targets differ"
        )
    for run in runs:
        if not model_class(run.model_name).offers("step"):
            raise InputError(
                f"{run.path}: predicts no sentences; give a language model's run"
            )
    scored = zip(runs, (dataset.split(options.split) for dataset in datasets))
    nats = [target_nats(run.load(), split) for run, split in scored]
    rows = gains(*nats, datasets[0].split(options.split), datasets[0].vocabulary)
    form = {"float_format": "{:.4f}".format, "na_rep": "-", "index": False}
    print(pd.DataFrame(rows).to_string(**form))
    if options.out:
        write_rows(options.out, rows)
        print(f"written to {options.out}")


def target_nats(model: Any, split: Split, batch_size: int = 64) -> np.ndarray:
    """Return -ln p of every target of a split in the order of its stream, [N]."""
    import tensorflow as tf

    from tcnlm.layers.tf_function import graph

    @partial(graph, input_signature=[model.batching.signature()])
    def score(batch):
        return -tf.boolean_mask(model(batch), batch["targets"] != PAD)

    rows, nats = model.batching.rows(split), np.full(split.num_targets, np.nan)
    order, batches = rows.order(batch_size, None, 0), rows.batches(batch_size)
    batches = progress_bar(batches, "scoring", len(order), leave=False)
    with model.state_apart():
        for chosen, batch in zip(order, batches):
            nats[rows.places(chosen)] = score(batch)
    return nats


def gains(
    baseline: np.ndarray, model: np.ndarray, split: Split, vocabulary: Vocabulary
) -> list[Gain]:
    """Return the gain of every class of targets, that of all targets first.

    baseline, model: nats [N] of the split's targets. "share" is of all targets,
    "share_of_gain" None where there is no gain.
    """
    places, gain = np.arange(split.num_targets), baseline - model
    whole = float(gain.sum())
    sentence = split.stream.sentence_of(places)
    document = np.searchsorted(split.documents, sentence, side="right") - 1
    rows = []
    for classes, names, numbers in _classes(split, vocabulary, places, sentence):
        for number in np.unique(numbers):
            inside = numbers == number
            mean, size = float(gain[inside].mean()), int(inside.sum())
            documents, error = standard_error(gain[inside] - mean, document[inside])
            row = {"classes": classes, "name": names[number], "targets": size}
            row |= {"documents": documents, "share": size / len(places)}
            row["baseline_nats"] = float(baseline[inside].mean())
            row["model_nats"] = float(model[inside].mean())
            row |= {"gain": mean, "error": error}
            total = float(gain[inside].sum())
            row["share_of_gain"] = total / whole if whole else None
            rows.append({**row, "ratio": float(np.exp(-mean))})
    return rows


def standard_error(
    deviations: np.ndarray, document: np.ndarray
) -> tuple[int, float | None]:
    """Return the number of documents and a mean's standard error, or None."""
    documents, rows = np.unique(document, return_inverse=True)
    number = len(documents)
    if number == 1:
        return 1, None
    squares = np.sum(np.bincount(rows, deviations) ** 2)
    unbiased = number / (number - 1)
    return number, float(np.sqrt(unbiased * squares)) / len(document)


def _classes(
    split: Split, vocabulary: Vocabulary, places: np.ndarray, sentence: np.ndarray
) -> Iterator[tuple[str, Sequence[str], np.ndarray]]:
    """Yield by what targets are told apart: title, names, and the class [N] of each."""
    starts = split.stream.starts
    words = np.full(len(places), EOS)
    words[places + 1 != starts[sentence + 1]] = split.tokens
    yield "all", ["all targets"], np.zeros(len(words), int)
    kinds = np.where(vocabulary.topic_ids >= 0, 0, 1)
    kinds[[EOS, UNK]] = 2, 3
    yield "kind", ("topic words", "other words", "<eos>", "<unk>"), kinds[words]
    rank = np.where(words < len(SPECIALS), 0, words - len(SPECIALS) + 1)
    names = ["<eos>, <unk>", *_ranges(RANKS)]
    yield "rank", names, np.searchsorted((0, *RANKS), rank)
    position = np.searchsorted(POSITIONS, places - starts[sentence] + 1)
    yield "place in the sentence", _ranges(POSITIONS), position
    lengths = [len(split.content(i)) for i in range(split.num_documents)]
    content = np.repeat(lengths, np.diff(starts[split.documents]))
    bands = np.searchsorted(CONTENT, content)
    yield "content words of the document", _ranges(CONTENT, 0), bands


def _ranges(bounds: tuple[int, ...], first: int = 1) -> list[str]:
    pairs = zip([first, *(bound + 1 for bound in bounds)], bounds)
    names = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in pairs]
    return [*names, f"over {bounds[-1]:,}"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = command_parser("gains", __doc__)
    add = parsed.add_argument
    add("baseline", metavar="BASELINE", type=Path, help="run to compare with")
    add("run", metavar="RUN", type=Path, help="run that may gain")
    add("--split", choices=("test", "valid", "train"), default="test")
    add("--data", metavar="DATA", type=Path, help="the runs' data, if it was moved")
    add("--out", metavar="FILE", type=Path, help="the table, .csv or .jsonl, too")
    add_debug(parsed)
    return parsed
