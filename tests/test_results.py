"""results/: the published figures, the records of runs, and what is made of them."""

import dataclasses
import json
import re
import subprocess
from math import exp

import pytest
import tiny
import toy

from tcnlm.common.errors import InputError
from tcnlm.common.files import json_text
from tcnlm.metrics.registry import METRICS
from tcnlm.report import published
from tcnlm.report.records import read_records, record, write_record, write_records
from tcnlm.runs.run_folder import RunFolder, write_config
from tools import pictures, results, scoreboard, tables

RECORDS = read_records(tables.RESULTS / "records.jsonl")
MADE_BY = "python train.py ", "python -m experiments.multiplied_out "
FOLDERS = re.compile(rb"(?<![\w.\x7f-\xff/])/(?:work|tmp|root|home|Users|mnt)/[\w.-]")
UNRECORDED = [name.split(".") for measure in METRICS for name in measure.unrecorded]


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
    for *entry, last in UNRECORDED:
        figures = kept["figures"]
        assert last not in (figures.get(entry[0], {}) if entry else figures), name


def test_every_record_says_how_to_repeat_it_and_has_no_text():
    for kept in RECORDS:
        check_record(kept)
    assert len({(kept["recipe"], kept["seed"]) for kept in RECORDS}) == len(RECORDS)
    recipes = {recipe.partition(":")[0] for recipe in tables.TITLES.index}
    assert recipes <= tables.RUNS.keys()
    text = {"documents": ["a text"]}
    for change in ({"command": "train"}, {"git_commit": ""}, {"figures": text}):
        with pytest.raises(AssertionError):
            check_record({**RECORDS[0], **change})


def test_no_committed_file_names_a_folder_of_a_machine():
    for form in ("--out {}/x", '"{}/a"', "embeddings={}/a.bin", "({}/me/run)"):
        assert FOLDERS.search(form.format("/work").encode())
        assert not FOLDERS.search(form.format("https://a.b/home").encode())
        assert not FOLDERS.search(form.format("/path/to").encode())
    ls = ["git", "ls-files", "-z"]
    listed = subprocess.run(ls, cwd=toy.ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("no git repository")
    for path in map(
        toy.ROOT.joinpath, filter(None, listed.stdout.decode().split("\0"))
    ):
        content = path.read_bytes() if path.is_file() else b""
        found = FOLDERS.search(content)
        assert not found, (path, content[found.start() :][:60])


@pytest.mark.parametrize("page", results.PAGES, ids=lambda path: path.name)
def test_tables_are_those_that_make_results_writes(page):
    text = page.read_text()
    assert results.rebuilt(text) == text, "run `make results`"


def test_json_has_a_setting_a_line_and_a_topic_a_line():
    topics = [{"topic": 0, "words": ["war", "army"]}, {"topic": 1, "words": []}]
    content = {"tops": [5, 10], "empty": {}, "found": {"topics": topics, "grid": [[1]]}}
    text = json_text(content)
    assert json.loads(text) == content
    lines = ' "tops": [5, 10],', '   {"topic": 0, "words": ["war", "army"]},', "   [1]"
    assert set(lines) <= set(text.split("\n"))


# --- What is published ---------------------------------------------------------------


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
def test_every_figure_of_a_published_table_is_there_once(place, number):
    figures = [figure for figure in published.figures() if figure.place == place]
    assert len({tuple(vars(f).values())[:7] for f in figures}) == len(figures) == number
    assert all(figure.number >= 0 for figure in figures)


def figure_of(value, copied=""):
    cell = ("Wang et al. 2018", "Table 2", "lstm", "imdb", "1x600", "", "perplexity")
    return published.Published(*cell, value, copied)


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("reproduced", {"100.00": (95, 105), "6.28%": (0.0628,), "12.5K": (12_500,)}),
        ("reproduced", {"0.2M": (154_997,)}),  # as it is rounded in print
        ("near", {"100.00": (94.9, 110)}),
        ("off", {"100.00": (89, 110.1), "0.3M": (351_000,)}),
    ],
)
def test_a_verdict_goes_by_the_distance_from_the_published_figure(said, ours):
    for value, figures in ours.items():
        assert {figure_of(value).verdict(figure) for figure in figures} == {said}


def test_a_figure_beside_a_published_one_is_a_line_with_its_verdict():
    line = figure_of("72.14", "Lau et al. 2017").beside(80.0)
    place = "Wang et al. 2018, Table 2, from Lau et al. 2017"
    assert line == f"perplexity 72.14 ({place}), here 80.00: +10.9%, off"


POSTER, RNN = "Dieng et al. 2017, poster, Table 2", {"units": 100, "num_topics": 50}
LAYERS = {"units": [600, 512], "num_topics": [100, 80]}


