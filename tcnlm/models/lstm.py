"""The papers' "basic-LSTM" (Lau et al. 2017), and the same with something beside it.

`bag_lstm` and `topic_lstm` are controls of no paper: what a document's words, or topics
of them, are worth outside the LSTM's weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings, setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.rows import Windows
from tcnlm.layers import lstm
from tcnlm.layers.lstm import GATES, CarriedState, keras_order
from tcnlm.layers.mixed_precision import MixedDense
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import Group, split_param_group
from tcnlm.layers.softmax import adaptive_softmax, of_targets
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTMCell
from tcnlm.layers.words import word_embedding
from tcnlm.models import lda, settings, tcnlm
from tcnlm.models.base import Model
from tcnlm.models.settings import JointSettings, SoftmaxSettings, WordSettings
from tcnlm.models.starts import pretrain_topics, start_embeddings, start_topics
from tcnlm.preprocessing.vocabulary import PAD, Vocabulary

CELLS = {
    "lstm": lstm.FastLSTM,
    "gru": tf.keras.layers.GRU,
    "rnn": tf.keras.layers.SimpleRNN,
}


@dataclass(frozen=True)
class WindowSettings(Settings):
    """Settings of a model whose state can go on through a document."""

    carry: bool = setting(False, "carry the state through a document's sentences")
    window: int = setting(30, "with carry: targets that a gradient spans", least=1)
    reset: str = setting(
        "document", "with carry: when the state is reset", choices=("document", "never")
    )


@dataclass(frozen=True)
class CellSettings(WindowSettings):
    """The same of recurrent layers."""

    cell: str = setting("lstm", "type of the recurrent layers", choices=tuple(CELLS))


@dataclass(frozen=True)
class StartSettings(Settings):
    """Settings of how an LSTM's own weights start and learn."""

    recurrent_lr_multiplier: float = setting(
        1.0, "factor on learning_rate for the LSTM's own weights", above=0
    )
    recurrent_start: str = setting(
        "keras",
        "initial weights; product: TCNLM's factors multiplied out",
        choices=("keras", "product"),
    )


@dataclass(frozen=True)
class Config(StartSettings, CellSettings, SoftmaxSettings, WordSettings):
    """Settings of the LSTM."""


