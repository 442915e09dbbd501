"""Everything that is measured of a run, as the contents of RUN/evaluation.json.

What a model has is asked by its contracts: a language model has a perplexity, a topic
model has topics; a figure that does not apply is None.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, protocol, topic_coherence
from tcnlm.coherence.diversity import DIVERSITY_WORDS, diversity
from tcnlm.coherence.reference import Reference
from tcnlm.data.dataset import Dataset
from tcnlm.evaluation import topics
from tcnlm.evaluation.perplexity import sampled_score, score
from tcnlm.files import write_json
from tcnlm.generation import specimens
from tcnlm.models.base import LanguageModel, TopicModel
from tcnlm.report.page import draw_run, write_report
from tcnlm.report.sections import Measured
from tcnlm.training import runs

SAMPLE_DOCUMENTS = 5
EXCERPT = 90  # words of a sample document
LANGUAGE = ("perplexity", "nll", "targets", "sequences", "samples", "elbo")
TOPICS = ("npmi", "npmi_median", "diversity", "topics_in_use", "largest_proportion")
TOPICS += ("coherence", "topics", "continuations", "documents")


def evaluate_run(
    run: Path,
    data: Path | None = None,
    command: str = "",
    corpus: str | None = None,
    reference: Reference | None = None,
    context: str = "",
    **options: Any,
) -> Measured:
    """Measure a run, write its evaluation.json, figures and report.html.

    data: where the run's data is, if it was moved; corpus: the paper's name of it, to
    find the published figures; context: the rule of the contexts, by default the one of
    the training; options: see `evaluate`.
    """
    started = time.monotonic()
    config = runs.read_config(run)
    dataset = runs.open_data(config, data, context)
    model = runs.load(run)
    figures = evaluate(model, dataset, reference or Reference(), **options)
    result = {
        "run": str(run),
        "model": config["model"],
        "data": {"path": str(dataset.path), "fingerprint": dataset.meta["fingerprint"]},
        "corpus": corpus,
        **figures,
        "command": command,
        "versions": {name: version(name) for name in runs.PACKAGES},
        "seconds": round(time.monotonic() - started, 1),
    }
    angles = topics.angles(model) if result["topics"] else None
    measured = draw_run(run, result, config, angles)
    write_report([measured], run / "report.html")
    write_json(run / "evaluation.json", result)
    return measured


def scored_words(paths: Iterable[Path]) -> list[str]:
    """Return the words that the coherence of all these runs' topics rests on."""
    models = filter(lambda model: isinstance(model, TopicModel), map(runs.load, paths))
    listed = (topics.top_words(model, max(TOPS)) for model in models)
    return list(dict.fromkeys(itertools.chain.from_iterable(itertools.chain(*listed))))


def evaluate(
    model: Any,
    dataset: Dataset,
    reference: Reference,
    split: str = "test",
    samples: int = 0,
    batch_size: int = 64,
) -> dict[str, Any]:
    """Measure a model on a split of its data; every value is ready for JSON.

    samples: 0 scores with the posterior mean of the topics, S averages each sequence's
    likelihood over S draws.
    """
    data = dataset.split(split)
    weights = model.trainable_variables
    result = {
        "split": split,
        "parameters": sum(int(np.prod(weight.shape)) for weight in weights),
        **dict.fromkeys(LANGUAGE + TOPICS),
    }
    # Topics first, where a reference may turn out to be unfit.
    if isinstance(model, TopicModel):
        result.update(_topics(model, dataset, data, reference))
    if isinstance(model, LanguageModel):
        rows = model.batching.rows(data)
        result.update(_language(model, rows, samples, batch_size))
    return result


def _language(model: Any, rows: Any, samples: int, batch_size: int) -> dict[str, Any]:
    mean = score(model, rows, batch_size)
    best = sampled_score(model, rows, samples, batch_size) if samples else mean
    return {
        "perplexity": best.perplexity,
        "nll": best.nll,  # nats per target
        "targets": best.targets,
        "sequences": best.sequences,
        "samples": samples or None,
        "elbo": mean.terms if isinstance(model, TopicModel) else None,
    }


def _topics(
    model: Any, dataset: Any, split: Any, reference: Reference
) -> dict[str, Any]:
    words = topics.top_words(model, max(TOPS))
    scored = list(dict.fromkeys(itertools.chain(*words)))
    counts = reference.window_counts(scored, dataset=dataset)
    inferred = topics.infer_documents(model, split)
    npmi = [topic_coherence(counts, topic) for topic in words]
    return {
        "npmi": float(np.mean(npmi)),
        "npmi_median": float(np.median(npmi)),
        "diversity": diversity(topics.top_words(model, DIVERSITY_WORDS)),
        "topics_in_use": inferred.in_use,
        "largest_proportion": inferred.largest_proportion,
        "coherence": {**protocol(counts), "absent_words": counts.absent(scored)},
        "topics": _topic_rows(model, words, npmi, inferred),
        "continuations": specimens.continuations(model, split, inferred.shares),
        "documents": _sample_documents(dataset, split, inferred),
    }


def _topic_rows(
    model: Any,
    words: list[list[str]],
    npmi: list[float],
    inferred: topics.DocumentTopics,
) -> list[dict[str, Any]]:
    documents = np.bincount(inferred.largest, minlength=len(words))
    sentences = specimens.topic_sentences(model) or [None] * len(words)
    return [
        {
            "topic": i,
            "words": words[i],
            "npmi": npmi[i],
            "documents": int(documents[i]),  # that have it as their largest
            "proportion": float(inferred.shares[i]),  # mean over documents
            "sentence": sentences[i],
        }
        for i in range(len(words))
    ]


def _sample_documents(
    dataset: Any, split: Any, inferred: topics.DocumentTopics
) -> list[dict[str, Any]]:
    """Return the first documents with words, as in the paper's Figures 2 and 3."""
    rows = np.flatnonzero(inferred.has_words)[:SAMPLE_DOCUMENTS]
    return [
        {
            "document": int(row),
            "text": _excerpt(dataset.vocabulary.words, split.document(row)),
            "proportions": [round(float(x), 5) for x in inferred.proportions[row]],
        }
        for row in rows
    ]


def _excerpt(words: Sequence[str], sentences: Iterable[Sequence[int]]) -> str:
    tokens = [
        words[i] for i in itertools.islice(itertools.chain(*sentences), EXCERPT + 1)
    ]
    return " ".join(tokens[:EXCERPT]) + (" ..." if len(tokens) > EXCERPT else "")


def summary(result: Mapping[str, Any]) -> str:
    """Return the measurements as lines to read."""
    lines = [f"{result['model']}, {result['split']} split"]
    for label, form, name in (
        ("perplexity", "{:.2f}", "perplexity"),
        ("nats per target", "{:.4f}", "nll"),
        ("targets", "{:,}", "targets"),
        ("parameters", "{:,}", "parameters"),
        ("coherence (NPMI)", "{:.3f}", "npmi"),
        ("topic diversity", "{:.2f}", "diversity"),
        ("topics in use", "{}", "topics_in_use"),
        ("largest proportion", "{:.2f}", "largest_proportion"),
    ):
        if result[name] is not None:
            lines.append(f"  {label:<20}{form.format(result[name])}")
    for topic in result["topics"] or ():
        words = " ".join(topic["words"][:10])
        lines.append(f"topic {topic['topic']:>3}  {topic['npmi']:6.3f}  {words}")
    return "\n".join(lines)
