"""Held-out documents as they came: kept in their order, shown, and checked."""

import json

import pytest
from test_marks import corpus, make  # noqa: F401

from preprocessing.texts import FILE, KEPT, read_texts
from tcnlm.common.errors import InputError


def test_held_out_documents_keep_their_own_text_through_the_shuffle(
    corpus,  # noqa: F811
    tmp_path,
):
    lines = corpus.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record["text"] = f"  <b>{record['text'].title()}</b>\ncaf\xe9\u2028 "
    records[7]["text"] += "x" * 3 * KEPT
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    data = make(corpus, tmp_path / "DATA", *"--split .2 .4 .4".split())
    texts = {record["text"][:KEPT] for record in records}
    for name in ("valid", "test"):
        split = data.split(name)
        found = read_texts(data.path / name, range(split.num_documents))
        for i, text in enumerate(found):
            word = data.vocabulary.words[split.document(i)[0][0]]
            assert text.startswith(f"  <b>{word.title()}</b>") or word == "<unk>"
        assert set(found) <= texts
        assert read_texts(data.path / name, [3, 1]) == [found[3], found[1]]
    assert not (data.path / "train" / FILE).exists()


def test_a_folder_of_before_has_no_texts(tmp_path):
    assert read_texts(tmp_path, [0, 1]) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('"a"\n', "texts.jsonl: cut short"),
        ('"a"\n3\n', "texts.jsonl:2: no JSON string"),
        ('"a"\n"b\n', "texts.jsonl:2: no JSON string"),
    ],
)
def test_texts_that_are_damaged_are_named(tmp_path, content, message):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match=message):
        read_texts(tmp_path, [0, 1])