class LSTM(Model):
    """p(y_m | y_<m) by an LSTM (eq. 2 and 3) that sees its own sentence only.

    With `carry=true` a row of its batches is a window, and a word is predicted from all
    that precedes it in its document: what Zheng, Vafa and Blei (TMLR 2023) found no
    topic-guided model to beat. Gradients flow through a window. With
    `recurrent_start=product` and `recurrent_lr_multiplier=0.5` its layers start and
    learn as TCNLM's cell with one topic does: a control for what topics are worth.
    """

    Config = Config
    test_config = settings.SMALL_WORDS

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.make_context()
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = recurrent_layers(config)
        self.softmax = adaptive_softmax(len(vocabulary), config)
        carry_state(self, lstm.zero_states(self.recurrent, 1))

    def make_context(self) -> None:
        """Make what reads the context q [B, C] beside h; there is none."""

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m), nats, [B, T], by softmax(V [h_m; q])."""
        q = tf.nest.flatten(self.context(batch) if context is None else context)
        h = self.hidden(batch, self.noise("words", batch, training))

        def beside(h: tf.Tensor, words: tf.Tensor, *q: tf.Tensor) -> tf.Tensor:
            return self.softmax(tf.concat([h, *q], axis=1), words)

        return of_targets(beside, batch["targets"], h, *q)

    def hidden(self, batch: dict[str, tf.Tensor], noise: Noise) -> tf.Tensor:
        """Return the last layer's outputs [B, T, H]; go on from a carried state."""
        inputs, rate = batch["inputs"], self.config.dropout
        carried = self.carried is not None and "fresh" in batch
        x, after = noise.dropout(self.embedding(inputs), rate), []
        states = self.carried.start(batch) if carried else [None] * len(self.recurrent)
        for layer, before in zip(self.recurrent, states):
            kept = {"initial_state": before, "mask": inputs != PAD} if carried else {}
            x, *state = layer(x, **kept)
            x = noise.dropout(x, rate)
            after.append(state)
        if carried:
            self.carried.keep(after)
        return x

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the state [B, H] after the last word of each document [B, T]."""
        h = self.hidden(batch, self.noise("words", batch, training=False))
        return at_last(h, batch["targets"])

    def prepare(self, dataset: Dataset) -> None:
        start_embeddings(self, dataset)
        start_layers(self)

    def param_groups(self) -> list[Group]:
        return lstm_param_groups(self, *super().param_groups())

    def initial_state(self, context: Any, rows: Any) -> tuple[Any, Any]:
        return lstm.zero_states(self.recurrent, rows), context

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        h, state = step_layers(self, token, state)
        seen = tf.concat([h, *tf.nest.flatten(constants)], axis=1)
        return self.softmax.next_word(seen), state


@dataclass(frozen=True)
class BagConfig(StartSettings, SoftmaxSettings, WordSettings):
    """Settings of the LSTM and of what reads the bag."""

    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the encoder's layers; TCNLM's", least=1
    )
    context_units: int = setting(
        30, "size of q; as many as TCNLM's topics in Table 6", least=1
    )


class BagLSTM(LSTM):
    """p(y_m | y_<m, d) = softmax(V [h_m; q]), h_m an LSTM's output, q = f(d).

    f is the encoder of TCNLM's topic model (Wang et al. 2018, section 3.1) up to mu:
    log(1 + count) of the context's topic words, ReLU layers, a linear layer. The loss
    of the language model alone trains it: no simplex, no draw, no prior, nothing
    rebuilt: what a document's bag of words is worth where nothing makes it topics.

    It is `lda_lstm` with q in the place of LDA's proportions. Where there is no
    document to write from, the bag is empty: q = f(0).
    """

    Config = BagConfig
    test_config = {**LSTM.test_config, "encoder_units": (7, 7), "context_units": 3}
    reads_document = True

    def make_context(self) -> None:
        hidden = [MixedDense(n, "relu") for n in self.config.encoder_units]
        layers = [*hidden, MixedDense(self.config.context_units)]
        self.encoder = tf.keras.Sequential(layers, name="encoder")

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        bow = bag_of_words(batch["context"], len(self.vocabulary.topic_words))
        return self.encoder(tf.math.log1p(bow))


@dataclass(frozen=True)
class LDAConfig(lda.Config, StartSettings, CellSettings, SoftmaxSettings, WordSettings):
    """Settings of the LSTM and of LDA."""


class LDALSTM(LSTM):
    """p(y_m | y_<m, d) = softmax(V [h_m; q]), q = E t of LDA (Wang et al. 2018, 5.1).

    LDA is fitted before training and stays as it is; q is inferred from the context,
    the document without the sentence, in training as in evaluation. V has K more rows
    than the LSTM's. With `carry=true` q is of a window's context, which is to hold what
    was read before only (`context=read`); with `cell=rnn` too it is an RNN with LDA's
    features, as Mikolov and Zweig (2012) have it, but for their features at the input.
    """

    Config = LDAConfig
    test_config = {**LSTM.test_config, **lda.LDA.test_config}
    features = Model.features
    make_context = lda.make_lda
    topics, infer = lda.LDA.topics, lda.LDA.infer
    context = tcnlm.TCNLM.context

    def prepare(self, dataset: Dataset) -> None:
        lda.fit_lda(self, dataset)  # first: it refuses a package that is not there
        super().prepare(dataset)


@dataclass(frozen=True)
class TopicConfig(StartSettings, CellSettings, JointSettings):
    """Settings of the LSTM; the topic model's are TCNLM's."""


class TopicLSTM(LSTM):
    """p(y_m | y_<m, t) = softmax(V [h_m; t]), t of TCNLM's topic model and objective.

    What the same topics are worth outside the LSTM's weights. With `carry=true` t is of
    a window's context, which is to hold what was read before only (`context=read`).
    """

    draws_topics = True
    Config = TopicConfig
    test_config = {**settings.SMALL_WORDS, **settings.SMALL_TOPICS}

    features = Model.features
    make_context = tcnlm.make_topic_model
    topics, infer = tcnlm.TCNLM.topics, tcnlm.TCNLM.infer
    context, compute_loss = tcnlm.TCNLM.context, tcnlm.TCNLM.compute_loss

    def prepare(self, dataset: Dataset) -> None:
        start_topics(self, dataset, start_embeddings(self, dataset))
        start_layers(self)
        pretrain_topics(self, dataset, tcnlm.topic_terms, tcnlm.topic_loss)

    def param_groups(self) -> list[Group]:
        language, topic = tcnlm.joint_param_groups(self)
        return [*lstm_param_groups(self, language), topic]


# --- What other systems with these layers share ---------------------------------------


def recurrent_layers(config: Any) -> list[tf.keras.layers.Layer]:
    """Return Keras's layers; an LSTM's forget bias starts at one."""
    kind = getattr(config, "cell", "lstm")
    if getattr(config, "recurrent_start", "") == "product" and kind != "lstm":
        raise InputError(
            f"recurrent_start=product: is for cell=lstm only, not for cell={kind}"
        )
    options = {"return_sequences": True, "return_state": True}
    return [
        CELLS[kind](config.units, **options, name=f"{kind}_{layer}")
        for layer in range(config.layers)
    ]


def carry_state(model: Model, start: Any) -> None:
    """Let the state, of the shapes of `start`, go on from batch to batch, if asked."""
    config = model.config
    if getattr(config, "carry", False):
        asked = model.batching.of_document
        model.batching = Windows(config.window, config.reset, asked)
        model.carried = CarriedState(start)


def at_last(hidden: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return hidden states [B, T, H] at each row's last target, [B, H]."""
    last = tf.math.count_nonzero(targets, axis=1) - 1
    return tf.gather(hidden, tf.maximum(last, 0), batch_dims=1)