@pytest.mark.parametrize(
    ("run", "settings", "value"),
    [
        ("imdb tcnlm perplexity", {"units": 100, "num_topics": 30}, "94.64"),
        ("imdb lstm perplexity", {"units": 100}, "105.29"),
        ("imdb lstm perplexity", {"layers": 2, "units": 900}, "66.47"),
        ("imdb tcnlm npmi", {"units": 600, "num_topics": 50}, "0.106"),
        ("imdb lda npmi", {"num_topics": 50}, "0.084"),
        ("imdb rgbn_rnn perplexity", LAYERS, "53.82"),
        ("ptb lstm perplexity", {**RNN, "cell": "rnn"}, "142.1"),
        ("ptb topic_rnn perplexity", {**RNN, "cell": "gru"}, "112.4"),
        ("ptb lstm perplexity", {**RNN, "cell": "gru"}, None),
        ("imdb tcnlm perplexity", {"units": 200, "num_topics": 50}, None),
        ("imdb tcnlm perplexity", {"units": 600, "num_topics": 30}, None),
        ("other lstm perplexity", {"units": 100}, None),
    ],
)
def test_a_run_finds_its_own_published_figure(run, settings, value):
    corpus, model, measure = run.split()
    found = published.beside(corpus, model, {"layers": 1, **settings}, measure)
    assert (found and found.value) == value
    assert not found or corpus != "ptb" or found.source.startswith(POSTER)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("imdb lstm ", "1x600 or 2x900 (Wang et al. 2018, Table 2); 1x100"),
        ("bnc lda ", "50, 100, 150 topics (Wang et al. 2018, Table 4)"),
        ("imdb tcnlm ", "50, 100, 150 topics (Wang et al. 2018, Table 2 and Table 4);"),
        ("ptb topic_rnn gru", f"1x100 with 50 topics ({POSTER}); 1x10 with 18 topics"),
    ],
)
def test_the_sizes_that_are_published_are_told_by_table(run, said):
    corpus, model, cell = run.split(" ")
    assert said in published.sizes(corpus, model, {"cell": cell or None})
    assert published.sizes(corpus, "topic_lstm", {}) == ""


# --- The scoreboard and the tables ---------------------------------------------------


def test_every_published_figure_has_an_answer_by_a_record_or_a_reason():
    used = set()
    for figure, answer in scoreboard.answered():
        used.add(answer.name)
        kinds = list(filter(answer.get, ("literal", "tuned")))
        assert {answer[kind] for kind in kinds} <= tables.RUNS.keys()
        assert kinds or answer["why"], figure
        assert scoreboard.verdict(figure, answer) in scoreboard.VERDICTS
        for kind in kinds:
            assert scoreboard.measured(answer, kind).notna().all(), figure
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


def scored(model, test, **more):
    """Return a record of two epochs, the first the better on validation."""
    train, valid = [50.0, test / 2], [2 * test, 999.0]
    curve = {"epoch": [1.0, 2.0], "train_perplexity": train, "valid_perplexity": valid}
    figures = {"perplexity": test, "parameters": 1234, **more}
    settings = {"num_topics": 3} if model == "tcnlm" else {}
    return {"model": model, "settings": settings, "curve": curve, "figures": figures}


@pytest.fixture
def runs(monkeypatch):
    """Return the runs that tables are made of: none."""
    found = {}
    monkeypatch.setattr(tables, "RUNS", found)
    monkeypatch.setattr(pictures, "RUNS", found)
    return found


def rows_of(text):
    return results.rebuilt(f"<!-- table {text} -->\n<!-- end -->").split("\n")[4:-1]


def test_a_table_of_ratios_compares_with_the_first_run_here_and_in_the_paper(runs):
    runs |= {"plain": {1: scored("lstm", 100.0)}, "control": {1: scored("lstm", 95.0)}}
    runs["ours"] = {1: scored("tcnlm", 90.126), 2: scored("tcnlm", 50.0)}
    assert rows_of("ratios plain control ours:1") == [
        "| plain | 105.29 | 1.000 | 100.00 | 1.000 |",
        "| control | – | – | 95.00 | 0.950 |",
        "| ours:1 | 94.64 | 0.899 | 90.13 | 0.901 |",
    ]


