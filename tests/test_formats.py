"""Formats of others: bags that were counted, texts in words, the BNC's XML."""

import gzip
import json

import pytest
import toy

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.documents import Document, Fields
from tcnlm.preprocessing.sources import (
    FORMATS,
    MOST_WORDS,
    chosen_format,
    split_tokenized,
)
from tcnlm.preprocessing.vocabulary import read_ids
from tcnlm.programs.preprocess import main

IDS = {0: "ship", 1: "sea", 2: "court"}


def read(name, path, fields=None, ids=None):
    fields = fields or Fields()
    return list(chosen_format(name, fields, ids).read(path, fields))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# --- counts -----------------------------------------------------------------------


def test_a_bag_has_each_word_as_often_as_counted_and_its_label(tmp_path):
    path = write(tmp_path / "bags", "news ship:2 a:b:1\n\nsea:1 ship:0\nsport\n1 #:2")
    found = read("counts", path)
    assert found == [
        Document("ship ship a:b", "news"),
        Document("sea"),
        Document("", "sport"),
        Document("# #", "1"),
    ]
    bags = [FORMATS["counts"].sentences(document.text) for document in found[:3]]
    assert bags == [[["ship", "ship", "a:b"]], [["sea"]], []]


def test_ids_are_words_of_the_list_and_comments_are_left_out(tmp_path):
    path = tmp_path / "bags.gz"
    path.write_bytes(gzip.compress(b"# made by us\n-1 2:1 0:2.0 # 1:9\n"))
    assert read("counts", path, ids=IDS) == [Document("court ship ship", "-1")]


@pytest.mark.parametrize("first", [0, 1])
def test_ids_count_the_lines_of_the_list_from_either_end(tmp_path, first):
    path = write(tmp_path / "words", "ship\nsea\n")
    assert read_ids(path, first) == {first: "ship", first + 1: "sea"}
    write(path, "ship\n\nsea\n")
    with pytest.raises(
        InputError, match="words: ids are line numbers, but one line is empty"
    ):
        read_ids(path, first)


BAD_BAGS = {
    "x 0:1 sea": "'sea' is not like .*; counts are whole",
    "x 0:1.5": "'0:1.5' is not like",
    "x :3": "':3' is not like",
    "x 3:1": "'3' is no id from 0 to 2, the lines of --vocabulary",
    "x ship:1": "'ship' is no id from 0 to 2",
    f"x 0:{MOST_WORDS} 1:1": "has more than 99,999 words",
}


@pytest.mark.parametrize("line", BAD_BAGS)
def test_a_bad_bag_is_named_with_its_line(tmp_path, line):
    path = write(tmp_path / "bags", f"x 0:1\n{line}\n")
    with pytest.raises(InputError, match=f"bags:2: {BAD_BAGS[line]}"):
        read("counts", path, ids=IDS)


def test_numbers_are_not_taken_for_words_unasked(tmp_path):
    with pytest.raises(InputError, match="its words are numbers; --ids-from 0"):
        read("counts", write(tmp_path / "bags", "1 0:1 1:2\n"))


REFUSED = {
    "--ids-from 0": "is for --format counts with a --vocabulary",
    "--context preceding --language de": "--context and --language: of texts",
    "--sequence-length 7": "--sequence-length: of texts, and --format counts has bags",
    "--label kind": "are for fields of --format jsonl or table",
    "--group 2": "--group makes documents of lines",
    "--phrases": "--phrases: of texts",
}


@pytest.mark.parametrize("options", REFUSED)
def test_options_that_do_not_fit_bags_are_refused(tmp_path, capsys, options):
    given = tmp_path, "ship:1\n" * 10, *options.split()
    assert toy.preprocessed(*given, form="counts")[0] == 2
    assert REFUSED[options] in capsys.readouterr().err


# --- tokenized --------------------------------------------------------------------

TOKENIZED = {
    "The  U.S. didn't\nsail\r\n\nIt 's": [["The", "U.S.", "didn't"], ["sail"]],
    "a b\tc": [["a", "b"], ["c"]],
    " \n ": [],
}


@pytest.mark.parametrize("text", TOKENIZED)
def test_a_text_in_words_is_taken_as_it_is(tmp_path, text):
    path = write(tmp_path / "a.jsonl", json.dumps({"text": text}))
    (document,) = read("jsonl", path, Fields(tokenized=True))
    expected = TOKENIZED[text] + ([["It", "'s"]] if "'s" in text else [])
    assert split_tokenized(document.text) == expected


