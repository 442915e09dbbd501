"""The same LSTM in PyTorch, where it is installed: pip install torch (5 GB)."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from benchmarks.systems import count_targets
from tcnlm.data.batching import Batch
from tcnlm.preprocessing.vocabulary import PAD

INSTALLED = importlib.util.find_spec("torch") is not None


class Torch:
    """LSTM, AdaptiveLogSoftmaxWithLoss, clipping and fused Adam, each as PyTorch's own.

    config: our `lstm`'s, whose sizes, dropout and rate it has; threads: of ours.
    """

    def __init__(
        self, words: int, config: Any, clip_norm: float, batches: Sequence[Batch]
    ):
        import torch  # here, since it takes seconds and few have it

        torch.set_num_threads(
            tf.config.threading.get_intra_op_parallelism_threads() or 2
        )
        size, units, nn = config.embedding_size, config.units, torch.nn
        self.clip_norm, self.targets = clip_norm, count_targets(batches)
        self.batches = [
            (
                torch.from_numpy(b["inputs"]).long(),
                torch.from_numpy(b["targets"]).long(),
            )
            for b in batches
        ]
        self.embedding, self.drop = (
            nn.Embedding(words, size),
            nn.Dropout(config.dropout),
        )
        self.lstm = nn.LSTM(size, units, batch_first=True)
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            units, words, list(config.cutoffs), config.div_value
        )
        modules = (self.embedding, self.lstm, self.softmax)
        self.weights = [weight for m in modules for weight in m.parameters()]
        rate = config.learning_rate
        self.adam = torch.optim.Adam(self.weights, rate, fused=True)
        self.clip = nn.utils.clip_grad_norm_

    def __call__(self) -> float:
        """Take a step with every batch."""
        start = time.perf_counter()
        for inputs, targets in self.batches:
            self._step(inputs, targets)
        return time.perf_counter() - start

    def _step(self, inputs: Any, targets: Any) -> None:
        real = targets != PAD
        outputs, _ = self.lstm(self.drop(self.embedding(inputs)))
        loss = self.softmax(self.drop(outputs)[real], targets[real]).loss
        self.adam.zero_grad()
        loss.backward()
        self.clip(self.weights, self.clip_norm)
        self.adam.step()
        loss.item()
