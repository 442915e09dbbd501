"""Readers: every format, every compression, and every way in which a file is bad."""

import bz2
import gzip
import json
import lzma
import os
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest
import toy

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.corpora import file_corpus
from tcnlm.preprocessing.documents import Document, Fields
from tcnlm.preprocessing.sources import FORMATS, read_any, split_tdlm

PACKED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(name, path, *fields, **more):
    return list(FORMATS[name].read(path, Fields(*fields, **more)))


def texts(name, path):
    return [document.text for document in read(name, path)]


TDLM = {
    "The  cat 's <unk>\tIt\u2019s a \ufb01r-\u0301": [
        ["The", "cat", "'s", "<unk>"],
        ["It\u2019s", "a", "fir-\u0301"],
    ],
    "a\xa0b\u2003c\x0bd e\tf": [["a", "b", "c", "d", "e"], ["f"]],
    "a b\tc\t": [["a", "b"], ["c"]],
    "\t": [[]],
    "": [[]],
    "\ta": [[], ["a"]],
    "a\t\tb": [["a"], [], ["b"]],
    "a\t\t": [["a"], []],
    "a\t ": [["a"], []],
}


@pytest.mark.parametrize("line", TDLM)
def test_tdlm_is_taken_as_it_is_and_only_a_tab_at_the_end_starts_no_sentence(line):
    assert split_tdlm(line) == TDLM[line]


BAD_LINES = {
    b"{": "not valid JSON",
    b"[" * 100_000: "not valid JSON",
    b"[1]": "not a JSON object like",
    b"[": "not valid JSON: .* write one object a line",
    b'{"body": "x"}': r"no field 'text' \(its fields: body\); name one with --field",
    b'{"text": 3}': "field 'text' is int, not a text",
    rb'{"text": "\ud800"}': "field 'text' has half a surrogate pair",
    b'{"text": "\xff"}': "not valid UTF-8 .byte 0xff at offset 10.",
    b'{"text": "\0"}': "a zero byte",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=[v[:20] for v in BAD_LINES.values()])
