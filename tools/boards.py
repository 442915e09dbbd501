"""The boards of results/: claims, levels and counts, made of the records of runs.

A claim (claims.csv) is the ratio of two published figures beside that of two recipes'
runs of the same seeds. A level is a published figure beside runs: of the recipe with
the paper's settings, and of answers.csv. A count is of a corpus (counts.csv) or of a
model's weights. reasons.csv says why a figure has none of these, stated.csv what the
papers state of settings.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from tcnlm.programs.recipes import Recipe, read_recipe, recipe_files
from tcnlm.report.published import SAME, Published, figures, layered
from tools import tables
from tools.parameters import parameters
from tools.tables import MISSING, RESULTS, markdown

SEEDS, SHARE, WITHIN = 3, 0.75, 0.02  # of a judged claim; of its effect; of a level
VALIDATION = "validation perplexity"
PLACES = {  # of a published measure in a record
    "perplexity": "figures.perplexity",
    VALIDATION: "validation",
    "npmi": "npmi on Wikipedia",
    "error rate": "figures.classification.rows.vector.network.error_rate",
    "document_perplexity.published": "figures.document_perplexity.published",
    "retrieval": "figures.retrieval.precision",
}
HIGHER = {"npmi", "retrieval"}  # is better
CELL = ["document", "model", "corpus", "size", "topics"]
SHAPE = {"units", "layers", "num_topics", "embedding_size", "epochs", "context"}
OWN = [f for f in figures() if f.copied not in {f.document for f in figures()}]
OF_RUNS = ["runs", "hours", "record"]
ANSWERS, CLAIMS, COUNTS, REASONS, STATED = (
    pd.read_csv(RESULTS / f"{name}.csv", dtype=str, keep_default_na=False)
    for name in ("answers", "claims", "counts", "reasons", "stated")
)


def find(**cell: str) -> Published | None:
    """Return the first published figure of a cell."""
    return next((f for f in figures() if cell.items() <= vars(f).items()), None)


def fitting(
    rows: pd.DataFrame, figure: Published, names: Iterable[str]
) -> pd.DataFrame:
    """Return the rows whose cells of these names are the figure's, or *."""
    return rows[
        [all(r[n] in ("*", vars(figure)[n]) for n in names) for _, r in rows.iterrows()]
    ]


def short(figure: Published | None) -> str:
    """Return where a figure stands, the document by its first author."""
    return f"{figure.document.split()[0]}, {figure.table}" if figure else MISSING


def measured(text: str, measure: str) -> pd.Series:
    """Return a figure of a recipe's runs by seed; text: RECIPE, or RECIPE@PLACE."""
    recipe, _, place = text.partition("@")
    return tables.values(recipe, place or PLACES[measure]).astype(float)


def sources(texts: Sequence[str]) -> list[str]:
    """Return recipes, hours of training and hashes of their records, for a row."""
    names = [*dict.fromkeys(text.partition("@")[0] for text in texts)]
    hours = sum(tables.values(name, "hours").sum() for name in names)
    hashes = " / ".join(filter(None, map(digest, names)))
    said = " / ".join(f"`{name}`" for name in names)
    return [said or MISSING, f"{hours:.1f}" if hours else MISSING, hashes or MISSING]


def digest(recipe: str) -> str:
    """Return the beginning of the SHA-256 of those of a recipe's records, by seed."""
    found = "".join(tables.values(recipe, "digest").sort_index())
    return found and hashlib.sha256(found.encode()).hexdigest()[:6]


# --- How a run differs from the paper's ----------------------------------------------


@cache
def literal_recipes() -> list[tuple[dict[str, str], Recipe]]:
    """Return the recipes of the papers' settings, each with its cell."""
    recipes = [r for r in map(read_recipe, recipe_files()) if r.reading == "literal"]
    answers = [(r.answers, r) for r in recipes if r.answers != "ours"]
    return [({"document": a["document"], **a["cell"]}, r) for a, r in answers]


