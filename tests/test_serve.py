"""python -m tcnlm serve over real HTTP: answers, errors, and the page in a browser."""

import contextlib
import html
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
import tiny
import toy
from trained import ENVIRONMENT

from tcnlm.common.errors import InputError
from tcnlm.generation.saved_model import Program
from tcnlm.models.topics import top_words
from tcnlm.programs import export, serve
from tcnlm.serving import model as serving_model
from tcnlm.serving.model import Served, find
from tcnlm.serving.server import MOST_BYTES, Handler, Server

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
TEXTS = ["the ship of the sea", "A judge!"]
UPLOAD = b"POST / HTTP/1.1\r\nContent-Length: 9999\r\n\r\n"


@contextlib.contextmanager
def serving(folder, change=lambda page: page):
    with Server("127.0.0.1", 0) as server:
        server.served = Served(find(folder))
        server.template = change(server.template)
        with answering(server):
            yield server.address


@contextlib.contextmanager
def answering(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield
    server.shutdown()
    thread.join()


def run_of(folder, name):
    tiny.make_run(folder, name)
    export.main([str(folder)])
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("runs") / "my run", "tcnlm")


@pytest.fixture(scope="module")
def lstm_run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("runs") / "lstm", "lstm")


@pytest.fixture(scope="module")
def address(run):
    with serving(run) as address:
        yield address


@pytest.fixture(scope="module")
def program():
    return Program(tiny.make_model(), 30, 300)


@pytest.fixture
def bare():
    """A server that listens, with a page and no model."""
    with Server("127.0.0.1", 0) as server:
        server.served = SimpleNamespace(
            name="none", version="1", status=dict, metadata=dict
        )
        yield server


def connected(server):
    return socket.create_connection(server.server_address, timeout=10)


