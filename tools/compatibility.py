"""A SavedModel's answers under two versions of TensorFlow, compared.

    python tools/compatibility.py ask SAVED_MODEL FILE   # with each of the two
    python tools/compatibility.py compare FILE FILE

Words, sentences and counts must be equal, other figures to a relative 1e-4.
"""

import json
import platform
import sys
from pathlib import Path

import numpy as np

TOLERANCE = 1e-4  # float32 after some thirty steps of a recurrent network
TEXTS = [
    "The army moved into the city overnight.",
    'He said: "I can\'t!" (really?) -- \u201cwon\u2019t\u201d \u2026 and so on...',
    "U.S. prices: $1,000.50/kg at 10:30 a.m., i.e. 5% e-mail me@example.com",
    "na\u00efve caf\u00e9 \u00c9T\u00c9 \u0130stanbul \u4e2d\u6587\u3002 \U0001f600",
    "",
    "the australian team won the match and the government said so . " * 40,
]
ROWS, SEED, TEMPERATURE, WORDS, BEAMS = 40, 2**40 + 7, 0.8, 20, 5


def ask(saved_model, file):
    """Write what the SavedModel answers under this TensorFlow as JSON."""
    import tensorflow as tf  # the one of the environment that this runs in

    if not (Path(saved_model) / "saved_model.pb").is_file():
        sys.exit(f"error: {saved_model}: is no SavedModel; make demo makes one")
    loaded = tf.saved_model.load(saved_model)
    answers = {}
    for name, call in sorted(loaded.signatures.items()):
        specs = call.structured_input_signature[1]
        given = {key: tf.constant(_value(key, s), s.dtype) for key, s in specs.items()}
        for output, tensor in call(**given).items():
            values = tensor.numpy().ravel().tolist()
            answers[f"{name}: {output}"] = [
                value.decode() if isinstance(value, bytes) else value
                for value in values
            ]
    versions = {"tensorflow": tf.__version__, "python": platform.python_version()}
    Path(file).write_text(json.dumps({**versions, "answers": answers}))


def compare(pinned, newer):
    """Print how far the answers in two files are apart; exit with 1 if too far."""
    one, other = (json.loads(Path(file).read_text()) for file in (pinned, newer))
    for found in (one, other):
        print(f"TensorFlow {found['tensorflow']}, Python {found['python']}")
    differ = one["answers"].keys() ^ other["answers"].keys()
    for name in sorted(one["answers"].keys() - differ):
        answers = [np.array(found["answers"][name]) for found in (one, other)]
        apart, said = difference(*answers)
        print(f"{name}: {len(answers[0])} values, {said}")
        differ |= {name} if apart else set()
    if differ:
        sys.exit(f"error: differ: {', '.join(sorted(differ))}")


def difference(one, other):
    """Return whether two arrays are too far apart, and how far they are."""
    if one.shape != other.shape:
        return True, f"{len(other)} there"
    unequal = (one != other) & ~((one != one) & (other != other))  # NaN is as NaN
    if one.dtype.kind != "f" or other.dtype.kind != "f":
        return unequal.any(), f"{unequal.sum()} unequal"
    a, b = one[unequal], other[unequal]
    found = (abs(a - b) / np.maximum(abs(a), abs(b))).max(initial=0)
    return not found <= TOLERANCE, f"largest relative difference {found:.2g}"


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
    command, *files = sys.argv[1:] or [""]
    if command not in ("ask", "compare") or len(files) != 2:
        sys.exit(__doc__)
    {"ask": ask, "compare": compare}[command](*files)
