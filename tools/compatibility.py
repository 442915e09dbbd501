"""What each stack makes of the same texts and RUN, compared.

    python tools/compatibility.py make FOLDER         # DATA, and a small RUN on it
    python tools/compatibility.py ask FOLDER FILE     # with each stack
    python tools/compatibility.py compare FILE FILE

`ask` makes DATA again, scores the RUN, writes sentences, exports it, calls the
SavedModels, and trains on, in a copy. Words, sentences and counts must be equal, other
figures to a relative 1e-4, of a training that goes on to 1e-3.
"""

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-4  # float32 after some thirty steps of a recurrent network
OF_TRAINING = 1e-3  # float32 after some hundred steps of Adam
SETTINGS = (
    "units=16 embedding_size=16 num_topics=5 topic_pretrain_steps=100 epochs=1".split()
)
TEXTS = [
    "The army moved into the city overnight.",
    'He said: "I can\'t!" (really?) -- \u201cwon\u2019t\u201d \u2026 and so on...',
    "U.S. prices: $1,000.50/kg at 10:30 a.m., i.e. 5% e-mail me@example.com",
    "na\u00efve caf\u00e9 \u00c9T\u00c9 \u0130stanbul \u4e2d\u6587\u3002 \U0001f600",
    "",
    "the australian team won the match and the government said so . " * 40,
]
ROWS, SEED, TEMPERATURE, WORDS, BEAMS = 40, 2**40 + 7, 0.8, 20, 5


def make(folder):
    """Make DATA of the stories that come with gensim, and train a small model on it."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    preprocess(folder / "DATA")
    train = ["train.py", folder / "DATA", "--out", folder / "RUN", "--threads", "1"]
    run(*train, "--set", *SETTINGS)


def preprocess(data):
    """Make the DATA."""
    counts = ["--min-count", "3", "--topic-min-count", "5"]
    run("-m", "preprocessing", "--format", "lee", *counts, "--out", data)


def run(*command):
    """Run one of the programs with this Python; return what it prints."""
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(words)}: {done.stderr}")
    return done.stdout


def ask(folder, file):
    """Write what this stack makes of a folder's RUN as JSON."""
    import tensorflow as tf  # the one of the environment that this runs in

    source = Path(folder).resolve()
    if not (source / "RUN" / "saved_model").is_dir():
        sys.exit(f"error: {folder}: has no RUN; `make` makes one")
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(source / "RUN", Path(place, "RUN"))
        exported = copy / "exported"
        preprocess(Path(place, "DATA"))
        made = json.loads(Path(place, "DATA", "meta.json").read_text())
        answers = {"DATA: fingerprint": [made["fingerprint"]]}
        answers |= evaluated(copy, "the RUN") | written(copy)
        run("-m", "tcnlm", "export", copy, "--out", exported)
        answers |= asked(source / "RUN" / "saved_model", "its SavedModel")
        answers |= asked(exported, "exported here")
        run("train.py", "--resume", copy, "--set", "epochs=2")
        answers |= evaluated(copy, "trained on")
    versions = {"tensorflow": tf.__version__, "python": platform.python_version()}
    Path(file).write_text(json.dumps({**versions, "answers": answers}))


def evaluated(folder, title):
    """Return the figures of a RUN."""
    run("evaluate.py", folder)
    found = json.loads((folder / "evaluation.json").read_text())
    names = ("perplexity", "npmi", "targets", "parameters")
    return {f"{title}: {name}": [found[name]] for name in names}


def written(folder):
    """Return the sentences that generate.py writes from every topic, by each method."""
    answers = {}
    for method in ("greedy", "sample", "beam"):
        seed = ["--seed", "7"] if method == "sample" else []
        lines = run("generate.py", folder, "--json", "--method", method, *seed)
        rows = list(map(json.loads, lines.splitlines()))
        for name in ("sentence", "log_probability"):
            answers[f"generate.py, {method}: {name}"] = [row[name] for row in rows]
    return answers


def asked(saved_model, title):
    """Return what every signature of a SavedModel answers."""
    import tensorflow as tf

    loaded = tf.saved_model.load(str(saved_model))
    answers = {}
    for name, call in sorted(loaded.signatures.items()):
        specs = call.structured_input_signature[1]
        given = {key: tf.constant(_value(key, s), s.dtype) for key, s in specs.items()}
        for output, tensor in call(**given).items():
            values = tensor.numpy().ravel().tolist()
            answers[f"{title}, {name}: {output}"] = [
                value.decode() if isinstance(value, bytes) else value
                for value in values
            ]
    return answers


def compare(pinned, newer):
    """Print how far the answers in two files are apart; exit with 1 if too far."""
    one, other = (json.loads(Path(file).read_text()) for file in (pinned, newer))
    for found in (one, other):
        print(f"TensorFlow {found['tensorflow']}, Python {found['python']}")
    differ = one["answers"].keys() ^ other["answers"].keys()
    for name in sorted(one["answers"].keys() - differ):
        answers = [np.array(found["answers"][name]) for found in (one, other)]
        within = OF_TRAINING if name.startswith("trained on") else TOLERANCE
        apart, said = difference(*answers, within)
        print(f"{name}: {len(answers[0])} values, {said}")
        differ |= {name} if apart else set()
    if differ:
        sys.exit(f"error: differ: {', '.join(sorted(differ))}")


def difference(one, other, within=TOLERANCE):
    """Return whether two arrays are too far apart, and how far they are."""
    if one.shape != other.shape:
        return True, f"{len(other)} there"
    unequal = (one != other) & ~((one != one) & (other != other))  # NaN is as NaN
    if one.dtype.kind != "f" or other.dtype.kind != "f":
        return unequal.any(), f"{unequal.sum()} unequal"
    a, b = one[unequal], other[unequal]
    found = (abs(a - b) / np.maximum(abs(a), abs(b))).max(initial=0)
    return not found <= within, f"largest relative difference {found:.2g}"


def _value(name, spec):
    """Return what is asked: all texts, mixtures of two topics each, or a number."""
    if spec.shape.rank == 1:
        return TEXTS[::-1] if name == "contexts" else TEXTS
    if spec.shape.rank == 2:
        topics = np.eye(spec.shape[1])
        first, second = (np.arange(ROWS) // n % len(topics) for n in (1, len(topics)))
        return 0.75 * topics[first] + 0.25 * topics[second]
    single = {"seed": SEED, "temperature": TEMPERATURE, "number": WORDS, "width": BEAMS}
    return single[name]


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or [""]
    numbers = {"make": (make, 1), "ask": (ask, 2), "compare": (compare, 2)}
    called, number = numbers.get(command, (None, 0))
    if called is None or len(rest) != number:
        sys.exit(__doc__)
    called(*rest)