def test_a_table_of_seeds_has_means_deviations_and_ratios_to_the_same_seed(runs):
    runs["plain"] = {1: scored("lstm", 100.0), 2: scored("lstm", 110.0)}
    worth = [{"npmi": 0.05, "topic_worth": {"mean": mean}} for mean in (95.0, 97.0)]
    ours = scored("tcnlm", 90.0, **worth[0]), scored("tcnlm", 88.0, **worth[1])
    runs["ours"] = dict(enumerate(ours, 1))
    first = "| plain | – | 1,234 | 2 | 50.00 ± 0.00 | 210.00 ± 14.14 | 105.00 ± 7.07 |"
    second = "| ours | 3 | 1,234 | 2 | 50.00 ± 0.00 | 178.00 ± 2.83 | 89.00 ± 1.41 |"
    assert rows_of("seeds plain ours") == [
        f"{first} 1.000 ± 0.000 | – | – |",
        f"{second} 0.850 ± 0.071 | 96.00 ± 1.41 | 0.050 ± 0.000 |",
    ]
    lead = "15.00 ± 7.07 %"  # in training that of the last epoch, not of the best
    assert rows_of("leads plain ours") == [
        f"| ours | plain | 2 | {lead} | {lead} | {lead} |"
    ]
    runs["ours"][3] = scored("tcnlm", 1.0)
    last = rows_of("seeds plain ours")[-1].split(" | ")
    assert (last[3], last[7]) == ("3", "0.850 ± 0.071")


# --- Pictures ------------------------------------------------------------------------


def test_the_lead_by_epoch_is_in_percent_of_the_first_run(runs):
    for name, test in (("base", 20.0), ("ours", 19.0)):
        runs[name] = {1: scored("lstm", test)}
    drawn = pictures.lead_by_epoch("base", ["ours"])
    lines = [axes.lines[0].get_ydata() for axes in drawn.axes]
    assert lines == [pytest.approx([0, 5]), pytest.approx([5, 0])]
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours"]


def test_the_gains_are_those_of_the_two_models_that_the_picture_names():
    whole = "imdb-lstm-multiplied-out-8-epochs", "imdb-tcnlm-8-epochs"
    fifth = "fifth-lstm-multiplied-out", "fifth-tcnlm-half"
    compared = {"all of IMDB": (1, whole), "a fifth, seed 1": (1, fifth)}
    for name, (seed, recipes) in {**compared, "a fifth, seed 3": (3, fifth)}.items():
        row = tables.pd.read_csv(pictures.GAINS[name]).iloc[0]
        for nats, recipe in zip(row[["baseline_nats", "model_nats"]], recipes):
            expected = tables.RUNS[recipe][seed]["figures"]["perplexity"]
            assert exp(nats) == pytest.approx(expected, 1e-6)


# --- Records -------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path):
    """Return a RUN whose texts name folders of this machine."""
    folder, vectors = tmp_path / "run", f"{tmp_path}/vectors.bin"
    tiny.make_run(folder)
    config = json.loads((folder / "config.json").read_text())
    sizes = {"vocabulary_size": 9, "topic_vocabulary_size": 5}
    config["data"] |= dict.fromkeys(("command", "fingerprint", "splits"), "x") | sizes
    config["settings"]["embeddings"] = vectors
    config |= dict.fromkeys(("versions", "git_commit", "machine"), "x")
    command = f"python train.py {tmp_path}/data --set embeddings={vectors}"
    write_config(folder, {**config, "command": command, "training": {}})
    (folder / "history.csv").write_text("epoch,valid_perplexity\n1,20\n2,10.5\n")
    return RunFolder(folder)


def measured(run, perplexity=10.4):
    data, command = f"{run.path.parent}/imdb-tenth", f"python evaluate.py {run.path}"
    texts = {"documents": ["a text"], "topics": [{"words": ["a"]}], "loss": None}
    how = {"data": {"path": data}, "command": command, "split": "test"}
    return {**texts, **how, "perplexity": perplexity}


def test_a_record_keeps_the_curve_and_drops_texts_and_folders(run):
    kept = record(run, measured(run))
    assert kept["recipe"] == "run"
    assert kept["command"] == "python train.py data --set embeddings=vectors.bin"
    assert kept["settings"]["embeddings"] == "vectors.bin"
    assert kept["data"]["name"] == "imdb-tenth"
    assert kept["figures"] == {"perplexity": 10.4}
    how = {"command": "python evaluate.py run", "split": "test"}
    assert kept["evaluation"] == how
    assert kept["curve"] == {"epoch": [1.0, 2.0], "valid_perplexity": [20.0, 10.5]}
    assert str(run.path.parent) not in json.dumps(kept)


def test_a_record_takes_the_place_of_that_of_its_recipe_and_seed(run, tmp_path):
    file, seed = tmp_path / "records.jsonl", run.config["seed"]
    others = [{"recipe": "run", "seed": seed + 1}, {"recipe": "other", "seed": seed}]
    write_records(others, file)
    for perplexity in (11.0, 10.4):
        write_record(run, measured(run, perplexity), file)
    assert read_records(file) == [*others, record(run, measured(run))]
    file.write_text('{"perplexity": 1}\n')
    with pytest.raises(InputError, match="other lines than records"):
        write_record(run, measured(run), file)
