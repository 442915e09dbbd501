"""A toy corpus of three themes, made by a seeded generator, and runs trained on it."""

import csv
import json
import random
import re
import sys
from pathlib import Path

from tcnlm.programs.preprocess import main as preprocess

ROOT = Path(__file__).parents[1]
GOLDEN_RUN = ROOT / "tests" / "golden_run"  # of an earlier version, never written to
THEMES = (
    "ship sea captain sail wave harbour storm anchor".split(),
    "oven bread flour cook butter kitchen salt dough".split(),
    "court judge law lawyer trial jury verdict appeal".split(),
)
EVERY_WORD = (
    "--min-count 1 --topic-min-count 1 --topic-top-fraction 0 --processes 1".split()
)
SMALL = (
    "units=8 embedding_size=6 cutoffs=15 epochs=2 batch_size=16 checkpoint_minutes=99"
).split()


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def python_of(page, word):
    """Return the Python of a docs page's blocks that have a word in them."""
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for block in blocks if word in block]


def write_corpus(path, documents=60, sentences=5, seed=0):
    """Write documents in the predecessor's format: a tab between sentences."""
    draw = random.Random(seed)

    def sentence(theme):
        words = draw.choices(theme, k=draw.randint(1, 5))
        return " ".join(f"the {word} of" for word in words) + " ."

    lines = []
    for index in range(documents):
        theme = THEMES[index % len(THEMES)]
        lines.append("\t".join(sentence(theme) for _ in range(sentences)))
    path.write_text("\n".join(lines) + "\n")
    return path


def make_data(folder, documents=60):
    """Preprocess the toy corpus; return its DATA folder."""
    corpus, data = write_corpus(folder / "toy.txt", documents), folder / "DATA"
    arguments = f"--format tdlm --input {corpus} --split 0.6 0.2 0.2 --min-count 1"
    arguments += f" --topic-min-count 1 --topic-top-fraction 0 --seed 1 --out {data}"
    assert preprocess(arguments.split()) in (0, None)
    return data


def preprocessed(folder, text, *options, form="text"):
    """Preprocess a text of any format; return the exit status and the DATA folder."""
    corpus, data = folder / "corpus.txt", folder / "DATA"
    corpus.write_text(text, encoding="utf-8")
    line = ["--format", form, "--input", corpus, *EVERY_WORD, *options]
    return preprocess([*map(str, line), "--force", "--out", str(data)]), data


def make_labelled_data(folder):
    """The same of 90 documents, whose themes are their labels and numbers their ids."""
    lines = write_corpus(folder / "toy.txt", documents=90).read_text().splitlines()
    rows = [
        {"text": line.replace("\t", " "), "label": f"theme {i % 3}", "id": f"d{i}"}
        for i, line in enumerate(lines)
    ]
    options = "--label label --id id --split 0.6 0.2 0.2".split()
    status, data = preprocessed(
        folder, "\n".join(map(json.dumps, rows)), *options, form="jsonl"
    )
    assert status == 0
    return data


def train_arguments(data, run, *options, model="tcnlm", settings=()):
    """Return what trains a tiny model on the toy corpus."""
    topics = ["num_topics=4", "topic_pretrain_steps=9"] if model == "tcnlm" else []
    arguments = [str(data), "--out", str(run), "--model", model, "--threads", "1"]
    recipe = [] if "--recipe" in options else ["--recipe", "paper-small"]
    return [*arguments, *recipe, *options, "--set", *SMALL, *topics, *settings]


def train_command(*arguments, **options):
    """Return the command that does so in a process of its own."""
    train = [sys.executable, str(ROOT / "train.py")]
    return [*train, *train_arguments(*arguments, **options)]
