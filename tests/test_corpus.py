"""--corpus: fetched once, gone on with, checked, and read as its files are."""

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
from tcnlm.preprocessing import archives, files, known_corpora
from tcnlm.preprocessing.archives import read_20news, read_oanc, read_wikitext
from tcnlm.preprocessing.known_corpora import (
    CACHE,
    KNOWN,
    MIRROR,
    PIECE,
    Remote,
    fetched,
)
from tcnlm.programs.preprocess import main

CONTENT = bytes(range(256)) * 1000


class Server(ThreadingHTTPServer):
    """Files by name; what was asked for; where to cut an answer short."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.cut, self.ranges = {}, [], None, True

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/some/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append((self.path, wanted))
        content = server.files.get(self.path.rpartition("/")[2])
        if content is None:
            return self.send_error(404)
        start = int(wanted[6:-1]) if wanted and server.ranges else 0
        if start and start >= len(content):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : server.cut])
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
    assert server.asked == [("/some/file.bin", None)]
    assert left(tmp_path) == {"file.bin": CONTENT}
    path.write_bytes(b"damaged")
    assert fetched(known(CONTENT, kind=kind)).read_bytes() == CONTENT
    assert len(server.asked) == 2


@pytest.mark.parametrize("ranges", [True, False])
def test_what_was_cut_short_is_gone_on_with_where_the_server_can(
    server, tmp_path, ranges
):
    server.files["file.bin"], server.cut, server.ranges = CONTENT, 100_000, ranges
    with pytest.raises(InputError, match="cannot be fetched .* gone on from"):
        fetched(known(CONTENT))
    assert left(tmp_path) == {"file.bin.part": CONTENT[:PIECE]}
    server.cut = None
    assert fetched(known(CONTENT)).read_bytes() == CONTENT
    assert server.asked[1] == ("/some/file.bin", f"bytes={PIECE}-")
    assert left(tmp_path) == {"file.bin": CONTENT}


def test_a_part_that_is_whole_is_taken_and_no_link_written_through(server, tmp_path):
    server.files["file.bin"], victim = CONTENT, tmp_path / "victim"
    part = tmp_path / "cache" / "file.bin.part"
    part.parent.mkdir()
    victim.write_bytes(b"mine")
    part.symlink_to(victim)
    with pytest.raises(InputError, match="cannot be written"):
        fetched(known(CONTENT))
    assert victim.read_bytes() == b"mine"
    part.unlink()
    part.write_bytes(CONTENT)
    assert fetched(known(CONTENT)).read_bytes() == CONTENT


def test_a_file_of_another_sum_is_refused_and_nothing_is_left(server, tmp_path):
    server.files["file.bin"] = CONTENT[:-1]
    good, bad = (hashlib.sha256(each).hexdigest() for each in (CONTENT, CONTENT[:-1]))
    with pytest.raises(InputError) as refused:
        fetched(known(CONTENT))
    assert "\n" not in str(refused.value)
    for said in ("/some/file.bin", good, bad):
        assert said in str(refused.value)
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
    with pytest.raises(
        InputError, match=r"file.bin: cannot be fetched \(404 Not Found"
    ):
        fetched(known(CONTENT))
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    with pytest.raises(InputError, match="file: cannot be written"):
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
        monkeypatch.setitem(
            known_corpora.KNOWN, name, known_corpora.replace(corpus, files=files)
        )


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
    expected = {"imdb": (12, 6), "20news": (4, 6), "ptb": (2, 2), "oanc": (6, 2)}
    expected |= {"wikitext103": (2, 2), "wikitext2": (2, 2)}
    found = (meta["splits"][part]["documents"] for part in ("train", "test"))
    assert tuple(found) == expected[name]
    assert meta["source"].startswith(f"{name}: {KNOWN[name].files[0].name} sha256:")


def test_messages_come_by_group_and_number_and_nothing_is_unpacked(server, tmp_path):
    path = tmp_path / "20news-bydate.tar.gz"
    path.write_bytes(tar_of(MESSAGES))
    first, *others = read_20news(path, "train", drop_headers=True)
    assert first[:3] == ("The car is caf\xe9.", "rec.autos", "train/rec.autos/9")
    assert [d.id.rpartition("/")[2] for d in others] == ["10", "11", "9", "10", "11"]
    assert list(tmp_path.iterdir()) == [path]
    assert next(read_20news(path, "test", False)).text.startswith("Subject: a car")


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
    lines = (
        " = X = ",
        " 1 = 1 ",
        " = = Y = = ",
        " = 2 ",
    )  # one sign at each end: a title
    path.write_bytes(zip_of({"a": "\n".join(lines)}))
    assert [d.id for d in read_wikitext(path, "a")] == ["X"]


def test_a_text_of_oanc_is_named_by_its_place_and_its_genre_is_its_label(tmp_path):
    path = tmp_path / "OANC_GrAF.zip"
    path.write_bytes(zip_of(OANC))
    first, *others = read_oanc(path)
    name = "spoken/face-to-face/charlotte/A"
    assert first[:3] == ("Caf\xe9?", "face-to-face", name)
    assert [d.label for d in others] == ["journal"] * 9
    assert others[0].id == "written_1/journal/slate/0/Article0"


ARCHIVES = {  # what is not as distributed, by its reader
    "20news": (b"no archive", read_20news, ("train", False)),
    "wikitext": (b"no archive", read_wikitext, ("wiki.test.tokens",)),
    "oanc": (b"no archive", read_oanc, ()),
    "encrypted": ((6, 1), read_wikitext, ("wiki.test.tokens",)),
    "packed in a new way": ((8, 99), read_wikitext, ("wiki.test.tokens",)),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_that_is_none_or_cannot_be_unpacked_is_named(tmp_path, kind):
    content, read, options = ARCHIVES[kind]
    if isinstance(content, tuple):
        place, value = content
        content = bytearray(zip_of({"wiki.test.tokens": ARTICLES}))
        content[place] = value  # of the file's own header, and of the list of all
        content[content.index(b"PK\x01\x02") + place + 2] = value
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(InputError, match="archive: is not as distributed"):
        list(read(tmp_path / "archive", *options))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--corpus imdb --format text", "leave that out"),
        ("--corpus imdb --input x", "is there as a whole: it takes no files"),
        ("--corpus 20news", "needs --valid-from-train"),
        ("--corpus imdb --group 3", "--group makes documents of lines"),
        ("--corpus ptb --headers drop", "no headers to drop"),
        ("--corpus ptb --split .8 .1 .1", "no --split"),
        ("--corpus ptb --label kind", "of --format jsonl or table"),
    ],
)
def test_options_that_do_not_fit_a_corpus_are_refused(tmp_path, capsys, options, said):
    assert main([*options.split(), "--out", str(tmp_path / "DATA")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"ptb"}))
def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_read(
    name, registry, tmp_path, monkeypatch, capsys
):
    for module in (files, archives):
        monkeypatch.setattr(module, "MOST_BYTES", 10)
    command = [
        "--corpus",
        name,
        *OPTIONS[name],
        *toy.EVERY_WORD,
        "--out",
        str(tmp_path / "D"),
    ]
    assert main(command) == 2
    assert "more than 10 bytes" in capsys.readouterr().err
