"""python -m tcnlm coherence on tiny texts: what it reads, prints, keeps and refuses."""

import gzip
import itertools
import json
import lzma
import re
import subprocess
import sys

import numpy as np
import pytest
import tiny
import toy

from tcnlm.coherence import (
    count_windows,
    load_counts,
    save_counts,
    topic_coherence,
    topic_scores,
)
from tcnlm.coherence.definitions import COHERENCES
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.topic_lists import read_topics
from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.features import infer_documents
from tcnlm.models.topics import top_words
from tcnlm.programs import coherence as command
from tcnlm.report import evaluate_run
from tcnlm.runs.run_folder import RunFolder, write_config

DOCUMENTS = ["the ship and the sea", "bread in the oven", "sea and ship", "oven ship"]
TOKENS = [document.split() for document in DOCUMENTS]
TOPICS = ["ship sea bread", "oven bread", "sea unheard"]
TOPIC_WORDS = [topic.split() for topic in TOPICS]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with topics.txt and reference.txt, and be in it."""
    (tmp_path / "topics.txt").write_text("\n".join(TOPICS) + "\n")
    (tmp_path / "reference.txt").write_text("\n".join(DOCUMENTS) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "cores", lambda: 1)
    return tmp_path


def run(line):
    """Run the command in this process; return its figures."""
    command.main([*line.split(), "--json", "out.json"])
    with open("out.json") as file:
        return json.load(file)


def counted(words="ship sea bread oven unheard", window=20, reference="some text"):
    return count_windows(TOKENS, words.split(), window, reference)


def npmi(figures):
    return [topic["npmi"] for topic in figures["topics"]]


def test_the_command_scores_prints_and_states_its_protocol(place):
    line = [sys.executable, "-m", "tcnlm", "coherence", place / "topics.txt"]
    line += ["--reference", place / "reference.txt", "--json", place / "out.json"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=toy.ROOT)
    assert done.returncode == 0, done.stderr
    result = json.loads((place / "out.json").read_text())
    figures, protocol = result["results"][0], result["protocol"]
    expected = [topic_coherence(counted(), words) for words in TOPIC_WORDS]
    assert npmi(figures) == pytest.approx(expected)
    assert figures["npmi"] == pytest.approx(np.mean(expected))
    assert figures["npmi_median"] == pytest.approx(np.median(expected))
    assert figures["absent_words"] == ["unheard"]
    assert (figures["diversity"], figures["diversity_words"]) == (5 / 7, 3)
    assert protocol["zero"] == "a pair that shares no window scores 0"
    assert (protocol["documents"], protocol["tokens"], protocol["windows"]) == (
        (4, 14, 14 + 4 * 19)
    )
    shown = re.findall(r"^ +0 +(.*?)  ship sea bread$", done.stdout, re.MULTILINE)
    assert shown == ["   ".join([f"{expected[0]:.4f}"] * 5)]
    for stated in ("windows of 20 tokens", "(1): unheard", "median", "14 tokens"):
        assert stated in done.stdout


def test_numbers_of_words_window_and_zero_rule_are_those_asked_for(place):
    line = "topics.txt --reference reference.txt --top 2 3 --window 0 --zero minus-one"
    result = run(line)
    figures, counts = result["results"][0], counted(window=0)
    expected = [topic_scores(counts, words, (2, 3), -1.0) for words in TOPIC_WORDS]
    for topic, scores in zip(figures["topics"], expected):
        assert topic["npmi_by_top"] == pytest.approx(dict(zip("23", scores)))
    assert npmi(figures) == pytest.approx(np.mean(expected, axis=1))
    means = dict(zip("23", np.mean(expected, axis=0)))
    assert figures["npmi_by_top"] == pytest.approx(means)
    assert expected[2] == [-1.0, -1.0]
    assert (result["protocol"]["window"], result["protocol"]["windows"]) == (0, 4)
    assert result["protocol"]["zero"].endswith("-1")


@pytest.mark.parametrize("name", ["r.txt.gz", "r.txt.xz", "r.jsonl", "r.jsonl.xz"])
def test_every_kind_of_reference_gives_the_same_scores(place, name):
    lines = DOCUMENTS
    if "jsonl" in name:
        lines = [json.dumps({"body": document}) for document in DOCUMENTS]
    opener = {"gz": gzip.open, "xz": lzma.open}.get(name.split(".")[-1], open)
    with opener(name, "wt") as file:
        file.write("\n".join(lines) + "\n")
    found = run(f"topics.txt --field body --reference {name}")
    plain = run("topics.txt --reference reference.txt")
    assert found["results"] == plain["results"]


def test_counts_come_back_from_their_file_as_they_were(tmp_path):
    counts = counted(window=3)
    save_counts(tmp_path / "counts.npz", counts)
    back = load_counts(tmp_path / "counts.npz", window=3)
    assert (back.pairs != counts.pairs).nnz == 0
    assert back.pairs.dtype == counts.pairs.dtype
    for name in ("words", "windows", "window", "documents", "tokens", "reference"):
        assert getattr(back, name) == getattr(counts, name)
    assert [path.name for path in tmp_path.iterdir()] == ["counts.npz"]


def test_saved_counts_score_as_the_text_does_with_those_of_data(place, toy_data):
    unseen = ["cook", "judge", "court"]
    assert set(unseen) <= set(Dataset(toy_data).vocabulary.topic_words)
    line = f"topics.txt --reference reference.txt --vocabulary {toy_data}"
    first = run(f"{line} --save-counts counts.npz")
    again = run("topics.txt --counts counts.npz")
    assert first == again
    assert "reference.txt" in again["protocol"]["reference"]
    (place / "later.txt").write_text(f"{' '.join(unseen)} ship\n")
    later = run("later.txt --counts counts.npz")["results"][0]
    assert later["absent_words"] == unseen


def test_the_topics_of_a_run_are_scored_and_those_in_use_counted(place, toy_data):
    model = RunFolder(tiny.make_run_on(toy_data, place / "RUN")).load()
    figures = run("RUN --reference reference.txt")["results"][0]
    assert [t["words"][:20] for t in figures["topics"]] == top_words(model, weight=1.0)
    split = Dataset(toy_data).split("test")
    assert figures["topics_in_use"] == infer_documents(model, split).in_use
    config = RunFolder(place / "RUN").config
    config["data"]["path"] = "/nowhere"
    write_config(place / "RUN", config)
    figures = run("RUN --reference reference.txt")["results"][0]
    assert figures["topics_in_use"] is None


def test_evaluation_takes_counts_in_place_of_their_text(place, toy_data):
    dataset = Dataset(toy_data)
    model = tiny.untrained("neural_topics", dataset.vocabulary)
    text, path = Reference((place / "reference.txt",)), place / "counts.npz"
    save_counts(path, text.window_counts(itertools.chain(*top_words(model))))
    _, by_text = evaluate_run.evaluate(model, dataset, text)
    _, by_counts = evaluate_run.evaluate(model, dataset, Reference(counts=path))
    assert by_text["coherence"]["documents"] == len(DOCUMENTS)
    assert by_text["coherence"] == by_counts["coherence"]
    assert npmi(by_text) == npmi(by_counts)


def test_other_coherences_stand_beside_ours_without_words_never_seen(place, capsys):
    line = f"topics.txt --reference reference.txt --also {' '.join(COHERENCES)}"
    result = run(line)
    figures = result["results"][0]
    for name in COHERENCES:
        shown = [topic[name] for topic in figures["topics"]]
        assert np.isfinite(shown[:2]).all()
        assert shown[2] is None  # of "sea unheard" the reference has only one word
        assert figures[name] == pytest.approx(np.mean(shown[:2]))
    values = [topic["c_npmi"] for topic in figures["topics"]]
    # Each document is one window: bread and oven share 1 of 4, each with p = 1/4, 1/2.
    assert values[1] == pytest.approx(np.log(2) / np.log(4), abs=1e-6)
    assert result["protocol"]["others"]["c_v"] == (
        "windows of 110 tokens, complete ones only"
    )
    printed = capsys.readouterr().out
    assert re.search(r"mean +c_v +c_npmi +c_uci +u_mass  words\n", printed)
    assert "absent from the reference (1): unheard" in printed
    assert "IRBO" in printed


def write_counts(**changes):
    save_counts(command.Path("counts.npz"), counted())
    with np.load("counts.npz", allow_pickle=False) as arrays:
        np.savez("counts.npz", **{**arrays, **changes})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("nowhere.txt --counts counts.npz", "nowhere.txt: no such file"),
        ("topics.txt --reference nowhere.txt", "nowhere.txt: no such"),
        ("topics.txt --reference a.csv.gz", "a.csv.gz: no column 'text'"),
        ("topics.txt --reference b.jsonl", "b.jsonl:2: not valid JSON"),
        ("topics.txt --reference b.jsonl --field t", "b.jsonl:1: no field 't'"),
        ("topics.txt --counts nowhere.npz", "nowhere.npz: no such"),
        ("gap.txt --counts counts.npz", r"gap.txt:4: .*two different.*\['oven'\]"),
        ("blank.txt --counts counts.npz", "blank.txt: no topics"),
        ("topics.txt --counts topics.txt", "topics.txt: not a counts file"),
        ("topics.txt --counts cut.npz", "cut.npz: not a counts file"),
        ("topics.txt --counts other.npz", "other.npz: not a counts file"),
        ("topics.txt --counts newer.npz", "newer.npz: format version 2"),
        ("new.txt --counts counts.npz", "counts.npz: not counted for 1 .*'novel'"),
        ("topics.txt --counts counts.npz --window 0", "counts.npz: .*--window 20"),
        ("topics.txt --counts counts.npz --also c_v", "--also needs a text"),
        ("topics.txt --counts counts.npz --language fr", "--language needs a text"),
        ("topics.txt --reference reference.txt --vocabulary D", "--save-counts too"),
        ("topics.txt --reference reference.txt --save-counts a/b", "no folder a"),
        ("topics.txt --reference empty.txt", "empty.txt: in its 0 tokens is no word"),
        ("topics.txt --reference foreign.txt", "foreign.txt: in its 2 tokens is no"),
        ("topics.txt --counts foreign.npz", "foreign.txt: in its 2 tokens is no word"),
    ],
)
def test_bad_input_is_refused_by_name(place, line, complaint):
    write_counts(format_version=2)
    (place / "counts.npz").rename("newer.npz")
    write_counts()
    (place / "cut.npz").write_bytes((place / "counts.npz").read_bytes()[:900])
    np.savez("other.npz", words=np.zeros(3))
    (place / "foreign.txt").write_text("корабль море\n")
    foreign = [["корабль", "море"]], [w for t in TOPIC_WORDS for w in t]
    save_counts(place / "foreign.npz", count_windows(*foreign, 20, "foreign.txt"))
    (place / "gap.txt").write_text("ship sea\n\n \noven\n")
    (place / "a.csv.gz").write_bytes(gzip.compress(b"id,body\n1,ship\n"))
    (place / "b.jsonl").write_text('{"text": "fine"}\n{"text": \n')
    (place / "empty.txt").write_text("")
    (place / "blank.txt").write_text("\n \n")
    (place / "new.txt").write_text("ship novel\n")
    with pytest.raises(InputError, match=complaint):
        run(line)
    assert not (place / "out.json").exists()


CRAFTED = {  # array, where in it, and what
    "an index beyond the words": ("indices", 0, 99),
    "a negative index": ("indices", 0, -1),
    "rows that end too late": ("indptr", -1, 99),
    "rows that go back": ("indptr", 1, 99),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_counts_that_no_text_has_are_refused(place, name):
    key, where, value = CRAFTED[name]
    save_counts(place / "counts.npz", counted())
    with np.load("counts.npz", allow_pickle=False) as arrays:
        changed = arrays[key].astype(np.result_type(arrays[key], np.asarray(value)))
        changed[where] = value
        np.savez("counts.npz", **{**arrays, key: changed})
    with pytest.raises(InputError, match="counts.npz: not a counts file, or damaged"):
        load_counts(place / "counts.npz")


def test_a_flipped_byte_of_a_counts_file_is_refused_or_changes_nothing(place):
    path = place / "counts.npz"
    save_counts(path, counted())
    content, whole = path.read_bytes(), load_counts(path)
    for i in range(0, len(content), 11):
        flipped = bytes([content[i] ^ 0xFF])
        path.write_bytes(content[:i] + flipped + content[i + 1 :])
        try:
            read = load_counts(path)
        except InputError:
            continue
        assert (read.pairs != whole.pairs).nnz == 0, i
        for name in ("words", "windows", "documents", "tokens", "reference"):
            assert getattr(read, name) == getattr(whole, name), i


def test_topics_in_text_files_need_no_tensorflow(place):
    save_counts(place / "counts.npz", counted())
    program = "import sys; from tcnlm.programs.coherence import main; "
    program += "main(sys.argv[1:]); sys.exit('tensorflow' in sys.modules)"
    line = [sys.executable, "-c", program, place / "topics.txt"]
    line += ["--counts", place / "counts.npz"]
    assert subprocess.run(line, cwd=toy.ROOT, capture_output=True).returncode == 0


PRINTED = {
    "gensim": ['0.030*"ship" + 0.020*"sea"', '0.1*"oven" + 0.01*"bread"'],
    "gensim's pairs": [
        """(0, '0.030*"ship" + 0.020*"sea"')""",
        """(1, '0.1*"oven" + 0.01*"bread"')""",
    ],
    "lists": ["['ship', 'sea']", '["oven", "bread"]'],
    "pairs": ["[('ship', 0.3), ('sea', 0.1)]", "[('oven', 0.2), ('bread', 0.1)]"],
    "BERTopic's names": ["0_ship_sea", "-1_oven_bread"],
    "commas": ["ship, sea", "oven,bread,"],
    "semicolons": ["ship;sea", "'oven' ; 'bread'"],
    "bars": ["ship|sea", "oven | bread"],
    "tabs": ["ship\tsea", "oven\tbread"],
    "quotes": ['"ship" "sea"', "\u201coven\u201d, `bread`"],
    "unquoted lists": ["[ship, sea]", "(oven, bread)"],
    "JSON": ['{"topics": [["ship", "sea"],', '["oven", "bread"]], "other": 1}'],
    "one list of lists": ['[["ship", "sea"], ["oven", "bread"]]'],
    "unseen": ["\ufeff\u200bship\xa0sea", "oven bread"],
}


@pytest.mark.parametrize("kind", PRINTED)
def test_topics_are_read_as_other_programs_print_them(kind, tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("\n".join(PRINTED[kind]) + "\n", encoding="utf-8")
    assert read_topics(path).topics == [["ship", "sea"], ["oven", "bread"]]


NUMBERS = "txt: every line begins with .*cut -f2- or cut -f3-"
NOT_ONE_WORD = {
    "0\tship sea\n1\toven bread\n": NUMBERS,
    "Topic 0: ship sea\nTopic 1: oven bread\n": NUMBERS,
    "0_new york_sea": "txt:1: 'new york' is not one word",
    "1. ship sea\n2. oven bread\n": NUMBERS,
    "0.25 ship sea\n1.5E-4 oven bread\n": NUMBERS,
    "0\t0.5\tship sea \n1\t0,07\toven bread \n": NUMBERS,  # MALLET's keys
    "ship sea\nship, sea navy\n": "txt:2: 'sea navy' is not one word of a text",
    "ship:0.1 sea:0.2": "txt:1: 'ship:0.1' is not one word",
    "ship (0.1) sea (0.2)": r"txt:1: '\(0.1\)' is not one word",
    '{"topics": [["new york", "sea"]]}': "topic 0: 'new york' is not one word",
    '{"results": 1}': r'txt: JSON, but not like {"topics": \[\["ship", "sea"\]',
    '[["ship", 0.1], ["sea", 0.2]]': "txt: JSON, but not like",
    '{"topic": ["ship"]}\n' * 2: """txt:1: '{"topic":' is not one word""",
    "[['ship', 'sea'], ['oven', 'bread']]": "txt:1: several topics in one line",
    """[(0, '0.1*"a" + 0.1*"b"'), (1, '0.1*"c"')]""": "txt:1: several topics",
}


@pytest.mark.parametrize("content", NOT_ONE_WORD)
def test_what_is_no_list_of_words_is_refused_with_its_line(content, tmp_path):
    (tmp_path / "topics.txt").write_text(content)
    with pytest.raises(InputError, match=NOT_ONE_WORD[content]):
        read_topics(tmp_path / "topics.txt")


def test_words_with_signs_that_a_text_has_stay_whole(tmp_path):
    path, words = tmp_path / "topics.txt", "1,000 10:30 m*a*s*h http://a.b/c?d=e Q&A"
    path.write_text(f"{words} don\u2019t ca\u0301f Q&A", encoding="utf-8")
    expected = [*words.split(), "don't", "c\xe1f", "Q&A"]
    assert read_topics(path).topics == [expected]
    path.write_text("war,1990,1991,1,000,army")
    assert read_topics(path).topics == [["war", "1990", "1991", "1,000", "army"]]