def call(url, content=None, **headers):
    """Return the status and the JSON of an answer."""
    request = urllib.request.Request(url, content, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def predict(address, path="my%20run", **request):
    content = json.dumps(request).encode()
    return call(f"{address}v1/models/{path}:predict", content)


def outputs(address, signature, path="my%20run", **inputs):
    request = {"signature_name": signature, "inputs": inputs}
    status, answer = predict(address, path, **request)
    assert status == 200, answer
    return answer["outputs"]


def test_the_state_and_the_signatures_are_told_as_tensorflow_serving_does(address):
    status, state = call(f"{address}v1/models/my%20run/versions/1")
    assert status == 200
    assert state["model_version_status"][0]["state"] == "AVAILABLE"
    status, found = call(f"{address}v1/models/my%20run/metadata")
    assert found["model_spec"]["version"] == "1"
    signatures = found["metadata"]["signature_def"]["signature_def"]
    writing = {"generate", "generate_known", "beam_search"}
    assert set(signatures) == {*writing, "infer_topics", "topic_words", "score"}
    topics = signatures["generate"]["inputs"]["topics"]
    assert topics["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in topics["tensor_shape"]["dim"]] == ["-1", "4"]


def test_every_signature_answers_with_the_models_figures(address, program):
    text = tf.constant(TEXTS)
    topics = np.eye(4, dtype=np.float32)[:2]
    drawn = {"seed": tf.constant(2**40, tf.int64), "temperature": tf.constant(1.5)}
    asked = {"topics": topics.tolist(), "seed": 2**40, "temperature": 1.5}
    found = outputs(address, "generate", **asked)
    expected = program.generate(tf.constant(topics), **drawn)
    assert found["sentences"] == [s.decode() for s in expected["sentences"].numpy()]
    found = outputs(address, "beam_search", topics=topics.tolist(), width=3)
    expected = program.beam_search(tf.constant(topics), tf.constant(3))
    best = expected["sentences"].numpy().tolist()
    assert found["sentences"] == [[s.decode() for s in row] for row in best]
    found = outputs(address, "score", sentences=TEXTS, contexts=TEXTS[::-1])
    expected = program.score(text, text[::-1])
    assert found["targets"] == expected["targets"].numpy().tolist()
    np.testing.assert_allclose(found["perplexity"], expected["perplexity"], rtol=1e-5)
    expected = program.infer_topics(text)
    found = outputs(address, "infer_topics", documents=TEXTS)
    np.testing.assert_allclose(found["topics"], expected["topics"], atol=1e-6)
    assert found["topic_words"] == expected["topic_words"].numpy().tolist()
    words = program.topic_words(tf.constant(2))["words"].numpy()
    for path in ("my%20run", "my%20run/versions/1"):  # the only output stands alone
        found = outputs(address, "topic_words", path, number=2)
        assert found == [[word.decode() for word in row] for row in words]


def test_rows_are_answered_in_rows(address):
    columns = outputs(address, "score", sentences=TEXTS, contexts=["", "a sea"])
    rows = [{"sentences": s, "contexts": c} for s, c in zip(TEXTS, ["", "a sea"])]
    _, answer = predict(address, signature_name="score", instances=rows)
    for name, values in columns.items():
        assert [row[name] for row in answer["predictions"]] == values
    alone = predict(address, signature_name="infer_topics", instances=TEXTS)
    named = [{"documents": text} for text in TEXTS]
    assert alone == predict(address, signature_name="infer_topics", instances=named)
    [first, _] = alone[1]["predictions"]
    np.testing.assert_allclose(sum(first["topics"]), 1, atol=1e-5)
    found = outputs(address, "infer_topics", documents=["", TEXTS[0]])["topics"]
    assert found == [[None] * len(first["topics"]), pytest.approx(first["topics"])]


def score(**more):
    return {"signature_name": "score", "inputs": {"sentences": ["a"], **more}}


def generate(**more):
    inputs = {"topics": [[1, 0, 0, 0]], "seed": 1, "temperature": 1.0, **more}
    return {"signature_name": "generate", "inputs": inputs}


def beam_search(width):
    inputs = {"topics": [[1, 0, 0, 0]] * 2, "width": width}
    return {"signature_name": "beam_search", "inputs": inputs}


def infer(documents):
    return {"signature_name": "infer_topics", "inputs": {"documents": documents}}


GARBAGE = {
    b"{": "no JSON",
    b"[" * 100_000: "no JSON",
    b'{"inputs": "\xff\xfe"}': "no UTF-8",
    b"[]": "must be a JSON object",
    b'{"inputs": {}, "instances": []}': 'either "inputs" or "instances"',
    b'{"inputs": {}, "signature_name": ["score"]}': "is none of",
    b'{"inputs": 3, "signature_name": "score"}': "contexts, sentences: missing",
    b'{"instances": [], "signature_name": "score"}': "one row or more",
    b'{"instances": [1], "signature_name": "score"}': "the inputs are contexts, sent",
    **{
        json.dumps(request).encode(): message
        for request, message in [
            (score(contexts=[""], x=[""]), "x: missing or no input"),
            (score(contexts=[]), "contexts: give as many as sentences"),
            (score(contexts=""), "contexts: must be strings, of the shape [any]"),
            (score(contexts=[1]), "contexts: must be strings"),
            (score(contexts=["\udc80"]), "contexts: must be strings"),
            (infer(["a," * 500_000]), "documents: 1,000,000 tokens; give at most"),
            (generate(topics=[[1, 0]]), "of the shape [any, 4]"),
            (generate(topics=[[1, 1, 0, 0]]), "topics: every row must be 4 shares"),
            (generate(topics=[["1", 0, 0, 0]]), "topics: must be numbers"),
            (generate(topics=[[1, 0, 0, 0]] * 1001), "topics: 1,001 are asked for"),
            (beam_search(width=501), "topics: 1,002 are asked for"),
            (beam_search(width=2**32 + 1), "width: must be numbers that int32 holds"),
            (generate(seed=2**63), "seed: must be numbers that int64 holds"),
            (generate(seed=1.5), "seed: must be numbers that int64 holds"),
            (generate(seed=True), "seed: must be numbers"),
            (generate(temperature=10**400), "temperature: must be numbers"),
            (generate(temperature=1e39), "temperature: must be a finite number above"),
            (generate(temperature=float("nan")), "temperature: must be"),
        ]
    },
}


@pytest.mark.parametrize("content", GARBAGE, ids=lambda content: str(content[:70]))
def test_garbage_gets_an_error_of_its_own_and_the_next_request_an_answer(
    content, address
):
    status, answer = call(f"{address}v1/models/my%20run:predict", content)
    assert (status, list(answer)) == (400, ["error"])
    assert GARBAGE[content] in answer["error"]
    assert len(outputs(address, "topic_words", number=1)) == 4


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("v1/models/other", None, 404),
        ("v1/models/my%20run/versions/2", None, 404),
        ("favicon.ico", None, 404),
        ("v1/models/my%20run:predict", None, 405),
        ("v1/models/my%20run:classify", b"{}", 405),
        ("v1/models/my%20run:predict", b" " * (MOST_BYTES + 1), 413),
    ],
)
def test_what_is_not_there_gets_the_status_that_says_so(path, content, status, address):
    found, answer = call(address + path, content)
    assert (found, list(answer)) == (status, ["error"])


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"POST /v1/models/my%20run:predict HTTP/1.1\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 411),
        (b"\xff\x00 / HTTP/1.1\r\n\r\n", 501),
        (b"DELETE / HTTP/1.1\r\n\r\n", 501),
    ],
)
def test_what_is_no_http_gets_json_too(request_text, status, bare):
    with answering(bare), connected(bare) as connection:
        connection.sendall(request_text)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        assert reply.status == status
        assert list(json.load(reply)) == ["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example:8501"},
        {"Host": "127.0.0.1.example"},
        {"Host": "[::1"},
        {"Host": ""},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
    ],
)
def test_who_asks_by_another_name_or_from_another_page_is_refused(headers, address):
    path = f"{address}v1/models/my%20run"
    for each, content in ((path, None), (f"{path}:predict", b"{}")):
        status, answer = call(each, content, **headers)
        assert (status, list(answer)) == (403, ["error"])


