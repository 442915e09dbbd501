"""results/: the published figures, the records of runs, and the tables made of them."""

import json
import re

import pytest
import tiny
import toy

from tcnlm.report import published
from tcnlm.report.records import record
from tools import results, tables

FILES = sorted(tables.RESULTS.rglob("*.json"))
EXPERIMENTS = [f for f in FILES if "experiment" in json.loads(f.read_text())]
RECORDS = [file for file in FILES if file not in EXPERIMENTS]


def test_there_are_records():
    assert RECORDS


@pytest.mark.parametrize("page", results.PAGES, ids=lambda path: str(path.parent.name))
def test_tables_are_those_that_make_results_writes(page):
    text = page.read_text()
    assert results.rebuilt(text) == text, "run `make results`"


def test_the_readme_has_generated_tables():
    assert len(results.PLACE.findall((toy.ROOT / "README.md").read_text())) >= 2


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_how_to_repeat_the_run(path):
    kept = json.loads(path.read_text())
    made_by = ("python train.py ", "python -m experiments.multiplied_out ")
    assert kept["run"]["command"].startswith(made_by)
    assert kept["data"]["command"].startswith("python -m preprocessing")
    assert kept["evaluation"]["command"].startswith("python evaluate.py")
    assert re.fullmatch(r"[0-9a-f]{40}", kept["run"]["git_commit"])
    took_steps = kept["run"]["model"] != "lda"  # it is fitted before any
    assert (kept["history"][-1]["seconds"] > 0) == took_steps
    assert kept["run"]["machine"]
    assert "documents" not in kept["evaluation"]


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_record_says_how_to_repeat_the_experiment(path):
    kept = json.loads(path.read_text())
    assert kept["experiment"]["command"].startswith("python -m experiments.")
    assert re.fullmatch(r"[0-9a-f]{40}", kept["experiment"]["git_commit"])
    assert kept["data"]["command"].startswith("python -m preprocessing")
    assert "documents" not in kept["data"]


def test_every_published_figure_is_a_number_of_a_known_kind():
    for figure in published.figures():
        assert float(figure.value) > 0
        assert figure.measure in ("perplexity", "npmi")
        assert figure.table in ("Table 2", "Table 4", "Table 6")
    keys = [tuple(vars(f).values())[:6] for f in published.figures()]
    assert len(keys) == len(set(keys)) == 165


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


def test_a_published_table_shows_ours_where_there_is_one(monkeypatch):
    def of(model, units, perplexity):
        settings = {"layers": 1, "units": units, "num_topics": 30}
        run = {"model": model, "settings": settings}
        evaluation = {"corpus": "imdb", "perplexity": perplexity, "npmi": None}
        history = [{"epoch": 3.0, "valid_perplexity": perplexity}]
        return {"run": run, "evaluation": evaluation, "history": history}

    runs = [of("tcnlm", 100, 95.126), of("lstm", 200, 50.0)]
    monkeypatch.setattr(tables, "records", lambda: runs)
    table = tables.published_table("imdb", "Table 6")
    assert "| tcnlm | 1x100 | 30 | perplexity | 94.64 | 95.13 | 3 |" in table
    assert "| lstm | 1x100 | – | perplexity | 105.29 | – | – |" in table


def history(model, *values):
    rows = [{"epoch": i, "valid_perplexity": v} for i, v in enumerate(values, 1)]
    return {"run": {"model": model}, "history": rows}


def by_model(*runs):
    return [(run["run"]["model"], run) for run in runs]


def test_a_history_table_puts_runs_of_different_lengths_beside_the_lstm():
    topics_alone = {"run": {"model": "lda"}, "history": [{"valid_loss": 8.0}]}
    runs = [history("ntm", 16.0, 11.0, 9.0), history("lstm", 20.0, 10.126)]
    runs += [history("tcnlm", 15.0), topics_alone]
    table = tables.history_table(by_model(*runs))
    assert table.split("\n")[::2] == [
        "| epoch | lstm | ntm | tcnlm |",
        "| 1 | 20.00 | 16.00 (0.800) | 15.00 (0.750) |",
        "| 3 |  | 9.00 |  |",
    ]