def literal(figure: Published) -> Recipe | None:
    """Return the recipe that has the paper's settings for a figure."""
    wanted = {name: vars(figure)[name] for name in CELL}
    cells = (({**dict.fromkeys(CELL, ""), **cell}, r) for cell, r in literal_recipes())
    return next((recipe for cell, recipe in cells if cell == wanted), None)


def stated(model: str, figure: Published) -> dict[str, str]:
    """Return what a figure's document states of a model's settings, by name."""
    rows = fitting(STATED, figure, ["corpus"])
    rows = rows[rows["document"].map(figure.document.startswith)]
    of_it = rows["models"].map(lambda models: {"*", model} & {*models.split()})
    return dict(rows[of_it.map(bool)][["setting", "stated"]].to_numpy())


@cache
def differences(text: str, figure: Published) -> tuple[list[str], list[str]]:
    """Return in what a recipe's first run is smaller, and settings otherwise."""
    run, less = tables.RUNS.loc[text.partition("@")[0]].iloc[0], []
    said, recipe = stated(run["model"], figure), literal(figure)
    for name, unit in (("size", ""), ("topics", " topics")):
        mine, theirs = run[name], vars(figure)[name]
        if theirs and mine != theirs:
            less.append(f"{mine} for {theirs}{unit}" if mine else "its topics alone")
    place = {"document": figure.document, "corpus": figure.corpus}
    there = find(**place, measure="training documents")
    share = run["data.splits.train.documents"] / there.number if there else 1
    less += [f"{share:.0%} of the documents"] if share < 1 - SAME else []
    done, planned = len(run["curve.epoch"]), said.get("epochs", 0)
    planned = int(planned or (recipe.settings.get("epochs", 0) if recipe else 0))
    if done - run["best epoch"] >= run["training.patience"]:  # it ended by itself
        done = int(run["training.epochs"])
    less += [f"{done} of {planned} epochs"] * (done < planned)
    ours = {**run["run"]["training"], **run["run"]["settings"]}
    plain = {k: layered(ours[k]).replace("-", ",") for k in ours.keys() - SHAPE}
    return less, [f"`{n}`" for n in sorted(said) if plain.get(n, said[n]) != said[n]]


# --- Claims --------------------------------------------------------------------------


class Claim:
    """A row of claims.csv, with what is published of it and what was run."""

    def __init__(self, row: pd.Series):
        self.row, names = row, ("model", "size", "topics")
        same = {name: row[name] for name in ("document", "measure", "corpus")}
        cells = row[[*names]], row[["base", "base_size", "base_topics"]]
        self.top, self.base = (find(**same, **dict(zip(names, c))) for c in cells)
        self.runs = row["runs"].split(" / ") if row["runs"] else []
        pair = [measured(r, row["measure"]) for r in self.runs] or [pd.Series()] * 2
        self.logs = np.log((pair[0] / pair[1]).dropna().astype(float))
        base = self.base.number if self.base else pair[1].mean()
        self.theirs = self.top.number / base if self.top else np.nan
        self.interval = (np.nan, np.nan)  # of the logarithm, 95 %, by Student's t
        if len(self.logs) > 1:
            self.interval = tuple(ttest_1samp(self.logs, 0).confidence_interval())

    @property
    def lacks(self) -> list[str]:
        """What is missing for a verdict."""
        seeds = len(self.logs)
        if not seeds:
            return ["not run"]
        pairs = zip(self.runs, (self.top, self.base))
        less = [differences(text, figure)[0] for text, figure in pairs if figure]
        few = [f"{seeds} seed{'s' * (seeds > 1)}"] * (seeds < SEEDS)
        return few + next(filter(None, less), [])

    @property
    def verdict(self) -> str:
        """Reproduced, partly or not; refuted by their own figures; or open."""
        better = 1 if self.row["measure"] in HIGHER else -1
        if better * np.log(self.theirs) < 0:
            return "refuted"
        if self.lacks:
            return "open"
        if min(better * end for end in self.interval) <= 0:
            return "not"
        enough = better * (self.logs.mean() - SHARE * np.log(self.theirs)) >= 0
        return "reproduced" if enough else "partly"

    @property
    def cells(self) -> list[str]:
        """The row of the board."""
        two = self.base and self.top.copied != self.base.copied
        theirs = f"{self.theirs:.3f}{'†' * bool(two)}".replace("nan", MISSING)
        ours = f"{np.exp(self.logs.mean()):.3f}, {len(self.logs)}"
        if len(self.logs) > 1:
            ours = ours.replace(
                ",", " [{:.3f}, {:.3f}],".format(*np.exp(self.interval))
            )
        lacks, note = self.lacks * (self.verdict == "open"), self.row["note"]
        said = self.verdict if lacks else f"**{self.verdict}**"
        said = ": ".join(filter(None, (said, ", ".join(filter(None, [*lacks, note])))))
        cells = [self.row["claim"], short(self.top), theirs]
        return [*cells, ours if len(self.logs) else MISSING, said, *sources(self.runs)]


