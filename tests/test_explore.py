"""The explorable part of the page: its figures, its safety, and a real browser."""

import json
import re
from html import escape
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import tensorflow as tf
import tiny
from browser import BROWSER, in_browser
from measured import fake_run
from scipy.spatial.distance import pdist

from tcnlm.data.dataset import Dataset
from tcnlm.drawing.markup import local
from tcnlm.metrics import exploration
from tcnlm.metrics.features import DocumentTopics
from tcnlm.models.names import Names, Row
from tcnlm.models.topics import best_words
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.report import page
from tcnlm.report.evaluate_run import evaluate_run
from tcnlm.runs.run_folder import RunFolder


@pytest.fixture(scope="module")
def measured(toy_data, tmp_path_factory):
    tf.keras.utils.set_random_seed(1)  # no test has done so yet
    run = tiny.make_run_on(toy_data, tmp_path_factory.mktemp("runs") / "tcnlm", "tcnlm")
    return evaluate_run(RunFolder(run), beginning="the Ship")


def test_the_page_has_the_typical_documents_as_they_came(measured, toy_data):
    found = measured.unsaved["topics"]["documents"]
    lines = (toy_data / "test" / "texts.jsonl").read_text().splitlines()
    text = page.render([measured])
    for document in found:
        came = json.loads(lines[document["document"]])
        assert document["text"] == came
        assert f"<b>As it came:</b> {escape(came)}" in text


def test_places_keep_the_distances_between_topics_that_lie_in_a_plane(rng):
    beta = rng.dirichlet(np.ones(30), size=3)  # three points always do
    places = exploration.topic_places(beta)
    assert np.abs(places).max() == 1
    wanted = pdist(beta, "jensenshannon")
    np.testing.assert_allclose(pdist(places) / pdist(places)[0], wanted / wanted[0])
    for number in 1, 2:
        places = exploration.topic_places(beta[:number])
        assert places.shape == (number, 2)
        assert np.isfinite(places).all()