def step_layers(model: Model, token: tf.Tensor, state: Any, *constants: Any) -> tuple:
    """Return the last layer's output [B, H] and all states after `token` [B].

    constants: lists of what the cell of each layer takes beside its state.
    """
    x, after = model.embedding(token), []
    for layer, *own in zip(model.recurrent, state, *constants):
        x, now = layer.cell(x, *own)
        after.append(now)
    return x, after


def start_layers(model: Model) -> None:
    """Start each LSTM at a fresh TCNLM cell's product, if that is asked for."""
    config = model.config
    for layer in model.recurrent if config.recurrent_start == "product" else ():
        cell = TopicCompositionalLSTMCell(config.units, 1)
        cell.build(tf.TensorShape([None, layer.cell.kernel.shape[0]]))
        multiply_out(cell, layer)


def multiply_out(cell: TopicCompositionalLSTMCell, layer: Any) -> None:
    """Give a Keras LSTM the W, U (eq. 12) and bias of a cell with one topic."""
    W, U = (tf.concat(tf.unstack(k[0]), -1) for k in cell.effective_kernels([[1.0]]))
    gates = [tf.split(weight, GATES, axis=-1) for weight in (W, U, cell.bias)]
    layer.set_weights([tf.concat(keras_order(four), axis=-1) for four in gates])


def lstm_param_groups(model: Model, group: Group) -> list[Group]:
    """Return a group, the layers' weights apart if their rate differs."""
    share = model.config.recurrent_lr_multiplier
    return [group] if share == 1 else split_param_group(group, model.recurrent, share)
