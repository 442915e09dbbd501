"""The tables of single systems: DocNADE, TopicRNN, GBN-RNN and rGBN-RNN."""

from collections.abc import Callable, Sequence

from tcnlm.report.published import figures
from tools.tables import (
    BASELINE,
    MISSING,
    best,
    effective,
    markdown,
    measured,
    named,
    named_table,
    number_of_topics,
    record_of,
    recorded,
)

LAYERS = ("600", "512", "256")  # units of the published hierarchies


DOCUMENTS = (  # title, form, value of a record of a model of documents
    ("units", "{}", lambda r: _vector_size(r["run"]["settings"])),
    ("activation", "{}", lambda r: r["run"]["settings"].get("activation")),
    measured("document_perplexity.published", "perplexity"),
    measured("document_perplexity.unigram", "unigram"),
    measured("document_perplexity.ratio", "ratio"),
    measured("retrieval.precision", "precision at .02"),
    measured("retrieval.bag_of_words", "bag of words"),
    measured("classification.accuracy", "accuracy"),
)


def _vector_size(settings: dict) -> int:
    """Return how long a document's vector is: topics, or units without any."""
    return settings["num_topics"] if "num_topics" in settings else settings["units"]


def cells_table(chosen: list[tuple[str, dict]]) -> str:
    """Return PTB perplexities of each cell and size, without topics and with.

    The published ratio is to the RNN without topics, the only such row there is.
    """
    found: dict[tuple, dict] = {}
    for _, record in chosen:
        settings, model = record["run"]["settings"], record["run"]["model"]
        found.setdefault((settings["units"], settings["cell"]), {})[model] = record
    of_paper = {
        (f.size, f.model): float(f.value) for f in figures() if f.corpus == "ptb"
    }
    title = ["units", "cell", "without topics: valid", "test", "with topics: valid"]
    rows = [[*title, "test", "ratio", "published: RNN", "with topics", "its ratio"]]
    for (units, cell), records in sorted(found.items()):
        theirs = [of_paper[f"1x{units}", m] for m in ("lstm-rnn", f"topic_rnn-{cell}")]
        cells, tests = [str(units), cell], []
        for model in ("lstm", "topic_rnn"):
            record = records.get(model)
            tests.append(record and record["evaluation"]["perplexity"])
            valid = record and best(record)["valid_perplexity"]
            cells += [f"{v:.1f}" if v else MISSING for v in (valid, tests[-1])]
        cells.append(f"{tests[1] / tests[0]:.3f}" if all(tests) else MISSING)
        cells += [f"{v:.1f}" for v in theirs] + [f"{theirs[1] / theirs[0]:.3f}"]
        rows.append(cells)
    return markdown(rows)


def bleu_table(chosen: list[tuple[str, dict]]) -> str:
    """Return test-BLEU and self-BLEU of what runs write, and of real sentences."""
    found = {title: record["evaluation"]["bleu"] for title, record in chosen}
    *_, last = found.values()
    kinds = [(kind, n) for kind in ("test", "self") for n in last["test"]]
    rows = [["sentences of", *(f"{kind}-BLEU-{n}" for kind, n in kinds)]]
    for title, bleu in {**found, "real text": last["real"]}.items():
        rows.append([title, *(f"{bleu[kind][n]:.3f}" for kind, n in kinds)])
    return markdown(rows)