@pytest.mark.parametrize("host", ["LOCALHOST:99", "[::1]:8"])
def test_a_page_of_this_machine_may_ask(host, address):
    path, origin = f"{address}v1/models/my%20run", f"http://{host}"
    assert call(path, Host=host, Origin=origin)[0] == 200


def test_a_server_for_others_is_known_by_its_addresses_and_the_name_it_was_given():
    with Server("0.0.0.0", 0) as server:
        assert server.is_known_as("192.168.0.1")
        assert not server.is_known_as("rebound.example")
        server.host = "Machine"
        assert server.is_known_as("machine")


def test_the_body_of_a_get_is_not_taken_for_the_next_request(bare):
    connection = http.client.HTTPConnection(*bare.server_address, timeout=10)
    with answering(bare), contextlib.closing(connection):
        for body in (b"DELETE / HTTP/1.1\r\n\r\n", None):
            connection.request("GET", "/v1/models/none", body)
            with connection.getresponse() as reply:
                assert (reply.status, reply.read()) == (200, b"{}")
        with contextlib.suppress(BrokenPipeError):  # it is refused by its head alone
            connection.request("GET", "/v1/models/none", iter([b"a"]))  # in chunks
        with connection.getresponse() as reply:
            assert (reply.status, reply.getheader("Connection")) == (411, "close")


def test_a_connection_too_many_hears_so_and_the_next_after_one_goes_is_answered(bare):
    bare.places = threading.Semaphore(1)
    url = f"{bare.address}v1/models/none"
    with answering(bare):
        with connected(bare) as first:
            first.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert first.recv(12) == b"HTTP/1.1 200"
            for content in (None, b" " * MOST_BYTES):
                status, answer = call(url, content)
                assert (status, answer["error"][-15:]) == (503, "try again later")
        assert bare.places.acquire(timeout=10)
        bare.places.release()
        assert call(url) == (200, {})


@pytest.mark.parametrize("begun", [b"", UPLOAD])
def test_a_request_that_trickles_is_ended(begun, bare, monkeypatch):
    monkeypatch.setattr(Handler, "timeout", 0.3)
    with answering(bare), connected(bare) as connection:
        connection.sendall(begun)
        connection.settimeout(0.02)
        for _ in range(200):
            with contextlib.suppress(socket.timeout):
                assert connection.recv(1) == b""
                break
            connection.sendall(b"x")
        else:
            pytest.fail("still open")


