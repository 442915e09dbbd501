"""A recipe the whole way: from a raw corpus to records, and how near they come.

Writes OUT/data (what python -m preprocessing makes), and of each seed OUT/RECIPE/seed-S
(the RUN) and OUT/RECIPE/seed-S.json (its record). Started again, it goes on.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev

from tcnlm.common.errors import InputError, add_debug, interrupts, reading
from tcnlm.common.process import command_parser, cores, one_by_one
from tcnlm.common.settings import whole_number
from tcnlm.metrics.base import Figure
from tcnlm.metrics.registry import figure
from tcnlm.preprocessing.corpora import NAMES
from tcnlm.programs import evaluate, train
from tcnlm.programs.preprocess import main as preprocess
from tcnlm.programs.recipes import (
    OWN,
    ListRecipes,
    Recipe,
    read_recipe,
    recipe_files,
    words_of,
)
from tcnlm.report.published import Published, figures
from tcnlm.runs.folders import seed_folder

TEXTS = ("input", "train", "heldout", "valid", "test")
LISTS = ("vocabulary", "stop-words")
SAID = ("perplexity", "document_perplexity.published", "bound", "npmi")
SAID += ("classification.accuracy",)


def main(arguments: Sequence[str]) -> int:
    """Do what is left of all recipes and say what came of them; return the status."""
    options = options_of(arguments)
    with interrupts.listen(lambda: "interrupted; the same command continues"):
        return reproduce_all(options)


def reproduce_all(options: argparse.Namespace) -> int:
    """Do one training here; of more, each is a process of its own."""
    recipes, out = wanted(options), options.out
    every = [(recipe, seed) for recipe in recipes for seed in recipe.seeds]
    left = [(r, seed) for r, seed in every if not finished(r, run_of(out, r, seed))]
    if len(left) > 1:
        once = ("recipe", "queue", "seed")
        given = {name: v for name, v in vars(options).items() if name not in once}
        commands = [[r.source, *words_of({**given, "seed": s})] for r, s in left]
        status = one_by_one(commands)
        if status:
            return status
    elif left:
        reproduce(*left[0], options)
    for recipe in recipes:
        print(*lines(recipe, options.out), sep="\n", flush=True)
    return 0


def wanted(options: argparse.Namespace) -> list[Recipe]:
    """Return the recipes and seeds asked for; InputError where one lacks its files."""
    recipes = queued(options.queue) if options.queue else [read_recipe(options.recipe)]
    for recipe in recipes:
        data_arguments(recipe, options)
    if options.seed is None:
        return recipes
    return [dataclasses.replace(recipe, seeds=[options.seed]) for recipe in recipes]


def queued(queue: str) -> list[Recipe]:
    """Return the recipes of a queue, in their order."""
    recipes = [read_recipe(name) for name in recipe_files()]
    found = [recipe for recipe in recipes if recipe.queue == queue]
    if not found:
        known = sorted({recipe.queue for recipe in recipes} - {""})
        raise InputError(f"--queue {queue}: is none of {', '.join(known)}")
    return sorted(found, key=lambda recipe: recipe.place)


def reproduce(recipe: Recipe, seed: int, options: argparse.Namespace) -> None:
    """Make the data, train and write a record, each unless it is there."""
    data, run = make_data(recipe, options), run_of(options.out, recipe, seed)
    given = {"recipe": recipe.source, "seed": seed, "out": run}
    words = [str(data), *words_of({**given, "threads": options.threads})]
    line = shlex.join(["python", "train.py", *words])
    train.train(train.options_of(words), line)
    given = {**recipe.evaluation, "record": record_of(run)}
    texts = {"reference": options.reference, "counts": options.counts}
    words = [str(run), *words_of({**given, **texts})]
    evaluate.main(words, shlex.join(["python", "evaluate.py", *words]))


def make_data(recipe: Recipe, options: argparse.Namespace) -> Path:
    """Return a recipe's DATA, made if not there; those of the same files share one."""
    if made_before(options):
        return Path(options.data[0])
    words = data_arguments(recipe, options)
    name = hashlib.sha256(shlex.join(words).encode()).hexdigest()[:12]
    folder = options.out / "data" / name
    status = 0 if folder.exists() else preprocess([*words, "--out", str(folder)])
    if status:
        sys.exit(status)
    return folder


def made_before(options: argparse.Namespace) -> bool:
    """Whether --data is a DATA folder."""
    return len(options.data) == 1 and (Path(options.data[0]) / "meta.json").is_file()


