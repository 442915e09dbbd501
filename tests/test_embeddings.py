"""Word embeddings to start from."""

import re

import numpy as np
import pytest
import tensorflow as tf
import tiny
from trained import train_toy

from tcnlm.common.errors import InputError
from tcnlm.data import word_vectors
from tcnlm.data.dataset import Dataset
from tcnlm.models import model_class
from tcnlm.models.starts import check_starts


def write_word2vec(path, vectors):
    size = len(next(iter(vectors.values())))
    rows = [f"{word} {' '.join(map(str, v))}" for word, v in vectors.items()]
    path.write_text(f"{len(vectors)} {size}\n" + "\n".join(rows) + "\n")
    return path


def prepared_table(toy_data, source):
    tf.keras.utils.set_random_seed(1)
    dataset, kind = Dataset(toy_data), model_class("lstm")
    settings = kind.Config(units=4, embedding_size=3, cutoffs=(9,), embeddings=source)
    model = kind(settings, dataset.vocabulary)
    model.build_weights()
    before = model.embedding.embeddings.numpy()
    model.prepare(dataset)
    return dataset.vocabulary, before, model.embedding.embeddings.numpy()


def test_vectors_of_a_file_are_put_in_by_word_and_scaled(toy_data, tmp_path):
    vectors = {"ship": [1.0, 2.0, 3.0], "unheard": [9.0, 9.0, 9.0], "sea": [3, 2, 1]}
    path = write_word2vec(tmp_path / "vectors.txt", vectors)
    vocabulary, before, after = prepared_table(toy_data, str(path))
    ship, sea = vocabulary.ids(["ship", "sea"])
    scale = before.std() / np.std([1, 2, 3, 3, 2, 1])
    np.testing.assert_allclose(after[ship], np.array([1, 2, 3]) * scale, rtol=1e-5)
    np.testing.assert_allclose(after[sea], np.array([3, 2, 1]) * scale, rtol=1e-5)
    others = np.setdiff1d(np.arange(len(before)), [ship, sea])
    np.testing.assert_array_equal(after[others], before[others])


def test_vectors_made_from_the_text_are_the_same_again(toy_data):
    _, before, after = prepared_table(toy_data, "train")
    _, _, again = prepared_table(toy_data, "train")
    assert (after[4:] != before[4:]).all(axis=1).all()
    np.testing.assert_array_equal(after[4:], again[4:])


@pytest.mark.parametrize("content", [None, "", "not word2vec\n"])
def test_a_file_that_is_no_word2vec_is_refused_by_name(tmp_path, content):
    path = tmp_path / "vectors.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match="vectors.txt: not a word2vec file"):
        word_vectors.read_vectors(path, 3)


BAD = {  # lines of a file of vectors of size 3, and what is said of it
    "no numbers": ("2 3", "ship 1 2 3", "sea nan 2 3", "the vector of 'sea'"),
    "zeros": ("2 3", "ship 0 0 0", "sea 0 0 0", "all entries .* are equal"),
    "a huge header": ("1000000000 3", "ship 1 2 3", "sea 1 2 3", "not a word2vec file"),
    "another size": ("2 2", "ship 1 2", "sea 1 2", "--set embedding_size=2"),
    "other words": ("2 3", "Ship 1 2 3", "Meer 3 2 1", "none of the .* is 'Ship'"),
    "no header": ("ship 1 2 3", "sea 1 2 3", "", "not a word2vec file"),
}


@pytest.mark.parametrize("name", BAD)
def test_vectors_that_cannot_be_started_from_are_refused_before_anything_is_written(
    name, toy_data, tmp_path
):
    *lines, said = BAD[name]
    path = tmp_path / "v.txt"
    path.write_text("\n".join(lines) + "\n")
    chosen = ["embedding_size=3", f"embeddings={path}"]
    done = train_toy(toy_data, tmp_path / "RUN", model="lstm", settings=chosen)
    assert done.returncode == 2
    assert re.search(f"--embeddings .*{said}", done.stderr)
    assert not (tmp_path / "RUN").exists()


def test_a_file_that_no_start_reads_is_refused(tmp_path):
    path = write_word2vec(tmp_path / "vectors.txt", {"ship": [1.0, 2.0, 3.0]})
    chosen = {"embeddings": str(path), "embedding_size": 3, "topic_start": "nmf"}
    with pytest.raises(InputError, match="only topic_start=vectors reads them"):
        check_starts(tiny.untrained("neural_topics", **chosen))
