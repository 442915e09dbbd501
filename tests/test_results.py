"""results/: the published figures, the records of runs, and the tables made of them."""

import hashlib
import json
import re

import pytest
import tiny
import toy

from tcnlm.common.files import json_text
from tcnlm.measures.table import MEASURES
from tcnlm.report import published
from tcnlm.report.records import record
from tcnlm.training.run_folder import RunFolder, write_config
from tools import results, tables

FILES = sorted(tables.RESULTS.rglob("*.json"))
CHECKED = set((toy.ROOT / "tests" / "records.sha256").read_text().splitlines())
MADE_BY = {
    "run": ("python train.py ", "python -m experiments.multiplied_out "),
    "experiment": "python -m experiments.",
}


def test_there_are_records():
    assert FILES


def check_record(path):
    """Hold what was kept of a run, or of an experiment, to what records must say."""
    text = path.read_text()
    kept = json.loads(text)
    assert text == json_text(kept) + "\n", path
    entry = "run" if "run" in kept else "experiment"
    said = kept[entry]
    assert said["command"].startswith(MADE_BY[entry]), path
    assert re.fullmatch(r"[0-9a-f]{40}", said["git_commit"]), path
    assert kept["data"]["command"].startswith("python -m preprocessing"), path
    assert "documents" not in kept["data"], path
    if entry == "run":
        check_evaluation(kept, path)


def check_evaluation(kept, path):
    """Hold a run's measurements to being repeatable, without a text of the corpus."""
    run, evaluation = kept["run"], kept["evaluation"]
    assert evaluation["command"].startswith("python evaluate.py"), path
    took_steps = run["model"] != "lda"  # it is fitted before any
    assert (kept["history"][-1]["seconds"] > 0) == took_steps, path
    assert run["machine"], path
    assert "documents" not in evaluation, path
    for name in (name for measure in MEASURES for name in measure.unrecorded):
        entry, _, part = name.partition(".")
        where = (evaluation.get(entry) or {}) if part else evaluation
        assert (part or entry) not in where, path


