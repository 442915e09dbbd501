"""--corpus: fetched once, checked, and read as its files are."""

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import toy

from tcnlm.common.errors import InputError
from tcnlm.preprocessing import known_corpora
from tcnlm.preprocessing.known_corpora import (
    CACHE,
    KNOWN,
    MIRROR,
    Remote,
    fetched,
    read_20news,
    read_aclimdb,
    read_oanc,
    read_wikitext,
)
from tcnlm.programs.preprocess import main

CONTENT = bytes(range(256)) * 1000


class Server(ThreadingHTTPServer):
    """Files by name, and what was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = {}, []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/some/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path.rpartition("/")[2])
        if content is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    with Server() as served:
        monkeypatch.setenv(MIRROR, served.address)
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


def known(content, name="file.bin", kind="sha256"):
    digest = hashlib.new(kind, content).hexdigest()
    return Remote(name, "http://nowhere.invalid/file.bin", f"{kind}:{digest}")


def left(tmp_path):
    return {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_a_file_is_fetched_once_and_again_where_it_is_damaged(server, tmp_path, kind):
    server.files["file.bin"] = CONTENT
    for _ in range(2):
        path = fetched(known(CONTENT, kind=kind))
        assert path.read_bytes() == CONTENT
    assert server.asked == ["/some/file.bin"]
    assert left(tmp_path) == {"file.bin": CONTENT}
    path.write_bytes(b"damaged")
    assert fetched(known(CONTENT, kind=kind)).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_file_of_another_sum_is_refused_and_nothing_is_left(server, tmp_path):
    server.files["file.bin"] = CONTENT[:-1]
    with pytest.raises(InputError, match="^http.*/some/file.bin: .* hash [^\n]*$"):
        fetched(known(CONTENT))
    assert left(tmp_path) == {}


def test_without_a_network_it_ends_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv(MIRROR, "http://127.0.0.1:9/")  # discard: nobody listens
    assert main(["--corpus", "imdb", "--out", str(tmp_path / "DATA")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: http://127.0.0.1:9/aclImdb_v1.tar.gz: cannot be")
    assert MIRROR in line
    assert str(tmp_path / "cache") in line
    assert not (tmp_path / "DATA").exists()


def test_a_missing_file_and_a_cache_that_cannot_be_are_named(
    server, tmp_path, monkeypatch
):
    with pytest.raises(InputError, match=r"file.bin: cannot be fetched \(404 "):
        fetched(known(CONTENT))
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    with pytest.raises(InputError, match="or put the file into .*file$"):
        fetched(known(CONTENT))


def tar_of(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            content = text.encode("latin-1")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zip_of(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


REVIEWS = {
    f"aclImdb/{part}/{label}/{n}_{stars}.txt": f"A {word} film about a ship. I saw it."
    for part in ("train", "test")
    for label, stars, word in (("pos", 9, "good"), ("neg", 2, "bad"))
    for n in range(6)
}
MESSAGES = {
    f"20news-bydate-{part}/{group}/{n}": f"Subject: a {word}\n\nThe {word} is caf\xe9."
    for part in ("train", "test")
    for group, word in (("sci.space", "rocket"), ("rec.autos", "car"))
    for n in (10, 9, 11)
}
REVIEWS["aclImdb/train/unsup/0_0.txt"] = "A film without a label."
REVIEWS["aclImdb/train/urls_pos.txt"] = "http://example.org"
MESSAGES["../../outside"] = "never written"
ARTICLES = "\n".join(
    f" \n = The {name} = \n \n The {name} is old @-@ fashioned . It <unk> 1 @,@ 000 .\n"
    f" = = History of it = = \n \n Nobody knows the {name} . \n"
    for name in ("Ship", "Judge = Jury")
)
LINES = " the ship sails \n a judge speaks \n bread is baked \n <unk> sings N songs \n"


PLACE = "OANC-GrAF/data/written_1/journal/slate"
OANC = {
    **{f"{PLACE}/{n}/Article{n}.txt": f"Ship {n} sails. A\nsea." for n in range(9)},
    "OANC-GrAF/data/spoken/face-to-face/charlotte/A.txt": "\ufeffCaf\xe9?",
    f"{PLACE}/1/Article1-s.xml": "<graph/>",
    f"{PLACE}/1/Article1.anc": "<cesHeader/>",
    "OANC-GrAF/data/readme.txt": "no text of it",
    "OANC-GrAF/doc/written_1/journal/list.txt": "no text of it",
}


def wiki_of(folder):
    return {f"{folder}/wiki.{part}.tokens": ARTICLES for part in PARTS}


@pytest.fixture
def registry(server, monkeypatch):
    """Serve small archives in each corpus's layout, and know their sums."""
    server.files = {
        "aclImdb_v1.tar.gz": tar_of(REVIEWS),
        "20news-bydate.tar.gz": tar_of(MESSAGES),
        "wikitext-103-v1.zip": zip_of(wiki_of("wikitext-103")),
        "wikitext-2-v1.zip": zip_of(wiki_of("wikitext-2")),
        "OANC_GrAF.zip": zip_of(OANC),
        **{f"ptb.{part}.txt": LINES.encode() for part in PARTS},
    }
    for name, corpus in KNOWN.items():
        files = tuple(known(server.files[f.name], f.name) for f in corpus.files)
        monkeypatch.setitem(known_corpora.KNOWN, name, corpus._replace(files=files))


