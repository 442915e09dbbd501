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
PREPROCESS = "-m preprocessing --format lee --min-count 3 --topic-min-count 5 --out"
SETTINGS = "units=16 embedding_size=16 num_topics=5 topic_pretrain_steps=100 epochs=1"
SETTINGS += " decay=constant"  # so that an epoch more may follow
FIGURES = ("perplexity", "npmi", "targets", "parameters")
TEXTS = [
    "The army moved into the city overnight.",
    'He said: "I can\'t!" (really?) -- \u201cwon\u2019t\u201d \u2026 and so on...',
    "U.S. prices: $1,000.50/kg at 10:30 a.m., i.e. 5% e-mail me@example.com",
    "na\u00efve caf\u00e9 \u00c9T\u00c9 \u0130stanbul \u4e2d\u6587\u3002 \U0001f600",
    "",
    "the australian team won the match and the government said so . " * 40,
]
ROWS = 40  # mixtures of topics
NUMBERS = {"seed": 2**40 + 7, "temperature": 0.8, "number": 20, "width": 5}


def run(command, *more):
    """Run one of the programs with this Python; return what it prints."""
    words = [sys.executable, *command.split(), *map(str, more)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(words)}: {done.stderr}")
    return done.stdout


def make(folder):
    """Make DATA of the stories that come with gensim, and train a small model on it."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    run(PREPROCESS, folder / "DATA")
    train = folder / "DATA", "--out", folder / "RUN", "--threads", "1"
    run("train.py", *train, "--set", *SETTINGS.split())


def ask(folder, file):
    """Write what this stack makes of a folder's RUN as JSON."""
    import tensorflow as tf  # the one of the environment that this runs in

    source = Path(folder).resolve() / "RUN"
    if not (source / "saved_model").is_dir():
        sys.exit(f"error: {folder}: has no RUN; `make` makes one")
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(source, Path(place, "RUN"))
        data, exported = Path(place, "DATA"), copy / "exported"
        run(PREPROCESS, data)
        made = json.loads((data / "meta.json").read_text())
        answers = {"DATA: fingerprint": [made["fingerprint"]]}
        answers |= evaluated(copy, "the RUN") | written(copy)
        run("-m tcnlm export", copy, "--out", exported)
        answers |= asked(source / "saved_model", "its SavedModel")
        answers |= asked(exported, "exported here")
        run("train.py --set epochs=2 --resume", copy)
        answers |= evaluated(copy, "trained on")
    versions = {"tensorflow": tf.__version__, "python": platform.python_version()}
    Path(file).write_text(json.dumps({**versions, "answers": answers}))


def evaluated(folder, title):
    """Return the figures of a RUN."""
    run("evaluate.py", folder)
    found = json.loads((folder / "evaluation.json").read_text())
    return {f"{title}: {name}": [found[name]] for name in FIGURES}


def written(folder):
    """Return the sentences that generate.py writes from every topic, by each method."""
    answers = {}
    for method in ("greedy", "sample --seed 7", "beam"):
        lines = run(f"generate.py --json --method {method}", folder)
        rows = list(map(json.loads, lines.splitlines()))
        for name in ("sentence", "log_probability"):
            answers[f"generate.py, {method}: {name}"] = [row[name] for row in rows]
    return answers


def asked(saved_model, title):
    """Return what every signature of a SavedModel answers."""
    import tensorflow as tf

    answers = {}
    for name, call in sorted(tf.saved_model.load(str(saved_model)).signatures.items()):
        specs = call.structured_input_signature[1]
        given = {key: tf.constant(_value(key, s), s.dtype) for key, s in specs.items()}
        for output, tensor in call(**given).items():
            values = tensor.numpy().ravel().tolist()
            texts = [v.decode() if isinstance(v, bytes) else v for v in values]
            answers[f"{title}, {name}: {output}"] = texts
    return answers


def _value(name, spec):
    """Return what is asked: all texts, mixtures of two topics each, or a number."""
    if spec.shape.rank == 1:
        return TEXTS[::-1] if name == "contexts" else TEXTS
    if spec.shape.rank == 2:
        topics = np.eye(spec.shape[1])
        first, second = (np.arange(ROWS) // n % len(topics) for n in (1, len(topics)))
        return 0.75 * topics[first] + 0.25 * topics[second]
    return NUMBERS[name]


def compare(*files):
    """Print how far the answers in two files are apart; exit with 1 if too far."""
    found = [json.loads(Path(file).read_text()) for file in files]
    for one in found:
        print(f"TensorFlow {one['tensorflow']}, Python {one['python']}")
    one, other = (each["answers"] for each in found)
    differ = one.keys() ^ other.keys()
    for name in sorted(one.keys() & other.keys()):
        within = OF_TRAINING if name.startswith("trained on") else TOLERANCE
        answers = np.array(one[name]), np.array(other[name])
        apart, said = difference(*answers, within)
        print(f"{name}: {len(one[name])} values, {said}")
        differ |= {name} if apart else set()
    if differ:
        sys.exit(f"error: differ: {', '.join(sorted(differ))}")


def difference(one, other, within):
    """Return whether two arrays are too far apart, and how far they are."""
    if one.shape != other.shape:
        return True, f"{len(other)} there"
    unequal = (one != other) & ~((one != one) & (other != other))  # NaN is as NaN
    if one.dtype.kind != "f" or other.dtype.kind != "f":
        return unequal.any(), f"{unequal.sum()} unequal"
    a, b = one[unequal], other[unequal]
    found = (abs(a - b) / np.maximum(abs(a), abs(b))).max(initial=0)
    return not found <= within, f"largest relative difference {found:.2g}"


if __name__ == "__main__":
    commands = {("make", 1): make, ("ask", 2): ask, ("compare", 2): compare}
    called = commands.get((" ".join(sys.argv[1:2]), len(sys.argv) - 2))
    if called is None:
        sys.exit(__doc__)
    called(*sys.argv[2:])
