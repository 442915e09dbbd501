"""The larger-context language model (Wang and Cho, ACL 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from preprocessing.vocabulary import Vocabulary
from tcnlm.late_fusion import LateFusionLSTM, Sentences
from tcnlm.models import lstm


@dataclass(frozen=True)
class Config(lstm.RecurrentConfig):
    """Settings of LCLM; "small" is units=600 layers=1, "large" units=900 layers=2."""

    context_sentences: int = 4  # n; what Lau et al. 2017 chose for it, from memory
    context_units: int = 300  # open: of each direction, and of the attention


class LCLM(lstm.LSTMLanguageModel):
    """p(y_m | y_<m, s_1 .. s_n), s the up to n sentences before, by late fusion.

    Each of them is a bag of words. An LSTM in each direction goes over the sequence of
    bags, and z_j is the states of both at sentence j. At every word attention, by the
    language model's state, weighs the z_j; their sum joins the memory cell's content on
    its way to the output gate, and never the memory itself. `LateFusionLSTMCell` has
    the equations, without numbers: the paper's text could not be opened.

    From its summaries: bags in sequence, attention at each word, a further gate in the
    LSTM. From memory: both directions, the form of the attention and of the gate (the
    latter as Tilk and Alumae 2016 have it, who follow the paper). Assumed: a bag is the
    mean of its words' embeddings, all words counted and from a table of its own; no
    dropout on the context; a second layer, which the paper does not have, fuses as the
    first does, with weights of its own; the sizes of what reads the context.

    Neither a sentence without words nor one before the document's first is attended
    to; with none left the model is the plain LSTM. So it is when it writes without a
    document to go on with.
    """

    Config = Config

    def __init__(self, config: Config, vocabulary: Vocabulary, seed: int = 0):
        super().__init__(config, vocabulary, seed)
        self.encoder = SentenceEncoder(
            len(vocabulary.words),
            config.embedding_size,
            config.embedding_scale,
            config.context_units,
        )

    @property
    def preceding_sentences(self) -> int:
        """n."""
        return self.config.context_sentences

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return an LSTM with late fusion."""
        units, width = self.config.units, self.config.context_units
        return LateFusionLSTM(units, 2 * width, width, name=f"late_fusion_{index}")

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the layer, which attends to the sentences."""
        return layer(inputs, context)

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run the cell, which attends to the sentences."""
        return layer.cell(inputs, state, context)

    def context(self, batch: dict[str, tf.Tensor]) -> Sentences:
        """Return the preceding sentences' z [B, n, Z] and which there are, [B, n]."""
        return self.encoder(batch["preceding"])

    def prepare(self, dataset: Any) -> None:
        """Start both tables of embeddings alike."""
        super().prepare(dataset)
        self.encoder.embedding.embeddings.assign(self.embedding.embeddings)


class SentenceEncoder(tf.keras.layers.Layer):
    """Sentences' word ids [B, n, W], -1 padding -> z [B, n, 2U] and which have words.

    z_j = [forward_j; backward_j], LSTMs over the mean embeddings of the sentences.
    """

    def __init__(self, num_words: int, size: int, scale: float, units: int):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(
            num_words,
            size,
            embeddings_initializer=tf.keras.initializers.RandomUniform(-scale, scale),
            name="context_embedding",
        )
        self.sequence = tf.keras.layers.Bidirectional(
            tf.keras.layers.LSTM(units, return_sequences=True), name="sequence"
        )

    def call(self, sentences: tf.Tensor) -> Sentences:
        """Return z and which sentences are real; see the class."""
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