@cache
def claims() -> list[Claim]:
    """Return all claims, in their order."""
    return [Claim(row) for _, row in CLAIMS.iterrows()]


def claim_table() -> str:
    """Return a row for every claim."""
    titles = ["claim", "printed in", "theirs", "ours [95 %], seeds", "verdict"]
    return markdown([titles + OF_RUNS, *(claim.cells for claim in claims())])


# --- Levels --------------------------------------------------------------------------


@cache
def levels() -> list[tuple[Published, str, str, bool]]:
    """Return figures, a recipe beside each, a note, and whether it is the paper's."""
    found = []
    for figure in (f for f in OWN if f.measure in PLACES):
        name = literal(figure).name if literal(figure) else ""
        rows = fitting(ANSWERS, figure, CELL).itertuples()
        texts = [(f"{r.recipe}@{r.place}".strip("@"), r.note) for r in rows]
        for text, note in [(name, ""), *texts]:
            if len(measured(text, figure.measure)):
                papers = text == name and not differences(text, figure)[0]
                found.append((figure, text, note, papers))
    return found


def level_verdict(figure: Published, values: pd.Series) -> str:
    """Return reproduced, better or worse.

    Within 2 % and the seeds' deviation, never above half of an effect claimed beside.
    """
    apart, spread = figure.difference(values.mean()), values.std() / values.mean()
    beside = [c.theirs for c in claims() if figure in (c.top, c.base)]
    bounds = [WITHIN + np.nan_to_num(spread), *(abs(ratio - 1) / 2 for ratio in beside)]
    if abs(apart) <= np.nanmin(bounds):
        return "reproduced"
    return "better" if (apart > 0) == (figure.measure in HIGHER) else "worse"


def level_table() -> str:
    """Return a row for a figure beside a run, one for validation and test."""
    titles = [
        "figure",
        "published",
        "ours (seeds)",
        "apart",
        "verdict",
        "run differs in",
    ]
    rows = [titles + OF_RUNS]
    for figure, text, note, papers in levels():
        if figure.measure == VALIDATION:
            continue
        values, differs = measured(text, figure.measure), differences(text, figure)
        shown = [figure.printed_like(v) for v in (values.mean(), values.std())]
        ours = f"{' ± '.join(shown[: len(values)])} ({len(values)})"
        cell = {name: vars(figure)[name] for name in CELL}
        both = [f for f in (figure, find(**cell, measure=VALIDATION)) if f]
        apart = [f"{f.difference(measured(text, f.measure).mean()):+.1%}" for f in both]
        verdict = f"**{level_verdict(figure, values)}**" if papers else MISSING
        row = [
            f"{short(figure)}, {cell_of(figure)}",
            figure.value + r"\*" * bool(figure.copied),
        ]
        row += [ours, ", ".join(apart), verdict]
        row += [note or ", ".join(sum(differs, [])) or MISSING]
        rows.append(row + sources([text]))
    return markdown(rows)


def cell_of(figure: Published) -> str:
    """Return what a figure is of, in words."""
    topics = f"{figure.topics} topics" if figure.topics else ""
    measure = figure.measure.removesuffix(".published").replace("_", " ")
    parts = figure.model, figure.corpus, figure.size, topics, measure
    return ", ".join(filter(None, parts))


