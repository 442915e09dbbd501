"""Runs as if measured, for what is said of them: pages, tables, groups of seeds."""

import dataclasses

import numpy as np

from tcnlm.metrics.scores import DocumentNats
from tcnlm.report.measured import Measured

HISTORY = {
    "epoch": np.array([1, 2]),
    "seconds": np.array([30.0, 60.0]),
    "valid_perplexity": np.array([20.0, 10.0]),
}


def fake_evaluation(words):
    topic = {"topic": 0, "words": words, "npmi": 0.1, "documents": 1}
    topic |= {"proportion": 1.0, "sentence": "a < b & <unk>"}
    protocol = {"reference": "<b>.txt", "documents": 1, "tokens": 2, "windows": 21}
    protocol |= {"window": 20, "tops": [5], "zero": "0", "absent_words": []}
    document = {"document": 3, "text": "</p><script>", "proportions": [1.0]}
    found = {"run": "RUN", "model": "tcnlm", "split": "test", "elbo": {"kl": 1.0}}
    found |= {"perplexity": 12.345, "nll": 2.5, "targets": 1000, "parameters": 7}
    found |= {"npmi": 0.1, "diversity": 1.0, "topics_in_use": 1}
    found |= {"largest_proportion": 1.0, "coherence": protocol, "topics": [topic]}
    found |= dict.fromkeys(("samples", "corpus", "continuations"))
    found |= {"command": "evaluate.py 'a&b'", "versions": {"numpy": "1"}, "seconds": 1}
    return {**found, "documents": [document]}


def fake_run(words, **changes):
    config = {"data": {"path": "x/<data>"}, "settings": {"units": "<i>", "layers": 1}}
    evaluation = {**fake_evaluation(words), **changes}
    return Measured(evaluation, config, HISTORY, {"document_0": b"png"})


def on_imdb(**data):
    sizes = {"layers": 1, "units": 600, "num_topics": 50}
    run = fake_run(["a", "b"], corpus="imdb")
    config = {**run.config, "settings": sizes, "data": {"path": "imdb", **data}}
    return dataclasses.replace(run, config=config)


def made(
    model="lstm", seed=1, nats=None, data="A", name="", units=6, targets=None, **figures
):
    """Return a measured run: nats and targets of documents, and figures."""
    config = {
        "settings": {"units": units},
        "training": {"epochs": 2},
        "seed": seed,
        "data": {"path": f"data/{data}", "fingerprint": data},
    }
    evaluation = {"run": name or f"runs/{model}-{seed}", "model": model, **figures}
    if nats is not None:
        if targets is None:
            targets = np.full(len(nats), 10)
        nats = DocumentNats(np.asarray(nats, float), np.asarray(targets))
        evaluation.setdefault("targets", int(nats.targets.sum()))
    return Measured(evaluation, config, {}, {}, nats=nats)


def shown(model, seed=1, **changes):
    """Return a run that can be shown, with what `made` takes."""
    run, base = made(model, seed, **changes), fake_run(["a", "b"])
    evaluation = {**base.evaluation, **run.evaluation}
    return dataclasses.replace(run, evaluation=evaluation, history=HISTORY)
