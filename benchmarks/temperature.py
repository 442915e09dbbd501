"""Sentences of each topic at several temperatures, set against real ones.

python -m benchmarks.temperature RUN JUDGE DATA: a row of JSON each. JUDGE is the RUN of
another model, an LSTM, on the same DATA; its perplexity tells how plain (low) or how
wild (high) sentences are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from preprocessing.vocabulary import EOS, GO, UNK
from tcnlm.data.dataset import Dataset, Split
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.methods import MAX_LENGTH
from tcnlm.generation.quality import repeated_bigrams
from tcnlm.measures.bleu import bleu, self_bleu
from tcnlm.training.run_folder import RunFolder

WAYS = {
    "greedy": {"method": "greedy"},
    **{f"{t:.1f}": {"temperature": t} for t in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
    "top-p .9": {"temperature": 1.0, "top_p": 0.9},
}
SENTENCES = 480


def real_sentences(split: Split, number: int) -> list[list[int]]:
    """Return twice as many sentences of known words as asked for, ended by `<eos>`."""
    found = [list(s) for d in range(split.num_documents) for s in split.document(d)]
    known = [s for s in found if s and UNK not in s]
    order = np.random.default_rng(1).permutation(len(known))[: 2 * number]
    return [(known[i] + [EOS])[:MAX_LENGTH] for i in order]


def written_sentences(model: Any, way: dict[str, Any]) -> list[list[int]]:
    """Return the ids of sentences written from each topic alone."""
    topics = len(model.topics())
    number = 1 if way.get("method") else SENTENCES // topics
    write = SentenceDecoder(model, Decoding(**way, allow_unknown=False))
    context = model.context_from_topics(tf.eye(topics))
    index = model.vocabulary.index
    return [
        [index[word] for word in s.words] + [EOS] * s.ended
        for group in write(context, topics, number, seed=1)
        for s in group
        if s.words
    ]


def perplexity(judge: Any, sentences: Sequence[Sequence[int]]) -> float:
    """Return the judge's perplexity of sentences, each from its beginning."""
    context = judge.for_steps(judge.context(judge.batching.empty(1)))
    rows = tf.ragged.constant(sentences, tf.int32).to_tensor(-1).numpy()
    step = tf.function(judge.step)
    state, token, nats, count = (
        judge.initial_state(len(rows)),
        rows[:, 0] * 0 + GO,
        0,
        0,
    )
    for column in rows.T:
        log_probs, state = step(tf.constant(token, tf.int32), state, context)
        token = np.maximum(column, 0)
        said = np.take_along_axis(log_probs.numpy(), token[:, None], 1)[:, 0]
        nats, count = nats - said[column >= 0].sum(), count + (column >= 0).sum()
    return float(np.exp(nats / count))


def row(judge: Any, ids: list[list[int]], references: list[list[str]]) -> dict:
    """Return what is measured of sentences."""
    names = judge.vocabulary.words
    words = [[names[i] for i in s if i > EOS] for s in ids]
    pairs = [pair for s in words for pair in zip(s, s[1:])]
    return {
        "sentences": len(ids),
        "words": round(float(np.mean([len(s) for s in words])), 1),
        "perplexity": round(perplexity(judge, ids), 1),
        "repeated within": round(repeated_bigrams(words), 4),
        "repeated between": round(1 - len(set(pairs)) / len(pairs), 3),
        "test-BLEU-3": round(bleu(words, references)["3"], 3),
        "self-BLEU-3": round(self_bleu(words)["3"], 3),
    }


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(description=__doc__)
    for name in ("run", "judge", "data"):
        parsed.add_argument(name)
    return parsed


def main() -> None:
    """Print a row for real sentences and one for every way."""
    options = parser().parse_args()
    model, judge = (RunFolder(path).load() for path in (options.run, options.judge))
    assert model.vocabulary.words == judge.vocabulary.words
    drawn = real_sentences(Dataset(options.data).split("test"), SENTENCES)
    half, names = len(drawn) // 2, judge.vocabulary.words
    references = [[names[i] for i in s if i > EOS] for s in drawn[:half]]
    print(json.dumps({"way": "real", **row(judge, drawn[half:], references)}))
    for way, settings in WAYS.items():
        ids = written_sentences(model, settings)
        found = row(judge, ids, references)
        print(json.dumps({"way": way, **found}), flush=True)


if __name__ == "__main__":
    main()