def test_words_of_a_topic_hold_the_most_relevant_at_every_weight(rng):
    beta = rng.dirichlet(np.full(200, 0.1), size=4)
    names = [f"w{i}" for i in range(200)]
    vocabulary = Vocabulary(names, range(200, 0, -1), names)
    overall = vocabulary.topic_counts / vocabulary.topic_counts.sum()
    found = exploration.relevant_words(beta, vocabulary)
    for row, first, words in zip(beta, best_words(beta, vocabulary, 15), found):
        told = {word: (p, lift) for word, p, lift in words}
        assert list(told)[:15] == first
        for best in np.argsort(-row)[:15], np.argsort(-row / overall)[:15]:
            assert {names[i] for i in best} <= set(told)
            expected = row[best[0]], row[best[0]] / overall[best[0]]
            assert told[names[best[0]]] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("number", [1, 20, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["wide", "narrow"])
def test_no_two_names_on_the_map_touch(rng, number, kind):
    middles = rng.uniform(-1, 1, [5, 2])  # topics come in heaps
    places = middles[rng.integers(5, size=number)] + rng.normal(0, 0.05, [number, 2])
    places[: number // 4] = places[0]
    shares = rng.dirichlet(np.ones(number))
    same = {"label": "government" * 2, "words": [["government" * 2, 1, 1]]}
    topics = [
        {"topic": i, "place": place, "share": share, **same}
        for i, (place, share) in enumerate(zip(np.clip(places, -1, 1), shares))
    ]
    drawn = exploration.topic_map(topics, *exploration.MAPS[kind])
    x, y = np.array([[float(c["x"]), float(c["y"])] for c in drawn["circles"]]).T
    widths = exploration.LETTER * np.array([len(c["label"]) for c in drawn["circles"]])
    beside = np.abs(x[:, None] - x) < (widths[:, None] + widths) / 2
    above = np.abs(y[:, None] - y) < 12  # of letters
    assert (beside & above).sum() == number  # each itself alone
    assert np.abs(x - drawn["width"] / 2).max() <= (drawn["width"] - widths.min()) / 2
    assert np.abs(y - drawn["height"] / 2).max() < drawn["height"] / 2


def test_the_documents_shown_are_typical_of_different_topics(measured, toy_data):
    documents = measured.evaluation["documents"]
    largest = [int(np.argmax(d["proportions"])) for d in documents]
    assert len(set(largest[:3])) == len(set(largest))
    lines = (toy_data / "test" / "texts.jsonl").read_text().splitlines()
    came = [json.loads(lines[document["document"]]) for document in documents]
    tree = ElementTree.fromstring(page.render([measured]))
    places = [e for e in tree.iter("div") if e.get("class") == "document"]
    assert len(places) == len(came) > 0
    for place, text in zip(places, came):
        assert "".join(place.find("p").itertext()) == f"As it came: {text}"


def test_the_page_is_whole_with_and_without_its_script(measured, toy_data):
    text = page.render([measured])
    tree = ElementTree.fromstring(text)
    names = {e.get("id") for e in tree.iter() if e.get("id")}
    targets = {e.get("href")[1:] for e in tree.iter("a")}
    assert targets <= names
    titles = [title.text for title in tree.iter("h2")]
    assert titles[:2] == ["Map of the topics", "Topics"]
    assert titles[-2:] == ["Learning curves", "Settings"]
    for part in ("test documents</th>", "mean test share</th>"):
        assert part in text
    assert "mean share of the test documents." in text
    circles = [circle.find("title").text for circle in tree.iter("circle")]
    assert len(circles) == 2 * len(measured.evaluation["topics"])  # wide, narrow
    assert all(re.match(r"\d+ \w+, .+: \w+", title) for title in circles)
    assert measured.evaluation["continuations"]["prefix"] == "the ship"
    assert "“the ship …” continued greedily" in text
    for path in (toy_data.parent, measured.evaluation["run"]):
        assert str(path) not in text
    cut = local("python evaluate.py /at/me/my/run --counts /a/b/c.npz runs/x 1/2")
    assert cut == "python evaluate.py …/my/run --counts …/b/c.npz runs/x 1/2"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"unknown_share": None}, ""),  # of an old evaluation.json
        ({"unknown_share": 0.12}, "12% of the training text are words too rare"),
        ({"perplexity": 180.4}, "hesitates as if among 180 words"),
        ({"sentence": "a b a b a c"}, "1 of 1 repeat their own pairs of words"),
        ({"sentence": "a b c a b d e f g h i j k l"}, ""),  # one pair, as real ones do
    ],
)
def test_sentences_below_a_quality_are_warned_of(changes, said):
    run = fake_run(["a", "b"])
    sentence = changes.pop("sentence", "a good film .")
    topics = [{**run.evaluation["topics"][0], "sentence": sentence}]
    row = {"topic": 0, "sentence": sentence}
    continued = {"prefix": "a", "rows": [row]}
    shown = fake_run(["a", "b"], topics=topics, continuations=continued, **changes)
    html = page.render([shown])
    assert html.count("These sentences may read badly: ") == (2 if said else 0)
    assert html.count("sampling at a higher temperature") == ("1 of 1" in said)
    assert html.count("in place of the likeliest word") == ("1 of 1" in said)
    assert said in html


def test_typical_documents_are_those_with_most_of_each_topic():
    proportions = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    inferred = DocumentTopics(proportions, np.array([True, True, True, False]))
    assert exploration.typical_documents(inferred) == [0, 1, 2]


def test_a_words_topic_is_the_likeliest_by_bayes(toy_data):
    data = Dataset(toy_data)
    split, words = data.split("test"), len(data.vocabulary.topic_words)
    rng = np.random.default_rng(2)
    beta = rng.dirichlet(np.ones(words), size=3)
    model = SimpleNamespace(
        topics=lambda: beta,
        infer=lambda context: np.tile([0.5, 0.3, 0.2], [len(context), 1]),
        vocabulary=data.vocabulary,
    )
    names, found = Names(tuple(map(Row, "abc"))), data.vocabulary.topic_words
    document = exploration.explore(model, data, split, names)["documents"][0]
    for word, topic in zip(document["words"], document["topics"]):
        column = beta[:, found.index(word)] if word in found else None
        likeliest = -1 if column is None else np.argmax([0.5, 0.3, 0.2] * column)
        assert topic == likeliest


