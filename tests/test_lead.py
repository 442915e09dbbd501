"""The pictures of TCNLM's lead: what they name, and what of it the records say."""

import json
from math import exp

import pytest

from tools import lead, tables


def run(values, epochs=20):
    """Return a record of validation perplexities by epoch, those in training equal."""
    history = [
        {"epoch": float(i), "train_perplexity": v, "valid_perplexity": v}
        for i, v in enumerate(values, 1)
    ]
    training = {"epochs": epochs, "patience": 2}
    return {"run": {"training": training}, "history": history}


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (run([9.0, 8.0, 7.0, 6.0]), ""),
        (run([9.0, 8.0]), ", stopped by hand at epoch 2"),
        (run([9.0, 8.0], epochs=2), ", stopped at epoch 2"),
        (run([8.0, 9.0, 8.5]), ", stopped at epoch 3"),
    ],
)
def test_a_line_that_ends_early_says_where_and_whether_by_hand(
    ours, said, tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    for name, record in {"base": run([10.0] * 4), "ours": ours}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    (legend,) = lead.lead_by_epoch("base", ["ours"]).legends
    assert [text.get_text() for text in legend.get_texts()] == [f"ours{said}"]


@pytest.mark.parametrize(
    ("name", "baseline", "model"),
    [
        (
            "all of IMDB",
            "imdb-decay/lstm-multiplied-out-8-epochs",
            "imdb-decay/tcnlm-8-epochs",
        ),
        (
            "a fifth, seed 3",
            "imdb-fifth-decay/lstm-multiplied-out-seed-3",
            "imdb-fifth-decay/tcnlm-half-seed-3",
        ),
    ],
)
def test_the_gains_are_those_of_the_two_models_that_the_picture_names(
    name, baseline, model
):
    found = lead.GAINS[name].read_text().splitlines()
    everything = dict(zip(found[0].split(","), found[1].split(",")))
    for column, file in (("baseline", baseline), ("model", model)):
        perplexity = exp(float(everything[f"{column}_nats"]))
        expected = tables.record_of(file)["evaluation"]["perplexity"]
        assert perplexity == pytest.approx(expected, 1e-6)


def test_the_picture_of_gains_says_what_it_shows():
    (axes,) = lead.gains_by_class(lead.GAINS).axes
    named = "TCNLM below the LSTM that starts like it"
    assert axes.get_title(loc="left").startswith(named)
    assert [text.get_text() for text in axes.get_legend().texts] == [*lead.GAINS]
