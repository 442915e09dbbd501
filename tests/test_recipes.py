"""Recipes: those of the package are valid, a wrong one is refused, and one is made."""

import json

import numpy as np
import pandas as pd
import pytest
import toy
from trained import call

from tcnlm.common.errors import InputError
from tcnlm.common.settings import as_text
from tcnlm.layers.optimization import Training
from tcnlm.metrics.registry import asked
from tcnlm.models import MODELS, model_class
from tcnlm.programs import preprocess, recipes, reproduce, train
from tcnlm.programs.recipes import read_recipe, recipe_files, words_of
from tcnlm.report import published
from tcnlm.report.published import figures

TINY = """
title = "A tiny LSTM"
answers.document = "Wang et al. 2018"
answers.cell = { model = "lstm", corpus = "imdb", size = "1x100" }
reading = "literal"
model = "lstm"
seeds = [1, 2]
[data]
format = "tdlm"
split = [0.6, 0.2, 0.2]
min-count = 1
topic-min-count = 1
topic-top-fraction = 0
[settings]
units = 4
embedding_size = 4
cutoffs = [9]
epochs = 1
[evaluation]
batch-size = 16
"""


@pytest.fixture
def tiny_recipe(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture
def way(tiny_recipe, tmp_path, undrawn):
    """What goes the whole way with the tiny recipe, on the toy corpus."""
    corpus = toy.write_corpus(tmp_path / "toy.txt", documents=30)

    def go(*more):
        out = ["--out", tmp_path / "OUT", "--threads", "1"]
        return call("reproduce", tiny_recipe, "--data", corpus, *out, *more)

    return go


@pytest.mark.parametrize("name", recipe_files())
def test_a_recipe_of_the_package_has_settings_that_its_model_takes(name):
    recipe = read_recipe(name)
    config, loop = recipe.chosen(recipe.model, [])
    assert {**vars(config), **vars(loop)}.keys() >= recipe.settings.keys()
    paper = name.startswith("paper-")  # of no one table
    assert recipe.reading == "tuned" or recipe.answers != recipes.OWN or paper
    measures = [m for m in asked() if m.option in recipe.evaluation]
    assert all(measure.applies(model_class(recipe.model)) for measure in measures)
    assert recipe_files()[name].read_text().startswith("# ")


@pytest.mark.parametrize("name", recipe_files())
def test_a_recipe_that_answers_a_document_finds_its_published_figure(name):
    recipe = read_recipe(name)
    if recipe.answers != recipes.OWN:
        cell = {"document": recipe.answers["document"], **recipe.answers["cell"]}
        found = [f for f in figures() if cell.items() <= vars(f).items()]
        size = published.size(recipe.settings)
        topics = published.layered(recipe.settings.get("num_topics", ""))
        same = [f for f in found if f.size in ("", size) and f.topics in ("", topics)]
        assert found
        assert same == found or recipe.reading != "literal"


STATED = pd.read_csv(toy.ROOT / "results/stated.csv", keep_default_na=False, dtype=str)
LITERAL = [n for n in recipe_files() if read_recipe(n).reading == "literal"]
LITERAL.remove("paper-small")  # of no one table


def all_options(recipe):
    """Return data, settings and evaluation of a recipe as text, defaults too."""
    data = preprocess.parser().parse_args(words_of(recipe.data))
    config, loop = recipe.chosen(recipe.model, [])
    evaluation = {f"evaluation {k}": v for k, v in recipe.evaluation.items()}
    options = {k.replace("_", "-"): v for k, v in vars(data).items() if v is not None}
    settings = {**vars(config), **vars(loop)}
    if settings["context"] == "data":  # as DATA was made
        del settings["context"]
    return {k: as_text(v) for k, v in {**options, **settings, **evaluation}.items()}


@pytest.mark.parametrize("name", LITERAL)
def test_a_literal_recipe_has_what_its_paper_states_or_the_departure_with_a_reason(
    name,
):
    recipe = read_recipe(name)
    document, corpus = recipe.answers["document"], recipe.answers["cell"]["corpus"]
    options, checked = all_options(recipe), 0
    for row in STATED[STATED["corpus"] == corpus].itertuples():
        of_it = row.models == "*" or recipe.model in row.models.split()
        if document.split()[0] == row.document and of_it:
            assert options[row.setting] == (row.here or row.stated), row.setting
            checked += 1
    assert checked >= 3
    assert ((STATED["here"] != "") == (STATED["why"] != "")).all()


def test_the_places_of_a_queue_are_an_order():
    for queue in ("ptb", "table2", "table4", "table6"):
        places = [recipe.place for recipe in reproduce.queued(queue)]
        assert places == list(range(1, len(places) + 1))
    with pytest.raises(InputError, match="none of ptb, table2, table4, table6"):
        reproduce.queued("table3")


SIZE = "[[sizes]]\ntokens=9\nsettings={}\nmodels="


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title =", "titel =", "titel is none of title, answers"),
        ('"lstm"\nseeds', '"lsmt"\nseeds', "model is .*lsmt"),
        ("[1, 2]", "[1, 1]", "seeds is .* different whole numbers"),
        ("answers.document =", "answers.paper =", "answers is .* document and cell"),
        ("units = 4", "units = 0", "settings: units=0: must be at least 1"),
        ("units = 4", "num_topics = 4", "settings: num_topics=4: .*belongs to"),
        ("min-count = 1\n", "input = 1\n", "data: input is none of corpus"),
        ("min-count = 1\n", "min-count = 0\n", "data: argument --min-count"),
        ("batch-size = 16", "record = 'x'", "evaluation: record is none of split"),
        ("[data]", "[data", "damaged"),
        ("[data]", "[[sizes]]\ntokens=9\n[data]", "sizes is .* rising number"),
        ("[data]", SIZE + "{lsmt={}}\n[data]", "models: lsmt is none of"),
        ("[data]", SIZE + "3\n[data]", "sizes is .* rising number"),
        ("[data]", SIZE + "{lda=3}\n[data]", "sizes is .* rising number"),
        ("title =", "sizes = 0\ntitle =", "sizes is .* rising number"),
        ("[data]", "[models]\nlda=3\n[data]", "models is .* settings a model"),
        ("[data]", "[models.lda]\nunits=9\n[data]", "settings: units=9: .*belongs"),
    ],
)
def test_a_wrong_recipe_is_refused_with_file_and_key(old, new, said, tiny_recipe):
    assert old in TINY
    tiny_recipe.write_text(TINY.replace(old, new, 1))
    with pytest.raises(InputError, match=f"tiny.toml: .*{said}"):
        read_recipe(str(tiny_recipe))


