"""Sentences from topics that a reader has named, and from mixtures (Tables 5, 7 to 10).

Each topic, and each even mixture of two, writes greedily after some beginnings, since
the likeliest words after one beginning are always the same, and by sampling.

    python -m experiments.sentences RUN --name 3=horror 7=war --mix horror+war
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from experiments import record
from preprocessing.errors import InputError, errors_reported
from tcnlm import runs
from tcnlm.allocator import keep_memory
from tcnlm.decoding import Decoding
from tcnlm.generation import mixture, write_sentences
from tcnlm.topics import top_words
from tcnlm.training import make_reproducible

BEGINNINGS = ("", "the", "this")  # of greedy sentences
WORDS = 10  # shown of a topic


def named_topics(given: list[str], number: int) -> dict[str, int]:
    """Return {name: topic} of values like "3=horror"."""
    named = {}
    for value in given:
        topic, equals, name = value.partition("=")
        if not (equals and name and topic.isdigit() and int(topic) < number):
            raise InputError(f"--name {value}: write K=NAME, K from 0 to {number - 1}")
        named[name] = int(topic)
    return named


def mixed(given: list[str], named: dict[str, int]) -> dict[str, list[int]]:
    """Return {name: topics} of values like "horror+war"."""
    for value in given:
        strange = set(value.split("+")) - named.keys()
        if strange:
            raise InputError(f"--mix {value}: no --name gives {', '.join(strange)}")
    return {value: [named[name] for name in value.split("+")] for value in given}


def written(model: Any, mixtures: list[list[int]], options: Any) -> dict[str, list]:
    """Return what each even mixture of topics writes, greedily and sampled."""
    number = len(model.topics())
    shares = np.stack([mixture([str(k) for k in mixed], number) for mixed in mixtures])
    greedy = Decoding("greedy", allow_unknown=False)
    sampled = Decoding(temperature=options.temperature, allow_unknown=False)
    first = [write_sentences(model, shares, greedy, 1, text) for text in BEGINNINGS]
    drawn = write_sentences(model, shares, sampled, options.number, "", options.seed)
    return {
        "greedy": [[str(sentence) for (sentence,) in row] for row in zip(*first)],
        "sampled": [[str(sentence) for sentence in row] for row in drawn],
    }


def main(options: argparse.Namespace) -> None:
    """Write, print and keep the sentences."""
    keep_memory()
    make_reproducible(options.seed, options.threads)
    model = runs.load(options.run)
    words = top_words(model, WORDS)
    named = named_topics(options.name, len(words))
    wanted = {name: [k] for name, k in named.items()} | mixed(options.mix, named)
    sentences = written(model, list(wanted.values()), options)
    rows = [
        {"name": name, "topics": topics, "greedy": greedy, "sampled": sampled}
        for (name, topics), greedy, sampled in zip(wanted.items(), *sentences.values())
    ]
    for row in rows:
        print(f"{row['name']} ({'; '.join(' '.join(words[k]) for k in row['topics'])})")
        for how in ("greedy", "sampled"):
            print("\n".join(f"  {how:8} {line}" for line in row[how]))
    shown = {str(k): words[k] for k in named.values()}
    data = runs.read_config(options.run)["data"]
    record.write(options.record, parser(), data, {"words": shown, "sentences": rows})


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.recording_parser("sentences", __doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="that has topics and writes sentences")
    name = "topics to write from and what a reader calls them"
    add("--name", metavar="K=NAME", nargs="+", default=[], required=True, help=name)
    mix = "named topics to mix evenly"
    add("--mix", metavar="NAME+NAME", nargs="+", default=[], help=mix)
    add("--number", type=int, default=3, help="sampled sentences each (default: 3)")
    add("--temperature", type=float, default=0.7, help="of sampling (default: 0.7)")
    add("--seed", type=int, default=1, help="of the sampling (default: 1)")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
