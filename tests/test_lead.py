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


def test_the_gains_are_those_of_the_two_models_that_the_picture_names():
    found = lead.GAINS["test"].read_text().splitlines()
    everything = dict(zip(found[0].split(","), found[1].split(",")))
    names = {"baseline": "lstm-multiplied-out", "model": "tcnlm-half"}
    for column, name in names.items():
        record = tables.record_of(f"imdb-fifth-decay/{name}-seed-3")
        perplexity = exp(float(everything[f"{column}_nats"]))
        assert perplexity == pytest.approx(record["evaluation"]["perplexity"], 1e-6)
    (axes,) = lead.gains_by_class(lead.GAINS).axes
    named = "TCNLM below the LSTM that starts like it"
    assert axes.get_title(loc="left").startswith(named)
