"""Recipes: what to make of a corpus, and which figure of a paper that answers.

A recipe is a TOML file, one of those of tcnlm/recipes by its name or any other by its
path. Its keys are the fields of `Recipe`; its tables hold options of `python -m
preprocessing` and of evaluate.py by their long names, and settings of the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tcnlm.common.errors import InputError, reading
from tcnlm.common.settings import LARGEST, Settings, as_text, names, override
from tcnlm.metrics.registry import asked
from tcnlm.models import MODELS, model_class
from tcnlm.preprocessing.data_folder import TEXT, check_entries
from tcnlm.programs import evaluate
from tcnlm.programs import preprocess as preprocessing

if TYPE_CHECKING:
    from tcnlm.layers.optimization import Training

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[1] / "recipes"
BY_SIZE = "auto"  # of train.py, where none is named
OWN = "ours"  # what a recipe answers that no paper has a figure of
FIGURE = {"document", "cell"}  # what it answers otherwise
BY_DOCUMENTS = "auto"  # num_topics by `topics_for`
DOCUMENT_WORDS = 300  # that make a document; of shorter ones several count as one
TOPICS_PER_ROOT, FEWEST_TOPICS, MOST_TOPICS = 2 / 3, 5, 30
DATA = (
    "corpus format ids-from language field label id headers group split limit seed "
    "valid-from-train min-count max-words topic-min-count topic-top-fraction "
    "topic-letters sequence-length context context-words"
).split()
EVALUATION = ["split", "corpus", "context", "samples", "batch-size"]
EVALUATION += [measure.option for measure in asked()]


@dataclass(frozen=True)
class Recipe:
    """One recipe, checked: `read_recipe` raises InputError for any other."""

    source: str  # its name, or the path of its file
    title: str
    answers: str | dict  # "ours", or document and cell, as published.csv has it
    reading: str  # literal: as the paper states it; tuned: the best found
    model: str
    seeds: list[int]
    data: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    sizes: list[dict] = field(default_factory=list)  # more settings, by `tokens`
    models: dict[str, dict] = field(default_factory=dict)  # another model's own
    evaluation: dict[str, Any] = field(default_factory=dict)
    queue: str = ""
    place: int = 0  # in the queue

    @property
    def name(self) -> str:
        """Its name, also where it is of a path."""
        return Path(self.source).stem if self.source.endswith(".toml") else self.source

    def chosen(
        self, model: str, more: Iterable[str], tokens: int = 0, documents: int = 0
    ) -> tuple[Settings, Training]:
        """Return settings of model and loop: defaults, these, then more."""
        # Here, as below: to list recipes in a program's help takes no TensorFlow.
        from tcnlm.layers.optimization import Training

        kinds = {name: model_class(name).Config for name in MODELS}
        configs = kinds[model](), Training(**model_class(model).training_defaults)
        given = self.given(model, tokens, documents).items()
        texts = [f"{name}={as_text(value)}" for name, value in given]
        return override(configs, [*texts, *more], kinds)

    def given(self, model: str, tokens: int = 0, documents: int = 0) -> dict[str, Any]:
        """Return its settings for a model, which if another takes those it has."""
        from tcnlm.layers.optimization import Training

        fitting = (size for size in self.sizes if tokens <= size["tokens"])
        size = next(fitting, {})
        found = {**self.settings, **size.get("settings", {})}
        if found.get("num_topics") == BY_DOCUMENTS:
            found["num_topics"] = topics_for(tokens, documents)
        if model == self.model:
            return found
        configs = model_class(model).Config, Training
        had = {name for config in configs for name in names(config)}
        shared = {k: v for k, v in found.items() if k in had}
        own = size.get("models", {}).get(model, {})
        return {**shared, **self.models.get(model, {}), **own}


def topics_for(tokens: int, documents: int = 0) -> int:
    """Return how many topics so many documents, of 300 words or more, support."""
    long = tokens / DOCUMENT_WORDS
    wanted = round(TOPICS_PER_ROOT * min(documents or long, long) ** 0.5)
    return max(FEWEST_TOPICS, min(wanted, MOST_TOPICS))


def recipe_files() -> dict[str, Path]:
    """Return the files of the recipes that come with this package, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def read_recipe(recipe: str) -> Recipe:
    """Read a recipe by its name, or by its path, which ends in .toml; InputError."""
    path = Path(recipe) if recipe.endswith(".toml") else FOLDER / f"{recipe}.toml"
    if not path.is_file():
        hint = "`--recipe list` prints all names; a path ends in .toml"
        raise InputError(f"{recipe}: no such recipe; {hint}")
    try:
        with reading(path):
            content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: damaged ({error})") from None
    _check(path, content)
    return Recipe(recipe, **content)


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return options as on a command line, without those of None, false and []."""
    words: list[str] = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value]
        if value is True:
            words.append(f"--{name}")
        elif values and value is not None and value is not False:
            words += [f"--{name}", *map(as_text, values)]
    return words


# --- What a recipe may have -----------------------------------------------------------


def _is_table(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _are_seeds(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(type(seed) is int and 0 <= seed <= LARGEST for seed in value)
        and 0 < len(value) == len(set(value))
    )


def _are_models(value: Any) -> bool:
    return _is_table(value) and all(map(_is_table, (value or {}).values()))


def _are_sizes(value: Any) -> bool:
    sizes = [] if value is None else value
    if not isinstance(sizes, list) or not all(
        isinstance(size, dict)
        and {*size} - {"models"} == {"tokens", "settings"}
        and _is_table(size["settings"])
        and _are_models(size.get("models"))
        for size in sizes
    ):
        return False
    tokens = [size["tokens"] for size in sizes]
    return all(type(n) is int for n in tokens) and tokens == sorted(set(tokens))


_ENTRIES = {
    "title": TEXT,
    "answers": (
        f'"{OWN}" or document and cell',
        lambda value: value == OWN or isinstance(value, dict) and set(value) == FIGURE,
    ),
    "reading": ("literal or tuned", lambda value: value in ("literal", "tuned")),
    "model": (f"one of {', '.join(sorted(MODELS))}", lambda value: value in MODELS),
    "seeds": ("different whole numbers", _are_seeds),
    "data": ("a table", _is_table),
    "settings": ("a table", _is_table),
    "sizes": ("tables of settings by a rising number of tokens", _are_sizes),
    "models": ("a table of settings a model", _are_models),
    "evaluation": ("a table", _is_table),
    "queue": ("a text", lambda value: value is None or isinstance(value, str)),
    "place": ("a whole number", lambda value: value is None or type(value) is int),
}


def _check(path: Path, content: dict[str, Any]) -> None:
    _check_known(f"{path}", content, list(_ENTRIES))
    check_entries(path, content, _ENTRIES)
    for table, known, parser, places in (
        ("data", DATA, preprocessing.parser(), []),
        ("evaluation", EVALUATION, evaluate.parser(), ["RUN"]),
    ):
        options, place = content.get(table, {}), f"{path}: {table}"
        _check_known(place, options, known)
        parser.error = partial(_refuse, place)
        parser.parse_args([*places, *words_of(options)])
    recipe = Recipe(str(path), **content)
    others = [recipe.models, *(size.get("models", {}) for size in recipe.sizes)]
    known = dict.fromkeys(name for table in others for name in table)
    _check_known(f"{path}: models", known, MODELS)
    for model in (recipe.model, *known):
        for tokens in (LARGEST, *(size["tokens"] for size in recipe.sizes)):
            try:
                recipe.chosen(model, [], tokens)
            except InputError as error:
                problem = str(error).removeprefix("--set ")
                raise InputError(f"{path}: settings: {problem}") from None


def _check_known(place: str, found: Iterable[str], known: Iterable[str]) -> None:
    for name in sorted(set(found) - set(known)):
        raise InputError(f"{place}: {name} is none of {', '.join(known)}")


def _refuse(place: str, message: str) -> NoReturn:
    raise InputError(f"{place}: {message}")


class ListRecipes(argparse.Action):
    """The action of an argument that names a recipe: "list" prints all and ends."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: Any, value: Any, *_: Any
    ) -> None:
        """Keep the name, or print all names and titles."""
        setattr(options, self.dest, value)
        if value == "list":
            files = recipe_files()
            for name in files:
                print(f"{name:{max(map(len, files))}}  {read_recipe(name).title}")
            parser.exit()
