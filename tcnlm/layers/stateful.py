"""The recurrent state that a batch leaves to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf


# What checkpoints follow but Keras does not take for weights, as it does a tf.Module's.
class CarriedState(tf.__internal__.tracking.AutoTrackable):
    """A nest of states [B, ...], zero at first; checkpoints keep it, weights do not.

    like: such a nest, for its shapes.
    """

    def __init__(self, like: Any):
        super().__init__()
        self.nest = tf.nest.map_structure(_variable, like)

    def start(self, batch: dict[str, tf.Tensor]) -> Any:
        """Return the states that a batch's rows start from.

        Its "fresh" [B] is above 0 where a row begins anew, at zero; its "row" [B], if
        it has one, says which rows of the global batch it holds.
        """
        fresh = batch["fresh"]
        first, rows = batch["row"][0] if "row" in batch else 0, tf.shape(fresh)[0]

        def state(variable: tf.Variable) -> tf.Tensor:
            kept = variable[first : first + rows]
            others = kept.shape.rank - 1
            missing = [[0, rows - tf.shape(kept)[0]], *[[0, 0]] * others]
            kept = tf.pad(kept, missing)
            anew = tf.reshape(fresh > 0, [-1, *[1] * others])
            return tf.where(anew, tf.zeros_like(kept), kept)

        return tf.nest.map_structure(state, self.nest)

    def keep(self, states: Any) -> None:
        """Keep the states after a batch for the next one."""
        pairs = zip(tf.nest.flatten(self.nest), tf.nest.flatten(states))
        for variable, state in pairs:
            variable.assign(state)

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """Leave the states, whatever is done inside, as they were before."""
        before = [tf.identity(variable) for variable in tf.nest.flatten(self.nest)]
        try:
            yield
        finally:
            self.keep(before)


def _variable(state: tf.Tensor) -> tf.Variable:
    sizes = state.shape[1:].as_list()
    return tf.Variable(tf.zeros([0, *sizes]), trainable=False, shape=[None, *sizes])
