"""Models of a few words with random weights, and RUNs of them, without training."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import randomise

from tcnlm.common.settings import names
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.preprocessing.vocabulary import SPECIALS, Vocabulary
from tcnlm.runs.new_run import new_config, open_run
from tcnlm.runs.run_folder import FORMAT_VERSION, write_config
from tcnlm.runs.weights import save_weights

TOPIC_WORDS = "ship sea sail bread oven cook judge court trial naïve".split()
WORDS = [*SPECIALS, *"the of a , . 's n't does u.s. mr.".split(), *TOPIC_WORDS]
VOCABULARY = Vocabulary(WORDS, range(len(WORDS), 0, -1), TOPIC_WORDS)
REVIEW = "A ship, a SEA<br /><br />The court of the oven doesn't sail. Naïve sea!"
SETTINGS = {"layers": 1, "cutoffs": (8, 14), "num_topics": 4, "context_units": 3}
HISTORY = """epoch,step,train_perplexity,valid_perplexity,valid_kl,topics_in_use
1,10,30.5,28.1,0.2,2
2,20,25.5,26.1,0.4,3
"""

# Of `Decoding`: what a model says, with nothing forbidden.
AS_IT_IS = {"temperature": 1.0, "allow_unknown": True}


def untrained(name, vocabulary=VOCABULARY, **settings):
    """Return a model as it starts, of the sizes its class has for tests."""
    kind = model_class(name)
    model = kind(kind.Config(**{**kind.test_config, **settings}), vocabulary, seed=1)
    model.build_weights()
    return model


def settings(name):
    kind = model_class(name)
    chosen = {k: value for k, value in SETTINGS.items() if k in names(kind.Config)}
    if isinstance(kind.test_config.get("num_topics"), tuple):  # topics of each layer
        chosen["num_topics"] = (SETTINGS["num_topics"], 2)
    return {**kind.test_config, **chosen}


def make_model(name="tcnlm"):
    """Return a model whose every weight is random and large enough to matter."""
    return randomise(untrained(name, **settings(name)), np.random.default_rng(3), 0.8)


def make_run(folder, name="tcnlm"):
    """Write a RUN as train.py would have; return its model."""
    folder.mkdir()
    model = make_model(name)
    made = {"sequence_length": 30, "context": "others", "context_words": 300}
    data = {"path": "gone", "command": "", "fingerprint": "", "settings": made}
    data["vocabulary_sha256"] = model.vocabulary.digest
    config = {"format_version": FORMAT_VERSION, "model": name, "seed": 1, "data": data}
    config |= {"settings": settings(name), "training": {}, "command": ""}
    write_config(folder, config)
    model.vocabulary.save(folder)
    save_weights(model, folder)
    return model


def run_fixture(name="tcnlm"):
    """Return a fixture of such a RUN, one for all tests of a module."""

    @pytest.fixture(scope="module")
    def run(tmp_path_factory):
        folder = tmp_path_factory.mktemp(name) / "RUN"
        make_run(folder, name)
        return folder

    return run


def make_run_on(data, folder, name="tcnlm", **settings):
    """Write a RUN on a DATA folder as train.py leaves it, but untrained."""
    dataset = Dataset(data)
    model = untrained(name, dataset.vocabulary, **settings)
    command = "python train.py"
    config = new_config(name, model.config, Training(), dataset, 1, command)
    open_run(folder, config, dataset.vocabulary)
    save_weights(model, folder)
    (folder / "history.csv").write_text(HISTORY)
    return folder


def log_prob(model, ids, context):
    """Return log p of a sentence's word ids, nats, by `log_probs` in one sequence."""
    sequence = tf.constant([[1, *ids]])
    batch = {"inputs": sequence[:, :-1], "targets": sequence[:, 1:]}
    return float(tf.reduce_sum(model(batch, context=context)))
