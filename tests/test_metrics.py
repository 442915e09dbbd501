"""The table of measures, what asks it, and the figures that it adds."""

import json
import math
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy
from measured import fake_run
from trained import make_trainer

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.features import DocumentTopics
from tcnlm.metrics.registry import METRICS, check_words, figures, judge
from tcnlm.models import MODELS, model_class
from tcnlm.report import evaluate_run as evaluation
from tcnlm.report import page
from tcnlm.runs.run_folder import RunFolder, make_model

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def run(toy_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measures") / "RUN"
    return tiny.make_run_on(toy_data, folder, "neural_topics")


def test_every_key_and_title_stands_once():
    every = figures()
    assert len(every) == len({f.key for f in every}) == len({f.title for f in every})
    assert {f.better for f in every} == {"min", "max", ""}
    entries = [name for measure in METRICS for name in measure.entries]
    assert len(entries) == len(set(entries))
    assert len({measure.key for measure in METRICS}) == len(METRICS)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_is_judged_by_its_own_measure_unless_told(name):
    kind = model_class(name)
    own = {"lda": "loss", "nmf": "loss", "ntm": "loss", "neural_topics": "bound"}
    assert judge(kind).key == own.get(name, "perplexity")


def test_a_judge_that_does_not_apply_is_refused_naming_those_that_do(toy_data):
    with pytest.raises(InputError, match="judge=npmi: a LSTM can .* perplexity, nll, "):
        judge(model_class("lstm"), "npmi")
    for key in ("npmy", "parameters", "largest_proportion", "probe.r2"):
        with pytest.raises(InputError, match=f"judge={key}: .*npmi, npmi_by_use"):
            judge(model_class("tcnlm"), key)
    dataset = Dataset(toy_data)
    model = make_model({"model": "lstm", "settings": {}, "seed": 1}, dataset.vocabulary)
    by_labels = model_class("neural_topics"), "clusters.nmi"
    keys = "retrieval.precision", "classification.accuracy"
    for kind, key in (by_labels, *((type(model), key) for key in keys)):
        with pytest.raises(InputError, match="has no labels"):
            check_words(model, dataset, "valid", judge(kind, key))


def test_the_effective_number_of_topics_is_the_exponential_of_the_entropy():
    proportions = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    has_words = np.array([True, True, False])
    found = DocumentTopics(proportions, has_words).effective
    shares = (0.4, 0.5, 0.1)
    assert found == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)))
    even = DocumentTopics(np.full((5, 4), 0.25), np.ones(5, bool))
    assert even.effective == pytest.approx(4)


def test_an_evaluation_without_the_newer_keys_is_shown():
    old = fake_run(["a", "b"]).evaluation
    kept = json.loads((toy.GOLDEN_RUN / "evaluation.json").read_text())
    run = fake_run(["a", "b"], **{**kept, "topics": old["topics"]})
    shown = page.render([run, run])
    assert "effective topics" not in shown
    printed = evaluation.summary(run.evaluation)
    assert f"{kept['parameters']:,}" in printed
    assert "KL, nats per sequence" in printed  # where an old file has it: elbo.kl


def test_figures_are_kept_before_anything_is_drawn(run, tmp_path, monkeypatch):
    run = shutil.copytree(run, tmp_path / "run")

    def fail(*_):
        raise RuntimeError("no font")

    monkeypatch.setattr(evaluation, "draw_run", fail)
    with pytest.raises(RuntimeError, match="no font"):
        evaluation.evaluate_run(RunFolder(run))
    assert json.loads((run / "evaluation.json").read_text())["bound"] > 1


def test_each_split_has_files_of_its_own(run, tmp_path):
    run = shutil.copytree(run, tmp_path / "run")
    test = evaluation.evaluate_run(RunFolder(run)).evaluation
    valid = evaluation.evaluate_run(RunFolder(run), split="valid").evaluation
    assert valid["bound"] != test["bound"]
    for split, kept in (("", test), (".valid", valid)):
        file = json.loads((run / f"evaluation{split}.json").read_text())
        assert file["bound"] == kept["bound"]
        assert file["split"] == kept["split"]
        assert kept["split"] in (run / f"report{split}.html").read_text()
        assert (run / f"figures{split}" / "document_0.svg").exists()


def test_a_run_stopped_before_its_end_is_said_so(toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "run", "lstm")
    measured = evaluation.evaluate_run(RunFolder(run))
    assert measured.evaluation["epoch"] == 2
    assert measured.evaluation["stopped"] == {"epoch": 2, "of": 20}
    said = "weights of epoch 2, stopped at epoch 2 of 20"
    assert said in evaluation.summary(measured.evaluation)
    assert said in (run / "report.html").read_text()


TOPICS = "neural_topics"  # without a recurrence it is traced in little time


def seeded(data, run, **settings):
    tf.keras.utils.set_random_seed(1)
    return make_trainer(data, run, TOPICS, **settings)


def rising(trainer, figures):
    """Let a trainer's judge give these figures, one an evaluation."""
    values, scores = iter(figures), trainer.validation.scores
    trainer.validation.scores = lambda v: {**scores(v), "valid_npmi": next(values)}
    return trainer


def test_training_stops_when_a_figure_to_be_raised_falls(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path, TOPICS, judge="npmi", patience=2)
    assert trainer.state.best == -math.inf
    end = rising(trainer, [0.1, 0.3, 0.2, 0.25, 0.9]).train()
    assert (end.epoch, end.best, end.waited) == (4, 0.3, 2)


def test_the_weights_kept_are_those_of_the_best_figure(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path, TOPICS, judge="npmi", epochs=3)
    seen, save = [], trainer.model.save_weights

    def saving(path):
        seen.append(int(trainer.model.steps))
        save(path)

    trainer.model.save_weights = saving
    end = rising(trainer, [0.1, 0.3, 0.2]).train()
    steps = [row["step"] for row in end.history]
    assert seen == steps[:2]


LOOP = {"epochs": 3, "checkpoint_steps": 5, "patience": 9, "judge": "npmi_by_use"}


@pytest.fixture(scope="module")
def whole(toy_data, tmp_path_factory):
    return seeded(toy_data, tmp_path_factory.mktemp("whole"), **LOOP).train()


@pytest.mark.parametrize(
    "saves", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 7))]
)
def test_a_run_goes_on_in_the_middle_of_its_patience(toy_data, tmp_path, whole, saves):
    stopped = seeded(toy_data, tmp_path / "RUN", **LOOP)
    save, left = stopped._save, iter(range(saves - 1))

    def stop_after_saving():
        save()  # at 0, at step 5, at 10, after the evaluation ...
        if next(left, None) is None:
            raise KeyboardInterrupt

    stopped._save = stop_after_saving
    with pytest.raises(KeyboardInterrupt):
        stopped.train()
    again = make_trainer(toy_data, tmp_path / "RUN", TOPICS, **LOOP).train()
    assert (again.best, again.waited) == (whole.best, whole.waited)
    assert len(again.history) == len(whole.history) == 3
    for ours, theirs in zip(again.history, whole.history):
        assert ours | {"seconds": 0} == theirs | {"seconds": 0}
