"""The naive mixture-of-experts language model (Wang et al., AISTATS 2018, eq. 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import setting
from tcnlm.layers.lstm import (
    GATES,
    OverSequence,
    ZeroState,
    activate,
    apart,
    forget_bias,
    update,
)
from tcnlm.layers.mixed_precision import einsum
from tcnlm.layers.softmax import AdaptiveSoftmax, NextWord, of_targets
from tcnlm.layers.words import word_embedding
from tcnlm.models import lstm, tcnlm
from tcnlm.models.base import Model
from tcnlm.models.settings import SMALL_TOPICS, SMALL_WORDS, JointSettings
from tcnlm.preprocessing.vocabulary import Vocabulary

Mixed = tuple[tf.Tensor, tf.Tensor]  # hidden states [N, K, H] and proportions [N, K]
EPSILON = 1.2e-38  # floor of a proportion, keeps the logarithm finite


@dataclass(frozen=True)
class Config(JointSettings):
    """Settings of the naive MoE; the topic model's are TCNLM's."""

    units: int = setting(100, "of each expert; paper, section 5.4", least=1)
    num_topics: int = setting(30, "topics and experts; paper, section 5.4", least=1)


class NaiveMoE(Model):
    """One LSTM a topic, whose predictions the document's topics mix.

    With x_m the embedding of y_(m-1), which all experts share, as they do V,

        h_m^(k) = LSTM_k(x_m, h_(m-1)^(k))                        (eq. 8, for the LSTM)
        p(y_m | y_<m, t) = sum_k t_k softmax(V h_m^(k))           (eq. 7)

    under TCNLM's topic model and objective (eq. 17, 18). K (4 H (E + H)) recurrent
    weights and as many biases as gates.
    With more layers, which the paper does not try, an expert stacks LSTMs of its own.
    """

    draws_topics = True
    Config = Config
    test_config = {**SMALL_WORDS, **SMALL_TOPICS}

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        tcnlm.make_topic_model(self)
        self.embedding = word_embedding(len(vocabulary), config)
        self.recurrent = [
            ExpertLSTM(config.units, config.num_topics, name=f"expert_lstm_{layer}")
            for layer in range(config.layers)
        ]
        tails = config.cutoffs, config.div_value
        self.softmax = MixtureSoftmax(len(vocabulary), *tails, name="softmax")

    topics, infer = tcnlm.TCNLM.topics, tcnlm.TCNLM.infer
    context, compute_loss = tcnlm.TCNLM.context, tcnlm.TCNLM.compute_loss
    prepare, param_groups = tcnlm.TCNLM.prepare, tcnlm.joint_param_groups
    initial_state = lstm.LSTM.initial_state

    def call(self, batch: dict, training: bool = False, context: Any = None) -> Any:
        """Return log p(y_m | y_<m, t), nats, [B, T] (eq. 7)."""
        t = self.context(batch) if context is None else context
        noise, rate = self.noise("words", batch, training), self.config.dropout
        h = noise.dropout(self.embedding(batch["inputs"]), rate)
        for experts in self.recurrent:  # [B, T, K, H], which t does not reach (eq. 8)
            h = noise.dropout(experts(h), rate)

        def mixed(h: tf.Tensor, words: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
            return self.softmax((h, t), words)

        return of_targets(mixed, batch["targets"], h, t)

    def step(self, token: tf.Tensor, state: Any, constants: Any) -> tuple[Any, Any]:
        h, state = lstm.step_layers(self, token, state)
        return self.softmax.next_word((h, constants)), state


class ExpertLSTMCell(ZeroState, tf.keras.layers.Layer):
    """One step of K LSTMs, each with weights of its own (eq. 8, for the LSTM).

    inputs [B, E], which all experts share, or [B, K, E], one for each; states
    (h [B, K, H], c [B, K, H]) -> h [B, K, H], (h, c).

    Weights: `kernel` [K, E, 4H], `recurrent_kernel` [K, H, 4H], `bias` [K, 4H], gates
    in the paper's order i, f, o, c. Every expert starts as a Keras LSTM does, its
    forget bias at one.
    """

    def __init__(self, units: int, num_experts: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.units, self.num_experts = units, num_experts
        self.state_size = [tf.TensorShape([num_experts, units])] * 2
        self.output_size = tf.TensorShape([num_experts, units])

    def build(self, input_shape: Any) -> None:
        self.row = list(input_shape[1:])
        self.product = "nke,keg->nkg" if len(self.row) > 1 else "ne,keg->nkg"
        K, gates, add = self.num_experts, GATES * self.units, self.add_weight
        shape, start = [K, self.row[-1], gates], apart("glorot_uniform")
        self.kernel = add("kernel", shape, initializer=start)
        shape, start = [K, self.units, gates], apart("orthogonal")
        self.recurrent_kernel = add("recurrent_kernel", shape, initializer=start)
        self.bias = add("bias", [K, gates], initializer=forget_bias)
        self.built = True

    def input_gates(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the input side with the bias, [..., K, 4H], of all steps."""
        # Rows first: the gradient of an einsum over "..." would broadcast the kernel to
        # every one of them.
        rows = tf.reshape(inputs, [-1, *self.row])
        gates = einsum(self.product, rows, self.kernel) + self.bias
        before = tf.shape(inputs)[: -len(self.row)]
        return tf.reshape(gates, tf.concat([before, self.bias.shape], axis=0))

    def recur(self, gates: tf.Tensor, states: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Make one step from the input side [B, K, 4H]."""
        h, c = states
        gates += einsum("bkh,khg->bkg", h, self.recurrent_kernel)
        return update(activate(tf.split(gates, GATES, axis=-1)), c)

    def sequence(self, inputs: tf.Tensor, state: Any) -> tuple:
        """Make all steps of inputs [B, T, ...] in one loop for all experts."""
        gates = self.input_gates(inputs)
        _, outputs, state = tf.keras.backend.rnn(self.recur, gates, state)
        return outputs, state

    def call(self, inputs: tf.Tensor, states: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        return self.recur(self.input_gates(inputs), states)


class ExpertLSTM(OverSequence):
    """`ExpertLSTMCell` over [B, T, E] or [B, T, K, E]: outputs [B, T, K, H]."""

    def __init__(self, *sizes: int, **kwargs: Any):
        super().__init__(**{"return_sequences": True, **kwargs})
        self.cell = ExpertLSTMCell(*sizes, name="cell", dtype=self.dtype_policy)


class MixtureSoftmax(AdaptiveSoftmax):
    """p(w) = sum_k t_k softmax(V h_k)_w (eq. 7), V an adaptive softmax that all share.

    What it sees is a pair: hidden states [N, K, H] and proportions t [N, K]. The sum
    is over probabilities and exact: log p(w) = logsumexp_k (log t_k + log p_k(w)).
    """

    def build(self, input_shape: Any) -> None:
        super().build(input_shape[0])

    def call(self, inputs: Mixed, targets: tf.Tensor) -> tf.Tensor:
        """Return log p(target), nats: ([N, K, H], [N, K]), targets [N] -> [N]."""
        hidden, topics = inputs
        each = tf.repeat(targets, hidden.shape[1])
        log_probs = super().call(_rows(hidden), each)
        return _mix(log_probs[:, None], topics)[:, 0]

    def log_probs(self, inputs: Mixed) -> tf.Tensor:
        """Return log p of every word, nats: ([N, K, H], [N, K]) -> [N, V]."""
        hidden, topics = inputs
        return _mix(super().log_probs(_rows(hidden)), topics)

    def next_word(self, inputs: Mixed) -> NextWord:
        # Each expert has a share of its own for the forbidden words.
        return NextWord(lambda: self.log_probs(inputs))


def _rows(hidden: tf.Tensor) -> tf.Tensor:
    return tf.reshape(hidden, [-1, hidden.shape[-1]])


def _mix(log_probs: tf.Tensor, topics: tf.Tensor) -> tf.Tensor:
    """Return log sum_k t_k p_k [N, W] of log p [N K, W] and t [N, K]."""
    each = tf.reshape(log_probs, [-1, topics.shape[-1], log_probs.shape[-1]])
    log_topics = tf.math.log(tf.maximum(topics, EPSILON))
    return tf.reduce_logsumexp(log_topics[:, :, None] + each, axis=1)
