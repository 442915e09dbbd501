"""A plain LSTM language model, the papers' "basic-LSTM" (Lau et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.models.base import RecurrentLanguageModel, Terms, language_terms


@dataclass(frozen=True)
class Config:
    """Settings of the LSTM: "small" units=600 layers=1, "large" units=900 layers=2."""

    units: int = 600  # paper, section 5: small
    layers: int = 1  # paper, section 5: small
    embedding_size: int = 300  # Lau et al. 2017; TCNLM's own is not stated
    embedding_scale: float = 1.0  # open: embeddings start U(-scale, scale), see README
    embeddings: str = "random"  # or "train", or a word2vec file
    dropout: float = 0.4  # paper, section 5
    cutoffs: tuple[int, ...] = (2000, 10000)  # open; Grave et al.'s for 44K types
    div_value: float = 4.0  # Grave et al. 2016
    learning_rate: float = 1e-3  # Adam; Lau et al. 2017


class LSTM(RecurrentLanguageModel):
    """p(y_m | y_<m) by an LSTM (eq. 2 and 3) that sees its own sentence only."""

    Config = Config

    def make_layer(self, index: int) -> tf.keras.layers.Layer:
        """Return a Keras LSTM; its forget bias starts at one."""
        return tf.keras.layers.LSTM(
            self.config.units, return_sequences=True, name=f"lstm_{index}"
        )

    def run_layer(self, layer: Any, inputs: tf.Tensor, context: Any) -> tf.Tensor:
        """Run the layer; there is no context."""
        return layer(inputs)

    def step_layer(self, layer: Any, inputs: tf.Tensor, state: Any, context: Any):
        """Run the cell; there is no context."""
        return layer.cell(inputs, state)

    def context(self, batch: dict[str, tf.Tensor]) -> tuple:
        """Return the empty tuple."""
        return ()

    def objective(self, batch: dict[str, tf.Tensor], training: bool) -> Terms:
        """Return {"loss": nats a sequence, "nll": nats a target}."""
        context, targets = self.context(batch), batch["targets"]
        log_probs = self.log_probs(batch["inputs"], targets, context, training)
        loss, terms = language_terms(log_probs, targets)
        return {"loss": loss, **terms}