def hierarchies_table(files: Sequence[str]) -> str:
    """Return models of topics in layers beside LSTMs, the first row's ratio 1.

    What a run has with the context that it was not trained with is of another record,
    FILE-at-others or FILE-at-preceding.
    """
    runs = named(files)
    base = runs[0][1]["evaluation"]["perplexity"]
    title = ["model", "topics", "parameters", "validation perplexity"]
    title += ["test, `preceding`", "test, `others`", "ratio", "published ratio"]
    rows = [[*title, "mean topics", "NPMI", "effective topics by layer"]]
    for file, (name, record) in zip(files, runs):
        found, layers = record["evaluation"], _uses(record)
        tests = [_with_context(file, record, rule) for rule in ("preceding", "others")]
        worth = (found.get("topic_worth") or {}).get("mean")
        values = [best(record)["valid_perplexity"], *tests]
        cells = [name, number_of_topics(record["run"]["settings"]) or MISSING]
        cells += [f"{found['parameters']:,}"]
        cells += [f"{v:.2f}" if v else MISSING for v in values]
        cells += [f"{found['perplexity'] / base:.3f}", _published_ratio(record)]
        cells += [f"{worth:.2f}" if worth else MISSING]
        cells += [f"{found['npmi']:.3f}" if found["npmi"] else MISSING]
        cells += [", ".join(f"{effective(use):.1f}" for use in layers) or MISSING]
        rows.append(cells)
    return markdown(rows)


def _uses(record: dict) -> list[list[float]]:
    """Return how much every topic of every layer is used."""
    layers = (record["evaluation"].get("hierarchy") or {}).get("layers", [])
    return [[topic["use"] for topic in layer] for layer in layers]


def _with_context(file: str, record: dict, rule: str) -> float | None:
    """Return the test perplexity with contexts of a rule; None where not recorded.

    An LSTM has the same with any; DATA's own rule, where none is named, is `others`.
    """
    own = record["run"]["training"].get("context")
    own = "preceding" if own == "preceding" else "others"
    if rule != own and record["run"]["model"] != BASELINE:
        other = f"{file}-at-{rule}"
        if not recorded(other):
            return None
        record = record_of(other)
    return record["evaluation"]["perplexity"]


def _published_ratio(record: dict) -> str:
    """Return the paper's ratio on IMDB for as many layers, to its LSTM of one."""
    layers = len(_uses(record))
    found = {
        f.model: float(f.value)
        for f in figures()
        if f.corpus == "imdb" and f.size in ("1x600", "-".join(LAYERS[:layers]))
    }
    ours = found.get(record["run"]["model"]) if layers else None
    return f"{ours / found['lstm']:.3f}" if ours else MISSING


BAGS = {
    "bag of topic words": "topic_vocabulary_size",
    "bag of words": "vocabulary_size",
}


def sentiment_table(chosen: list[tuple[str, dict]]) -> str:
    """Return the error of two classifiers, %, on features of runs, and on words.

    The words are those of the first run's DATA.
    """
    rows = [["features", "number", "logistic regression", "50 sigmoid units"]]
    for title, record in chosen:
        found = record["evaluation"]["classification"]["rows"]
        for part in ("vector", "topics", "last state"):
            if part in found:
                name = title if part == "vector" else f"its {part} alone"
                size = str(_features(record["run"]["settings"], part))
                rows.append([name, size, *_errors(found[part])])
    first = chosen[0][1]
    for name, size in BAGS.items():
        errors = first["evaluation"]["classification"]["rows"][name]
        rows.append([name, f"{first['data'][size]:,}", *_errors(errors)])
    return markdown(rows)


def _features(settings: dict, part: str) -> int:
    if "cell" not in settings:
        return _vector_size(settings)
    sizes = {"topics": settings["num_topics"], "last state": settings["units"]}
    return sizes.get(part, sum(sizes.values()))


def _errors(classifiers: dict) -> list[str]:
    kinds = (classifiers.get(kind) for kind in ("logistic", "network"))
    return [f"{100 * kind['error_rate']:.1f}" if kind else MISSING for kind in kinds]


SYSTEMS: dict[str, Callable[[str], str]] = {
    "documents": lambda files: named_table(named(files.split()), DOCUMENTS),
    "cells": lambda files: cells_table(named(files.split())),
    "hierarchies": lambda files: hierarchies_table(files.split()),
    "sentiment": lambda files: sentiment_table(named(files.split())),
    "bleu": lambda files: bleu_table(named(files.split())),
}
