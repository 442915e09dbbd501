"""Topics against labels."""

import numpy as np
import pytest

from tcnlm.metrics.clusters import agreement


def test_by_hand():
    # Topic 0 holds three of label 0 and one of 1; topic 1 the other two of label 1.
    found = agreement(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1]))
    joint = 3 / 6 * np.log(3 / 6 / (4 / 6 * 3 / 6))
    joint += 1 / 6 * np.log(1 / 6 / (4 / 6 * 3 / 6)) + 2 / 6 * np.log(2)
    own = -(4 / 6 * np.log(4 / 6) + 2 / 6 * np.log(2 / 6))
    assert found["nmi"] == pytest.approx(joint / ((own + np.log(2)) / 2))
    assert found["purity"] == pytest.approx(5 / 6)
    assert found["ami"] < found["nmi"]


def test_a_topic_a_document_is_pure_and_one_topic_for_all_is_not():
    labels = np.array([0, 0, 0, 1])
    assert agreement(np.arange(4), labels)["purity"] == 1
    assert agreement(np.zeros(4, int), labels)["purity"] == pytest.approx(3 / 4)


def test_names_of_topics_and_labels_make_no_difference():
    found = agreement(np.array([2, 2, 0, 0]), np.array([0, 0, 1, 1]))
    assert found == {"nmi": 1, "ami": 1, "purity": 1, "documents": 4}
