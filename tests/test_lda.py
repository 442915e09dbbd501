"""LDA: the E-step by loops and by gensim, the fit, and topics that are all there is."""

import sys

import numpy as np
import oracle
import pytest
import tiny
import toy
from gensim.models import LdaModel
from helpers import assert_close, eager_and_graph, read_history
from trained import make_trainer

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.layers.neural_topics import bag_of_words
from tcnlm.models.lda import TOMOTOPY, LatentDirichletAllocation
from tcnlm.models.topics import top_words
from tcnlm.report.evaluate_run import evaluate

B, K, D, ALPHA = 4, 3, 11, 0.3


def make_layer(rng, iterations=5):
    layer = LatentDirichletAllocation(K, D, ALPHA, iterations)
    layer.topic_weights.assign(rng.gamma(0.4, 30.0, [K, D]) + 0.01)
    return layer


def draw_bags(rng):
    bags = rng.poisson(0.8, [B, D]).astype("float32")
    bags[2] = 0  # a document without content words
    bags[0, 3] = 6
    return bags


@eager_and_graph
def test_gamma_and_the_bound_are_the_oracle_s(rng, wrap):
    layer, bags = make_layer(rng), draw_bags(rng)
    weights = layer.topic_weights.numpy().astype(float)
    gammas = [oracle.lda_gamma(n, weights, ALPHA, 5) for n in bags]
    np.testing.assert_allclose(wrap(layer)(bags), gammas, rtol=1e-4)
    bounds = [oracle.lda_bound(n, weights, ALPHA, g) for n, g in zip(bags, gammas)]
    found = wrap(layer.bound)(bags)
    np.testing.assert_allclose(found, bounds, rtol=1e-4, atol=1e-4)
    assert abs(found[2]) < 1e-5  # nothing to predict


def test_gamma_is_gensim_s(rng):
    layer, bags = make_layer(rng, iterations=200), draw_bags(rng)
    model = LdaModel(
        num_topics=K, id2word={w: str(w) for w in range(D)}, alpha=ALPHA,
        iterations=1000, gamma_threshold=1e-7, random_state=1,
    )  # fmt: skip
    model.state.sstats = layer.topic_weights.numpy() - model.eta
    model.sync_state()
    chunk = [[(w, n) for w, n in enumerate(bag) if n] for bag in bags]
    expected, _ = model.inference(chunk)
    np.testing.assert_allclose(layer(bags), expected, rtol=1e-3, atol=1e-4)


def make_model(data, **settings):
    dataset = Dataset(data)
    return tiny.untrained("lda", dataset.vocabulary, **settings), dataset


def test_the_fit_finds_the_themes_of_the_toy_corpus(toy_data):
    model, dataset = make_model(toy_data, passes=20, chunk_size=16)
    model.prepare(dataset)
    found = {frozenset(words) for words in top_words(model, 8)}
    assert found == {frozenset(theme) for theme in toy.THEMES}
    again, _ = make_model(toy_data, passes=20, chunk_size=16)
    again.prepare(dataset)
    assert_close(again.topics(), model.topics().numpy())


def test_the_gibbs_fit_finds_the_themes_and_its_counts_are_those_of_the_words(toy_data):
    pytest.importorskip("tomotopy")
    model, dataset = make_model(toy_data, fit="gibbs", sweeps=100)
    model.prepare(dataset)
    found = {frozenset(words) for words in top_words(model, 8)}
    assert found == {frozenset(theme) for theme in toy.THEMES}
    weights = model.lda.topic_weights.numpy()
    counts = weights - model.config.eta
    np.testing.assert_allclose(counts, counts.round(), atol=1e-3)
    split, size = dataset.split("train"), len(model.vocabulary.topic_words)
    words = np.concatenate([split.content(d) for d in range(split.num_documents)])
    expected = np.bincount(words, minlength=size)
    np.testing.assert_allclose(counts.sum(axis=0), expected, atol=1e-3)
    again, _ = make_model(toy_data, fit="gibbs", sweeps=100)
    again.prepare(dataset)
    assert_close(again.lda.topic_weights, weights)


def test_without_tomotopy_the_gibbs_fit_is_refused_before_anything_is_written(
    toy_data, monkeypatch
):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    model, dataset = make_model(toy_data, fit="gibbs")
    wanted = f"fit=gibbs: needs tomotopy, .*; pip install {TOMOTOPY}"
    with pytest.raises(InputError, match=wanted):
        model.prepare(dataset)
    for file in "pyproject.toml", "requirements-optional.txt":
        assert TOMOTOPY in (toy.ROOT / file).read_text()


def test_a_run_is_a_fit_a_validation_and_the_weights(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path / "RUN", "lda", {"passes": 2})
    state = trainer.train()
    assert (state.epoch, int(trainer.model.steps)) == (1, 0)
    history = read_history(tmp_path / "RUN")
    assert history.valid_loss.tolist() == [state.best]
    assert "valid_perplexity" not in history
    rows = trainer.validation.rows.batches(64)
    contexts = np.concatenate([batch["context"] for batch in rows])
    bags = bag_of_words(contexts, trainer.model.lda.num_words)
    bound = trainer.model.lda.bound(bags).numpy()
    assert state.best == pytest.approx(-bound.sum() / bags.numpy().sum(), rel=1e-5)

    other, dataset = make_model(toy_data)
    other.load_weights(tmp_path / "RUN" / "model.weights.h5")
    assert_close(other.topics(), trainer.model.topics().numpy())
    again = make_trainer(toy_data, tmp_path / "RUN", "lda", {"passes": 2})
    again.model.prepare = None  # not to be called
    assert again.train() == state
    _, result = evaluate(other, dataset)
    assert result["perplexity"] is None
    assert result["parameters"] == other.topics().numpy().size  # lambda
    assert len(result["topics"]) == 3
