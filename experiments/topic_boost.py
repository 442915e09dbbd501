"""What a run's topics are worth to the predictions of another run, put there by hand.

Each content word's probability under the language model is multiplied by

    (p(w | t) / p(w)) ^ a,        p(w | t) = (beta t)_w, p(w) its share of the corpus,

t the topics of the sentence's own document (without the sentence) or, beside it, of
another one, and all words are normalised again. Nothing is trained; a = 0 is the
language model alone. In place of a LANGUAGE_RUN the word `frequencies` takes each
word's share of the training text for its probability everywhere: what the topics tell
to who knows nothing of the sentence.

    python -m experiments.topic_boost LANGUAGE_RUN TOPIC_RUN
    python -m experiments.topic_boost frequencies TOPIC_RUN
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from experiments import record
from preprocessing.errors import InputError, errors_reported
from preprocessing.vocabulary import PAD, Vocabulary
from tcnlm import runs
from tcnlm.allocator import keep_memory
from tcnlm.dataset import Dataset
from tcnlm.perplexity import signature
from tcnlm.training import make_reproducible

BATCH = 16  # sequences, each with all words' probabilities in memory
SEED = 1  # of the batches
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
FREQUENCIES = "frequencies"

Alone = Callable[[dict[str, tf.Tensor], tf.Tensor], tf.Tensor]


def predictions(model: Any) -> Alone:
    """Return a function of a batch and the places of its words: log p, [N, V]."""

    def alone(batch: dict[str, tf.Tensor], real: tf.Tensor) -> tf.Tensor:
        context = model.context(batch)
        inputs = model.softmax_inputs(real, batch["inputs"], context, training=False)
        return model.softmax.log_probs(inputs)

    return alone


def beside(topics: Path, run: Path) -> Any:
    """Return a language run's model; an error if its words are not the topic run's."""
    data = [runs.read_config(folder)["data"] for folder in (topics, run)]
    if data[0]["fingerprint"] != data[1]["fingerprint"]:
        made = " and ".join(f"`{d['command']}`" for d in data)
        raise InputError(f"{topics} and {run} were trained on different data: {made}")
    return runs.load(run)


def frequencies(vocabulary: Vocabulary) -> Alone:
    """Return the same of a model that knows the words' frequencies alone."""
    counts = vocabulary.counts.astype(np.float32)
    log_shares = tf.math.log(counts / counts.sum())[None]
    return lambda batch, real: tf.repeat(log_shares, tf.shape(real)[0], axis=0)


def boosts(topics: Any, contexts: tf.Tensor) -> tf.Tensor:
    """Return log p(w | t) / p(w) of every word for each context, [B, V].

    Zero for words that no topic has.
    """
    vocabulary = topics.vocabulary
    counts = np.asarray(vocabulary.topic_counts, np.float32)
    ratio = topics.infer_context(contexts) @ topics.topics() / (counts / counts.sum())
    content = vocabulary.topic_ids >= 0
    rows = tf.gather(tf.math.log(ratio), np.maximum(vocabulary.topic_ids, 0), axis=1)
    return tf.where(content, rows, 0.0)


def scorer(language: Alone, topics: Any, exponents: tuple[float, ...]) -> Any:
    """Return a function of a batch: nats of own [A] and others' topics [A], targets."""

    def score(batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, ...]:
        real = tf.where(batch["targets"] != PAD)
        wanted = tf.gather_nd(batch["targets"], real)
        alone, own = language(batch, real), boosts(topics, batch["context"])

        def nats(boost: tf.Tensor) -> tf.Tensor:
            rows = tf.gather(boost, real[:, 0])
            losses = (
                tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, alone + a * rows)
                for a in exponents
            )
            return tf.stack([tf.reduce_sum(loss) for loss in losses])

        return nats(own), nats(tf.roll(own, 1, axis=0)), tf.size(wanted)

    return score


def main(options: argparse.Namespace) -> None:
    """Print the perplexities for every exponent."""
    keep_memory()
    make_reproducible(SEED, options.threads)
    topics, config = runs.load(options.topics), runs.read_config(options.topics)
    reader, language = topics, frequencies(topics.vocabulary)
    if options.run != FREQUENCIES:
        reader = beside(options.topics, Path(options.run))
        language = predictions(reader)
    split = Dataset(config["data"]["path"]).split("valid", reader.preceding_sentences)
    arrays = [signature(reader)]
    score = tf.function(scorer(language, topics, EXPONENTS), input_signature=arrays)
    total = 0.0
    batches = zip(range(options.batches), split.batches(BATCH, SEED))
    for _, batch in tqdm(batches, "scoring", options.batches, disable=None):
        total = total + np.array(
            [np.broadcast_to(x, len(EXPONENTS)) for x in score(batch)], float
        )
    own, other = np.exp(total[:2] / total[2])
    print(f"{total[2, 0]:.0f} targets\nexponent  own topics  another document's")
    for row in zip(EXPONENTS, own, other):
        print("{:8.2f} {:11.2f} {:19.2f}".format(*row))
    figures = {"exponents": EXPONENTS, "own": list(own), "other": list(other)}
    kept = {"figures": {"targets": int(total[2, 0]), **figures}}
    record.write(options.record, parser(), config["data"], kept)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.recording_parser("topic_boost", __doc__)
    add = parsed.add_argument
    language = f'with an adaptive softmax, or "{FREQUENCIES}"'
    add("run", metavar="LANGUAGE_RUN", help=language)
    add("topics", metavar="TOPIC_RUN", type=Path, help="with topics; on the same data")
    add("--batches", type=int, default=100, help="of 16 sequences (default: 100)")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
