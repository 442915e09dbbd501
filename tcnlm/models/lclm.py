"""The larger-context language model (Wang and Cho, ACL 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.data.dataset import Dataset
from tcnlm.data.rows import Sequences
from tcnlm.layers.lstm import (
    GATES,
    OverSequence,
    ZeroState,
    activate,
    forget_bias,
    remember,
    zero_states,
)
from tcnlm.layers.mixed_precision import matmul
from tcnlm.layers.noise import Noise
from tcnlm.layers.softmax import adaptive_softmax, of_targets
from tcnlm.layers.words import word_embedding
from tcnlm.models import lstm
from tcnlm.models.base import Model
from tcnlm.models.settings import SoftmaxSettings, WordSettings
from tcnlm.models.starts import start_embeddings
from tcnlm.preprocessing.vocabulary import Vocabulary

Sentences = tuple[tf.Tensor, tf.Tensor]


@dataclass(frozen=True)
class Config(SoftmaxSettings, WordSettings):
    """Settings of LCLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    context_sentences: int = setting(
        4, "preceding sentences that it reads; Lau et al. 2017, from memory", least=1
    )
    context_units: int = setting(
        300, "units of each direction, and of the attention; not stated", least=1
    )


class LCLM(Model):
    """p(y_m | y_<m, s_1 .. s_n), s the up to n sentences before, by late fusion.

    Each of them is a bag of words. An LSTM in each direction goes over the sequence of
    bags, and z_j is the states of both at sentence j. At every word attention, by the
    language model's state, weighs the z_j; their sum joins the memory cell's content on
    its way to the output gate, and never the memory itself (`LateFusionLSTMCell`).

    From summaries, since the paper's text could not be opened: bags in sequence,
    attention at each word, a further gate, as in Tilk and Alumae (2016), who follow the
    paper. Assumed: a bag is the mean of its words' embeddings, from a table of its own;
    no dropout on the context; a second layer fuses as the first does.

    Neither a sentence without words nor one before the document's first is attended
    to; with none left the model is the plain LSTM. So it is when it writes without a
    document to go on with.
    """

    Config = Config
    test_config = {**lstm.LSTM.test_config, "context_sentences": 3, "context_units": 4}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.batching = Sequences(config.context_sentences)
        units = config.context_units
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = [
            LateFusionLSTM(config.units, 2 * units, units, name=f"late_fusion_{layer}")
            for layer in range(config.layers)
        ]
        self.softmax = adaptive_softmax(len(vocabulary), config)
        self.encoder = SentenceEncoder(len(vocabulary), config)

    def context(self, batch: dict[str, tf.Tensor], noise: Noise | None = None) -> Any:
        """Return the preceding sentences' z [B, n, Z] and which there are, [B, n]."""
        return self.encoder(batch["preceding"])

    def hidden(self, inputs: tf.Tensor, z: Sentences, noise: Noise) -> tf.Tensor:
        """Return the last layer's outputs [B, T, H]."""
        x = noise.dropout(self.embedding(inputs), self.config.dropout)
        for layer in self.recurrent:
            x = noise.dropout(layer(x, z), self.config.dropout)
        return x

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, s_1 .. s_n), nats, [B, T]."""
        z = self.context(batch) if context is None else context
        h = self.hidden(batch["inputs"], z, self.noise("words", batch, training))
        return of_targets(self.softmax, batch["targets"], h)

    def features(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return the state [B, H] after the last word of each document [B, T]."""
        inputs = batch["inputs"]
        z = self.context(self.batching.empty(tf.shape(inputs)[0]))
        h = self.hidden(inputs, z, self.noise("words", batch, training=False))
        return lstm.at_last(h, batch["targets"])

    def prepare(self, dataset: Dataset) -> None:
        start_embeddings(self, dataset)
        self.encoder.embedding.embeddings.assign(self.embedding.embeddings)

    def initial_state(self, context: Sentences, rows: Any) -> tuple[Any, Any]:
        reads = [layer.cell.read(context) for layer in self.recurrent]
        return zero_states(self.recurrent, rows), reads

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        h, state = lstm.step_layers(self, token, state, constants)
        return self.softmax.next_word(h), state


class SentenceEncoder(tf.keras.layers.Layer):
    """Sentences' word ids [B, n, W], -1 padding -> z [B, n, 2U] and which have words.

    z_j = [forward_j; backward_j], LSTMs over the mean embeddings of the sentences.
    """

    def __init__(self, num_words: int, config: Config, **kwargs: Any):
        super().__init__(**kwargs)
        self.embedding = word_embedding(num_words, config, "context_embedding")
        each = tf.keras.layers.LSTM(config.context_units, return_sequences=True)
        self.sequence = tf.keras.layers.Bidirectional(each, name="sequence")

    def call(self, sentences: tf.Tensor) -> Sentences:
        real = tf.reduce_any(sentences >= 0, axis=2)
        return self.sequence(self.bags(sentences), mask=real), real

    def bags(self, sentences: tf.Tensor) -> tf.Tensor:
        """Return the mean embedding of each sentence's words, [B, n, E], or zero."""
        rows, number = tf.shape(sentences)[0], sentences.shape[1]
        places = tf.where(sentences >= 0)  # only words: a batch has few long sentences
        vectors = self.embedding(tf.gather_nd(sentences, places))
        sentence = places[:, 0] * number + places[:, 1]
        means = tf.math.unsorted_segment_mean(vectors, sentence, rows * number)
        return tf.reshape(means, [rows, number, vectors.shape[-1]])


