"""Whether TCNLM's cell without topics leads by its product, or by its start and steps.

With one topic W = Wa diag(Wb) Wc is the same for every document, so that the cell is an
LSTM whose weights are learned as a product. Here an ordinary LSTM starts at such a
product, drawn afresh and multiplied out (with --keras-start as Keras does), and its
weights take the share of the learning rate that the factors take; their gradient is
clipped apart from the other weights', as the factors' is.

    python -m experiments.multiplied_out DATA --out RUN --set units=100 ...

makes a RUN of model `lstm`, which evaluate.py reads; started again, it goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import tensorflow as tf

from experiments import record
from preprocessing.errors import errors_reported
from tcnlm import training
from tcnlm.allocator import keep_memory
from tcnlm.cells import TopicCompositionalLSTMCell
from tcnlm.dataset import Dataset
from tcnlm.models import tcnlm
from tcnlm.models.base import without
from tcnlm.models.lstm import LSTM
from tcnlm.runs import new_config, open_run
from tcnlm.settings import Training, override

KERAS_ORDER = (0, 1, 3, 2)  # of the gates i, f, o, c: Keras has i, f, c, o


class MultipliedOut(LSTM):
    """An LSTM with the start and the learning rate of TCNLM's cell with one topic."""

    def __init__(
        self, *arguments: Any, factor_rate: float, keras_start: bool, **kwargs: Any
    ):
        super().__init__(*arguments, **kwargs)
        self.factor_rate = factor_rate
        self.keras_start = keras_start

    def prepare(self, dataset: Any) -> None:
        """Start the embeddings, and each layer at a fresh cell's product."""
        super().prepare(dataset)
        if not self.keras_start:
            self._start_at_products()

    def _start_at_products(self) -> None:
        for layer in self.recurrent:
            cell = TopicCompositionalLSTMCell(self.config.units, 1)
            cell.build(tf.TensorShape([None, layer.cell.kernel.shape[0]]))
            multiply_out(cell, layer)

    def parameter_groups(self) -> list[tuple[list[tf.Variable], float]]:
        """Return the layers' weights in a group of their own, as TCNLM's are."""
        ((weights, rate),) = super().parameter_groups()
        layers = [w for layer in self.recurrent for w in layer.trainable_variables]
        return [(without(weights, layers), rate), (layers, self.factor_rate * rate)]


def multiply_out(cell: TopicCompositionalLSTMCell, layer: Any) -> None:
    """Give a Keras LSTM the W, U (eq. 12) and bias of a cell with one topic."""
    kernels = [side_by_side(k[0]) for k in cell.effective_kernels(tf.ones([1, 1]))]
    bias = tf.reshape(cell.bias, [len(KERAS_ORDER), 1, -1])
    layer.set_weights([*kernels, side_by_side(bias)[0]])


def side_by_side(gates: tf.Tensor) -> tf.Tensor:
    """Return [4, N, H], gates i, f, o, c, as Keras has them: [N, 4H]."""
    return tf.concat([gates[gate] for gate in KERAS_ORDER], axis=1)


def main(options: argparse.Namespace) -> None:
    """Train as the options say."""
    keep_memory()
    training.make_reproducible(options.seed, options.threads)
    data, run = Dataset(options.data), Path(options.out)
    settings, loop = override((LSTM.Config(), Training()), options.set)
    made = settings, loop, data, options.seed, record.command(parser())
    config, started = new_config("lstm", *made), chosen(options)
    config["training"].update(started)
    open_run(run, config, data.vocabulary)
    model = MultipliedOut(settings, data.vocabulary, seed=options.seed, **started)
    model.build_weights()
    state = training.Trainer(model, data, run, loop, options.seed).train()
    print(f"{run}: validation perplexity {state.best:.2f} after {state.epoch} epochs")


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Return what sets this LSTM apart, for config.json and the model."""
    return {name: getattr(options, name) for name in ("factor_rate", "keras_start")}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = record.new_parser("multiplied_out", __doc__)
    add, rate = parsed.add_argument, tcnlm.Config.factor_rate
    add("data", metavar="DATA", help="made by python -m preprocessing")
    add("--out", metavar="RUN", required=True, help="folder for all that comes of it")
    settings = {"nargs": "+", "action": "extend", "default": []}
    add("--set", metavar="NAME=VALUE", **settings, help="as of train.py --model lstm")
    share = f"share of learning_rate of the LSTM's weights (default: {rate}, TCNLM's)"
    add("--factor-rate", type=float, default=rate, metavar="SHARE", help=share)
    add("--keras-start", action="store_true", help="start as Keras's LSTM does")
    add("--seed", type=int, default=1, help="default: 1")
    return parsed


if __name__ == "__main__":
    with errors_reported(training.NotFiniteError):
        main(parser().parse_args())