PARTS = ("train", "valid", "test")
OPTIONS = {
    "imdb": (),
    "20news": ("--valid-from-train", "2", "--headers", "drop"),
    "ptb": ("--group", "2"),
    "wikitext103": (),
    "wikitext2": (),
    "oanc": ("--split", ".6", ".2", ".2"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_corpus_becomes_data(registry, tmp_path, name):
    data = tmp_path / "DATA"
    command = ["--corpus", name, *OPTIONS[name], *toy.EVERY_WORD, "--out", str(data)]
    assert main(command) == 0
    meta = json.loads((data / "meta.json").read_text())
    expected = {"imdb": (13, 6), "20news": (4, 6), "ptb": (2, 2), "oanc": (6, 2)}
    expected |= {"wikitext103": (2, 2), "wikitext2": (2, 2)}
    found = (meta["splits"][part]["documents"] for part in ("train", "test"))
    assert tuple(found) == expected[name]
    assert meta["source"].startswith(f"{name}: {KNOWN[name].files[0].name} sha256:")


def test_reviews_have_their_folder_for_a_label_and_their_place_for_an_id(tmp_path):
    path = tmp_path / "aclImdb_v1.tar.gz"
    path.write_bytes(tar_of(REVIEWS))
    train, test = (list(read_aclimdb(path, part)) for part in ("train", "test"))
    assert [d.label for d in train] == ["pos"] * 6 + ["neg"] * 6 + [None]
    assert train[-1][:3] == ("A film without a label.", None, "train/unsup/0_0.txt")
    assert {d.id for d in test} == {n[8:] for n in REVIEWS if n[8:12] == "test"}


def test_messages_come_by_group_and_number_and_nothing_is_unpacked(server, tmp_path):
    path = tmp_path / "20news-bydate.tar.gz"
    path.write_bytes(tar_of(MESSAGES))
    first, *others = read_20news(path, "train", drop_headers=True)
    assert first[:3] == ("The car is caf\xe9.", "rec.autos", "train/rec.autos/9")
    assert [d.id.rpartition("/")[2] for d in others] == ["10", "11", "9", "10", "11"]
    assert list(tmp_path.iterdir()) == [path]
    assert next(read_20news(path, "test")).text.startswith("Subject: a car")


def test_an_article_is_a_document_without_headings_and_marks(tmp_path):
    path = tmp_path / "wiki.zip"
    path.write_bytes(zip_of(wiki_of("wikitext-2")))
    first, second = read_wikitext(path, "wikitext-2/wiki.test.tokens")
    assert first[:3] == (
        " The Ship is old-fashioned . It <unk> 1,000 .\n\n Nobody knows the Ship . ",
        None,
        "The Ship",
    )
    assert second.id == "The Judge = Jury"
    lines = " = X = \n 1 = 1 \n = = Y = = \n = 2 "  # a sign at each end: a title
    path.write_bytes(zip_of({"a": lines}))
    assert [d.id for d in read_wikitext(path, "a")] == ["X"]


def test_a_text_of_oanc_is_named_by_its_place_and_its_genre_is_its_label(tmp_path):
    path = tmp_path / "OANC_GrAF.zip"
    path.write_bytes(zip_of(OANC))
    first, *others = read_oanc(path)
    name = "spoken/face-to-face/charlotte/A"
    assert first[:3] == ("Caf\xe9?", "face-to-face", name)
    assert [d.label for d in others] == ["journal"] * 9
    assert others[0].id == "written_1/journal/slate/0/Article0"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--corpus imdb --format text --input x", "without --format and --input"),
        ("--corpus 20news", "needs --valid-from-train"),
        ("--corpus imdb --group 3", "goes without --group"),
        ("--corpus ptb --headers drop", "goes without --headers"),
        ("--corpus ptb --split .8 .1 .1", "goes without --split"),
        ("--corpus ptb --label kind", "of --format jsonl or table"),
    ],
)
def test_options_that_do_not_fit_a_corpus_are_refused(tmp_path, capsys, options, said):
    assert main([*options.split(), "--out", str(tmp_path / "DATA")]) == 2
    assert said in capsys.readouterr().err
