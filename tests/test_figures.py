"""What the figures of a report show, read from their axes."""

import numpy as np
import pytest

from tcnlm.drawing.figures import PANEL, learning_curves, svg
from tcnlm.metrics.classification import draw_vectors
from tcnlm.metrics.retrieval import retrieval_curve
from tcnlm.metrics.samples import topic_bars
from tcnlm.metrics.topics import Topics

PRECISIONS = {
    "bag of words": {0.02: 0.25, 0.0001: 0.6, 0.2: 0.1},
    "lda": {0.0001: 0.5, 0.002: 0.4},
}


def test_the_retrieval_curve_has_a_line_for_each_vectors_and_one_for_chance():
    figure = retrieval_curve(PRECISIONS, 0.05)
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["bag of words", "lda", "chance: 0.050"]
    points = [[0.0001, 0.6], [0.02, 0.25], [0.2, 0.1]]
    assert lines["bag of words"].get_xydata().tolist() == points
    assert set(lines["chance: 0.050"].get_ydata()) == {0.05}
    assert ">bag of words</text>" in svg(figure).decode()  # text is text


@pytest.mark.parametrize(
    ("columns", "title", "lowest"),
    [
        ({"valid_perplexity": [9, 8], "valid_bound": [3, 2]}, "Perplexity", "8.0"),
        ({"valid_loss": [700, 600], "valid_bound": [2, 3]}, "Bound", "2.0"),
        ({"valid_loss": [7, 6]}, "Loss", "6.0"),
    ],
)
def test_learning_curves_are_of_what_the_weights_are_chosen_by(columns, title, lowest):
    arrays = {name: np.array(values, float) for name, values in columns.items()}
    found = dict(learning_curves({"step": np.array([1.0, 2.0]), **arrays}))
    (axes,) = found["learning_curves"].axes
    assert axes.get_title(loc="left").startswith(title)
    assert f"lowest: {lowest}" in axes.get_legend_handles_labels()[1]
    once = {name: values[:1] for name, values in arrays.items()}
    assert not dict(learning_curves({"step": np.array([1.0]), **once}))
    assert not dict(learning_curves({}))


def test_every_plot_of_topics_is_a_panel_that_a_telephone_shows_whole():
    topic = {"documents": 2, "proportion": 0.5, "npmi": 0.1}
    drawn = Topics().draw({"topics": [topic, topic]}, {"angles": np.eye(2)})
    history = {"step": np.arange(2.0), "valid_perplexity": np.ones(2)}
    history |= {"topics_in_use": np.ones(2), "valid_kl": np.ones(2)}
    found = {**dict(drawn), **dict(learning_curves(history))}
    found["document"] = topic_bars(np.array([0.7, 0.3]), ["0 sea", "1 hill"])
    assert len(found) == 4
    assert {figure.get_size_inches()[0] for figure in found.values()} == {PANEL[0]}


def test_a_label_begins_no_formula_by_dollars_nor_is_left_out_by_an_underscore():
    drawn = svg(draw_vectors([0, 1], [0, 1], [0, 1], ["fares $5_$10", "_other"]))
    assert b"fares $5_$10</text>" in drawn
    assert b"_other</text>" in drawn