def test_a_history_table_without_an_lstm_has_no_ratios():
    runs = by_model(history("tcnlm", 15.0), history("tdlm", 9.0))
    rows = tables.history_table(runs)
    assert rows.split("\n")[2:] == ["| 1 | 15.00 | 9.00 |"]


def test_a_table_of_named_runs_calls_them_by_their_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    for file, run in {
        "plain": history("lstm", 20.0),
        "controls/one": history("tcnlm", 15.0),
        "controls/two": history("tcnlm", 10.0),
    }.items():
        path = tmp_path / f"{file}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(run))
    page = "<!-- table beside plain controls/one controls/two -->\n<!-- end -->"
    table = results.rebuilt(page)
    assert "| epoch | plain | one | two |" in table
    assert "| 1 | 20.00 | 15.00 (0.750) | 10.00 (0.500) |" in table


def topic_models(folder):
    topics = [
        {"topic": i, "documents": n, "npmi": 0.1, "words": ["w"] * 9 + [word, "no"]}
        for i, (n, word) in enumerate([(3, "seldom"), (90, "often")])
    ]
    figures = {"npmi": 0.0861, "diversity": 0.72, "topics_in_use": 2, "topics": topics}
    run = {**history("tcnlm", 9.0), "evaluation": figures}
    (folder / "held.json").write_text(json.dumps(run))


