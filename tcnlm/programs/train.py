"""Train a model on a DATA folder into a RUN folder; started again, it goes on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcnlm.common import process
from tcnlm.common.errors import InputError, add_debug, interrupts
from tcnlm.common.files import digest_of, owned
from tcnlm.common.settings import (
    LARGEST,
    Settings,
    as_text,
    describe,
    override,
    whole_number,
)
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.perplexity import leak
from tcnlm.metrics.registry import check_words, judge
from tcnlm.models import MODELS, model_class
from tcnlm.preprocessing.files import read_lines
from tcnlm.programs.recipes import BY_SIZE, ListRecipes, read_recipe, words_of
from tcnlm.runs.folders import EXPORT, FREE, resume_command, seed_folder, topics_folder
from tcnlm.runs.weights import WEIGHTS, load_weights
from tcnlm.training.rendezvous import WAIT

if TYPE_CHECKING:
    from tcnlm.layers.optimization import Training
    from tcnlm.models.base import Model

SEED = 1
PASSED_ON = ("model", "recipe", "threads", "wait", "set", "debug")  # to each of several


def main(arguments: Sequence[str]) -> int:
    """Train, once or several times, as the arguments say; return the status."""
    options, line = options_of(arguments), process.command_line()
    several = commands(options)
    if several:
        status = process.one_by_one(several)
        if options.try_topics and not status:
            from tcnlm.report.topic_numbers import compare  # which draws

            process.keep_memory()
            print(compare(Path(options.out), options.try_topics, line))
        return status
    run = Path(options.resume or options.out)
    with interrupts.listen(lambda: farewell(run, line)):
        train(options, line)
    return 0


def train(options: argparse.Namespace, command: str) -> None:
    """Train as the options say, then write the SavedModel."""
    # Here, as below: to say how it is used takes no TensorFlow.
    from tcnlm.generation.saved_model import check_free
    from tcnlm.models.starts import check_starts
    from tcnlm.models.topics import describe_topics
    from tcnlm.runs.checkpoints import saved
    from tcnlm.runs.new_run import TRAINED, open_run
    from tcnlm.runs.run_folder import make_model, settings_of
    from tcnlm.training.trainer import Trainer
    from tcnlm.training.workers import check_accumulation, named_workers

    process.keep_memory()
    run = Path(options.resume or options.out)
    config, dataset = (resumed if options.resume else begun)(options, command)
    loop = settings_of(config)[1]
    process.make_reproducible(config["seed"], config["threads"], loop.deterministic)
    workers = named_workers(options.wait)
    judged = judge(model_class(config["model"]), loop.judge)
    model = make_model(config, dataset.vocabulary)
    check_words(model, dataset, "train")
    check_words(model, dataset, "valid", judged)
    check_free(run / EXPORT)
    if not saved(run / "checkpoints"):
        check_starts(model)
        check_context_words(model, dataset, loop.batch_size)
        check_leak(model, dataset)
    alike = {n: config[n] for n in ("model", "settings", "training", "seed")}
    workers.check(model, {**alike, "data": config["data"]["fingerprint"]})
    check_accumulation(model, loop.accumulate)
    with workers.together(), ExitStack() as stack:
        if workers.chief:
            stack.enter_context(owned(run, TRAINED))
            open_run(run, config, dataset.vocabulary)
        state = Trainer(model, dataset, run, loop, config["seed"], workers).train()
        if workers.chief:
            write_saved_model(model, run, dataset)
        if workers.chief and model.offers("topics") and not model.layered:
            print(f"topics at the end: {describe_topics(model, dataset)}")
        known = f"valid_{judged.key}" in state.history[-1]
        figure = judged.form.format(state.best) if known else "not measured"
        print(f"{run}: validation {judged.title} {figure} after {state.epoch} epochs")


def _check_order(name: str, dataset: Dataset) -> None:
    """Refuse bags of words to a model that learns from words in their order."""
    if dataset.word_order or not model_class(name).reads_order:
        return
    able = [model for model in sorted(MODELS) if not model_class(model).reads_order]
    raise InputError(
        f"{dataset.path}: holds bags of words, and {name} learns from words in their "
        f"order; train one of {', '.join(able)}"
    )


def check_context_words(model: Model, dataset: Dataset, batch_size: int) -> None:
    """Refuse contexts without a word where there is nothing else to learn from."""
    least = f"this model compares documents, {model.least_rows} at least"
    if batch_size < model.least_rows:
        raise InputError(f"batch_size={batch_size}: {least}")
    for name in ("train", "valid") if model.trainable_variables else ():
        rows = model.batching.rows(dataset.split(name))
        if len(rows) < model.least_rows:
            found = f"{len(rows)} document with topic words"
            raise InputError(f"{dataset.path / name}: {found}; {least}")
        if not any(map(model.count_words, rows.batches(256))):
            raise InputError(
                f"{dataset.path / name}: no context has a topic word, as where each "
                "document is a sentence; train lda, or set context=all"
            )


def check_leak(model: Model, dataset: Dataset) -> None:
    """Warn of contexts that look ahead; refuse them where a state is carried on."""
    told = leak(model, dataset.rule)
    if told and getattr(model.config, "carry", False):
        raise InputError(f"{told}, as carry=true needs it")
    if told:
        print(f"warning: {told}", file=sys.stderr)


def write_saved_model(model: Model, run: Path, dataset: Dataset) -> None:
    """Give the model RUN's weights; write their SavedModel, unless it is there."""
    from tcnlm.generation.saved_model import export, is_export_of

    folder, source = run / EXPORT, digest_of(run / WEIGHTS)
    load_weights(model, run)
    if not is_export_of(folder, source):
        made = dataset.meta["settings"]
        sizes = made["sequence_length"], made["context_words"]
        export(model, folder, *sizes, source=source)


