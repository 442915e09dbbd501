"""How often the topic that sentences were written from is inferred from them again.

From every topic by itself a number of sentences is sampled; together they are a
document whose topics the model's own encoder infers, from at most as many of its
content words as in training. Recovered is a topic that has the largest share of its
document. A topic's share is also set beside its average over the documents of all
topics.

    python -m experiments.topic_recovery RUN
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from experiments import record
from preprocessing.errors import errors_reported
from tcnlm import runs
from tcnlm.allocator import keep_memory
from tcnlm.dataset import NO_WORD
from tcnlm.decoding import Decoding, SentenceDecoder
from tcnlm.topics import top_words
from tcnlm.training import make_reproducible

WORDS = 6  # shown of a topic


def written_words(model: Any, sentences: int, seed: int) -> list[list[int]]:
    """Return the content words, as topic-word ids, of what each topic wrote."""
    number, vocabulary = len(model.topics()), model.vocabulary
    decoder, words = SentenceDecoder(model, Decoding()), []
    for topic in tqdm(range(number), "topics", disable=None):
        context = model.context_from_topics(np.eye(number, dtype="float32")[[topic]])
        (written,) = decoder(context, 1, sentences, seed=seed + topic)
        ids = [i for sentence in written for i in vocabulary.ids(sentence.words)]
        words.append([i for i in vocabulary.topic_ids[ids] if i >= 0])
    return words


def inferred(model: Any, words: list[list[int]], size: int) -> np.ndarray:
    """Return the proportions [K, K] of documents of the first `size` of these words."""
    context = np.full([len(words), size], NO_WORD, np.int32)
    for row, ids in zip(context, words):
        row[: min(size, len(ids))] = ids[:size]
    return np.asarray(model.infer_context(context))


def main(options: argparse.Namespace) -> None:
    """Print every topic's share of its own document, and how many were recovered."""
    keep_memory()
    make_reproducible(options.seed, options.threads)
    model = runs.load(options.run)
    config = runs.read_config(options.run)
    size = config["data"]["settings"]["context_words"]
    shares = inferred(model, written_words(model, options.number, options.seed), size)
    recovered = shares.argmax(axis=1) == np.arange(len(shares))
    print("topic  its share  average  recovered  words")
    for topic, words in enumerate(top_words(model, WORDS)):
        own, average = shares[topic, topic], shares[:, topic].mean()
        found = "yes" if recovered[topic] else f"as {shares[topic].argmax()}"
        print(f"{topic:5} {own:10.3f} {average:8.3f} {found:>10}  {' '.join(words)}")
    figures = {"recovered": int(recovered.sum()), "topics": len(shares)}
    figures |= {"sentences": options.number, "seed": options.seed}
    figures |= {"inferred": shares.argmax(axis=1).tolist()}
    record.write(options.record, parser(), config["data"], {"figures": figures})
    print(
        f"{recovered.sum()} of {len(shares)} topics recovered from {options.number} "
        f"sentences each ({recovered.mean():.1%}; at random {1 / len(shares):.1%})"
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.recording_parser("topic_recovery", __doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="that has topics and writes sentences")
    add("--number", type=int, default=200, help="sentences a topic (default: 200)")
    add("--seed", type=int, default=1, help="of the sentences (default: 1)")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
