"""Models of a few words with random weights, and RUNs of them, without training."""

import numpy as np
import tensorflow as tf

from preprocessing.vocabulary import SPECIALS, Vocabulary
from tcnlm.common.settings import names
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.training.runs import (
    FORMAT_VERSION,
    WEIGHTS,
    new_config,
    open_run,
    write_config,
)
from tcnlm.training.runs import make_model as model_of
from tcnlm.training.weights import save_weights

TOPIC_WORDS = "ship sea sail bread oven cook judge court trial naïve".split()
WORDS = [*SPECIALS, *"the of a , . 's n't does u.s. mr.".split(), *TOPIC_WORDS]
SETTINGS = {"layers": 1, "cutoffs": [8, 14], "num_topics": 4, "context_units": 3}


def settings(name):
    kind = model_class(name)
    chosen = {k: value for k, value in SETTINGS.items() if k in names(kind.Config)}
    if isinstance(kind.TINY.get("num_topics"), tuple):  # topics of each layer
        chosen["num_topics"] = (SETTINGS["num_topics"], 2)
    return {**kind.TINY, **chosen}


def make_model(name="tcnlm", seed=3):
    """Return a model whose every weight is random and large enough to matter."""
    kind, values = model_class(name), settings(name)
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    counts = range(len(WORDS), 0, -1)
    model = kind(kind.Config(**values), Vocabulary(WORDS, counts, TOPIC_WORDS), seed=1)
    model.build_weights()
    rng = np.random.default_rng(seed)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(scale=0.8, size=weight.shape))
    return model


def make_run(folder, name="tcnlm"):
    """Write a RUN as train.py would have; return its model."""
    folder.mkdir()
    model = make_model(name)
    made = {"sequence_length": 30, "context": "others", "context_words": 300}
    data = {"path": "gone", "command": "", "fingerprint": "", "settings": made}
    config = {"format_version": FORMAT_VERSION, "model": name, "seed": 1, "data": data}
    config |= {"settings": settings(name), "training": {}, "command": ""}
    write_config(folder, config)
    model.vocabulary.save(folder)
    model.save_weights(folder / WEIGHTS)
    return model


def make_run_on(data, folder, name="tcnlm"):
    """Write a RUN on a DATA folder as train.py leaves it, but untrained."""
    dataset, kind = Dataset(data), model_class(name)
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in kind.TINY.items()}
    command = "python train.py"
    config = new_config(name, kind.Config(**values), Training(), dataset, 1, command)
    open_run(folder, config, dataset.vocabulary)
    save_weights(model_of(config, dataset.vocabulary), folder)
    return folder


def log_prob(model, ids, context):
    """Return log p of a sentence's word ids, nats, by `log_probs` in one sequence."""
    sequence = tf.constant([[1, *ids]])
    return float(
        tf.reduce_sum(model.log_probs(sequence[:, :-1], sequence[:, 1:], context))
    )
