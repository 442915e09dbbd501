"""`tcnlm.TopicModel`: texts to topics by the programs, as scikit-learn has models."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tcnlm.common.errors import InputError
from tcnlm.common.files import replacing
from tcnlm.common.process import refuse_forks
from tcnlm.common.settings import as_text, is_whole, names
from tcnlm.layers.optimization import Training
from tcnlm.models import MODELS, model_class
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.data_folder import read_meta
from tcnlm.preprocessing.documents import is_missing
from tcnlm.programs.recipes import BY_SIZE, read_recipe, words_of
from tcnlm.programs.train import SEED
from tcnlm.run import Run, checked

if TYPE_CHECKING:
    from pandas import DataFrame

# Read as TensorFlow begins: what transforms here leaves a GPU to what trains beside it.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")

PREPROCESS = "from tcnlm.programs.launch import preprocess; preprocess()"
TRAIN = "from tcnlm.programs.launch import train; train()"
WARNING = "warning: "  # begins a line of theirs
LAST_LINES = 20  # shown of a program that failed as nothing foresaw


class TopicModel(BaseEstimator, TransformerMixin):
    """A topic model with scikit-learn's conventions, trained by the programs.

    Each is a process of its own: `fit` leaves seeds and threads of this one alone.

    model, recipe, threads, seed: as train.py has them; model None: the recipe's.
    run: the RUN folder to make, or to go on with; DATA comes beside it, RUN.data. None:
    a folder that lasts as long as this object.
    held_out: share of the texts that is not trained on; one half chooses the epoch,
    the other is for evaluate.py.
    preprocessing: options of `python -m preprocessing`, {"min_count": 5}.
    verbose: print what the programs say; otherwise their warnings are Python's.
    settings: those of model and training loop, as of --set: num_topics=20.

    After `fit`, `run_` is the `tcnlm.run.Run`, `topics_` the ten most relevant words of
    each topic, [K, 10], and `components_` the distributions p(w | t) over the topic
    words, `run_.model.vocabulary.topic_words`, [K, D].
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        recipe: str = BY_SIZE,
        run: str | os.PathLike | None = None,
        held_out: float = 0.2,
        preprocessing: Mapping[str, Any] | None = None,
        seed: int = SEED,
        threads: int | None = None,
        verbose: bool = False,
        **settings: Any,
    ):
        self.model = model
        self.recipe = recipe
        self.run = run
        self.held_out = held_out
        self.preprocessing = preprocessing
        self.seed = seed
        self.threads = threads
        self.verbose = verbose
        self.settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all arguments, the settings among them."""
        return {**super().get_params(deep), **self.settings}

    def set_params(self, **params: Any) -> TopicModel:
        """Change arguments; InputError for one that no model has as a setting."""
        own = self._get_param_names()
        settings = {k: v for k, v in params.items() if k not in own}
        kinds = [Training, *map(model_class, MODELS)]
        known = {n for kind in kinds for n in names(getattr(kind, "Config", kind))}
        for name in sorted(settings.keys() - known):
            raise InputError(
                f"{name}: is neither an argument nor a setting of any model"
            )
        super().set_params(**{k: v for k, v in params.items() if k in own})
        self.settings = {**self.settings, **settings}
        return self

    def fit(self, texts: Iterable[str], y: Any = None) -> TopicModel:
        """Preprocess texts and train on them; InputError where the programs refuse."""
        self._check()
        texts = list(checked(texts))
        if self.run:
            run = Path(self.run)
        else:  # in a folder that is removed with this object
            run = Path(mkdtemp(prefix="tcnlm-"), "RUN")
            weakref.finalize(self, shutil.rmtree, run.parent, ignore_errors=True)
        data = self._data(run, texts)
        given = {"out": run, "recipe": self.recipe, "seed": self.seed}
        given |= {"model": self.model, "threads": self.threads, "set": self._sets()}
        self._start("tcnlm-train", TRAIN, [str(data), *words_of(given)])
        self.run_ = Run(run)
        self.topics_ = top_words(self.run_.model, 10)
        self.components_ = np.asarray(self.run_.model.topics())
        self._texts, self._proportions = texts, None
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> np.ndarray:
        """Return the topic proportions of the texts that are trained on, [N, K]."""
        return self.fit(texts)._fitted_proportions()

    def transform(self, texts: Iterable[str]) -> np.ndarray:
        """Return the topic proportions of texts, [N, K]; NaN without a topic word."""
        check_is_fitted(self, "run_")
        return self.run_.proportions(texts)

    def topic_info(self) -> DataFrame:
        """Return a row a topic: number, name, words, weights, share, documents.

        weights: p(w | t) of its ten words; share: its mean over the texts that were
        given to `fit`; documents: of how many of them it is the largest.
        """
        from pandas import DataFrame

        shares = self._fitted_proportions()
        shares = shares[~np.isnan(shares[:, 0])]
        index = self.run_.model.vocabulary.topic_words.index
        pairs = zip(self.components_, self.topics_)
        columns = {
            "number": range(len(self.topics_)),
            "name": [row.label for row in self.run_.names.rows],
            "words": self.topics_,
            "weights": [row[list(map(index, words))].tolist() for row, words in pairs],
            "share": shares.mean(axis=0),
            "documents": np.bincount(shares.argmax(axis=1), minlength=shares.shape[1]),
        }
        return DataFrame(columns)

    def representative_documents(self, topic: int, number: int = 3) -> list[str]:
        """Return the texts given to `fit` that have most of a topic, most first."""
        shares = self._fitted_proportions()
        if not is_whole(topic) or not 0 <= topic < shares.shape[1]:
            raise InputError(f"topic {topic!r}: there are 0 to {shares.shape[1] - 1}")
        order = np.argsort(-shares[:, topic], kind="stable")[:number]  # NaN comes last
        return [self._texts[i] for i in order if not np.isnan(shares[i, topic])]

    def _fitted_proportions(self) -> np.ndarray:
        """Return `transform` of the texts given to `fit`, made once."""
        if getattr(self, "_proportions", None) is None:
            self._proportions = self.transform(getattr(self, "_texts", ()))
        return self._proportions

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names for the columns of `transform`, those of `tcnlm infer`."""
        check_is_fitted(self, "run_")
        return np.array([f"topic_{k}" for k in range(len(self.topics_))], object)

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "run_"):
            raise InputError(
                "a fitted TopicModel is saved as its RUN, not pickled: set run=FOLDER, "
                "then tcnlm.load_run(FOLDER) opens it"
            )
        return super().__getstate__()

    def _sets(self) -> list[str]:
        return [f"{name}={as_text(value)}" for name, value in self.settings.items()]

    def _check(self) -> None:
        """Refuse, before the texts are read, what training would refuse after it."""
        refuse_forks()
        held_out, run = self.held_out, self.run
        if not isinstance(held_out, float) or not 0 < held_out < 1:
            raise InputError(f"held_out={held_out!r}: must be a share like 0.2")
        if run is not None and not isinstance(run, (str, os.PathLike)):
            raise InputError(f"run={run!r}: must be a folder's path")
        if not isinstance(self.recipe, str):
            raise InputError(f"recipe={self.recipe!r}: must be a name or a .toml file")
        recipe = read_recipe(self.recipe)
        model = recipe.model if self.model is None else self.model
        if not model_class(model).offers("topics"):
            raise InputError(f"model={model!r}: has no topics")
        try:
            recipe.chosen(model, self._sets())
        except InputError as error:
            raise InputError(str(error).removeprefix("--set ")) from None

    def _data(self, run: Path, texts: list[str]) -> Path:
        """Return the DATA of the texts beside RUN; InputError where it is of others."""
        skips = (self.preprocessing or {}).get("skip_empty")
        for number, text in enumerate(texts):
            if text.strip() and is_missing(text) and not skips:
                raise InputError(
                    f"text {number} is {text!r}, taken for none; leave it out, or give "
                    "preprocessing={'skip_empty': True}"
                )
        data = run.with_name(f"{run.name}.data")
        with TemporaryDirectory(prefix="tcnlm-") as folder:
            source, made = Path(folder) / "texts.jsonl", Path(folder) / "DATA"
            with source.open("w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps({'text': t})}\n" for t in texts)
            half = self.held_out / 2
            given = {"format": "jsonl", "input": source, "seed": self.seed, "out": made}
            given["split"] = [1 - 2 * half, half, half]
            chosen = (self.preprocessing or {}).items()
            more = {name.replace("_", "-"): value for name, value in chosen}
            for name in sorted(given.keys() & more.keys()):
                raise InputError(f"preprocessing: {name} is set by fit itself")
            self._start("preprocessing", PREPROCESS, words_of({**given, **more}))
            if not data.exists():
                data.parent.mkdir(parents=True, exist_ok=True)
                with replacing(data) as aside:
                    shutil.move(made, aside)
            elif read_meta(data)["fingerprint"] != read_meta(made)["fingerprint"]:
                raise InputError(
                    f"{data}: was made from other texts or settings; give another "
                    "run, or remove both folders"
                )
        return data

    def _start(self, name: str, program: str, words: list[str]) -> None:
        """Run a program in a process of its own; InputError for what it refuses."""
        code = f"import sys; sys.argv[0] = {name!r}; {program}"
        process, last = _process(code, words), deque(maxlen=LAST_LINES)
        with process:
            try:
                for line in process.stdout:
                    last.append(line)
                    if self.verbose:
                        print(line, end="", flush=True)
                    elif line.startswith(WARNING):
                        warnings.warn(line[len(WARNING) :].strip(), stacklevel=3)
            except BaseException:
                process.send_signal(signal.SIGINT)  # it keeps what it has
                process.wait()
                raise
        if process.returncode == 2:
            raise InputError("".join(last).rpartition("error: ")[2].strip())
        if process.returncode:
            raise RuntimeError(f"{name} failed:\n{''.join(last)}")


def _process(code: str, words: list[str]) -> subprocess.Popen:
    """Start a Python that finds this package, its output and errors in one pipe."""
    places = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    path = {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    read = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **path, **read},
        start_new_session=True,  # lest Ctrl-C reach it twice
    )
