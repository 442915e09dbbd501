"""results/: the published figures, the records of runs, and the tables made of them."""

import dataclasses
import json
import re
import subprocess

import pytest
import tiny
import toy

from tcnlm.common.errors import InputError
from tcnlm.common.files import json_text
from tcnlm.metrics.registry import METRICS
from tcnlm.report import published
from tcnlm.report.records import read_records, record, write_record, write_records
from tcnlm.runs.run_folder import RunFolder, write_config
from tools import results, scoreboard, tables

RECORDS = read_records(tables.RESULTS / "records.jsonl")
MADE_BY = "python train.py ", "python -m experiments.multiplied_out "
FOLDERS = re.compile(rb"(?<![\w.\x7f-\xff/])/(?:work|tmp|root|home|Users|mnt)/[\w.-]")


def check_record(kept):
    """Hold a line to what records must say: how to repeat it, and no text."""
    name = kept["recipe"], kept["seed"]
    assert kept["command"].startswith(MADE_BY), name
    assert re.fullmatch(r"[0-9a-f]{40}", kept["git_commit"]), name
    assert kept["data"]["command"].startswith("python -m preprocessing"), name
    assert kept["evaluation"]["command"].startswith("python evaluate.py"), name
    took_steps = kept["model"] != "lda"  # it is fitted before any
    assert (kept["curve"]["seconds"][-1] > 0) == took_steps, name
    assert kept["machine"], name
    assert "documents" not in kept["data"], name
    for unrecorded in (name for measure in METRICS for name in measure.unrecorded):
        entry, _, part = unrecorded.partition(".")
        where = kept["figures"].get(entry, {}) if part else kept["figures"]
        assert (part or entry) not in where, name


def test_every_record_says_how_to_repeat_it_and_has_no_text():
    assert RECORDS
    for kept in RECORDS:
        check_record(kept)
    assert len({(kept["recipe"], kept["seed"]) for kept in RECORDS}) == len(RECORDS)


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "train"},
        {"git_commit": ""},
        {"figures": {"documents": ["a text"]}},
        {"data": {"command": "python -m preprocessing", "documents": ["a text"]}},
    ],
)
def test_a_record_that_was_changed_is_refused(changes):
    with pytest.raises(AssertionError):
        check_record({**RECORDS[0], **changes})


