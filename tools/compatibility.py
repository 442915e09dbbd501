"""A SavedModel's answers under two versions of TensorFlow, compared.

    python tools/compatibility.py ask SAVED_MODEL FILE   # with each of the two
    python tools/compatibility.py compare FILE FILE

`ask` needs TensorFlow alone. Words, sentences and counts must be equal, other figures
to a relative 1e-4.
"""

import json
import math
import platform
import sys
from itertools import chain
from pathlib import Path

TOLERANCE = 1e-4  # float32 after some thirty steps of a recurrent network
TEXTS = [
    "The army moved into the city overnight.",
    'He said: "I can\'t!" (really?) -- \u201cwon\u2019t\u201d \u2026 and so on...',
    "U.S. prices: $1,000.50/kg at 10:30 a.m., i.e. 5% e-mail me@example.com",
    "na\u00efve caf\u00e9 \u00c9T\u00c9 \u0130stanbul \u4e2d\u6587\u3002 \U0001f600",
    "",
    "the australian team won the match and the government said so . " * 40,
]
ROWS, SEED, TEMPERATURE, WORDS = 40, 2**40 + 7, 0.8, 20


def ask(saved_model, file):
    """Write what the SavedModel answers under this TensorFlow as JSON."""
    import tensorflow as tf  # the one of the environment that this runs in

    if not (Path(saved_model) / "saved_model.pb").is_file():
        sys.exit(
            f"error: {saved_model}: is no SavedModel; make demo makes that of demo"
        )
    loaded = tf.saved_model.load(saved_model)
    answers = {}
    for name, call in sorted(loaded.signatures.items()):
        specs = call.structured_input_signature[1]
        given = {key: tf.constant(_value(key, s), s.dtype) for key, s in specs.items()}
        for output, tensor in call(**given).items():
            answers[f"{name}: {output}"] = _flat(tensor.numpy())
    versions = {"tensorflow": tf.__version__, "python": platform.python_version()}
    Path(file).write_text(json.dumps({**versions, "answers": answers}))


def compare(pinned, newer):
    """Print how far the answers in two files are apart; exit with 1 if too far."""
    one, other = (json.loads(Path(file).read_text()) for file in (pinned, newer))
    for found in (one, other):
        print(f"TensorFlow {found['tensorflow']}, Python {found['python']}")
    differ = one["answers"].keys() ^ other["answers"].keys()
    for name in sorted(one["answers"].keys() - differ):
        found, kind = difference(one["answers"][name], other["answers"][name])
        good = found == 0 if kind == "unequal" else found <= TOLERANCE
        number = len(one["answers"][name])
        print(
            f"{name}: {number} values, {kind} {found:.2g}{'' if good else ': TOO FAR'}"
        )
        differ |= set() if good else {name}
    if differ:
        sys.exit(f"error: differ: {', '.join(sorted(differ))}")


def difference(one, other):
    """Return how many are unequal, or the largest relative difference of floats."""
    if len(one) != len(other):
        return max(len(one), len(other)), "unequal"
    if all(isinstance(value, float) for value in chain(one, other)):
        apart = [_relative(a, b) for a, b in zip(one, other)]
        return max(apart, default=0.0), "largest relative difference"
    return sum(a != b for a, b in zip(one, other)), "unequal"


def _relative(a, b):
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    found = abs(a - b) / max(abs(a), abs(b))
    return math.inf if math.isnan(found) else found


def _value(name, spec):
    """Return what is asked: all texts, mixtures of two topics each, or a number."""
    if name == "contexts":
        return TEXTS[::-1]
    if spec.shape.rank == 1:
        return TEXTS
    if spec.shape.rank == 2:
        return [_mixture(row, spec.shape[1]) for row in range(ROWS)]
    return {"seed": SEED, "temperature": TEMPERATURE, "number": WORDS}[name]


def _mixture(row, topics):
    shares = [0.0] * topics
    shares[row % topics] += 0.75
    shares[row // topics % topics] += 0.25
    return shares


def _flat(array):
    values = array.ravel().tolist()
    return [v.decode() if isinstance(v, bytes) else v for v in values]


if __name__ == "__main__":
    command, *files = sys.argv[1:] or [""]
    if command not in ("ask", "compare") or len(files) != 2:
        sys.exit(__doc__)
    {"ask": ask, "compare": compare}[command](*files)