def test_what_nothing_foresaw_is_answered_and_the_server_goes_on(address, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(serving_model, "json_of", lambda _: 1 / 0)
        status, answer = predict(address, **infer(TEXTS))
    assert (status, answer) == (500, {"error": "ZeroDivisionError: division by zero"})
    assert len(outputs(address, "infer_topics", documents=TEXTS)["topics"]) == 2


def test_so_many_sentences_that_it_would_never_end_are_refused(lstm_run):
    asked = {"number": 2**31 - 1, "seed": 1, "temperature": 1.0}
    with serving(lstm_run) as address:
        request = {"signature_name": "generate", "inputs": asked}
        status, answer = predict(address, "lstm", **request)
        assert (status, answer["error"][:7]) == (400, "number:")
        beams = {"signature_name": "beam_search", "inputs": {"width": 2**31 - 1}}
        status, answer = predict(address, "lstm", **beams)
        assert (status, answer["error"][:6]) == (400, "width:")
        found = outputs(address, "generate", "lstm", **{**asked, "number": 3})
    assert len(found["sentences"]) == 3


def test_a_run_its_saved_model_and_a_folder_of_versions_are_found(run, tmp_path):
    assert find(run) == find(run / "saved_model") == run / "saved_model"
    for version in ("1", "12", "9"):
        shutil.copytree(run / "saved_model", tmp_path / "served" / version)
    served = Served(find(tmp_path / "served"))
    assert (served.name, served.version) == ("served", "12")


def test_what_cannot_be_served_is_said_with_what_to_do(tmp_path):
    with pytest.raises(InputError, match="neither a RUN nor a SavedModel"):
        serve.main([str(tmp_path)])
    (tmp_path / "config.json").touch()
    with pytest.raises(InputError, match=r"write one: python -m tcnlm export "):
        serve.main([str(tmp_path)])
    (tmp_path / "saved_model.pb").write_text("broken")
    with pytest.raises(InputError, match="cannot be loaded"):
        serve.main([str(tmp_path), "--port", "0"])


def test_a_port_that_is_taken_and_a_host_that_is_none_are_refused(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}: cannot be served at"):
            serve.main([str(run), "--port", str(port)])
    with pytest.raises(InputError, match="'300.0.0.1', port 0"):
        serve.main([str(run), "--port", "0", "--host", "300.0.0.1"])


def test_the_command_serves_this_machine_until_ctrl_c(run):
    command = [sys.executable, "-m", "tcnlm", "serve", str(run), "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=toy.ROOT, env=ENVIRONMENT, **pipes) as process:
        told = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", told)[0]
        assert len(outputs(address, "topic_words", number=1)) == 4
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "interrupted\n")
    assert process.returncode == 130


CLICKS = """<script>
const until = async (found) => {
  while (!found()) await new Promise((again) => setTimeout(again, 20));
};
(async () => {
  const all = (query) => [...document.querySelectorAll(query)];
  const texts = (query) => all(query).map((e) => e.textContent);
  const said = {};
  await until(() => !document.querySelector("#reading").hidden);
  said.topics = texts("#topics li");
  document.querySelector('#topics [data-topic="2"]')?.click();
  said.shares = texts("#mixture output");
  for (const slider of all("#mixture input").slice(1)) {
    slider.value = 0;
    slider.dispatchEvent(new Event("input"));
  }
  said.moved = texts("#mixture output");
  const write = async () => {
    if (document.querySelector("#mixing").hidden) return [];
    document.querySelector("#sentences").replaceChildren();
    document.querySelector("#write button").click();
    await until(() => document.querySelector("#sentences li"));
    return all("#sentences li").map((e) => e.firstChild.textContent.trim());
  };
  said.known = await write();
  document.querySelector("#known").checked = false;
  said.sentences = await write();
  document.querySelector('#topics [data-topic="2"]')?.click();
  said.alone = [texts("#mixture output"), all("#mixture input").length];
  said.help = texts("#picking, #mixing-help").join(" ");
  said.all = document.body.innerText;
  document.querySelector("#text").value = "A ship. The sea, the sail!";
  document.querySelector("#read button").click();
  await until(() => document.querySelector("#scores li, #proportions .bar"));
  await until(() => !document.querySelector("#read button").disabled);
  said.bars = texts("#proportions .bar span");
  said.perplexity = Number(document.querySelector("#perplexity b").textContent);
  document.querySelector("#text").value = "";
  document.querySelector("#read button").click();
  await until(() => !document.querySelector("#wrong").hidden);
  said.wrong = texts("#wrong");
  const place = Object.assign(document.createElement("pre"), { id: "said" });
  place.textContent = JSON.stringify(said);
  document.body.append(place);
})();
</script></body>"""


def clicked(run):
    """Return what a browser shows of a run's page when it is used."""
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--virtual-time-budget=20000", "--dump-dom"]
    with serving(run, lambda page: page.replace("</body>", CLICKS)) as address:
        done = subprocess.run(
            [*command, address], capture_output=True, text=True, timeout=120
        )
    found = re.search(r'<pre id="said">(.*?)</pre>', done.stdout)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="needs chromium")