def test_a_bad_line_is_named_with_its_number(tmp_path, line):
    path = write(tmp_path / "bad.jsonl", b'{"text": "good"}\n' + line + b"\n")
    with pytest.raises(InputError, match=f"bad.jsonl:2: {BAD_LINES[line]}"):
        texts("jsonl", path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_file_or_a_folder_in_its_place_is_named(tmp_path, name):
    with pytest.raises(InputError, match="nowhere: no such file"):
        texts(name, tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot be read: Is a dir|no .*xml in it"):
        texts(name, tmp_path)


BAD_LABELS = {
    '{"text": "x", "id": 1}': r"no field 'label' \(its fields: text, id\);.* --label",
    '{"text": "x", "label": [1]}': "field 'label' is list, not a text;.* --label",
    r'{"text": "x", "label": "a\nb"}': r"field 'label' has U\+000A, a control char",
    r'{"text": "x", "label": "\u001b[31ma"}': r"has U\+001B, a control character; ",
    r'{"text": "x", "label": "a\u202eb"}': r"has U\+202E, RIGHT-TO-LEFT OVERRIDE",
    r'{"text": "x", "label": "a\u200bb"}': r"has U\+200B, ZERO WIDTH SPACE",
    f'{{"text": "x", "label": "{"a" * 100_000}"}}': "has 100,000 characters; a label",
}


@pytest.mark.parametrize("line", BAD_LABELS, ids=[*BAD_LABELS.values()])
def test_a_bad_label_is_named_with_its_line(tmp_path, line):
    path = write(tmp_path / "bad.jsonl", line)
    with pytest.raises(InputError, match=f"bad.jsonl:1: .*{BAD_LABELS[line]}"):
        read("jsonl", path, "text", "label")


def test_a_label_is_seen_in_every_format(tmp_path):
    path = write(tmp_path / "a.txt", b"a ship:1\n\x1b[31mb ship:1\n")
    with pytest.raises(InputError, match=r"a.txt:2: the label has U\+001B"):
        texts("counts", path)
    path.write_text('<bncDoc xml:id="A&#x202E;0"><wtext><s>ship</s></wtext></bncDoc>')
    with pytest.raises(InputError, match=r"a.txt: its type or id has U\+202E"):
        texts("bnc", path)


LABELS = {
    "NA": None,
    "می‌خواهم": "می‌خواهم",
    "👩‍🔬": "👩‍🔬",
    "e\u0301": "e\u0301",
    "a\xa0b": "a\xa0b",
    " a ": "a",
    1.0: "1",
    7: "7",
    -0.5: "-0.5",
    "": None,
    None: None,
    float("nan"): None,
}


@pytest.mark.parametrize("value", LABELS)
def test_a_label_is_what_joins_letters_a_whole_number_or_none(tmp_path, value):
    content = json.dumps({"text": "x", "a": value})
    path = write(tmp_path / "a.jsonl", content)
    (document,) = read("jsonl", path, "text", "a")
    assert document.label == LABELS[value]
    if LABELS[value] is None:
        assert read("jsonl", path, "text", "a", "a", date="a")[0][:4] == (
            "x",
            *[None] * 3,
        )


def test_a_table_is_no_text_but_tokens_and_their_tabs_may_be_in_a_file_named_so(
    tmp_path,
):
    path = write(tmp_path / "corpus.TSV", "a b\tc\n")
    packed = write(tmp_path / "corpus.csv.gz", gzip.compress(b"a,b"))
    for name in (path, packed):
        with pytest.raises(InputError, match=f"{name}: a table; .*--format table"):
            texts("text", name)
    assert texts("tdlm", path) == ["a b\tc"]


def test_json_lines_made_as_the_docs_say_hold_files_of_several_lines(
    tmp_path, monkeypatch
):
    page = (toy.ROOT / "docs" / "corpora.md").read_text()
    monkeypatch.chdir(tmp_path)
    texts = ["One.\n\nTwo.\n", 'D\u00e9j\u00e0, "vu".']
    (tmp_path / "stories").mkdir()
    for name, text in zip("ab", texts):
        path = tmp_path / "stories" / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
    [line] = re.findall(r"^python3 (-c .*)", page, re.MULTILINE)
    subprocess.run(f"{shlex.quote(sys.executable)} {line}", shell=True, check=True)
    stories = FORMATS["jsonl"].read(tmp_path / "stories.jsonl", Fields(id="name"))
    assert [document[:3:2] for document in stories] == [*zip(texts, ("a.txt", "b.txt"))]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_truncated_file_is_named_with_the_line_where_it_ends(tmp_path, rng, suffix):
    lines = b"".join(b"%d\n" % number for number in rng.integers(0, 1 << 60, 9999))
    path = write(tmp_path / f"cut{suffix}", PACKED[suffix](lines)[:-2000])
    for name in ("text", "table"):
        with pytest.raises(InputError, match=rf"cut{suffix}:[0-9]+: .* cut short here"):
            read(name, path, str(lines.partition(b"\n")[0], "ascii"))


def test_a_file_packed_wrongly_is_named_with_its_line_and_one_below_a_file_by_name(
    tmp_path,
):
    for suffix, place in ((".gz", -8), (".bz2", 15)):  # both in a checksum
        packed = bytearray(PACKED[suffix](b"One.\n"))
        packed[place] ^= 255
        path = write(tmp_path / f"a{suffix}", bytes(packed))
        with pytest.raises(InputError, match=rf"a{suffix}:[0-9]+: .* damaged or cut"):
            read("text", path)
    with pytest.raises(InputError, match=r"a\.gz/b\.txt: no such file"):
        read("text", tmp_path / "a.gz" / "b.txt")


def test_the_lee_corpus_is_there_without_importing_gensim():
    program = (
        "import sys; from tcnlm.preprocessing.corpora import lee_corpus;"
        "stories = list(lee_corpus().parts['all']());"
        "assert 'gensim' not in sys.modules; print(len(stories))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "293\n"


def test_a_pipe_is_refused_since_a_corpus_is_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: a pipe or device.*to a file first"):
        file_corpus("text", {"all": [tmp_path / "pipe"]}, Fields())


def test_files_of_a_part_follow_each_other_and_can_be_read_again(tmp_path):
    files = [write(tmp_path / name, name.encode()) for name in ("b", "a")]
    corpus = file_corpus("text", {"train": files, "test": files[:1]}, Fields())
    b, a = Document("b"), Document("a")
    assert list(corpus.parts["train"]()) == list(corpus.parts["train"]()) == [b, a]
    assert list(corpus.parts["test"]()) == [b]


DOCUMENTS = ["the ship\u2028sails", "", "d\xe9j\xe0\tvu \x85 \x0bbutter"]
RECORDS = [{"text": document} for document in DOCUMENTS]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
PLAIN = "".join(f"{document}\n" for document in DOCUMENTS).encode()
KINDS = {  # how a file may hold the same documents, and by which reader it is read
    "lines": (LINES, "jsonl"),
    "with a mark": (b"\xef\xbb\xbf" + LINES, "jsonl"),
    "plain": (PLAIN, "text"),
    "ends of Windows": (PLAIN.replace(b"\n", b"\r\n"), "text"),
}
NAMES = ("a", "a.json", "a.JSONL")


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_judged_by_what_is_in_it_whatever_its_name(kind, packed, tmp_path):
    content, reader = KINDS[kind]
    for name in NAMES:
        path = write(tmp_path / f"{name}{packed.upper()}", PACKED[packed](content))
        assert texts(reader, path) == DOCUMENTS
        if not (reader == "text" and name == "a.JSONL"):
            assert [each.text for each in read_any(path, Fields())] == DOCUMENTS
        if reader == "jsonl":
            for plain in ("text", "tdlm"):
                with pytest.raises(InputError, match="its lines are JSON.*jsonl"):
                    texts(plain, path)


FOREIGN = {
    "a zip": b"PK\x03\x04\xffrest",
    "a JSON array": b'[\n{"text": "x"}]',
    "UTF-16": "ship\n".encode("utf-16"),
    "UTF-16 without a mark": "ship\n".encode("utf-16-le"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_text_is_refused_by_every_reader(kind, tmp_path):
    path = write(tmp_path / "a.txt", FOREIGN[kind])
    for read_one in (read_any, *(each.read for each in FORMATS.values())):
        with pytest.raises(InputError, match="a.txt"):
            list(read_one(path, Fields()))


SURVEY = [
    Document("The ship, she sailed.", "1", "a"),
    Document('She said "no".\n\nTwice; or\tmore.', None, "2"),
    Document("d\u00e9j\u00e0 vu", "10", None),
]
SURVEY_FIELDS = Fields("answer", "group", "number")
DELIMITERS = {"a.csv": ",", "a.TSV": "\t", "a.b": ";", "semicolons.csv": ";", "a": "\t"}


def survey():
    frame = pd.DataFrame([d[:3] for d in SURVEY], columns=["answer", "group", "number"])
    frame["group"] = frame["group"].astype(float)  # 1.0, as of a column with gaps
    return frame


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("name", DELIMITERS)
def test_a_row_of_a_table_is_a_document_whatever_its_delimiter(name, packed, tmp_path):
    """Written as spreadsheets do: with a byte-order mark."""
    content = "\ufeff" + survey().to_csv(sep=DELIMITERS[name])
    path = write(tmp_path / f"{name}{packed}", PACKED[packed](content.encode()))
    assert read("table", path, *SURVEY_FIELDS) == SURVEY
    if name.lower().endswith(("csv", "tsv")):
        assert list(read_any(path, SURVEY_FIELDS)) == SURVEY


def test_lines_of_a_table_may_end_as_on_windows_and_blank_ones_do_not_count(tmp_path):
    content = b'\r\nanswer;"group\r\n(a, b)"\r\n\r\n"a\r\nb";1.0\r\n1.0;1.05\r\n\r\n'
    path = write(tmp_path / "a.csv", content)
    found = read("table", path, "answer", "group\n(a, b)")
    assert found == [Document("a\nb", "1"), Document("1.0", "1.05")]


def test_a_cell_may_be_longer_than_pythons_own_limit(tmp_path):
    text = "ship " * 50_000
    assert texts("table", write(tmp_path / "a.csv", f"id,text\n1,{text}\n")) == [text]


BAD_TABLES = {
    b"id,text\n1,a\n": r"a.csv: no column 'answer' \(its columns: id, text\);.*--field",
    b"": r"a.csv: no column 'answer'",
    b"answer,group,answer\n": "a.csv: two columns 'answer'",
    b"answer,id\na,1\n": r"a.csv: no column 'group' \(.*\); name one with --label",
    b'answer,group\n"a\nb",1\n\nc, or d,2\n': "a.csv:5: a row of 3 cells under .* 2;",
    b"answer,group\na,1\nb\n": "a.csv:3: a row of 1 cells under a header of 2",
    b'answer,group\na,1\n"b,2\nc,3\n': "a.csv:3: no row of a table: unexpected end",
    b'answer,group\n"a" b,1\n': "a.csv:2: .* expected.*unless --quoting none says",
    b"\x1b[31m,b\n": r"\(its columns: \\x1b\[31m, b\); name one",
    b"," * 40 + b"\n": r"a.csv: no column 'answer' .*\.\.\.\)",
    b"1,%s,%d\n" % (b"a ship " * 99, 3): r"\(its columns: 1, .{40}\.\.\., 3\).* header",
    b"answer,group\n,1\n": "a.csv:2: field 'answer' is missing, .* by --skip-empty",
    b"answer,group\nN/A,1\n": "a.csv:2: field 'answer' is missing",
    b"answer,group\nb\xff,1\n": "a.csv:2: not valid UTF-8",
}


@pytest.mark.parametrize("content", BAD_TABLES)
def test_a_bad_table_is_refused_with_its_columns_or_line(content, tmp_path):
    path = write(tmp_path / "a.csv", content)
    for reader in (FORMATS["table"].read, read_any):
        with pytest.raises(InputError, match=BAD_TABLES[content]):
            list(reader(path, Fields("answer", "group")))


STRAY = {  # a header and a row: its number, quotes before and after, an id
    "the text last": ("id,text", "{0},{1}the road number {0}{2}"),
    "the text first": ("text,id", "{1}the road number {0}{2},{0}"),
    "ids of both kinds": ("id,text", "{3},{1}the road number {0}{2}"),
    "one column": ("text", "{1}the road number {0}{2}"),
}


@pytest.mark.parametrize("kind", STRAY)
def test_a_cell_that_swallowed_rows_is_doubted_with_its_first_and_last_line(
    kind, tmp_path
):
    header, row = STRAY[kind]
    rows = [
        row.format(i, '"' * (i in (2, 50)), '"' * (i in (3, 90)), f"{'a' * (i % 2)}{i}")
        for i in range(120)
    ]
    found = read("table", write(tmp_path / "a.csv", "\n".join([header, *rows])))
    doubts = [document.doubt[0] for document in found if document.doubt]
    few = ["a.csv:4 to line 5"] if kind.startswith("the") else []
    assert len(found) == 79
    assert [d.rpartition("/")[2] for d in doubts] == [*few, "a.csv:52 to line 92"]


LINES_IN_CELLS = {
    "addresses": ("id,text", '1,"5 Main St, Apt 4\nSpringfield, IL\nUSA"'),
    "two lines": ("id,text", '1,"5 Main St\nSpringfield,IL"'),
    "paragraphs": ("text", '"the ship' + "\n\nthe sea" * 20 + '"'),
    "verses": ("text", '"the ship' + "\nsails,\non" * 20 + '"'),
    "a line end last, then a cell": ("text,id", '"the ship\n",1'),
    "a few lines": ("text", '"the ship\nsails\non"'),
}


@pytest.mark.parametrize("kind", LINES_IN_CELLS)
def test_cells_of_several_lines_are_not_doubted(kind, tmp_path):
    header, row = LINES_IN_CELLS[kind]
    (document,) = read("table", write(tmp_path / "a.csv", f"{header}\n{row}\n"))
    assert document.doubt is None
    assert document.text.count("\n") == row.count("\n")


@pytest.mark.parametrize(("first", "delimiter"), [("sep=;", ";"), ('"sep=|"', "|")])
def test_excels_line_above_the_header_names_the_delimiter(first, delimiter, tmp_path):
    rows = [first, f"te,xt{delimiter}id", f"a, b{delimiter}7", f"c{delimiter}8"]
    path = write(tmp_path / "a.csv", ("\ufeff" + "\r\n".join(rows)).encode())
    found = list(read_any(path, Fields("te,xt", id="id")))
    assert found == [Document("a, b", id="7"), Document("c", id="8")]


def test_bytes_of_a_parquet_table_are_to_be_cast_to_text(tmp_path):
    pytest.importorskip("pyarrow", reason="reads parquet, and is an option")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"text": [b"the sea"]}).to_parquet(path)
    with pytest.raises(
        InputError, match="row 1: .*'text' is bytes, .* cast it to text"
    ):
        read("table", path)


def test_quotes_are_text_where_none_stand_around_cells(tmp_path):
    content = b'id\ttext\n1\t"The sea," she said\n2\tthe "sea"\n3\t"sea\n'
    path = write(tmp_path / "a.tsv", content)
    unquoted = Fields(quoted=False)
    for reader in (FORMATS["table"].read, read_any):
        found = [document.text for document in reader(path, unquoted)]
        assert found == ['"The sea," she said', 'the "sea"', '"sea']


NO_TEXT = {"null": {"text": None}, "missing": {"id": 1}, "NaN": {"text": float("nan")}}


@pytest.mark.parametrize("record", NO_TEXT)
def test_without_a_text_an_object_is_refused_or_blank(record, tmp_path):
    path = write(tmp_path / "a.jsonl", json.dumps(NO_TEXT[record]))
    with pytest.raises(InputError, match="a.jsonl:1: .* out by --skip-empty"):
        read("jsonl", path)
    assert read("jsonl", path, skip_empty=True) == [Document("")]


def test_a_parquet_table_is_read_by_pyarrow_whatever_its_name(tmp_path):
    pytest.importorskip("pyarrow", reason="reads parquet, and is an option")
    path = tmp_path / "a.csv"
    survey().to_parquet(path, index=False, row_group_size=2)
    for reader in (FORMATS["table"].read, read_any):
        assert list(reader(path, SURVEY_FIELDS)) == SURVEY
        with pytest.raises(InputError, match="no column 'x' .its columns: answer, gr"):
            list(reader(path, Fields("x")))
        with pytest.raises(InputError, match="a.csv, row 3: field 'number' is missing"):
            list(reader(path, Fields("number")))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="a.csv: cannot be read after row 0"):
        list(read_any(path, SURVEY_FIELDS))


def test_without_pyarrow_a_parquet_table_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(tmp_path / "a.parquet", b"PAR1rest")
    for reader in (FORMATS["table"].read, read_any):
        with pytest.raises(InputError, match="a.parquet: .*pip install pyarrow$"):
            list(reader(path, Fields()))


def test_a_field_is_asked_of_files_with_fields_unless_it_is_for_them_alone(tmp_path):
    path = tmp_path / "survey.txt"
    path.write_text("id,answer\n1,The sea.\n")
    with pytest.raises(InputError, match="survey.txt: .*no fields.* --format table"):
        list(read_any(path, Fields("answer")))
    found = read_any(path, Fields("answer"), field_if_any=True)
    assert [each.text for each in found] == ["id,answer", "1,The sea."]
    with pytest.raises(InputError, match="no column ''.* --label"):
        list(FORMATS["table"].read(path, Fields("answer", label="")))