class LateFusionLSTMCell(ZeroState, tf.keras.layers.Layer):
    """One step of an LSTM whose output is fused with attended sentences z_1 .. z_n.

    i, f, o, g = sigmoid, sigmoid, sigmoid, tanh of x W + h U + b
    c' = f * c + i * g                                     as in any LSTM
    a_j = softmax_j(v . tanh(z_j Wa + h Ua))               attention
    q = sum_j a_j z_j Wp
    r = sigmoid(q Wr + c' Ur + br)
    h' = o * tanh(c' + r * q)                              late fusion

    inputs [B, E], states (h [B, H], c [B, H]), sentences (z [B, n, Z], real [B, n],
    true for those that there are) -> h' [B, H], (h', c'). Without a sentence q is zero,
    and the cell an LSTM.

    Weights: `kernel` W [E, 4H], `recurrent_kernel` U [H, 4H], `bias` b [4H], gates in
    the order above; `Wa` [Z, A], `Ua` [H, A], `v` [A], `Wp` [Z, H], `Wr` [H, H],
    `Ur` [H, H], `br` [H]. The LSTM starts as Keras's does, its forget bias at one.
    """

    def __init__(
        self, units: int, sentence_size: int, attention_units: int, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.units, self.sentence_size = units, sentence_size
        self.attention_units = attention_units
        self.state_size, self.output_size = [units, units], units

    def build(self, input_shape: Any) -> None:
        H, Z, A = self.units, self.sentence_size, self.attention_units
        add = self.add_weight
        self.kernel = add("kernel", [input_shape[-1], GATES * H])
        shape = [H, GATES * H]
        self.recurrent_kernel = add("recurrent_kernel", shape, initializer="orthogonal")
        self.bias = add("bias", [GATES * H], initializer=forget_bias)
        self.Wa, self.Ua, self.v = add("Wa", [Z, A]), add("Ua", [H, A]), add("v", [A])
        self.Wp, self.Wr = add("Wp", [Z, H]), add("Wr", [H, H])
        self.Ur, self.br = add("Ur", [H, H]), add("br", [H], initializer="zeros")
        self.built = True

    def input_gates(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the input side with the bias, [..., 4H] of [..., E], of all steps."""
        return matmul(inputs, self.kernel) + self.bias

    def read(self, sentences: Sentences) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return z Wa [B, n, A], z Wp [B, n, H] and real, the same at every step."""
        vectors, real = sentences
        return matmul(vectors, self.Wa), matmul(vectors, self.Wp), real

    def recur(
        self, gates: tf.Tensor, states: Any, keys: Any, values: Any, real: Any
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Make one step from the input side [B, 4H] and what `read` returned."""
        h, c = states
        gates = tf.split(gates + matmul(h, self.recurrent_kernel), GATES, axis=-1)
        activated = activate(gates)
        c = remember(activated, c)
        scores = tf.linalg.matvec(tf.tanh(keys + matmul(h, self.Ua)[:, None]), self.v)
        a = tf.nn.softmax(tf.where(real, scores, scores.dtype.min))
        q = tf.linalg.matvec(values, tf.where(real, a, 0.0), transpose_a=True)
        r = tf.sigmoid(matmul(q, self.Wr) + matmul(c, self.Ur) + self.br)
        h = activated[2] * tf.tanh(c + r * q)
        return h, [h, c]

    def call(self, inputs: tf.Tensor, states: Any, read: Any) -> tuple:
        return self.recur(self.input_gates(inputs), states, *read)

    def sequence(self, inputs: tf.Tensor, state: Any, sentences: Sentences) -> tuple:
        """Make all steps of inputs [B, T, E]."""
        read = self.read(sentences)
        _, outputs, state = tf.keras.backend.rnn(
            lambda gates, states: self.recur(gates, states, *read),
            self.input_gates(inputs),
            state,
        )
        return outputs, state


class LateFusionLSTM(OverSequence):
    """`LateFusionLSTMCell` over [B, T, E] and sentences: outputs [B, T, H]."""

    def __init__(self, *sizes: int, **kwargs: Any):
        super().__init__(**{"return_sequences": True, **kwargs})
        options = {"name": "cell", "dtype": self.dtype_policy}
        self.cell = LateFusionLSTMCell(*sizes, **options)