def missing_table() -> str:
    """Return why figures have neither run nor count, and how many these are.

    Raises IndexError where reasons.csv has no row for one.
    """
    left = [f for f in OWN if f not in {f for f, *_ in (*levels(), *counts())}]
    names = REASONS.columns[:-1]
    whys = [fitting(REASONS, f, names)["why"].iloc[0] for f in left]
    rows = pd.DataFrame({"why": whys, "copied": [bool(f.copied) for f in left]})
    rows["in"] = [*map(short, left)]
    titles = ["why", "figures", "of these copied there", "in"]
    groups = rows.groupby("why", sort=False)
    cells = (
        [why, f"{len(g)}", f"{g['copied'].sum()}", "; ".join(g["in"].unique())]
        for why, g in groups
    )
    return markdown([titles, *cells])


# --- Counts, and all at a glance -----------------------------------------------------


@cache
def counts() -> list[tuple[Published, float, str, str]]:
    """Return counted figures with ours, how it was counted, and of which recipe."""
    found = []
    for figure in OWN:
        weights = parameters(figure)
        found += [] if weights is None else [(figure, weights, "", "")]
        rows = fitting(COUNTS, figure, ["document", "corpus", "measure"])
        for row in rows.itertuples():
            recipe, _, place = row.source.partition(" ")
            found.append(
                (figure, tables.values(recipe, place).iloc[0], row.how, recipe)
            )
    return found


def count_verdict(figure: Published, ours: float, how: str) -> str:
    """Return consistent, not, or misprint there."""
    if abs(ours - figure.number) <= 0.5 * figure.scale / 10**figure.decimals:
        return "consistent" + " with the rounding" * (figure.scale > 1)
    if how.startswith("misprint"):
        return "**misprint there**"
    apart = figure.difference(ours)
    return f"{'consistent' if abs(apart) <= SAME else '**not**'} ({apart:+.1%})"


def count_table() -> str:
    """Return a row for a count, of one or two documents, or for a model's weights."""
    rows = []
    for figure, ours, how, recipe in counts():
        name = cell_of(figure) if recipe else cell_of(figure).rpartition(", ")[0]
        told = figure.value, f"{ours:,.0f}", count_verdict(figure, ours, how)
        key = name, how, recipe, *(told if recipe else ())
        rows.append((key, short(figure), *told))
    titles = [
        "count",
        "how",
        "printed in",
        "printed",
        "ours",
        "verdict",
        "run",
        "record",
    ]
    cells = []
    for (name, how, recipe, *_), group in pd.DataFrame(rows).groupby(0, sort=False):
        told = (", ".join(dict.fromkeys(group[column])) for column in (1, 2, 3, 4))
        run, _, record = sources([recipe] * bool(recipe))
        cells.append([name, how or MISSING, *told, run, record])
    return markdown([titles, *cells])


def glance() -> str:
    """Return what was judged, on which machines, in how many hours."""
    said = [c.verdict for c in claims() if c.row["claim"][:8] != "the same"]
    exact = {
        f: level_verdict(f, measured(t, f.measure)) for f, t, _, p in levels() if p
    }
    tuned = {figure for figure, *_ in levels()} - exact.keys()
    counted = [count_verdict(*row[:3]).replace("*", "").split()[0] for row in counts()]
    hours = tables.RUNS.groupby("machine")["hours"].sum()
    rows = [["board", "rows", "verdicts"]]
    judged = [*exact.values(), *["not judged (other settings)"] * len(tuned)]
    for board, verdicts in (("claims", said), ("levels", judged), ("counts", counted)):
        tally = ", ".join(f"{n} {name}" for name, n in Counter(verdicts).most_common())
        rows.append([board, f"{len(verdicts)}", tally])
    spent = ", ".join(f"{h:.0f} on {machine}" for machine, h in hours.items())
    return markdown([*rows, ["hours of training", f"{hours.sum():.0f}", spent]])