def test_a_browser_mixes_topics_writes_sentences_and_reads_a_text(run, program):
    said = clicked(run)
    assert [text[0] for text in said["topics"]] == list("0123")
    assert (said["shares"], said["moved"]) == (["50 %", "50 %"], ["100 %", "0.0 %"])
    topics = tf.one_hot([0] * 5, 4)
    drawn = {"seed": tf.constant(1, tf.int64), "temperature": tf.constant(0.8)}
    expected = program.generate(topics, **drawn)["sentences"].numpy()
    assert said["sentences"] == [
        sentence.decode() or "(no word)" for sentence in expected
    ]
    known = program.generate_known(topics, **drawn)["sentences"].numpy()
    assert said["known"] == [sentence.decode() or "(no word)" for sentence in known]
    assert "<unk>" in " ".join(said["sentences"])
    text, scored = "A ship. The sea, the sail!", ["A ship.", "The sea, the sail!"]
    proportions = program.infer_topics(tf.constant([text]))["topics"].numpy()[0]
    assert [int(bar[0]) for bar in said["bars"]] == list(np.argsort(-proportions))
    found = program.score(tf.constant(scored), tf.constant(["", scored[0]]))
    nats, targets = (sum(found[k].numpy()) for k in ("log_probability", "targets"))
    assert said["perplexity"] == pytest.approx(np.exp(-nats / targets), rel=1e-3)
    assert said["wrong"] == ["Give a text."]
    assert said["alone"] == [["100 %"], 0]  # a topic alone has no slider
    assert "Pick more topics in the list to mix them." in said["help"]
    assert "Perplexity: how many equally likely words" in said["all"]
    assert "nats" not in said["all"]


@pytest.fixture
def named_run(run, tmp_path):
    """A RUN whose topics 1 and 3 are one, and whose topic 0 is hidden."""
    whole = shutil.copytree(run, tmp_path / "my run")
    rows = ["number,label,merged_into,hidden", "1,Oil,,", "3,gas,1,", "0,sea,,yes"]
    (whole / "topics.csv").write_text("\n".join(rows))
    return whole


def test_names_are_told_with_the_signatures_where_there_are_any(named_run, address):
    _, plain = call(f"{address}v1/models/my%20run/metadata")
    assert set(plain["metadata"]) == {"signature_def"}
    served = Served(find(named_run))
    likeliest = ", ".join(top_words(tiny.make_model(), 3)[2])
    assert served.metadata()["metadata"]["topics"] == [
        {"topic": 1, "label": "Oil", "members": [1, 3]},
        {"topic": 2, "label": likeliest, "members": [2]},
    ]
    (named_run / "topics.csv").write_text("number,label,merged_into,hidden\n9,a,,\n")
    with pytest.raises(InputError, match=r"topics\.csv:2: number '9'"):
        Served(find(named_run))
