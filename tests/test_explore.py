"""The explorable part of the page: its figures, its safety, and a real browser."""

import json
import re
import shutil
import subprocess
from html import escape
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import tiny
from measured import fake_run
from scipy.spatial.distance import jensenshannon

from tcnlm.data.dataset import Dataset
from tcnlm.drawing.markup import local
from tcnlm.measures import exploration
from tcnlm.measures.proportions import DocumentTopics
from tcnlm.report import page
from tcnlm.report.evaluate_run import evaluate_run
from tcnlm.training.run_folder import RunFolder

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def measured(toy_data, tmp_path_factory):
    run = tiny.make_run_on(toy_data, tmp_path_factory.mktemp("runs") / "tcnlm", "tcnlm")
    return evaluate_run(RunFolder(run), beginning="the Ship")


def test_the_page_has_the_typical_documents_as_they_came(measured, toy_data):
    found = measured.unsaved["topics"]["exploration"]["documents"]
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
    wanted = [jensenshannon(beta[i], beta[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    found = [np.linalg.norm(places[i] - places[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(found, np.array(wanted) * (found[0] / wanted[0]))


@pytest.mark.parametrize("number", [1, 2])
def test_places_of_one_and_two_topics(rng, number):
    places = exploration.topic_places(rng.dirichlet(np.ones(9), size=number))
    assert places.shape == (number, 2)
    assert np.isfinite(places).all()


def test_words_of_a_topic_hold_the_most_relevant_at_every_weight(rng):
    beta, names = (
        rng.dirichlet(np.full(200, 0.1), size=4),
        [f"w{i}" for i in range(200)],
    )
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    overall = sum(share * row for share, row in zip(shares, beta))
    for row, told in zip(beta, exploration.relevant_words(beta, shares, names)):
        words = {word: (p, lift) for word, p, lift in told}
        assert set(np.array(names)[np.argsort(-row)[:15]]) <= set(words)
        assert set(np.array(names)[np.argsort(-row / overall)[:15]]) <= set(words)
        best = np.argmax(row)
        p, lift = words[names[best]]
        assert p == pytest.approx(row[best], rel=1e-3)
        assert lift == pytest.approx(row[best] / overall[best], rel=1e-3)


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
        infer_context=lambda context: np.tile([0.5, 0.3, 0.2], [len(context), 1]),
        vocabulary=data.vocabulary,
    )
    document = exploration.explore(model, data, split)["documents"][0]
    for word, topic in zip(document["words"], document["topics"]):
        found = data.vocabulary.topic_words
        if word in found:
            joint = [t * b[found.index(word)] for t, b in zip([0.5, 0.3, 0.2], beta)]
            assert topic == np.argmax(joint)
        else:
            assert topic == -1


def test_the_page_is_whole_with_and_without_its_script(measured):
    tree = ElementTree.fromstring(page.render([measured]))
    names = {e.get("id") for e in tree.iter() if e.get("id")}
    targets = {e.get("href")[1:] for e in tree.iter("a")}
    assert targets <= names
    circles = [circle.find("title").text for circle in tree.iter("circle")]
    assert len(circles) == len(measured.evaluation["topics"])
    assert all(re.match(r"\d+: \w+", title) for title in circles)
    assert "the ship" in "".join(tree.itertext())
    assert measured.evaluation["continuations"]["prefix"] == "the ship"


def test_large_topics_lie_under_small_ones_and_numbers_on_all(measured):
    tree = ElementTree.fromstring(page.render([measured]))
    drawn = [e for e in next(tree.iter("svg")).iter() if e.tag in ("circle", "text")]
    number = len(measured.evaluation["topics"])
    radii = [float(circle.get("r")) for circle in drawn[:number]]
    assert radii == sorted(radii, reverse=True)
    assert {text.text for text in drawn[number:]} == set(map(str, range(number)))


def test_no_text_of_a_document_ends_the_script(measured):
    words = [["</script><script>alert(1)</script>", 0.5, 1.0], ["]]>&", 0.5, 1.0]]
    found = json.loads(json.dumps(measured.unsaved["topics"]["exploration"]))
    found["topics"][0]["words"] = words
    found["documents"][0]["words"][:1] = ["</script>"]
    for each in found["documents"]:
        each["proportions"] = {int(k): v for k, v in each["proportions"].items()}
    run = fake_run(["a", "b"])
    unsaved = {"topics": {"angles": None, "exploration": found}}
    run = page.Measured(run.evaluation, run.config, {}, {}, unsaved=unsaved)
    tree = ElementTree.fromstring(page.render([run]))
    data, _ = tree.iter("script")
    assert json.loads(data.text)["run-1-"]["words"]["0"] == words


def test_the_page_names_no_folder_of_this_machine(measured, toy_data):
    text = page.render([measured])
    assert str(toy_data.parent) not in text
    assert measured.evaluation["run"] not in text


def test_paths_from_the_root_are_cut():
    cut = local("python evaluate.py /at/me/my/run --counts /a/b/c.npz runs/x 1/2")
    assert cut == "python evaluate.py …/my/run --counts …/b/c.npz runs/x 1/2"


CLICKS = """
{
const said = [];
const say = (name, value) => said.push([name, value]);
const all = (query) => [...document.querySelectorAll(query)];
const panel = () => document.querySelector(".panel h3").textContent;
const words = () => all(".bar span").map((e) => e.textContent);
document.querySelector('svg a[data-topic="2"]').dispatchEvent(new Event("click"));
say("circle", panel());
const before = words().join();
const slider = document.querySelector("input[type=range]");
slider.value = 0;
slider.dispatchEvent(new Event("input"));
say("slider", before !== words().join() && words().length > 3);
const search = (place, text) => {
  const field = document.querySelectorAll("input[type=search]")[place];
  field.value = text;
  field.dispatchEvent(new Event("input"));
};
const rows = () => all("table.topics tbody tr");
search(0, "no such word");
say("hidden", rows().every((row) => row.hidden));
search(0, "");
const sort = () => {
  document.querySelector("table.topics th button").click();
  return rows().map((row) => Number(row.dataset.topic));
};
say("down", sort());
say("up", sort());
document.querySelector('table.topics tr[data-topic="1"]').click();
say("row", panel());
say("open", all("details").map((item) => item.open));
const place = Object.assign(document.createElement("pre"), { id: "said" });
place.textContent = JSON.stringify(said);
document.body.append(place);
}
"""


@pytest.mark.skipif(not BROWSER, reason="needs chromium")
def test_a_browser_clicks_through_the_page(measured, tmp_path):
    file = tmp_path / "page.html"
    clicking = f"<script>//<![CDATA[\n{CLICKS}//]]></script></body>"
    file.write_text(page.render([measured]).replace("</body>", clicking))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--virtual-time-budget=3000", "--dump-dom", f"file://{file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="said">(.*?)</pre>', done.stdout)
    assert found, done.stderr
    said = dict(json.loads(found[1]))
    assert (said["circle"], said["row"]) == ("Topic 2", "Topic 1")
    assert said["slider"]
    assert said["hidden"]
    assert (said["down"], said["up"]) == ([2, 1, 0], [0, 1, 2])
    assert said["open"][0]
    assert sum(said["open"]) == 1