def test_a_recipe_that_is_not_there_is_refused():
    for name in ("table6-tcnlm-literl", "no/such.toml"):
        with pytest.raises(InputError, match=f"{name}: no such recipe"):
            read_recipe(name)


def test_the_list_has_names_and_titles_and_needs_nothing_else():
    for program, *words in (["train", "--recipe", "list"], ["reproduce", "list"]):
        listed = call(program, *words)
        assert listed.returncode == 0
        assert all(name in listed.stdout for name in recipe_files())
        assert read_recipe("auto").title in listed.stdout


@pytest.mark.parametrize("model", MODELS)
def test_without_a_recipe_settings_go_by_the_size_and_are_said(model, capsys):
    given = [size["tokens"] for size in read_recipe("auto").sizes]
    options = train.options_of(["D", "--out", "R", "--model", model])
    for tokens in (1, *given, 1 + given[-1]):
        _, config, loop = train.chosen(options, tokens)
        chosen, said = {**vars(config), **vars(loop)}, capsys.readouterr().out
        assert said.startswith(f"auto, for {tokens:,} training tokens: ")
        for name, value in read_recipe("auto").given(model, tokens).items():
            assert np.array_equal(np.atleast_1d(chosen[name]), np.atleast_1d(value))
            assert f"{name}=" in said


def test_to_resume_a_run_is_one_training():
    assert train.commands(train.options_of(["--resume", "RUN"])) == []


