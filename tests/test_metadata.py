"""Labels, ids and held-out documents as they came: from a corpus to DATA's splits."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
import toy

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.collect import SPLITS
from tcnlm.preprocessing.data_folder import KEPT, TEXTS, read_texts, save_marks
from tcnlm.preprocessing.documents import Document, Fields, iso_date
from tcnlm.preprocessing.sources import FORMATS
from tcnlm.programs.preprocess import main

CLASSES = ("sea", "court", None)


@pytest.fixture
def corpus(tmp_path):
    """Thirty documents, each of the only word that tells which one it is."""
    path = tmp_path / "corpus.jsonl"
    records = [
        {"text": f"word{i}x", "topic": CLASSES[i % 3], "name": None if i == 4 else i}
        for i in range(30)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def make(corpus, data, *options):
    command = ["--format", "jsonl", "--input", corpus, *toy.EVERY_WORD, "--out", data]
    assert main([*map(str, command), *options]) == 0
    return Dataset(data)


def test_every_document_keeps_its_own_label_and_id_through_the_shuffle(
    corpus, tmp_path
):
    data = tmp_path / "DATA"
    options = "--label topic --id name --split .6 .2 .2".split()
    dataset = make(corpus, data, *options)
    assert dataset.meta["labels"] == ["court", "sea"]
    numbers = {"sea": 1, "court": 0, None: -1}
    train = dataset.split("train")
    assert train.labels.dtype == np.int32
    assert len(train.ids) == len(train.labels) == train.num_documents == 18
    for i in range(train.num_documents):
        word = dataset.vocabulary.words[train.document(i)[0][0]]
        number = int(word[4:-1])
        assert train.labels[i] == numbers[CLASSES[number % 3]]
        assert train.ids[i] == ("" if number == 4 else str(number))
    ids = [name for split in SPLITS for name in dataset.split(split).ids]
    assert sorted(ids) == sorted([*map(str, [*range(4), *range(5, 30)]), ""])


def test_labels_and_ids_change_neither_the_text_nor_its_fingerprint(corpus, tmp_path):
    bare = make(corpus, tmp_path / "bare")
    full = make(corpus, tmp_path / "full", "--label", "topic", "--id", "name")
    assert full.meta["fingerprint"] == bare.meta["fingerprint"]
    assert "labels" not in bare.meta
    for name in SPLITS:
        assert bare.split(name).labels is bare.split(name).ids is None
        new = {f.name for f in (tmp_path / "full" / name).iterdir()}
        new -= {f.name for f in (tmp_path / "bare" / name).iterdir()}
        assert new == {"labels.npy", "ids.txt"}


def test_dates_go_with_their_documents_into_every_split(corpus, tmp_path):
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    for i, record in enumerate(records):
        record["when"] = None if i == 4 else f"{i + 1}.1.2020" if i < 9 else 1990 + i
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    dataset = make(corpus, tmp_path / "DATA", "--date", "when", "--id", "name")
    for name in SPLITS:
        split = dataset.split(name)
        for number, date in zip(split.ids, split.dates):
            early = number and int(number) < 9
            late = f"{1990 + int(number or 0)}"
            assert date == (f"2020-01-0{int(number) + 1}" if early else number and late)


DATED = {
    "2020-12-24": "2020-12-24",
    "2020-12": "2020-12",
    " 1999 ": "1999",
    1999.0: "1999",
    "24.12.2020": "2020-12-24",
    "24/12/2020": "2020-12-24",
    "12/24/2020": "2020-12-24",
    "4/4/2020": "2020-04-04",
    "24 December 2020": "2020-12-24",
    "2020-12-24T10:30:00+02:00": "2020-12-24T08:30:00+00:00",
    "Thu, 24 Dec 2020 15:04:05 GMT": "2020-12-24T15:04:05+00:00",
    datetime.date(2020, 12, 24): "2020-12-24",
    datetime.datetime(2020, 12, 24, 10): "2020-12-24T10:00:00",
    "2020-12-24 10:30": "2020-12-24T10:30",
    "2020-12-24 00:00:00": "2020-12-24",
    "13-04-2020": "2020-04-13",
    "2020-1-5": "2020-01-05",
    "24-Dec-2020": "2020-12-24",
    "December 24th, 2020": "2020-12-24",
    "Mon, 14 May 2001 16:39:00 -0700 (PDT)": "2001-05-14T23:39:00+00:00",
    "May 2020": "2020-05",
    "14 October 1066": "1066-10-14",
    "0800-12-25": "0800-12-25",
    datetime.date(800, 12, 25): "0800-12-25",
    np.datetime64("2020-12-25", "ns"): "2020-12-25",
    pd.Period("2020"): "2020",
    pd.Timestamp("2020-12-24 10:30", tz="UTC"): "2020-12-24T10:30:00+00:00",
    np.int64(2021): "2021",
    np.float32(2022): "2022",
    "": None,
    "NA": None,
    None: None,
    float("nan"): None,
    pd.NA: None,
    pd.NaT: None,
    np.datetime64("NaT"): None,
}


@pytest.mark.parametrize("written", DATED)
def test_a_date_is_kept_as_exactly_as_it_was_written(written):
    assert iso_date(written, "a.csv:2") == DATED[written]


@pytest.mark.parametrize(
    "written",
    [
        *["soon", "today", "24.12.20", "2020-13-01", "31.2.2020", 7, True, [1], 2020.5],
        *[1577836800, "03/04/2020 10:00", "04-03-2020", "Fri, 03/04/2020", "1 2 2020"],
        *["12:30 2020", "2020,12", "2020Q3", "at 2020", "2020 AD", "3000", "0000"],
        *["2020-01-02 10:00 PST", "2020/12", "2020-00", "2020-01-00", "2020-W05"],
        *["2020-12-24 24:30", "24.12.2020 13:00 pm", "2020-12 10:00"],
        *["0001-01-01 00:30+02:00", "2020-12-24/2020-12-31"],
    ],
)
def test_what_is_no_date_is_refused_with_file_line_and_advice(written, tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [{"text": "a", "when": "2020"}, {"text": "b", "when": written}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = "a.jsonl:2: field 'when': .* is not a date.*; write it like 2020-12-24"
    with pytest.raises(InputError, match=said):
        list(FORMATS["jsonl"].read(path, Fields(date="when")))


def test_a_date_of_a_table_that_may_be_one_of_two_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,when\na,13/04/2020\nb,NA\nc,03/04/2020\n")
    with pytest.raises(InputError, match=r"a.csv:4: .*which of the first two numbers"):
        list(FORMATS["table"].read(path, Fields(date="when")))
    with pytest.raises(InputError, match="no column 'year'.* name one with --date"):
        list(FORMATS["table"].read(path, Fields(date="year")))


def test_classes_are_named_in_order_numbers_by_their_size(tmp_path):
    for name in SPLITS:
        (tmp_path / name).mkdir()
    labels = ["b", "10", "a", "9", None, "0"]
    splits = {"train": np.array([5, 0, 4]), "valid": np.array([1, 2]), "test": [3]}
    found = save_marks(tmp_path, splits, [Document("", label) for label in labels])
    assert found == {"labels": ["0", "9", "10", "a", "b"]}
    written = [np.load(tmp_path / name / "labels.npy").tolist() for name in SPLITS]
    assert written == [[0, 4, -1], [2, 3], [1]]
    assert not list(tmp_path.rglob("ids.txt"))
    assert save_marks(tmp_path, splits, [Document("", id="a")] * 6) == {}
    assert not list(tmp_path.rglob("dates.txt"))


def test_held_out_documents_keep_their_own_text_through_the_shuffle(corpus, tmp_path):
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
    assert not (data.path / "train" / TEXTS).exists()


@pytest.mark.parametrize("content", ['"a"\n', '"a"\n3\n', '"a"\n"b\n'])
def test_texts_that_are_damaged_are_named(tmp_path, content):
    (tmp_path / TEXTS).write_text(content)
    with pytest.raises(InputError, match="texts.jsonl: damaged"):
        read_texts(tmp_path, [0, 1])
    assert read_texts(tmp_path / "none", [0, 1]) is None  # as in a folder of before