def begun(options: argparse.Namespace, command: str) -> tuple[dict, Dataset]:
    """Return the configuration and data of a run from the options alone."""
    from tcnlm.runs.new_run import new_config

    dataset = Dataset(options.data)
    train = dataset.meta["splits"]["train"]
    model, settings, loop = chosen(options, train["tokens"], train["documents"])
    _check_order(model, dataset)
    dataset.use_context(loop.context)
    seed = SEED if options.seed is None else options.seed
    settled = seed, command, options.threads or 0
    return new_config(model, settings, loop, dataset, *settled), dataset


def resumed(options: argparse.Namespace, command: str) -> tuple[dict, Dataset]:
    """Return those of the run that is in a folder, with the settings that are new."""
    from tcnlm.runs.new_run import new_config
    from tcnlm.runs.run_folder import RunFolder

    run = RunFolder(options.resume)
    old = run.config
    kinds = {name: model_class(name).Config for name in MODELS}
    settings, loop = override((run.settings, run.training), options.set, kinds)
    try:
        dataset = run.data(options.data or old["data"]["path"])
    except InputError as error:
        again = f"{process.program('train')} DATA --resume {options.resume}"
        hint = f"`{again}` says where DATA is now"
        raise InputError(f"{error}; {hint}") from None
    threads = old.get("threads", 0) if options.threads is None else options.threads
    settled = old["seed"], command, min(threads, process.cores())
    return new_config(old["model"], settings, loop, dataset, *settled), dataset


def farewell(run: Path, command: str) -> str:
    """Return how an interrupted training goes on."""
    from tcnlm.runs.checkpoints import saved

    for last in saved(run / "checkpoints")[-1:]:
        step = int(last.name)
        return f"interrupted: `{resume_command(run)}` continues from step {step}"
    return f"interrupted before the first checkpoint: `{command}` begins again"