def test_a_size_holds_up_to_its_tokens_and_what_is_set_comes_after_it(capsys):
    first, second = read_recipe("auto").sizes[:2]
    for size, more in ((first, 0), (second, 1)):
        given = read_recipe("auto").given("tcnlm", first["tokens"] + more)
        assert given.items() >= size["settings"].items()
    options = train.options_of(["D", "--out", "R", "--set", "units=7", "dropout=0"])
    train.chosen(options, 50_000)
    said = capsys.readouterr().out.split()
    assert [text for text in said if text.startswith("units=")] == ["units=7"]
    given = read_recipe("auto").given("neural_topics", first["tokens"])
    assert given.items() >= first["models"]["neural_topics"].items()


@pytest.mark.parametrize(
    ("tokens", "documents", "topics"),
    [
        (52_000, 234, 9),  # short ones: as 173 of 300 words
        (330_000, 822, 19),
        (720_000, 2000, 30),
        (10**9, 400, 13),  # long ones count once
        (3000, 10, 5),
        (10**6, 0, 30),  # lines of which nobody knows the number
    ],
)
def test_topics_go_by_the_documents_and_short_ones_by_their_words(
    tokens, documents, topics
):
    options = train.options_of(["D", "--out", "R"])
    assert train.chosen(options, tokens, documents)[1].num_topics == topics


def test_train_takes_model_and_settings_of_a_recipe_and_set_overrides_them():
    given = ["D", "--out", "R", "--recipe", "table6-tcnlm-literal", "--set", "epochs=3"]
    model, config, loop = train.chosen(train.options_of(given), 900)
    assert (model, config.units, config.num_topics) == ("tcnlm", 100, 30)
    assert (config.factor_lr_multiplier, loop.epochs) == (1.0, 3)
    options = train.options_of([*given, "--model", "lstm"])
    model, config, _ = train.chosen(options, 900)
    assert (model, config.units, config.dropout) == ("lstm", 100, 0.4)
    options = train.options_of(["D", "--out", "R", "--recipe", "paper-small"])
    model, config, loop = train.chosen(options, 9)
    assert (model, config.units, loop) == ("tcnlm", 600, Training())


@pytest.mark.slow
def test_a_recipe_goes_the_whole_way_and_goes_on_where_it_was(way, tmp_path):
    assert way().returncode == 0  # each seed in a process of its own
    done = way()
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    values = [
        json.loads((tmp_path / f"OUT/tiny/seed-{s}/evaluation.json").read_text())
        for s in (1, 2)
    ]
    mean = sum(each["perplexity"] for each in values) / 2
    assert line.startswith(f"tiny: perplexity: published 105.29, ours {mean:.2f} ± ")
    assert line.endswith(f"(seeds: 2), difference {mean / 105.29 - 1:+.1%}")
    assert (tmp_path / "OUT/tiny/seed-2.json").is_file()
    config = json.loads((tmp_path / "OUT/tiny/seed-2/config.json").read_text())
    assert config["command"].startswith("python train.py ")
    assert " --recipe " in config["command"]


def test_a_run_of_other_settings_is_refused(way, tiny_recipe):
    assert way("--seed", "1").returncode == 0
    tiny_recipe.write_text(TINY.replace("units = 4", "units = 5"))
    done = way("--seed", "1")
    assert done.returncode == 2
    assert "seed-1: has other settings" in done.stderr


def arguments(recipe, *words):
    options = reproduce.options_of([recipe, "--out", "OUT", *words])
    return reproduce.data_arguments(read_recipe(recipe), options)


def test_files_take_the_place_of_what_a_recipe_fetches():
    fetched = arguments("table6-lstm-literal")
    assert fetched[:2] == ["--corpus", "imdb"]
    given = ["--data", "train=a", "train=b", "heldout=c", "--format", "jsonl"]
    made = arguments("table6-lstm-literal", *given)
    assert "--corpus" not in made
    assert made[-7:] == ["--format", "jsonl", "--train", "a", "b", "--heldout", "c"]
    words = arguments("docnade-tuned", "--data", "vocabulary=words.txt")
    assert words[:2] == ["--corpus", "20news"]
    assert words[-2:] == ["--vocabulary", "words.txt"]
    with pytest.raises(InputError, match="--format"):
        arguments("table6-lstm-literal", "--data", "stories.txt")
