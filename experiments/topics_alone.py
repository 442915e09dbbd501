"""What TCNLM's topic model learns alone, before any language model, by its settings.

It takes its `head_start` steps as in a training, and is then measured on the validation
documents: the bound, with one draw of theta a document; the words alone, with t at its
mean; how many topics are in use; their diversity and, over a reference, their NPMI.

    python -m experiments.topics_alone DATA --set num_topics=50 head_start=6000
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from experiments import record
from preprocessing.errors import errors_reported
from tcnlm import losses
from tcnlm.allocator import keep_memory
from tcnlm.coherence import measure
from tcnlm.coherence.figures import scored_words
from tcnlm.coherence.topic_lists import TopicList
from tcnlm.dataset import Dataset, Split
from tcnlm.diversity import DIVERSITY_WORDS
from tcnlm.models import model_class
from tcnlm.reference import Reference
from tcnlm.settings import override
from tcnlm.topics import infer_documents, top_words
from tcnlm.training import make_reproducible

BATCH = 256  # documents


def bound(model: Any, split: Split) -> dict[str, float]:
    """Return perplexities a content word, and nats of KL a document.

    "perplexity" is that of the bound, KL included, "words_perplexity" that of the words
    with t at its mean.
    """
    prior = model.config.prior_mean, model.config.prior_variance

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def score(context: tf.Tensor) -> tuple[tf.Tensor, ...]:
        bow = model.bag(context)
        mean, log_variance = model.encoder(bow)
        drawn = model.draw(mean, log_variance)
        kl = losses.gaussian_kl(mean, log_variance, *prior)
        sums = [log_likelihood(model, bow, drawn), log_likelihood(model, bow, mean), kl]
        return tuple(map(tf.reduce_sum, [*sums, bow]))

    contexts = split.document_contexts(BATCH)
    drawn, mean, kl, words = sum(np.array(score(c), np.float64) for c in contexts)
    return {
        "perplexity": math.exp((kl - drawn) / words),
        "words_perplexity": math.exp(-mean / words),
        "kl": kl / split.num_documents,
    }


def log_likelihood(model: Any, bow: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """Return log p(d | t), t = g(theta), of bags [B, D]: [B]."""
    return losses.log_likelihood(bow, model.decoder(model.proportions(theta)))


def figures(model: Any, split: Split, reference: Reference) -> dict[str, Any]:
    """Return all that is measured."""
    used = infer_documents(model, split)
    words = top_words(model, DIVERSITY_WORDS)
    listed = TopicList("", words, used.in_use)
    coherence = measure(listed, reference.window_counts(scored_words([listed])))
    return {
        **bound(model, split),
        **{name: coherence[name] for name in ("npmi", "diversity", "topics_in_use")},
        "largest_proportion": used.largest_proportion,
        "largest_share": float(used.shares.max()),
        "words": [topic[:10] for topic in words],
    }


def main(options: argparse.Namespace) -> None:
    """Train the topic model, print its figures and keep them."""
    keep_memory()
    make_reproducible(options.seed, options.threads)
    data, kind = Dataset(options.data), model_class("tcnlm")
    (config,) = override((kind.Config(units=1, embedding_size=1),), options.set)
    model = kind(config, data.vocabulary, options.seed)
    model.build_weights()
    model.prepare(data)
    measured = figures(model, data.split("valid"), Reference(counts=options.counts))
    print("  ".join(f"{k} {v:.4g}" for k, v in measured.items() if k != "words"))
    kept = {"settings": options.set, "seed": options.seed, "figures": measured}
    record.write(options.record, parser(), data.meta, kept)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.recording_parser("topics_alone", __doc__)
    add = parsed.add_argument
    add("data", metavar="DATA", type=Path, help="made by python -m preprocessing")
    counts = "window counts made with python -m tcnlm.coherence --save-counts"
    add("--counts", metavar="FILE", type=Path, required=True, help=counts)
    add("--set", metavar="NAME=VALUE", nargs="+", default=[], help="as of train.py")
    add("--seed", type=int, default=1, help="default: 1")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
