"""What the figures of a report show, read from their axes."""

import numpy as np
import pytest

from tcnlm.drawing.figures import learning_curves, png
from tcnlm.measures.retrieval import retrieval_curve

PRECISIONS = {
    "bag of words": {0.02: 0.25, 0.0001: 0.6, 0.2: 0.1},
    "lda": {0.0001: 0.5, 0.002: 0.4},
}


def test_the_retrieval_curve_has_a_line_for_each_vectors_and_one_for_chance():
    (axes,) = retrieval_curve(PRECISIONS, 0.05).axes
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["bag of words", "lda", "chance: 0.050"]
    points = np.array([[0.0001, 0.6], [0.02, 0.25], [0.2, 0.1]])
    np.testing.assert_array_equal(lines["bag of words"].get_xydata(), points)
    assert set(lines["chance: 0.050"].get_ydata()) == {0.05}
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == list(lines)


def test_the_retrieval_curve_marks_every_fraction_on_a_logarithmic_axis():
    (axes,) = retrieval_curve(PRECISIONS, 0.05).axes
    assert axes.get_xscale() == "log"
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["0.01 %", "0.2 %", "2 %", "20 %"]
    assert axes.get_xticks() == pytest.approx([0.0001, 0.002, 0.02, 0.2])
    assert axes.get_ylim()[0] == 0


def test_the_retrieval_curve_is_drawn():
    assert png(retrieval_curve(PRECISIONS, 0.05)).startswith(b"\x89PNG")


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
    axes = learning_curves({"step": np.array([1.0, 2.0]), **arrays}).axes[0]
    assert axes.get_title(loc="left").startswith(title)
    assert f"lowest: {lowest}" in axes.get_legend_handles_labels()[1]