def test_no_text_of_a_document_ends_the_script(measured):
    words = [["</script><script>alert(1)</script>", 0.5, 1.0], ["]]>&", 0.5, 1.0]]
    found = json.loads(json.dumps(measured.unsaved["topics"]))
    found["topics"][0]["words"] = words
    found["documents"][0]["words"][:1] = ["</script>"]
    for each in found["documents"]:
        each["proportions"] = {int(k): v for k, v in each["proportions"].items()}
    topic = fake_run(["a", "b"]).evaluation["topics"][0]
    run = fake_run([], topics=[{**topic, "topic": k} for k in range(3)])
    unsaved = {"topics": found}
    run = page.Measured(run.evaluation, run.config, {}, {}, unsaved=unsaved)
    tree = ElementTree.fromstring(page.render([run]))
    data, _ = tree.iter("script")
    assert json.loads(data.text)["run-1-"]["words"]["0"] == words


CLICKS = """(() => {
const said = {};
const all = (query) => [...document.querySelectorAll(query)];
const panel = () => document.querySelector(".panel h3").textContent;
const words = () => all(".bar span").map((e) => e.textContent);
document.querySelector('svg a[data-topic="2"]').dispatchEvent(new Event("click"));
said.circle = panel();
const before = words().join();
const slider = document.querySelector("input[type=range]");
slider.value = 0;
slider.dispatchEvent(new Event("input"));
said.slider = before !== words().join() && words().length > 3;
const search = (place, text) => {
  const field = document.querySelectorAll("input[type=search]")[place];
  field.value = text;
  field.dispatchEvent(new Event("input"));
};
const rows = () => all("table.topics tbody tr");
search(0, "no such word");
said.hidden = rows().every((row) => row.hidden);
search(0, "");
const sort = () => {
  document.querySelector("table.topics th button").click();
  return rows().map((row) => Number(row.dataset.topic));
};
said.down = sort();
said.up = sort();
document.querySelector('table.topics tr[data-topic="1"]').click();
said.row = panel();
said.open = all("details").map((item) => item.open);
return said;
})()
"""


@pytest.mark.skipif(not BROWSER, reason="needs chromium")
def test_a_browser_clicks_through_the_page(measured, tmp_path):
    said = in_browser(page.render([measured]), CLICKS, tmp_path)
    assert said["circle"].startswith("Topic 2: ")
    assert said["row"].startswith("Topic 1: ")
    assert said["slider"]
    assert said["hidden"]
    assert (said["down"], said["up"]) == ([2, 1, 0], [0, 1, 2])
    assert said["open"][0]
    assert sum(said["open"]) == 1


SHOWN = """({
inner: innerWidth,
whole: document.documentElement.scrollWidth,
maps: [...document.querySelectorAll(".map svg")].map((svg) => svg.clientWidth),
letters: [...document.querySelectorAll(".map text")].map((text) =>
  text.getBoundingClientRect().height).filter(Boolean),
plots: [...document.querySelectorAll(".plots img")].map((img) =>
  [img.clientWidth, img.naturalWidth]),
sideways: [...document.querySelectorAll(".scroll")].filter((place) =>
  place.scrollWidth > place.clientWidth &&
  !getComputedStyle(place).backgroundImage.includes("gradient")).length,
orders: [false, true].map((on) => {
  document.querySelector(".switch input").checked = on;
  return [".relevant", ".probable"].map((kind) =>
    getComputedStyle(document.querySelector(kind)).display);
}),
heads: getComputedStyle(document.querySelector("table.topics thead")).display,
})"""


@pytest.mark.skipif(not BROWSER, reason="needs chromium")
@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_is_laid_out_for_the_windows_width(measured, tmp_path, width):
    said = in_browser(page.render([measured]), SHOWN, tmp_path, width)
    assert (said["inner"], said["whole"]) == (width, width)
    wide, narrow = said["maps"]
    assert (wide > 0, narrow > 0) == (width > 640, width < 640)
    assert min(said["letters"]) >= 10  # pixels: none is shrunk
    assert all(shown > 0.8 * drawn for shown, drawn in said["plots"])
    assert said["sideways"] == 0  # what scrolls has shades at its edges
    assert said["orders"] == [["inline", "none"], ["none", "inline"]]
    assert said["heads"] == ("none" if width < 640 else "table-header-group")