def data_arguments(recipe: Recipe, options: argparse.Namespace) -> list[str]:
    """Return the arguments of python -m preprocessing but for --out."""
    files: dict[str, list[str]] = {}
    for text in options.data:
        place, _, file = text.partition("=")
        if not file or place not in (*TEXTS, *LISTS):
            place, file = "input", text
        files.setdefault(place, []).append(file)
    table = dict(recipe.data)
    if set(files) & set(TEXTS):
        table.pop("corpus", None)  # which is fetched
    if options.format:
        table["format"] = options.format
    if "corpus" not in table and "format" not in table and not made_before(options):
        raise InputError("--format: say which one --data has; the recipe has none")
    return words_of({**table, **files})


def run_of(out: Path, recipe: Recipe, seed: int) -> Path:
    """Return the RUN folder of a recipe and seed."""
    return seed_folder(out / recipe.name, seed)


def finished(recipe: Recipe, run: Path) -> bool:
    """Whether there is a record of a RUN; InputError for a RUN of other settings."""
    if not record_of(run).exists():
        return False
    # Here, as below: to say how it is used takes no TensorFlow.
    from tcnlm.runs.run_folder import RunFolder

    kept = RunFolder(run)
    model, settings = kept.model_name, (kept.settings, kept.training)
    train = kept.config["data"]["splits"]["train"]
    sizes = train["tokens"], train["documents"]
    if model != recipe.model or settings != recipe.chosen(model, [], *sizes):
        raise InputError(f"{run}: has other settings; give another --out")
    return True


def record_of(run: Path) -> Path:
    """Return the file of a RUN's record, beside it."""
    return run.with_suffix(".json")


def lines(recipe: Recipe, out: Path) -> Iterator[str]:
    """Yield a line a measure: the published figure, ours over the seeds, difference."""
    from tcnlm.report.evaluate_run import kept_as

    evaluations = []
    for seed in recipe.seeds:
        run = run_of(out, recipe, seed)
        file = kept_as(run, recipe.evaluation.get("split", "test"))[0]
        try:
            with reading(file):
                evaluations.append(json.loads(file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError) as error:
            again = f"remove {record_of(run)} and start again"
            raise InputError(f"{file}: damaged ({error}); {again}") from None
    for measured in map(figure, SAID):
        values = [measured.value(evaluation) for evaluation in evaluations]
        if None not in values:
            text = compared(measured, published(recipe, measured), values)
            yield f"{recipe.name}: {measured.title}: {text}"


def published(recipe: Recipe, measured: Figure) -> Published | None:
    """Return the published figure that a recipe answers, if there is one."""
    if recipe.answers == OWN:
        return None
    wanted = {"document": recipe.answers["document"], "measure": measured.key}
    wanted |= recipe.answers["cell"]
    return next((f for f in figures() if wanted.items() <= vars(f).items()), None)


def compared(measured: Figure, known: Published | None, values: Sequence[float]) -> str:
    """Return a published figure beside ours, the mean and deviation over seeds."""
    mean, form = fmean(values), measured.form.format
    spread = f" ± {form(stdev(values))}" if len(values) > 1 else ""
    ours = f"ours {form(mean)}{spread} (seeds: {len(values)})"
    if known is None:
        return f"published –, {ours}"
    return f"published {known.value}, {ours}, difference {known.difference(mean):+.1%}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = command_parser("reproduce", __doc__)
    add = parsed.add_argument
    recipe = "name of a recipe, or of a .toml file; list: print all with their titles"
    add("recipe", metavar="RECIPE", nargs="?", action=ListRecipes, help=recipe)
    add("--queue", metavar="NAME", help="all recipes of a queue, one after the other")
    files = "the corpus, where the recipe does not fetch it: files to be cut into "
    files += f"splits, or PLACE=FILE ({', '.join((*TEXTS, *LISTS))}); or a DATA folder"
    add("--data", metavar="FILE", nargs="+", action="extend", default=[], help=files)
    add("--format", choices=NAMES, help="of these files, if not the recipe's")
    add("--out", metavar="OUT", type=Path, required=True, help="for all that is made")
    seed, number = whole_number(0, 2**31 - 1), whole_number(0, cores())
    add("--seed", type=seed, help="this one alone (default: all of the recipe's)")
    add("--threads", type=number, help="cores to train with (default: 0, all)")
    counted = "as evaluate.py has it: text to count coherence on"
    group = parsed.add_mutually_exclusive_group()
    group.add_argument("--reference", metavar="FILE", nargs="+", help=counted)
    group.add_argument("--counts", metavar="FILE", help="likewise: counts of one")
    add_debug(parsed)
    return parsed


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line says, or end with how it is used."""
    parsed = parser()
    options = parsed.parse_args(arguments)
    if bool(options.recipe) == bool(options.queue):
        parsed.error("give a RECIPE or a --queue")
    return options
