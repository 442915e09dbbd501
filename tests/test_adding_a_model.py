"""Adding a model touches its file and one line of the registry.

These two have nothing but what their contracts ask: a bigram model, and vectors of
documents that nothing learned.
"""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import tensorflow as tf
from trained import call

import tcnlm
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import NO_WORD
from tcnlm.data.rows import Documents
from tcnlm.layers.softmax import NextWord, language_loss
from tcnlm.metrics.registry import asked
from tcnlm.models import MODELS
from tcnlm.models.base import Model
from tcnlm.preprocessing.vocabulary import PAD
from tcnlm.programs import evaluate, export, generate, infer

pytestmark = pytest.mark.usefixtures("undrawn")


@dataclass(frozen=True)
class Config(Settings):
    learning_rate: float = setting(0.5, "of Adam", above=0)


class Bigram(Model):
    """p(y_m | y_(m-1)), a row of logits for every word before."""

    Config = Config

    def build_weights(self):
        size = len(self.vocabulary.words)
        self.logits = self.add_weight("logits", [size, size], initializer="zeros")
        self.built = True

    def compute_loss(self, batch, training):
        loss, terms = language_loss(self(batch), batch["targets"])
        return {"loss": loss, **terms}

    def call(self, batch, training=False, context=None):
        inputs, targets = batch["inputs"], batch["targets"]
        rows = tf.nn.log_softmax(tf.gather(self.logits, inputs))
        found = tf.gather(rows, targets, batch_dims=2)
        return tf.where(targets == PAD, 0.0, found)

    def features(self, batch):
        inputs = batch["inputs"]
        return tf.reduce_mean(tf.one_hot(inputs, len(self.vocabulary.words)), axis=1)

    def initial_state(self, context, rows):
        return tf.zeros([rows, 1]), ()

    def step(self, token, state, constants):
        logits = tf.gather(self.logits, token)
        return NextWord(lambda: tf.nn.log_softmax(logits)), state


class Fixed(Model):
    """Every topic word as likely as any other; a document's vector is its sum."""

    Config = Config
    documental, reads_order, batching = True, False, Documents()

    def build_weights(self):
        size = len(self.vocabulary.topic_words)
        self.logits = self.add_weight("logits", [size], initializer="zeros")
        self.table = tf.random.stateless_normal([size, 3], [1, 2])
        self.built = True

    def read(self, words):
        return words

    def features(self, batch):
        real = tf.cast(batch["words"] != NO_WORD, tf.float32)[:, :, None]
        found = tf.gather(self.table, tf.maximum(batch["words"], 0))
        return tf.reduce_sum(found * real, axis=1)

    def log_probs(self, batch, seed=(0, 0)):
        words = batch["words"]
        found = tf.gather(tf.nn.log_softmax(self.logits), tf.maximum(words, 0))
        return tf.where(words == NO_WORD, 0.0, found)

    def call(self, batch, training=False, context=None):
        return self.log_probs(batch)

    def compute_loss(self, batch, training):
        real = tf.reduce_sum(tf.cast(batch["words"] != NO_WORD, tf.float32))
        nll = -tf.reduce_sum(self.log_probs(batch)) / real
        return {"loss": nll, "nll": nll}

    def word_vectors(self):
        return self.table.numpy()


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """One line each."""
    for name in ("bigram", "fixed"):
        line = f"{__name__}:{name.capitalize()}"
        monkeypatch.setitem(MODELS, name, line)


def trained(name, data, tmp_path):
    line = [str(data), "--model", name, "--out", str(tmp_path / name), "--threads", "1"]
    line += ["--recipe", "paper-small"]
    done = call("train", *line, "--set", "epochs=2", "batch_size=16")
    assert done.returncode == 0, done.stderr
    return tmp_path / name


@pytest.mark.parametrize(
    ("name", "better_than"),
    [pytest.param("bigram", 20, marks=pytest.mark.slow), ("fixed", 40)],
)
def test_all_programs_take_a_model_of_the_bare_contract(
    name, better_than, labelled, tmp_path, capsys
):
    run = trained(name, labelled, tmp_path)
    kind = {"bigram": Bigram, "fixed": Fixed}[name]
    flags = [f"--{measure.option}" for measure in asked() if measure.applies(kind)]
    files = [tmp_path / f for f in ("r.json", "export", "v.npz")]
    outputs = zip(("--record", "--export", "--features"), map(str, files))
    line = [str(run), *flags, *(word for pair in outputs for word in pair)]
    evaluate.main(line)
    assert json.loads((run / "evaluation.json").read_text())["perplexity"] > 1
    assert json.loads(files[0].read_text())["figures"]["perplexity"] < better_than
    assert np.load(files[2])["vectors"].ndim == 2
    texts = tmp_path / "texts.txt"
    texts.write_text("the ship of the captain .\nthe bread .\n")
    table = tmp_path / "table.csv"
    line = [str(run), "--input", str(texts), "--out", str(table)]
    infer.main(line)
    assert len(table.read_text().splitlines()) == 3
    export.main([str(run), "--out", str(tmp_path / "saved")])
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    assert loaded.signatures
    assert np.isfinite(tcnlm.load_run(run).perplexity(["the ship ."])).all()


def test_a_bare_language_model_writes_sentences(labelled, tmp_path, capsys):
    run = trained("bigram", labelled, tmp_path)
    capsys.readouterr()
    for method in ("sample", "greedy", "beam"):
        line = [str(run), "--method", method, "--max-length", "9"]
        generate.main(line)
    written = capsys.readouterr().out.splitlines()
    assert len(list(filter(None, written))) == 3
