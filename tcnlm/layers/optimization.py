"""Adam for groups of weights, each with its own learning rate and clipped apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tcnlm.common.settings import LARGEST_FLOAT, Settings, setting
from tcnlm.data.dataset import RULES
from tcnlm.layers.mixed_precision import PRECISIONS

Group = tuple[list[tf.Variable], float]  # weights and their learning rate
DECAYS = ("constant", "linear", "cosine")  # of a rate; the others end at zero


# What checkpoints follow but Keras does not take for weights, as it does a tf.Module's.
class GroupedAdam(tf.__internal__.tracking.AutoTrackable):
    """One Adam (Kingma and Ba 2015) a group of weights.

    A group's gradient is clipped by its own global norm, so that a topic model's loss
    over hundreds of words does not shorten the language model's steps. (Lau et al.
    2017, too, give the two parts an Adam each.)

    schedule: makes of a group's rate what Adam is to use; lazy: leave the rows of an
    embedding that a batch does not touch as they are, their moments too. Adam proper
    lets those decay and moves the rows: a sweep over the whole table in every step.
    """

    def __init__(
        self,
        groups: list[Group],
        clip_norm: float,
        lazy: bool = False,
        schedule: Callable[[float], Any] = float,
    ):
        super().__init__()
        self.clip_norm = clip_norm
        self.lazy = lazy
        self.groups = [weights for weights, _ in groups]
        adam = _lazy_adam() if lazy else tf.keras.optimizers.legacy.Adam
        # The legacy class updates each weight by one fused kernel (five times faster
        # on a CPU than the newer one's many operations); the arithmetic is the same.
        self.adams = [adam(schedule(rate)) for _, rate in groups]
        for adam, weights in zip(self.adams, self.groups):
            # Without a gradient nothing moves, and the moments are there to restore.
            adam.apply_gradients([(tf.zeros_like(each), each) for each in weights])
            adam.iterations.assign(0)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, tf.Variable]], **_: Any
    ) -> dict[str, tf.Tensor]:
        """Step down the gradients of all weights; return what `descend` does."""
        of = {weight.ref(): gradient for gradient, weight in grads_and_vars}
        return self.descend([[of[w.ref()] for w in group] for group in self.groups])

    def descend(
        self, gradients: list[list], group: int | None = None, clip: bool = True
    ) -> dict[str, tf.Tensor]:
        """Step down a list of gradients a group, or of one; return the norms."""
        norms = {}
        steps = range(len(self.adams)) if group is None else [group]
        for i, own in zip(steps, gradients):
            summed = [_sum_rows(gradient) for gradient in own]
            norms[f"gradient_norm_{i}"] = norm = tf.linalg.global_norm(summed)
            if clip:
                summed, _ = tf.clip_by_global_norm(summed, self.clip_norm, norm)
            if not self.lazy:  # one dense, fused update is cheaper than three sparse
                summed = [tf.convert_to_tensor(gradient) for gradient in summed]
            self.adams[i].apply_gradients(zip(summed, self.groups[i]))
        return norms


def decay(kind: str, steps: int, taken: Any = None) -> Callable[[float], Any]:
    """Return what makes a schedule of a rate: "constant", or to zero after `steps`.

    It goes by Adam's own count, or by `taken` where not every group takes all steps.
    """
    schedules = tf.keras.optimizers.schedules

    def scheduled(schedule: Callable[[Any], Any]) -> Any:
        return schedule if taken is None else lambda: schedule(taken)

    return {
        "constant": float,
        "linear": lambda rate: scheduled(schedules.PolynomialDecay(rate, steps, 0.0)),
        "cosine": lambda rate: scheduled(schedules.CosineDecay(rate, steps)),
    }[kind]


class LazyAdam(tf.keras.optimizers.legacy.Adam):
    """Adam that leaves an embedding's rows without a gradient as they are.

    Where the stack has tensorflow-addons its class of this name is taken, which takes
    the same steps.
    """

    def _resource_apply_sparse(
        self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor, apply_state: Any
    ) -> tf.Operation:
        of = apply_state[var.device, var.dtype.base_dtype]  # this step's, corrected
        m, v = (self.get_slot(var, name) for name in ("m", "v"))
        first = of["beta_1_t"] * tf.gather(m, indices)
        first += of["one_minus_beta_1_t"] * grad
        second = of["beta_2_t"] * tf.gather(v, indices)
        second += of["one_minus_beta_2_t"] * tf.square(grad)
        step = of["lr"] * first / (tf.sqrt(second) + of["epsilon"])
        rows = ((m.scatter_update, first), (v.scatter_update, second))
        rows += ((var.scatter_sub, step),)
        return tf.group(*(put(tf.IndexedSlices(new, indices)) for put, new in rows))


def _lazy_adam() -> type:
    try:
        with warnings.catch_warnings():  # a notice that its development has ended
            warnings.filterwarnings("ignore", message="\\s*TensorFlow Addons")
            from tensorflow_addons.optimizers import LazyAdam as OfAddons
    except ImportError:
        return LazyAdam
    return OfAddons


def _sum_rows(gradient: Any) -> Any:
    """Add up an embedding's slices row by row, without which a norm would be wrong."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, position = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, position, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def weights_of(*layers: Any) -> list[tf.Variable]:
    """Return the trainable weights of layers, in order."""
    return [weight for layer in layers for weight in layer.trainable_variables]


def exclude(weights: list[tf.Variable], removed: list[tf.Variable]) -> list:
    """Return the weights that are not among those removed, in order."""
    references = {weight.ref() for weight in removed}
    return [weight for weight in weights if weight.ref() not in references]


def split_param_group(group: Group, layers: list[Any], share: float) -> list[Group]:
    """Return a group without the layers' weights, and those at a share of its rate."""
    (weights, rate), own = group, weights_of(*layers)
    return [(exclude(weights, own), rate), (own, share * rate)]


@dataclass(frozen=True)
class Training(Settings):
    """Settings of the training loop, the same for every model."""

    batch_size: int = setting(64, "sequences; Lau et al. 2017", least=1)
    accumulate: int = setting(1, "batches summed into one step", least=1)
    epochs: int = setting(20, "at most; TCNLM's are not stated", least=1)
    judge: str = setting("", "measure that chooses the weights; empty: the model's own")
    patience: int = setting(2, "evaluations without gain before training ends", least=1)
    context: str = setting(
        "data",
        'context rule; "data" is the one DATA was made with; "read" is all '
        "words before the row's own; of rgbn_rnn the default is preceding",
        choices=("data", *RULES),
    )
    clip_norm: float = setting(
        5.0,
        "largest gradient norm of a group; Lau et al. 2017",
        above=0,
        size=LARGEST_FLOAT,
    )
    decay: str = setting(
        "constant", "schedule of rates; others end at 0 after `epochs`", choices=DECAYS
    )
    lazy_adam: bool = setting(False, "skip embeddings that a batch does not use")
    deterministic: bool = setting(True, "deterministic kernels; slower on a GPU")
    precision: str = setting(
        "float32",
        "of matrix products in training; docs/installing.md",
        choices=PRECISIONS,
    )
    checkpoint_minutes: float = setting(
        10.0, "minutes between checkpoints in an epoch", least=0, size=LARGEST_FLOAT
    )
    checkpoint_steps: int = setting(
        0, "steps between checkpoints; 0: by minutes alone", least=0
    )

    @property
    def step_size(self) -> int:
        """The sequences of a step."""
        return self.batch_size * self.accumulate