def test_a_table_of_coherence_stands_beside_the_paper_s(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    topic_models(tmp_path)
    table = results.rebuilt("<!-- table coherence held -->\n<!-- end -->")
    assert "| held | 0.086 | 0.106 | 0.72 | 2 | 3 | 1 |" in table


def test_a_table_of_words_begins_with_the_most_used_topic(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    topic_models(tmp_path)
    table = results.rebuilt("<!-- table words held -->\n<!-- end -->")
    rows = table.split("\n")[4:6]
    assert [row.split()[-2] for row in rows] == ["often", "seldom"]


def test_a_table_of_words_has_the_topics_that_it_names(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    topic_models(tmp_path)
    table = results.rebuilt("<!-- table words held 0 -->\n<!-- end -->")
    assert "seldom" in table
    assert "often" not in table


def test_two_runs_of_one_name_both_stay_in_a_history_table():
    runs = by_model(history("tcnlm", 15.0), history("tcnlm", 9.0))
    assert "| 1 | 15.00 | 9.00 |" in tables.history_table(runs)


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


def test_a_table_of_changes_names_them_and_gives_the_ratio(tmp_path):
    def keep(folder, model, valid, test, data="tenth", lazy_adam=False, **settings):
        run = {"model": model, "settings": {"dropout": 0.4, **settings}}
        kept = {"run": {**run, "training": {"lazy_adam": lazy_adam}}}
        kept["data"] = {"name": data}
        kept["history"] = [{"epoch": 1.0, "valid_perplexity": valid}]
        kept["evaluation"] = {"perplexity": test}
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{model}.json").write_text(json.dumps(kept))

    keep("base", "lstm", 100.0, 200.0)
    keep("base", "tcnlm", 90.0, 220.0, num_topics=2)
    keep("none", "tcnlm", 80.0, 160.0, num_topics=2, dropout=0.0)
    keep("other", "lstm", 70.0, 150.0, data="fifth", lazy_adam=True)
    later = {"num_topics": 2, "mean_deviation": 0.0}  # which the first could not set
    keep("other", "tcnlm", 77.0, 120.0, data="fifth", lazy_adam=True, **later)
    folders = [tmp_path / name for name in ("base", "none", "other")]
    other = "`lazy_adam=True` `data=fifth`"
    table = tables.changes_table(folders)
    assert table.splitlines()[2:] == [
        "| as they were | 1 | 100.00 | 90.00 | 0.900 | 200.00 | 220.00 | 1.100 |",
        "| `dropout=0.0` | 1 | 100.00 | 80.00 | 0.800 | 200.00 | 160.00 | 0.800 |",
        f"| {other} | 1 | 70.00 | 77.00 | 1.100 | 150.00 | 120.00 | 0.800 |",
    ]


def test_a_table_of_systems_shows_the_paper_s_figures_and_the_rates(tmp_path):
    def keep(model, perplexity, npmi, **settings):
        evaluation = {"perplexity": perplexity, "npmi": npmi, "parameters": 1234}
        run = {"model": model, "settings": settings}
        kept = {"run": run, "evaluation": {**evaluation, "topics_in_use": None}}
        kept |= {"history": [{"epoch": 3.0}]}
        kept |= {"data": {"splits": {"train": {"targets": 600_000}}}}
        (tmp_path / f"{model}.json").write_text(json.dumps(kept))

    keep("tcnlm", 99.123, 0.0501, num_topics=30)
    keep("lstm", 101.5, None)
    keep("lda", None, 0.08, num_topics=30)
    (tmp_path / tables.RATES).write_text("model,tokens_per_second\nlstm,25000\n")
    header, _, *rows = tables.systems_table(tmp_path).split("\n")
    assert header.startswith("| model | topics | test perplexity | Table 2 | Table 6 |")
    assert rows == [
        "| lstm | – | 101.50 | 72.14 | 105.29 | – | – | – | 1,234 | 25,000 | 1.2 |",
        "| tcnlm | 30 | 99.12 | 63.98 | 94.64 | 0.050 | 0.106 | – | 1,234 | – | – |",
        "| lda | 30 | – | – | – | 0.080 | 0.084 | – | 1,234 | – | – |",
    ]


def test_a_table_of_topics_shows_the_most_used_first():
    def topic(number, share):
        words, sentence = [f"w{i}" for i in range(20)], "a sentence ."
        figures = {"topic": number, "proportion": share, "npmi": 0.1}
        return {**figures, "words": words, "sentence": sentence}

    topics = [topic(i, share) for i, share in enumerate((0.1, 0.5, 0.4))]
    rows = tables.topics_table({"evaluation": {"topics": topics}}).split("\n")[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| 1", "| 2", "| 0"]
    assert rows[0].endswith("| w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 | a sentence . |")


def test_a_table_of_topic_models_alone_ends_with_the_best_bound():
    def of(perplexity, *settings):
        names = [name for _, _, name in tables.ALONE]
        figures = {**dict.fromkeys(names, 2), "perplexity": perplexity}
        return {"settings": list(settings), "figures": figures}

    table = tables.alone_table([of(3438.2, "head_start=6000"), of(3650, "a=1", "b=2")])
    assert [row.split(" | ")[:2] for row in table.split("\n")[2:]] == [
        ["| `a=1 b=2`", "3,650"],
        ["| `head_start=6000`", "3,438"],
    ]


def test_a_table_of_sentences_gives_a_row_to_each_topic_and_mixture():
    def of(name, *topics):
        said = {"greedy": ["a .", "b | c"], "sampled": ["d ."]}
        return {"name": name, "topics": list(topics), **said}

    words = {"3": ["ship", "sea"], "7": ["law"]}
    kept = {"words": words, "sentences": [of("sea", 3), of("sea+law", 3, 7)]}
    assert tables.sentences_table(kept).split("\n")[2:] == [
        "| sea | ship sea | a .<br>b / c | d . |",
        "| sea+law | – | a .<br>b / c | d . |",
    ]


def test_a_record_keeps_the_history_and_drops_texts(tmp_path):
    run = tmp_path / "run"
    tiny.make_run(run)
    config = json.loads((run / "config.json").read_text())
    data = dict.fromkeys(("command", "fingerprint", "splits"), "x")
    sizes = {"vocabulary_size": 9, "topic_vocabulary_size": 5}
    config["data"].update(data, **sizes)
    names = ("command", "training", "versions", "git_commit", "machine")
    config.update(dict.fromkeys(names, "x"))
    (run / "config.json").write_text(json.dumps(config))
    (run / "history.csv").write_text("epoch,valid_perplexity\n1,20\n2,10.5\n")
    measured = {"perplexity": 10.4, "data": {"path": "/a/imdb-tenth"}}
    kept = record(run, {**measured, "documents": ["a text"]})
    assert kept["data"]["name"] == "imdb-tenth"
    assert kept["evaluation"] == measured
    assert kept["history"] == [
        {"epoch": 1.0, "valid_perplexity": 20.0},
        {"epoch": 2.0, "valid_perplexity": 10.5},
    ]
    assert json.loads(json.dumps(kept)) == kept
