"""The training loop: epochs, evaluation, early stopping, exact resume."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import tensorflow as tf
from tqdm import tqdm

from tcnlm.common.errors import Interrupted, interrupts
from tcnlm.common.process import progress_bar
from tcnlm.data.dataset import Dataset
from tcnlm.layers.mixed_precision import products_in
from tcnlm.layers.optimization import GroupedAdam, Training, decay
from tcnlm.layers.tf_function import compiled_loops, graph
from tcnlm.models.base import Model
from tcnlm.runs.checkpoints import Checkpoints, State
from tcnlm.runs.weights import recover_weights, save_weights
from tcnlm.training.log import Forecast, Log
from tcnlm.training.validation import Validation, check_steps
from tcnlm.training.workers import Workers

CALL_SECONDS = 0.5  # between two returns from the graph to Python, by those before


class Trainer:
    """Trains a model on a dataset into a RUN folder, which the chief alone writes."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        run: Path,
        training: Training,
        seed: int,
        workers: Workers | None = None,
    ):
        self.workers = workers or Workers()
        self.model, self.run, self.training, self.seed = model, run, training, seed
        self.dataset, batching = dataset, model.trained_on or model.batching
        self.rows = batching.rows(dataset.split("train"))
        self.validation = Validation(model, dataset, training)
        self.judge = self.validation.judge
        rates, steps = training.decay, 0
        if rates != "constant":
            steps = sum(map(self._epoch_steps, range(training.epochs)))
        how = training.clip_norm, training.lazy_adam, decay(rates, steps, model.steps)
        self.optimizer = GroupedAdam(model.param_groups(), *how)
        model.compile(self.optimizer)
        self.checkpoints = Checkpoints(run, model)
        whole = batching.signature()
        self.signature = self.workers.signature(whole, training.accumulate)
        self.step = graph(self._step, input_signature=[self.signature])
        self.state = State(best=self.judge.worst)
        self.saved: dict[str, Any] | None = None  # the state of the last checkpoint
        self.pace = CALL_SECONDS  # seconds a step, lately
        place = run if self.workers.chief else None
        self.log = Log(place, self.validation.measure, self.judge)
        self.forecast = Forecast(self._left)

    def _step(self, batch: Any) -> dict[str, tf.Tensor]:
        with compiled_loops(), products_in(self.training.precision):
            return self.workers.step(self.model, batch)

    @property
    def finished(self) -> bool:
        """Whether the epochs or the patience are used up, or there is only a fit."""
        if not self.model.trainable_variables:
            return self.state.epoch > 0
        out_of_patience = self.state.waited >= self.training.patience
        return out_of_patience or self.state.epoch >= self.training.epochs

    def train(self) -> State:
        """Train to the end, from the latest checkpoint; save one when interrupted."""
        try:
            with self.workers.chief_first():
                self._start()
            while not self.finished:
                if self.model.trainable_variables:
                    self._take_epoch()
                self._evaluate()
                self._save()
        except Interrupted:
            with interrupts.held():
                if self.saved not in (None, asdict(self.state)):
                    self._save()
                self.log.scalars("train", {}, int(self.model.steps), flush=True)
            self.workers.leave()
            raise
        return self.state

    def _start(self) -> None:
        saved = self.checkpoints.restore()
        if saved is None:
            with products_in(self.training.precision):
                self.model.prepare(self.dataset)
            self._save()
        else:
            self.state = saved
            if self.state.best != self.judge.worst and self.workers.chief:
                recover_weights(self.run, self.checkpoints.copy)
            print(f"continuing from step {int(self.model.steps)}")
            self.last_save, self.saved = time.monotonic(), asdict(self.state)

    def _epoch_steps(self, epoch: int) -> int:
        return self.rows.num_batches(self.training.step_size, self.seed, epoch)

    def _left(self) -> int:
        epochs = self.training.epochs - self.state.epoch
        return epochs * self._epoch_steps(self.state.epoch) - self.state.position

    def _take_epoch(self) -> None:
        training, total = self.training, self._epoch_steps(self.state.epoch)
        label = f"epoch {self.state.epoch + 1}/{training.epochs}"
        self.clock = time.monotonic()
        options = {"unit": " batches", "mininterval": 1, "leave": False}
        options |= {"total": total, "initial": self.state.position}
        bar = progress_bar(desc=label, **options)
        with bar, self.workers.steps_held():
            batches = iter(self.batches())
            # Here, since tracing takes seconds and the steps let a signal wait.
            self._take.get_concrete_function(batches, tf.constant(1))
            while self.state.position < total:
                with interrupts.held():
                    self._account(self.take(batches, self._until_due(total)), bar)
                self.workers.after_step()
                every = training.checkpoint_steps
                seconds = time.monotonic() - self.last_save
                by_steps = every and self.state.position % every == 0
                if by_steps or seconds > 60 * training.checkpoint_minutes:
                    self._save()

    def _until_due(self, end: int) -> int:
        """Return how many steps to take until Python has something to do."""
        position, every = self.state.position, self.training.checkpoint_steps
        due = every - position % every if every else end
        soon = max(1, int(CALL_SECONDS / self.pace))
        return min(self.workers.call_steps, soon, due, end - position)

    def take(self, batches: Any, number: int) -> pd.DataFrame:
        """Take steps in one call; return their terms and "targets", a row each."""
        terms = self._take(batches, tf.constant(number))
        return pd.DataFrame({name: values.numpy() for name, values in terms.items()})

    @graph
    def _take(self, batches: Any, number: tf.Tensor) -> dict[str, tf.Tensor]:
        def step(_):
            batch, targets = batches.get_next()
            return {**self.step(batch), "targets": targets}

        terms = self.step.get_concrete_function().structured_outputs
        kinds = {name: term.dtype for name, term in terms.items()} | {
            "targets": tf.int64
        }
        how = {"parallel_iterations": 1, "fn_output_signature": kinds}
        return tf.map_fn(step, tf.range(number), **how)

    def batches(self) -> tf.data.Dataset:
        """Return the remaining batches of the epoch with their numbers of targets."""
        rows, state = self.rows, self.state

        def generate():
            size, epoch, skip = self.training.step_size, state.epoch, state.position
            for batch in rows.batches(size, self.seed, epoch, skip):
                own = self.workers.own(batch, self.model, self.training.accumulate)
                yield own, self.model.count_words(batch)

        kinds = (self.signature, tf.TensorSpec([], tf.int64))
        data = tf.data.Dataset.from_generator(generate, output_signature=kinds)
        options = tf.data.Options()
        # The tuner's thread sleeps ever longer, and whoever drops the iterator waits.
        options.autotune.enabled = False
        return data.prefetch(8).with_options(options)

    def _account(self, taken: pd.DataFrame, bar: tqdm) -> None:
        check_steps(taken, int(self.model.steps) - len(taken) + 1)
        state, words = self.state, int(taken.targets.sum())
        state.position += len(taken)
        for mean, targets in zip(taken[self.model.per_word], taken.targets):
            state.nll += mean * targets
        state.targets += words
        seconds = time.monotonic() - self.clock
        state.seconds += seconds
        self.clock += seconds
        self.pace = seconds / len(taken)
        values = {**taken.iloc[-1], "tokens_per_second": words / seconds}
        mean = self.validation.measured(state.nll / max(state.targets, 1))
        so_far = f"loss {values['loss']:.1f}, {self.validation.measure} {mean:.2f}"
        rate = f"{words / seconds:.0f} tokens/s"
        bar.set_postfix_str(f"{so_far}, {rate}", refresh=False)
        bar.update(len(taken))
        said = self.forecast.after(len(taken))
        if said:
            bar.write(said, file=sys.stderr)
        self.log.scalars("train", values, int(self.model.steps))

    def _evaluate(self) -> None:
        state, valid = self.state, self.validation.subject()
        row = {"epoch": state.epoch + 1, "step": int(self.model.steps)}
        row["seconds"] = round(state.seconds, 1)
        if state.targets:
            mean = self.validation.measured(state.nll / state.targets)
            row[f"train_{self.validation.measure}"] = mean
        row |= self.validation.scores(valid)
        row |= self.validation.topics_in_use(valid, len(state.history))
        with interrupts.held():
            self._turn(row)

    def _turn(self, row: dict[str, Any]) -> None:
        state = self.state
        # A fit may have nothing to be judged by, and is kept as it is.
        value = self.workers.of_chief(row.get(f"valid_{self.judge.key}", 0.0))
        state.history.append(row)
        state.waited += 1
        if self.judge.improves(value, state.best):
            state.best, state.waited = value, 0
            if self.workers.chief:
                save_weights(self.model, self.run)
        state.epoch, state.position = state.epoch + 1, 0
        state.nll, state.targets = 0.0, 0
        self.log.evaluation(state.history)

    def _save(self) -> None:
        with interrupts.held():
            self.saved = asdict(self.state)
            if self.workers.chief:
                self.checkpoints.save(int(self.model.steps), self.saved)
            self.last_save = time.monotonic()
