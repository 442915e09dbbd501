"""The pictures of TCNLM's lead: what they name, and what of it the records say."""

from math import exp

import pytest

from tools import lead, tables


def run(training, validation):
    """Return a record of perplexities by epoch."""
    columns = {"epoch": [1.0, 2.0], "train_perplexity": training}
    return {1: {"curve": {**columns, "valid_perplexity": validation}}}


def test_the_lead_by_epoch_is_in_percent_of_the_first_run(monkeypatch):
    base, ours = run([20.0, 10.0], [40.0, 20.0]), run([19.0, 10.0], [42.0, 15.0])
    monkeypatch.setattr(lead, "RUNS", {"base": base, "ours": ours})
    figure = lead.lead_by_epoch("base", ["ours"])
    drawn = [axes.lines[0].get_ydata() for axes in figure.axes]
    assert drawn == [pytest.approx([5, 0]), pytest.approx([-5, 25])]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours"]


@pytest.mark.parametrize(
    ("name", "baseline", "model", "seed"),
    [
        (
            "all of IMDB",
            "imdb-lstm-multiplied-out-8-epochs",
            "imdb-tcnlm-8-epochs",
            1,
        ),
        (
            "a fifth, seed 3",
            "fifth-lstm-multiplied-out",
            "fifth-tcnlm-half",
            3,
        ),
    ],
)
def test_the_gains_are_those_of_the_two_models_that_the_picture_names(
    name, baseline, model, seed
):
    found = lead.GAINS[name].read_text().splitlines()
    everything = dict(zip(found[0].split(","), found[1].split(",")))
    for column, recipe in (("baseline", baseline), ("model", model)):
        perplexity = exp(float(everything[f"{column}_nats"]))
        expected = tables.RUNS[recipe][seed]["figures"]["perplexity"]
        assert perplexity == pytest.approx(expected, 1e-6)


def test_the_picture_of_gains_says_what_it_shows():
    (axes,) = lead.gains_by_class(lead.GAINS).axes
    named = "TCNLM below the LSTM that starts like it"
    assert axes.get_title(loc="left").startswith(named)
    assert [text.get_text() for text in axes.get_legend().texts] == [*lead.GAINS]