def chosen(
    options: argparse.Namespace, tokens: int, documents: int = 0
) -> tuple[str, Settings, Training]:
    """Return the model and all settings: defaults, the recipe's, then --set."""
    recipe = read_recipe(options.recipe or BY_SIZE)
    model = options.model or recipe.model
    if recipe.sizes:
        own = {text.partition("=")[0] for text in options.set}
        given = recipe.given(model, tokens, documents).items()
        taken = [f"{name}={as_text(v)}" for name, v in given if name not in own]
        said = " ".join([*taken, *options.set])
        print(f"{recipe.name}, for {tokens:,} training tokens: {said}")
    return (model, *recipe.chosen(model, options.set, tokens, documents))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(description=__doc__)
    add = parsed.add_argument
    data = "folder made by python -m preprocessing; with --resume only if it was moved"
    add("data", metavar="DATA", nargs="?", help=data)
    add("--model", choices=sorted(MODELS), help="default: the recipe's")
    folder = parsed.add_mutually_exclusive_group(required=True)
    to = "folder for all that comes of it; a run that is there goes on"
    folder.add_argument("--out", metavar="RUN", help=to)
    on = f"go on with its run; --set may give it other {', '.join(FREE)}"
    folder.add_argument("--resume", metavar="RUN", help=on)
    several = {"nargs": "+", "action": "extend", "default": []}
    changed = "override settings, which --settings lists"
    add("--set", metavar="NAME=VALUE", help=changed, **several)
    listed = "list all settings of training and of every model, and end"
    add("--settings", nargs=0, action=ListSettings, help=listed)
    vectors = (
        "start from word2vec vectors made from the training text, or from a file; "
    )
    vectors += "short for --set embeddings=..."
    add("--embeddings", metavar="train|FILE", help=vectors)
    seeds = "a topic a line, its words, a name and a colon before them if wanted: the "
    seeds += "first topics start at these words and keep them"
    add("--seed-words", metavar="FILE", type=Path, help=seeds)
    recipe = "model and settings by a name, or of a .toml file; --set and --model "
    recipe += "override them; list: print all names with their titles (default: "
    recipe += f"{BY_SIZE}, by the corpus' size; paper-small has those of --settings)"
    add("--recipe", metavar="NAME", action=ListRecipes, help=recipe)
    seeds = "train with each, one after the other, into RUN/seed-S"
    seed, number = whole_number(0, 2**31 - 1), whole_number(0, process.cores())
    add("--seed", type=seed, help=f"of all that is random (default: {SEED})")
    add("--seeds", metavar="S", nargs="+", type=seed, help=seeds)
    numbers = "train with each number of topics, into RUN/topics-K, then compare them "
    numbers += "on the validation split and recommend one"
    count = whole_number(1, LARGEST)
    add("--try-topics", metavar="K", nargs="+", type=count, default=[], help=numbers)
    add("--threads", type=number, help="cores to use (default: 0, all)")
    together = "seconds to wait for other workers of TF_CONFIG (default: %(default)s)"
    add("--wait", type=whole_number(1, 10**6), default=WAIT, help=together)
    add_debug(parsed)
    return parsed


class ListSettings(argparse.Action):
    """The action of an option that prints all settings with their defaults and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print them."""
        from tcnlm.layers.optimization import Training

        models = {name: model_class(name).Config for name in MODELS}
        print(describe(models, Training))
        parser.exit()


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line says, or end with how it is used."""
    parsed = parser()
    options = parsed.parse_args(arguments)
    if options.resume == "":
        parsed.error("--resume: names no RUN")
    if not options.resume and not options.data:
        parsed.error("DATA is missing: a folder made by python -m preprocessing")
    for name in ("model", "recipe", "seed", "embeddings"):
        if options.resume and getattr(options, name) is not None:
            parsed.error(f"--{name}: leave it out; with --resume RUN has its own")
    seeds = options.seeds or []
    if seeds and (options.resume or options.seed is not None):
        parsed.error("--seeds: needs --out, and replaces --seed")
    if len(set(seeds)) < len(seeds):
        parsed.error("--seeds: a seed is given twice")
    numbers = options.try_topics
    if numbers and (options.resume or len(set(numbers)) < len(numbers)):
        parsed.error("--try-topics: needs --out, and different numbers")
    if numbers and any(each.startswith("num_topics=") for each in options.set):
        parsed.error("--try-topics: replaces --set num_topics")
    if options.embeddings:
        options.set.append(f"embeddings={options.embeddings}")
    if options.seed_words:
        lines = (line.replace(";", " ") for line in read_lines(options.seed_words))
        options.set.append(f"seed_words={';'.join(lines)}")
    return options


def commands(options: argparse.Namespace) -> list[list[str]]:
    """Return the arguments of every training where the options ask for several."""
    found: list[list[str]] = []
    if not (options.try_topics or options.seeds):
        return found
    for number in options.try_topics or [None]:
        for seed in options.seeds or [options.seed]:
            given = {name: getattr(options, name) for name in PASSED_ON}
            given |= {"seed": seed, "out": Path(options.out)}
            if number is not None:
                given["out"] = topics_folder(given["out"], number)
                given["set"] = [*options.set, f"num_topics={number}"]
            if options.seeds:
                given["out"] = seed_folder(given["out"], seed)
            found.append([options.data, *words_of(given)])
    return found