LISTS = {
    "words": (["The", "gonna", "<br>"], [["The", "gonna", "<br>"]]),
    "sentences": ([["The", "cat"], [], ["It"]], [["The", "cat"], ["It"]]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_words_or_sentences_are_taken_as_they_are(tmp_path, kind):
    given, expected = LISTS[kind]
    path = write(tmp_path / "a.jsonl", json.dumps({"tokens": given, "label": 3}))
    fields = Fields("tokens", "label", tokenized=True)
    (document,) = read("jsonl", path, fields)
    assert chosen_format("jsonl", fields).sentences(document.text) == expected
    assert document.label == "3"


@pytest.mark.parametrize("value", [["New York"], ["a", ["b"]], [3], [[["a"]]], [""]])
def test_what_is_no_word_in_a_list_is_named_with_its_line(tmp_path, value):
    path = write(tmp_path / "a.jsonl", json.dumps({"text": value}))
    with pytest.raises(InputError, match="a.jsonl:1: field 'text' has .*not a word"):
        read("jsonl", path, Fields(tokenized=True))


# --- the British National Corpus --------------------------------------------------

BNC = """<?xml version="1.0" encoding="UTF-8"?>
<bncDoc xml:id="A00"><teiHeader type="text"><p><s><w>header</w></s></p></teiHeader>
<wtext type="NEWS"><div level="1"><head><s n="1"><w c5="NN1" hw="ship">Ships </w>
<mw c5="PRP"><w c5="PRP">in </w><w>spite</w> </mw><w>do</w><w>n't </w><hi><w>sail</w>
</hi><c c5="PUN">.</c></s></head></div><p><s n="2"><gap/></s>
<s n="3"><unclear><w>Caf&#233; &amp; </w></unclear><c>?</c></s></p></wtext></bncDoc>
"""
SPOKEN = """<bncDoc xml:id="KB1"><stext type="CONVRSN"><u who="PS"><s><w>Yeah</w>
<pause/><vocal desc="laugh"/><c>,</c></s></u></stext></bncDoc>"""
WRITTEN = Document("ships in spite do n't sail .\tcaf\xe9 & ?", "NEWS", "A00")


def test_sentences_and_words_are_those_marked_and_the_header_has_none(tmp_path):
    path = write(tmp_path / "A00.xml", BNC)
    assert read("bnc", path) == [WRITTEN]
    sentences = FORMATS["bnc"].sentences(WRITTEN.text)
    assert sentences[0] == ["ships", "in", "spite", "do", "n't", "sail", "."]


def test_a_folder_has_all_texts_below_it_by_name(tmp_path):
    for folder, name, text in (("K/KB", "KB1", SPOKEN), ("A/A0", "A00", BNC)):
        (tmp_path / folder).mkdir(parents=True)
        write(tmp_path / folder / f"{name}.xml", text)
    assert read("bnc", tmp_path) == [WRITTEN, Document("yeah ,", "CONVRSN", "KB1")]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: no \*.xml in it"):
        read("bnc", tmp_path / "empty")


BAD_XML = {
    BNC.replace("</mw>", ""): "A00.xml:5: not XML: mismatched tag",
    BNC.replace("&amp;", "&"): "A00.xml:6: not XML: not well-formed",
    "": "A00.xml:1: not XML: no element found",
    "<html>\n</html>": "A00.xml:1: <html>, but a text of the BNC",
    "plain text": "A00.xml:1: not XML",
}


@pytest.mark.parametrize("text", BAD_XML, ids=BAD_XML.values())
def test_bad_markup_is_named_with_its_file_and_line(tmp_path, text):
    path = write(tmp_path / "A00.xml", text)
    with pytest.raises(InputError, match=BAD_XML[text]):
        read("bnc", path)


def test_texts_of_the_bnc_become_data_with_types_and_names(tmp_path):
    for number in range(10):
        text = BNC if number % 2 else SPOKEN
        write(tmp_path / f"{number}.xml", text.replace("A00", str(number)))
    command = ["--format", "bnc", "--input", tmp_path, *toy.EVERY_WORD]
    assert main([*map(str, command), "--out", str(tmp_path / "out" / "DATA")]) == 0
    dataset = Dataset(tmp_path / "out" / "DATA")
    assert dataset.meta["labels"] == ["CONVRSN", "NEWS"]
    train = dataset.split("train")
    for number, name in enumerate(train.ids):
        word = dataset.vocabulary.words[train.document(number)[0][0]]
        assert word == ("yeah" if name == "KB1" else "ships")