def listed(path):
    """Return the line that sha256sum writes of a file."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{digest}  {path.relative_to(toy.ROOT).as_posix()}"


def test_a_record_since_the_last_check_says_how_to_repeat_it_and_has_no_text():
    for path in FILES:
        if listed(path) not in CHECKED:
            check_record(path)


@pytest.mark.slow
def test_every_record_says_how_to_repeat_it_and_has_no_text():
    for path in FILES:
        check_record(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("run", "command"), "train"),
        (("run", "git_commit"), None),
        (("evaluation", "documents"), ["a text"]),
        (("data", "documents"), ["a text"]),
    ],
)
def test_a_record_that_was_changed_is_checked_and_refused(place, value, tmp_path):
    kept, (entry, name) = json.loads(FILES[0].read_text()), place
    kept[entry][name] = value
    path = tmp_path / "changed.json"
    path.write_text(json_text(kept) + "\n")
    with pytest.raises((AssertionError, TypeError)):
        check_record(path)


def test_every_title_is_of_a_record():
    assert all(map(tables.recorded, tables.TITLES.index))


@pytest.mark.parametrize("page", results.PAGES, ids=lambda path: str(path.parent.name))
def test_tables_are_those_that_make_results_writes(page):
    text = page.read_text()
    assert results.rebuilt(text) == text, "run `make results`"


@pytest.mark.parametrize("page", results.PAGES, ids=lambda path: str(path.parent.name))
def test_a_page_has_generated_tables(page):
    assert results.PLACE.findall(page.read_text())


def test_json_has_a_setting_a_line_and_a_topic_a_line():
    topics = [{"topic": 0, "words": ["war", "army"]}, {"topic": 1, "words": []}]
    content = {"tops": (5, 10), "empty": {}, "found": {"topics": topics, "grid": [[1]]}}
    text = json_text(content)
    assert text.split("\n") == [
        "{",
        ' "tops": [5, 10],',
        ' "empty": {},',
        ' "found": {',
        '  "topics": [',
        '   {"topic": 0, "words": ["war", "army"]},',
        '   {"topic": 1, "words": []}',
        "  ],",
        '  "grid": [',
        "   [1]",
        "  ]",
        " }",
        "}",
    ]
    assert json.loads(text) == {**content, "tops": [5, 10]}


def test_every_published_figure_is_a_number_of_a_known_kind():
    for figure in published.figures():
        assert float(figure.value) > 0
        assert figure.measure in ("perplexity", "npmi")
        others = ("Dieng et al. 2017, PTB", "Guo et al. 2020, Table 1")
        assert figure.table in ("Table 2", "Table 4", "Table 6", *others)
    keys = [tuple(vars(f).values())[:6] for f in published.figures()]
    assert len(keys) == len(set(keys)) == 165 + 15 + 18


@pytest.mark.parametrize(
    ("model", "cell", "value"),
    [("lstm", "rnn", "142.1"), ("topic_rnn", "gru", "112.4"), ("lstm", "gru", None)],
)
def test_a_cell_finds_its_own_published_figure(model, cell, value):
    settings = {"layers": 1, "units": 100, "num_topics": 50, "cell": cell}
    found = published.beside("ptb", model, settings, "perplexity")
    assert (found and found.value) == value
    assert found is None or found.source.startswith("Dieng et al. 2017, PTB")


def test_a_model_of_layers_finds_its_published_figure():
    settings = {"units": [600, 512], "num_topics": [100, 80]}
    found = published.beside("imdb", "rgbn_rnn", settings, "perplexity")
    assert found.value == "53.82"


def test_ptbs_table_has_a_ratio_where_both_rows_are_there():
    def record(model, test):
        settings = {"units": 100, "cell": "rnn"}
        history = [{"epoch": 1.0, "valid_perplexity": 2 * test}]
        evaluation = {"perplexity": test}
        return {
            "run": {"model": model, "settings": settings},
            "history": history,
            "evaluation": evaluation,
        }

    runs = [("a", {1: record("lstm", 150.0)}), ("b", {1: record("topic_rnn", 120.0)})]
    row = (
        "| 100 | rnn | 300.0 | 150.0 | 240.0 | 120.0 | 0.800 | 142.1 | 122.3 | 0.861 |"
    )
    assert tables.table("cells", runs).split("\n")[2] == row
    alone = "| 100 | rnn | 300.0 | 150.0 | – | – | – | 142.1 | 122.3 | 0.861 |"
    assert tables.table("cells", runs[:1]).split("\n")[2] == alone


@pytest.mark.parametrize(
    ("model", "settings", "measure", "value"),
    [
        ("tcnlm", {"layers": 1, "units": 100, "num_topics": 30}, "perplexity", "94.64"),
        ("lstm", {"layers": 1, "units": 100}, "perplexity", "105.29"),
        ("lstm", {"layers": 2, "units": 900}, "perplexity", "66.47"),
        ("tcnlm", {"layers": 1, "units": 600, "num_topics": 50}, "npmi", "0.106"),
        ("lda", {"num_topics": 50}, "npmi", "0.084"),
    ],
)
def test_a_run_finds_its_published_figure(model, settings, measure, value):
    assert published.beside("imdb", model, settings, measure).value == value


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": 1, "units": 200, "num_topics": 50},
        {"layers": 1, "units": 600, "num_topics": 30},
    ],
)
def test_a_run_of_another_size_stands_beside_nothing(settings):
    assert published.beside("imdb", "tcnlm", settings, "perplexity") is None


def test_a_run_of_no_published_corpus_stands_beside_nothing():
    settings = {"layers": 1, "units": 100}
    assert published.beside(None, "lstm", settings, "perplexity") is None


@pytest.mark.parametrize(
    ("corpus", "model", "cell", "said"),
    [
        ("imdb", "lstm", None, "1x600 or 2x900 (Wang et al. 2018, Table 2); 1x100"),
        ("bnc", "lda", None, "50, 100, 150 topics (Wang et al. 2018, Table 4)"),
        (
            "imdb",
            "tcnlm",
            None,
            "1x600 or 2x900 with 50, 100, 150 topics (Wang et al. 2018, Table 2 and "
            "Table 4); 1x100 with 30 topics (Wang et al. 2018, Table 6)",
        ),
        (
            "ptb",
            "topic_rnn",
            "gru",
            "1x10 with 18 topics, 1x100 or 1x300 with 50 topics (Dieng et al. 2017",
        ),
    ],
)
def test_the_sizes_that_are_published_are_told_by_table(corpus, model, cell, said):
    assert published.sizes(corpus, model, {"cell": cell}).startswith(said)


def test_a_model_without_published_figures_has_no_sizes():
    assert published.sizes("imdb", "topic_lstm", {}) == ""


def history(model, *values):
    rows = [{"epoch": i, "valid_perplexity": v} for i, v in enumerate(values, 1)]
    return {"run": {"model": model}, "history": rows}


def by_model(*runs):
    return [(run["run"]["model"], {1: run}) for run in runs]


def scored(model, perplexity):
    return {"run": {"model": model}, "evaluation": {"perplexity": perplexity}}


def test_a_table_of_ratios_compares_with_the_first_run_here_and_in_the_paper():
    chosen = (
        ("plain", "lstm", 100.0),
        ("control", "lstm", 95.0),
        ("ours", "tcnlm", 90.126),
    )
    runs = [(title, {1: scored(model, value)}) for title, model, value in chosen]
    assert tables.table("ratios", runs).split("\n")[2:] == [
        "| plain | 105.29 | 1.000 | 100.00 | 1.000 |",
        "| control | – | – | 95.00 | 0.950 |",
        "| ours | 94.64 | 0.899 | 90.13 | 0.901 |",
    ]


def test_a_table_of_named_runs_calls_them_by_their_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    for file, run in {
        "plain": scored("lstm", 20.0),
        "controls/one": scored("tcnlm", 15.0),
    }.items():
        path = tmp_path / f"{file}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(run))
    table = results.rebuilt("<!-- table ratios plain controls/one -->\n<!-- end -->")
    assert "| plain | 105.29 | 1.000 | 20.00 | 1.000 |" in table
    assert "| one | 94.64 | 0.899 | 15.00 | 0.750 |" in table


def topic_models(folder, name="held", npmi=0.0861):
    topics = [
        {
            "topic": i,
            "documents": n,
            "npmi": of_topic,
            "proportion": share,
            "words": ["w"] * 9 + [word, "no"],
        }
        for i, (n, word, of_topic, share) in enumerate(
            [(3, "seldom", 0.2, 0.25), (90, "often", 0.1, 0.75)]
        )
    ]
    figures = {"npmi": npmi, "diversity": 0.72, "topics_in_use": 2, "topics": topics}
    run = {**history("tcnlm", 9.0), "evaluation": figures}
    (folder / f"{name}.json").write_text(json.dumps(run))


def test_a_table_of_topics_has_means_over_seeds_beside_the_paper_s(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    topic_models(tmp_path)
    topic_models(tmp_path, "held-seed-2", npmi=0.0961)
    table = results.rebuilt("<!-- table topics held -->\n<!-- end -->")
    # By use .25 * .2 + .75 * .1, effective 4 / 3^.75.
    figures = "0.125 ± 0.000 | 0.72 ± 0.00 | 2 ± 0 | 1.8 ± 0.0 | – |"
    assert f"| held | 2 | 0.106 | 0.091 ± 0.007 | {figures}" in table


def test_curves_close_together_have_an_axis_to_read_them_by(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(results, "save", lambda figure, path: drawn.append(figure))
    runs = by_model(history("lstm", 152.0, 97.0), history("tcnlm", 149.0, 91.6))
    results.draw_curves(runs, tmp_path / "curves.png")
    (axes,) = drawn[0].axes
    assert [list(line.get_ydata()) for line in axes.lines] == [
        [152.0, 97.0],
        [149.0, 91.6],
    ]
    low, high = axes.get_ylim()
    assert sum(low <= tick <= high for tick in axes.get_yticks()) >= 3


def test_a_record_keeps_the_history_and_drops_texts(tmp_path):
    run = tmp_path / "run"
    tiny.make_run(run)
    config = json.loads((run / "config.json").read_text())
    data = dict.fromkeys(("command", "fingerprint", "splits"), "x")
    sizes = {"vocabulary_size": 9, "topic_vocabulary_size": 5}
    config["data"].update(data, **sizes)
    names = ("command", "versions", "git_commit", "machine")
    config.update(dict.fromkeys(names, "x"), training={})
    write_config(run, config)
    (run / "history.csv").write_text("epoch,valid_perplexity\n1,20\n2,10.5\n")
    measured = {"perplexity": 10.4, "data": {"path": "/a/imdb-tenth"}}
    kept = record(RunFolder(run), {**measured, "documents": ["a text"]})
    assert kept["data"]["name"] == "imdb-tenth"
    assert kept["evaluation"] == measured
    assert kept["history"] == [
        {"epoch": 1.0, "valid_perplexity": 20.0},
        {"epoch": 2.0, "valid_perplexity": 10.5},
    ]
    assert json.loads(json.dumps(kept)) == kept


def test_a_table_of_seeds_has_means_deviations_and_ratios_to_the_same_seed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)

    def kept(name, model, test, worth=None):
        row = {"epoch": 1.0, "train_perplexity": 50.0, "valid_perplexity": 2 * test}
        last = {"epoch": 2.0, "train_perplexity": test / 2, "valid_perplexity": 999.0}
        found = {"perplexity": test, "parameters": 1234, "npmi": worth and 0.05}
        found["topic_worth"] = worth and {"own": test, "mean": worth}
        run = {"model": model, "settings": {"num_topics": 3} if worth else {}}
        content = {"run": run, "history": [row, last], "evaluation": found}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))

    kept("plain", "lstm", 100.0)
    kept("plain-seed-2", "lstm", 110.0)
    kept("ours", "tcnlm", 90.0, worth=95.0)
    kept("ours-seed-2", "tcnlm", 88.0, worth=97.0)
    runs = tables.named(["plain", "ours"])
    rows = tables.table("seeds", runs).split("\n")[2:]
    first = "| plain | – | 1,234 | 2 | 50.00 ± 0.00 | 210.00 ± 14.14 | 105.00 ± 7.07 |"
    assert rows[0] == f"{first} 1.000 ± 0.000 | – | – |"
    second = "| ours | 3 | 1,234 | 2 | 50.00 ± 0.00 | 178.00 ± 2.83 | 89.00 ± 1.41 |"
    assert rows[1] == f"{second} 0.850 ± 0.071 | 96.00 ± 1.41 | 0.050 ± 0.000 |"
    printed = tables.figure(tables.series(runs), "Table 2 / lstm")
    assert [f"{ratio:.3f}" for ratio in printed[1]] == ["1.000", "0.887"]
    [row] = tables.table("leads", runs).split("\n")[2:]
    lead = "15.00 ± 7.07 %"  # in training that of the last epoch, not of the best
    assert row == f"| ours | plain | 2 | {lead} | {lead} | {lead} |"
    kept("ours-seed-3", "tcnlm", 1.0, worth=97.0)
    table = tables.table("seeds", tables.named(["plain", "ours"]))
    last = table.split("\n")[-1].split(" | ")
    assert (last[3], last[7]) == ("3", "0.850 ± 0.071")


def test_a_table_of_errors_counts_topics_if_any_and_takes_the_first_run_s_bags():
    def run(size, error, **topics):
        rows = {name: {"logistic": {"error_rate": e}} for name, e in error.items()}
        return {
            "run": {"settings": {"units": 7, **topics}},
            "data": {"vocabulary_size": size, "topic_vocabulary_size": size - 500},
            "evaluation": {"classification": {"rows": rows}},
        }

    bags = {"bag of words": 0.11, "bag of topic words": 0.13}
    runs = [
        ("ours", {1: run(5000, {"vector": 0.2, **bags})}),
        ("theirs", {1: run(4000, {"vector": 0.3, "bag of words": 0.12}, num_topics=3)}),
    ]
    assert tables.table("sentiment", runs).split("\n")[2:] == [
        "| ours | 7 | 20.0 | – |",
        "| theirs | 3 | 30.0 | – |",
        "| bag of topic words | 4,500 | 13.0 | – |",
        "| bag of words | 5,000 | 11.0 | – |",
    ]
