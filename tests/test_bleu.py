"""BLEU of what models write: nltk's own figures, and a protocol that is fixed."""

import numpy as np
import pytest
import tiny
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.drawing.markup import filled
from tcnlm.metrics import bleu
from tcnlm.programs import evaluate

pytestmark = pytest.mark.usefixtures("undrawn")


def random_sentences(rng, number):
    """Sentences of few words, so that n-grams recur; one is empty, one is new."""
    lengths = rng.integers(1, 12, number)
    drawn = [list(rng.choice(list("abcd"), length)) for length in lengths]
    return [*drawn, [], ["x"]]


def nltk_mean(pairs, order):
    """Return the mean of nltk's BLEU of sentences, each with its references."""
    smooth, weights = SmoothingFunction().method1, (1 / order,) * order
    return np.mean([sentence_bleu(r, s, weights, smooth) for s, r in pairs])


def test_bleu_and_self_bleu_are_nltks(rng):
    sentences, references = random_sentences(rng, 30), random_sentences(rng, 25)
    against = bleu.References(references)
    for sentence in sentences:
        for order, value in against.bleu(sentence).items():
            assert value == pytest.approx(
                nltk_mean([(sentence, references)], int(order))
            )
    pairs = [(sentence, references) for sentence in sentences]
    assert bleu.bleu(sentences, references)["3"] == pytest.approx(nltk_mean(pairs, 3))
    sentences.append(sentences[0])  # a copy does count
    pairs = [(s, sentences[:i] + sentences[i + 1 :]) for i, s in enumerate(sentences)]
    for order, value in bleu.self_bleu(sentences).items():
        assert value == pytest.approx(nltk_mean(pairs, int(order)))


@pytest.mark.parametrize("name", ["lstm", "rgbn_rnn"])
def test_any_model_that_writes_is_measured_beside_real_sentences(name, toy_data):
    data = Dataset(toy_data)
    model, split = tiny.untrained(name, data.vocabulary), data.split("test")
    found = bleu.measure_bleu(model, data, split)
    assert (found["sentences"], found["temperature"]) == (30, 1.0)  # of 60
    for scores in (found["test"], found["self"], *found["real"].values()):
        assert list(scores) == ["2", "3", "4"]
        assert all(0 <= score <= 1 for score in scores.values())
    assert found == bleu.measure_bleu(model, data, split)
    assert ("topics" in bleu.protocol(found)) == (name == "rgbn_rnn")


def test_a_model_that_writes_nothing_is_refused(toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "ntm")
    with pytest.raises(InputError, match="--bleu is of models that write sentences; "):
        evaluate.main([str(run), "--bleu"])


def test_a_page_states_the_protocol():
    metric, scores, real = bleu.Bleu(), {"2": 0.625, "3": 0.3}, {"2": 0.5, "3": 0.1}
    entry = {"test": scores, "self": real, "real": {"test": real, "self": real}}
    entry |= {"split": "test", "sentences": 30, "max_length": 40, "seed": 1}
    entry |= {"temperature": 1.0, "smoothing": "method1", "topics": ""}
    found = metric.shown({"model": "lstm", "bleu": entry}, None)
    page = filled(metric.template, **found)
    assert "0.625" in page
    assert "BLEU of 30 sentences sampled (temperature 1, seed 1, at most 40" in page
    assert metric.shown({"model": "lstm"}, None) is None