def committed():
    """Yield the files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=toy.ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("no git repository")
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = toy.ROOT / name
        if path.is_file():
            yield name, path.read_bytes()


def test_no_committed_file_names_a_folder_of_a_machine():
    for name, content in committed():
        found = FOLDERS.search(content)
        assert not found, (name, content[found.start() :][:60])


def test_folders_of_a_machine_are_found():
    for form in ("--out {}/x", '"{}/a"', "embeddings={}/a.bin", "({}/me/run)"):
        assert FOLDERS.search(form.format("/work").encode())
        assert not FOLDERS.search(form.format("https://a.b/home").encode())
        assert not FOLDERS.search(form.format("/path/to").encode())


def test_every_title_is_of_a_record():
    recipes = {recipe.partition(":")[0] for recipe in tables.TITLES.index}
    assert recipes <= tables.RUNS.keys()


@pytest.mark.parametrize("page", results.PAGES, ids=lambda path: str(path.parent.name))
def test_tables_are_those_that_make_results_writes(page):
    text = page.read_text()
    assert results.rebuilt(text) == text, "run `make results`"


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


def test_every_published_figure_is_a_number_and_stands_once_in_its_document():
    assert all(figure.number >= 0 for figure in published.figures())
    keys = [tuple(vars(f).values())[:7] for f in published.figures()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("place", "number"),
    [
        ("Wang et al. 2018, Table 1", 3 * 11),
        ("Wang et al. 2018, Table 2", 3 * 2 * (2 + 4 * 3)),
        ("Wang et al. 2018, Table 4", 3 * 3 * 8),
        ("Wang et al. 2018, Table 6", 3 * 3),
        ("Dieng et al. 2017, poster, Table 2", 5 * 2 + 1),
        ("Dieng et al. 2017, poster, Table 3", 23),
        ("Dieng et al. 2017, PTB", 5 * 2 + 5 + 3),
        ("Guo et al. 2020, Table 1", 23 * 3 + 9 * 3 + 5 * 3 + 7),
        ("Guo et al. 2020, Table 2", 3 * 11),
        ("AYLIEN, perplexity", 4),
    ],
)
def test_every_figure_of_a_published_table_is_there(place, number):
    assert sum(figure.place == place for figure in published.figures()) == number


def figure_of(value, copied=""):
    cell = ("Wang et al. 2018", "Table 2", "lstm", "imdb", "1x600", "", "perplexity")
    return published.Published(*cell, value, copied)


@pytest.mark.parametrize(
    ("value", "ours", "said"),
    [
        ("100.00", 105, "reproduced"),
        ("100.00", 95, "reproduced"),
        ("100.00", 94.9, "near"),
        ("100.00", 110, "near"),
        ("100.00", 110.1, "off"),
        ("6.28%", 0.0628, "reproduced"),
        ("0.2M", 154_997, "reproduced"),  # as it is rounded in print
        ("0.3M", 351_000, "off"),
        ("12.5K", 12_500, "reproduced"),
    ],
)
def test_a_verdict_goes_by_the_distance_from_the_published_figure(value, ours, said):
    assert figure_of(value).verdict(ours) == said


def test_a_figure_beside_a_published_one_is_a_line_with_its_verdict():
    line = figure_of("72.14", "Lau et al. 2017").beside(80.0)
    place = "Wang et al. 2018, Table 2, from Lau et al. 2017"
    assert line == f"perplexity 72.14 ({place}), here 80.00: +10.9%, off"


def test_every_published_figure_has_an_answer_by_a_record_or_a_reason():
    for figure, answer in scoreboard.answered():
        recipes = [answer[kind] for kind in ("literal", "tuned") if answer[kind]]
        assert set(recipes) <= tables.RUNS.keys()
        assert recipes or answer["why"], figure
        assert scoreboard.verdict(figure, answer) in scoreboard.VERDICTS
        for kind in filter(answer.get, ("literal", "tuned")):
            assert scoreboard.measured(answer, kind).notna().all(), figure


def test_every_answer_is_of_a_figure():
    used = {answer.name for _, answer in scoreboard.answered()}
    assert used == set(scoreboard.answers().index)


def test_the_scoreboard_has_a_row_a_cell_and_one_for_what_was_not_run(monkeypatch):
    blank = dict.fromkeys((*scoreboard.CELL, "literal", "figure", "same", "why"), "*")
    run = {"literal": "", "tuned": "ours", "figure": "figures.perplexity"}
    run |= {"same": "yes", "why": "", "corpus": "imdb"}
    absent = {"literal": "", "tuned": "", "why": "no text"}
    answers = scoreboard.pd.DataFrame([blank | run, blank | absent])
    other = dataclasses.replace(figure_of("50.0"), corpus="bnc")
    printed = [figure_of("72.14", "Lau et al. 2017"), other]
    printed += [dataclasses.replace(other, size="2x900")]
    monkeypatch.setattr(scoreboard, "answers", lambda: answers)
    monkeypatch.setattr(scoreboard, "figures", lambda: printed)
    seeds = {1: scored("lstm", 72.0), 2: scored("lstm", 73.0)}
    monkeypatch.setattr(scoreboard, "RUNS", {"ours": seeds})
    said = "72.14\\* | – | 72.50 ± 0.71 (2) | yes | **reproduced** (+0.5 %) |"
    place = "Wang et al. 2018, Table 2, lstm"
    cells = [f"| {place}, imdb, 1x600, perplexity | {said}"]
    missing = "50.0 | – | – | * | not run: no text |"
    cells += [f"| {place}, bnc, perplexity, 2 figures | {missing}"]
    assert scoreboard.table().split("\n")[2:] == cells
    assert scoreboard.table(["perplexity"]).split("\n")[2:] == cells[:1]
    counted = "1 are reproduced, 0 near, 0 off and 2 not run."
    assert scoreboard.counted() == (
        f"**Of 3 published figures {counted}** Of the 3 results of models {counted}"
    )


@pytest.mark.parametrize(
    ("model", "cell", "value"),
    [("lstm", "rnn", "142.1"), ("topic_rnn", "gru", "112.4"), ("lstm", "gru", None)],
)
def test_a_cell_finds_its_own_published_figure(model, cell, value):
    settings = {"layers": 1, "units": 100, "num_topics": 50, "cell": cell}
    found = published.beside("ptb", model, settings, "perplexity")
    assert (found and found.value) == value
    assert found is None or found.source.startswith("Dieng et al. 2017, poster")


def test_a_model_of_layers_finds_its_published_figure():
    settings = {"units": [600, 512], "num_topics": [100, 80]}
    found = published.beside("imdb", "rgbn_rnn", settings, "perplexity")
    assert found.value == "53.82"


def test_ptbs_table_has_a_ratio_where_both_rows_are_there():
    def record(model, test):
        settings = {"units": 100, "cell": "rnn"}
        return {**history(model, 2 * test), **scored(model, test), "settings": settings}

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
            "1x100 with 50 topics (Dieng et al. 2017, poster, Table 2); 1x10 with 18 "
            "topics, 1x300 with 50 topics (Dieng et al. 2017, PTB)",
        ),
    ],
)
def test_the_sizes_that_are_published_are_told_by_table(corpus, model, cell, said):
    assert published.sizes(corpus, model, {"cell": cell}).startswith(said)


def test_a_model_without_published_figures_has_no_sizes():
    assert published.sizes("imdb", "topic_lstm", {}) == ""


def history(model, *values):
    columns = {"epoch": [*range(1, len(values) + 1)], "train_perplexity": [*values]}
    return {"model": model, "curve": {**columns, "valid_perplexity": [*values]}}


def by_model(*runs):
    return [(run["model"], {1: run}) for run in runs]


def scored(model, perplexity):
    return {"model": model, "figures": {"perplexity": perplexity}}


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


def test_a_table_of_named_runs_calls_them_by_their_recipes(monkeypatch):
    runs = {"plain": {1: scored("lstm", 20.0)}, "one": {1: scored("tcnlm", 15.0)}}
    monkeypatch.setattr(tables, "RUNS", runs)
    table = results.rebuilt("<!-- table ratios plain one -->\n<!-- end -->")
    assert "| plain | 105.29 | 1.000 | 20.00 | 1.000 |" in table
    assert "| one | 94.64 | 0.899 | 15.00 | 0.750 |" in table


def test_a_row_may_be_of_one_seed_alone(monkeypatch):
    tests = {1: scored("lstm", 20.0), 2: scored("lstm", 30.0)}
    monkeypatch.setattr(tables, "RUNS", {"plain": tests})
    first, second = tables.named(["plain", "plain:2"])
    assert first == ("plain", tests)
    assert second == ("plain:2", {2: tests[2]})


def topic_model(npmi):
    figures = {"npmi": npmi, "npmi_by_use": 0.125, "diversity": 0.72}
    figures |= {"topics_in_use": 2, "effective_topics": 1.75}
    return {**history("tcnlm", 9.0), "figures": figures}


def test_a_table_of_topics_has_means_over_seeds_beside_the_paper_s(monkeypatch):
    runs = {"held": {1: topic_model(0.0861), 2: topic_model(0.0961)}}
    monkeypatch.setattr(tables, "RUNS", runs)
    table = results.rebuilt("<!-- table topics held -->\n<!-- end -->")
    figures = "0.125 ± 0.000 | 0.72 ± 0.00 | 2 ± 0 | 1.8 ± 0.0 | – |"
    assert f"| held | 2 | 0.106 | 0.091 ± 0.007 | {figures}" in table


def test_curves_close_together_have_an_axis_to_read_them_by(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(results, "save", lambda figure, path: drawn.append(figure))
    runs = by_model(history("lstm", 152.0, 97.0), history("tcnlm", 149.0, 91.6))
    results.draw_curves(runs, tmp_path / "curves.png")
    axes, _ = drawn[0].axes
    assert [list(line.get_ydata()) for line in axes.lines] == [
        [152.0, 97.0],
        [149.0, 91.6],
    ]
    low, high = axes.get_ylim()
    assert sum(low <= tick <= high for tick in axes.get_yticks()) >= 3


def test_curves_stand_over_the_minutes_of_training_too(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(results, "save", lambda figure, path: drawn.append(figure))
    first, second = history("lstm", 152.0, 97.0), history("tcnlm", 149.0, 91.6)
    second["curve"]["seconds"] = [90.0, 180.0]
    results.draw_curves(by_model(first, second), tmp_path / "curves.png")
    by_epoch, by_time = drawn[0].axes
    [line] = by_time.lines  # of the one whose time is known
    assert list(line.get_xdata()) == [1.5, 3.0]
    assert list(line.get_ydata()) == [149.0, 91.6]
    assert line.get_color() == by_epoch.lines[1].get_color()


@pytest.fixture
def run(tmp_path):
    """Return a RUN whose texts name folders of this machine."""
    folder = tmp_path / "run"
    tiny.make_run(folder)
    config = json.loads((folder / "config.json").read_text())
    data = dict.fromkeys(("command", "fingerprint", "splits"), "x")
    sizes = {"vocabulary_size": 9, "topic_vocabulary_size": 5}
    config["data"].update(data, **sizes)
    config.update(dict.fromkeys(("versions", "git_commit", "machine"), "x"))
    config["settings"]["embeddings"] = f"{tmp_path}/vectors.bin"
    command = f"python train.py {tmp_path}/data --set embeddings={tmp_path}/vectors.bin"
    write_config(folder, {**config, "command": command, "training": {}})
    (folder / "history.csv").write_text("epoch,valid_perplexity\n1,20\n2,10.5\n")
    return RunFolder(folder)


def measured(run, perplexity=10.4):
    evaluation = {"data": {"path": f"{run.path.parent}/imdb-tenth"}, "loss": None}
    how = {"command": f"python evaluate.py {run.path} --bleu", "split": "test"}
    texts = {"documents": ["a text"], "topics": [{"words": ["a"]}]}
    return {**evaluation, **how, **texts, "perplexity": perplexity}


def test_a_record_keeps_the_curve_and_drops_texts_and_folders(run):
    kept = record(run, measured(run))
    assert kept["recipe"] == "run"
    assert kept["command"] == "python train.py data --set embeddings=vectors.bin"
    assert kept["settings"]["embeddings"] == "vectors.bin"
    assert kept["data"]["name"] == "imdb-tenth"
    assert kept["figures"] == {"perplexity": 10.4}
    evaluation = {"command": "python evaluate.py run --bleu", "split": "test"}
    assert kept["evaluation"] == evaluation
    assert kept["curve"] == {"epoch": [1.0, 2.0], "valid_perplexity": [20.0, 10.5]}
    assert str(run.path.parent) not in json.dumps(kept)


def test_a_record_takes_the_place_of_that_of_its_recipe_and_seed(run, tmp_path):
    file, seed = tmp_path / "records.jsonl", run.config["seed"]
    others = [{"recipe": "run", "seed": seed + 1}, {"recipe": "other", "seed": seed}]
    write_records(others, file)
    for perplexity in (11.0, 10.4):
        write_record(run, measured(run, perplexity), file)
    assert read_records(file) == [*others, record(run, measured(run))]


def test_a_file_of_something_else_takes_no_record(run, tmp_path):
    file = tmp_path / "records.jsonl"
    file.write_text('{"perplexity": 1}\n')
    with pytest.raises(InputError, match="other lines than records"):
        write_record(run, measured(run), file)


def test_a_table_of_seeds_has_means_deviations_and_ratios_to_the_same_seed(
    monkeypatch,
):
    def kept(model, test, worth=None):
        columns = {"train_perplexity": [50.0, test / 2]}
        columns["valid_perplexity"] = [2 * test, 999.0]
        found = {"perplexity": test, "parameters": 1234, "npmi": worth and 0.05}
        found["topic_worth"] = worth and {"own": test, "mean": worth}
        settings = {"num_topics": 3} if worth else {}
        content = {"model": model, "settings": settings}
        return {**content, "curve": {"epoch": [1, 2], **columns}, "figures": found}

    plain = {1: kept("lstm", 100.0), 2: kept("lstm", 110.0)}
    ours = {1: kept("tcnlm", 90.0, worth=95.0), 2: kept("tcnlm", 88.0, worth=97.0)}
    monkeypatch.setattr(tables, "RUNS", {"plain": plain, "ours": ours})
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
    ours[3] = kept("tcnlm", 1.0, worth=97.0)
    table = tables.table("seeds", tables.named(["plain", "ours"]))
    last = table.split("\n")[-1].split(" | ")
    assert (last[3], last[7]) == ("3", "0.850 ± 0.071")


def test_a_table_of_errors_counts_topics_if_any_and_takes_the_first_run_s_bags():
    def run(size, error, **topics):
        rows = {name: {"logistic": {"error_rate": e}} for name, e in error.items()}
        return {
            "settings": {"units": 7, **topics},
            "data": {"vocabulary_size": size, "topic_vocabulary_size": size - 500},
            "figures": {"classification": {"rows": rows}},
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
