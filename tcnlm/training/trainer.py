"""The training loop: epochs, evaluation, early stopping, exact resume."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import tensorflow as tf
from tqdm import tqdm

from tcnlm.data.dataset import Dataset
from tcnlm.evaluation import topics
from tcnlm.evaluation.measures import judge
from tcnlm.evaluation.subject import Subject
from tcnlm.files import replacing, writing
from tcnlm.models.base import Method, TopicModel
from tcnlm.training.checkpoints import Checkpoints
from tcnlm.training.divergence import (
    MOST_NATS,
    check_perplexity,
    check_steps,
    check_terms,
)
from tcnlm.training.interrupts import Interrupted, interrupts
from tcnlm.training.optimization import GroupedAdam, decay
from tcnlm.training.settings import Training
from tcnlm.training.state import State
from tcnlm.training.weights import recover_weights, save_weights
from tcnlm.training.workers import Workers

CALL_SECONDS = 0.5  # between two returns from the graph to Python, by those before
COLLAPSE = 0.1  # share of topics in use at which the topic model has collapsed
EVEN = 1.5  # largest proportion, in units of 1/K, below which topics say nothing


class Trainer:
    """Trains a model on a dataset into a RUN folder."""

    def __init__(
        self,
        model: Method,
        dataset: Dataset,
        run: Path,
        settings: Training,
        seed: int,
        workers: Workers | None = None,
    ):
        self.workers = workers or Workers()
        self.model, self.run, self.settings, self.seed = model, run, settings, seed
        self.measure = judge(type(model)).key
        self.judge = judge(type(model), settings.judge)
        self.dataset = dataset
        self.rows = {
            name: model.batching.rows(dataset.split(name))
            for name in ("train", "valid")
        }
        self.optimizer = GroupedAdam(
            model.parameter_groups(),
            settings.clip_norm,
            settings.lazy_adam,
            decay(settings.decay, self._steps()),
        )
        self.checkpoints = Checkpoints(run, model=model, optimizer=self.optimizer)
        self.step = tf.function(
            lambda batch: self.workers.step(model, batch, self.optimizer),
            input_signature=[self.workers.signature(model.batching.signature())],
        )
        self.state = State(best=self.judge.worst)
        self.pace = CALL_SECONDS  # seconds a step, lately
        self.writer = tf.summary.create_file_writer(str(run / "tensorboard"))

    @property
    def finished(self) -> bool:
        """Whether the epochs or the patience are used up, or there is only a fit."""
        if not self.model.trainable_variables:
            return self.state.epoch > 0
        out_of_patience = self.state.waited >= self.settings.patience
        return out_of_patience or self.state.epoch >= self.settings.epochs

    def train(self) -> State:
        """Train to the end, from the latest checkpoint if there is one.

        Saves a checkpoint when it is interrupted.
        """
        self.workers.follow(self.run)
        self._start()
        self.workers.lead()
        try:
            while not self.finished:
                if self.model.trainable_variables:
                    self._to_evaluation()
                self._evaluate()
                self._save()
        except Interrupted:
            with interrupts.held():
                if self.saved != asdict(self.state):
                    self._save()
                self._log("train", {}, flush=True)
            raise
        return self.state

    def _start(self) -> None:
        saved = self.checkpoints.restore()
        if saved is None:
            self.model.prepare(self.dataset)
            self._save()
        else:
            self.state = saved
            if self.state.best != self.judge.worst:
                recover_weights(self.run, self.checkpoints.copy)
            print(f"going on from step {int(self.model.steps)}")
            self.last_save, self.saved = time.monotonic(), asdict(self.state)

    def _epoch_steps(self, epoch: int) -> int:
        size = self.settings.batch_size
        return self.rows["train"].num_batches(size, self.seed, epoch)

    def _steps(self) -> int:
        return sum(map(self._epoch_steps, range(self.settings.epochs)))

    def _to_evaluation(self) -> None:
        """Take this epoch's batches up to the next evaluation."""
        settings, total = self.settings, self._epoch_steps(self.state.epoch)
        every = settings.evaluation_steps or total
        due = min(self.state.evaluated + every, total)
        label = f"epoch {self.state.epoch + 1}/{settings.epochs}"
        self.clock = time.monotonic()
        bar = tqdm(
            total=total,
            initial=self.state.position,
            desc=label,
            unit=" batches",
            mininterval=1,
            leave=False,
            disable=None,
        )
        with bar:
            batches = iter(self.batches())
            # Here, since tracing takes seconds and the steps let a signal wait.
            self._take.get_concrete_function(batches, tf.constant(1))
            while self.state.position < due:
                with interrupts.held():
                    self._account(self.take(batches, self._until_due(due)), bar)
                if self._checkpoint_due():
                    self._save()

    def _until_due(self, end: int) -> int:
        """Return how many steps to take until Python has something to do."""
        position, every = self.state.position, self.settings.checkpoint_steps
        most = self.workers.call_steps
        due = every - position % every if every else most
        soon = max(1, int(CALL_SECONDS / self.pace))
        return min(most, soon, due, end - position)

    def take(self, batches: Any, number: int) -> pd.DataFrame:
        """Take steps in one call; return their terms and "targets", a row each."""
        terms = self._take(batches, tf.constant(number))
        return pd.DataFrame({name: values.numpy() for name, values in terms.items()})

    @tf.function
    def _take(self, batches: Any, number: tf.Tensor) -> dict[str, tf.Tensor]:
        def step(_):
            batch, targets = next(batches)
            return {**self.step(batch), "targets": targets}

        terms = self.step.get_concrete_function().structured_outputs
        kinds = {name: term.dtype for name, term in terms.items()}
        kinds["targets"] = tf.int64
        return tf.map_fn(
            step, tf.range(number), parallel_iterations=1, fn_output_signature=kinds
        )

    def batches(self) -> tf.data.Dataset:
        """Return the remaining batches of the epoch with their numbers of targets."""
        rows, state = self.rows["train"], self.state

        def generate():
            size, epoch, skip = self.settings.batch_size, state.epoch, state.position
            for batch in rows.batches(size, self.seed, epoch, skip):
                own = self.workers.own(batch, self.model)
                yield own, self.model.count_words(batch)

        signature = self.workers.signature(self.model.batching.signature())
        kinds = (signature, tf.TensorSpec([], tf.int64))
        data = tf.data.Dataset.from_generator(generate, output_signature=kinds)
        return data.prefetch(8)

    def _account(self, taken: pd.DataFrame, bar: tqdm) -> None:
        """Add finished steps to the epoch's sums; stop if one is not finite."""
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
        self._report(dict(taken.iloc[-1]), words / seconds, bar, len(taken))

    def _report(self, values: dict, rate: float, bar: tqdm, steps: int) -> None:
        so_far = self._measured(self.state.nll / max(self.state.targets, 1))
        bar.set_postfix_str(
            f"loss {values['loss']:.1f}, {self.measure} {so_far:.2f}, "
            f"{rate:.0f} tokens/s",
            refresh=False,
        )
        bar.update(steps)
        self._log("train", {**values, "tokens_per_second": rate})

    def _log(self, group: str, values: dict, flush: bool = False) -> None:
        folder = self.run / "tensorboard"
        with writing(folder, tf.errors.OpError):
            with self.writer.as_default(int(self.model.steps)):
                for name, value in values.items():
                    tf.summary.scalar(f"{group}/{name}", value)
            if flush:
                self.writer.flush()

    def _evaluate(self) -> None:
        """Score the validation split, then keep the best weights and turn the epoch."""
        size = self.settings.batch_size
        valid = Subject(self.model, self.dataset, self.rows["valid"], batch_size=size)
        row = {**self._row(), **self._validate(valid), **self._topics_in_use(valid)}
        with interrupts.held():
            self._turn(row)

    def _turn(self, row: dict[str, Any]) -> None:
        state = self.state
        value = self.workers.of_chief(row[f"valid_{self.judge.key}"])
        state.history.append(row)
        state.waited += 1
        if self.judge.improves(value, state.best):
            state.best, state.waited = value, 0
            save_weights(self.model, self.run)
        state.evaluated = state.position
        if self._share_taken() == 1:
            state.epoch, state.position, state.evaluated = state.epoch + 1, 0, 0
        state.nll, state.targets = 0.0, 0
        self._write_history(row)

    def _share_taken(self) -> float:
        """Return the share of this epoch that is over; a fit takes all of its one."""
        if not self.model.trainable_variables:
            return 1
        return self.state.position / self._epoch_steps(self.state.epoch)

    def _row(self) -> dict[str, Any]:
        state, share = self.state, self._share_taken()
        row = {
            "epoch": state.epoch + (1 if share == 1 else round(share, 4)),
            "step": int(self.model.steps),
            "seconds": round(state.seconds, 1),
        }
        if state.targets:
            row[f"train_{self.measure}"] = self._measured(state.nll / state.targets)
        return row

    def _validate(self, valid: Subject) -> dict[str, float]:
        scored = valid.mean_score
        terms = {self.model.per_word: scored.nll, **scored.terms}
        check_terms(terms, int(self.model.steps))
        if self.measure == "perplexity":
            check_perplexity(scored.nll, int(self.model.steps))
        return {
            f"valid_{self.measure}": self._measured(scored.nll),
            **{f"valid_{name}": value for name, value in terms.items()},
            **self._judged(valid),
        }

    def _judged(self, valid: Subject) -> dict[str, float]:
        """Return the figure that judges, unless it is the model's own."""
        if self.judge.key == self.measure:
            return {}
        return {f"valid_{self.judge.key}": self.judge.of(valid)}

    def _measured(self, per_word: float) -> float:
        """Return what an epoch is judged by: the perplexity, or the loss as it is."""
        if self.measure != "perplexity":
            return per_word
        return math.exp(min(per_word, MOST_NATS))

    def _topics_in_use(self, valid: Subject) -> dict[str, float]:
        if not isinstance(self.model, TopicModel):
            return {}
        used = valid.documents
        complaint = collapse(used)
        if complaint and self._topics_had_time():
            print(f"warning: the topic model has collapsed: {complaint}")
        return {
            "topics_in_use": used.in_use,
            "largest_proportion": used.largest_proportion,
        }

    def _topics_had_time(self) -> bool:
        """Whether topics, flat at the start, had a head start or an evaluation."""
        head_start = getattr(self.model.config, "head_start", 0)
        return bool(head_start or self.state.history)

    def _write_history(self, row: dict[str, Any]) -> None:
        path = self.run / "history.csv"
        with writing(path), replacing(path) as aside:
            pd.DataFrame(self.state.history).to_csv(aside, index=False)
        self._log("evaluation", row, flush=True)
        print(_line(row, self.measure) + self._verdict(row), flush=True)

    def _verdict(self, row: dict[str, Any]) -> str:
        key, title, form = self.judge.key, self.judge.title, self.judge.form
        if key == self.measure:
            return ""
        return f", {title} {form.format(row[f'valid_{key}'])}"

    def _checkpoint_due(self) -> bool:
        every, minutes = (
            self.settings.checkpoint_steps,
            self.settings.checkpoint_minutes,
        )
        by_steps = bool(every) and self.state.position % every == 0
        return by_steps or time.monotonic() - self.last_save > 60 * minutes

    def _save(self) -> None:
        with interrupts.held():
            self.saved = asdict(self.state)
            self.checkpoints.save(int(self.model.steps), self.saved)
            self.last_save = time.monotonic()


def collapse(used: topics.DocumentTopics) -> str:
    """Return what is wrong with the topics that documents use, or nothing."""
    count = used.proportions.shape[1]
    if count == 1:  # the cell without topics, a baseline: nothing that could collapse
        return ""
    if used.in_use <= COLLAPSE * count:
        return f"only {used.in_use} of {count} topics are the largest of any document"
    if used.largest_proportion < EVEN / count:
        return (
            f"all documents mix all {count} topics alike (the largest proportion is "
            f"{used.largest_proportion:.3f} on average, even ones are {1 / count:.3f})"
        )
    return ""


def _line(row: dict[str, Any], measure: str) -> str:
    line = (
        f"epoch {row['epoch']:g}: step {row['step']}, {row['seconds'] / 60:.1f} min, "
        f"{measure}"
    )
    for split in ("train", "valid"):
        if f"{split}_{measure}" in row:
            line += f" {split} {row[f'{split}_{measure}']:.2f}"
    if "topics_in_use" in row:
        line += (
            f", {row['topics_in_use']} topics in use, largest proportion "
            f"{row['largest_proportion']:.2f}"
        )
    if "valid_kl" in row:
        line += f", KL {row['valid_kl']:.2f}"
    return line
