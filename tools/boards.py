"""The boards of results/: claims, levels and counts, made of the records of runs.

A claim (claims.csv) is the ratio of two published figures beside that of two recipes'
runs of the same seeds. A level is a published figure beside runs: of the recipe with
the paper's settings, and of answers.csv. A count is of a corpus (counts.csv) or of a
model's weights. reasons.csv says why a figure has none of these, stated.csv what the
papers state of settings.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
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
OF_RUNS = "runs | hours | record"
ANSWERS, CLAIMS, COUNTS, REASONS, STATED = (
    pd.read_csv(RESULTS / f"{name}.csv", dtype=str, keep_default_na=False)
    for name in ("answers", "claims", "counts", "reasons", "stated")
)
READ = cache(read_recipe)


def find(**cell: str) -> Published | None:
    """Return the first published figure of a cell."""
    return next((f for f in figures() if cell.items() <= vars(f).items()), None)


def fitting(rows: pd.DataFrame, figure: Published, names: list[str]) -> pd.DataFrame:
    """Return the rows whose cells of these names are the figure's, or *."""
    wanted = [vars(figure)[name] for name in names]
    return rows[((rows[names] == wanted) | (rows[names] == "*")).all(axis=1)]


def short(figure: Published | None) -> str:
    """Return where a figure stands, the document by its first author."""
    return f"{figure.document.split()[0]}, {figure.table}" if figure else MISSING


def measured(text: str, measure: str) -> pd.Series:
    """Return a figure of a recipe's runs by seed; text: RECIPE, or RECIPE@PLACE."""
    recipe, _, place = text.partition("@")
    return tables.values(recipe, place or PLACES[measure]).astype(float)


def sources(texts: Iterable[str]) -> list[str]:
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


def literal(figure: Published) -> Recipe | None:
    """Return the recipe that has the paper's settings for a figure."""
    for recipe in map(READ, recipe_files()):
        if recipe.reading == "literal" and recipe.answers != "ours":
            cell = {"document": recipe.answers["document"], **recipe.answers["cell"]}
            if all(vars(figure)[name] == cell.get(name, "") for name in CELL):
                return recipe
    return None


@cache
def differences(text: str, figure: Published) -> tuple[list[str], list[str]]:
    """Return in what a recipe's runs are smaller, and settings stated otherwise."""
    less, other, recipe = [], [], literal(figure)
    corpus = {"document": figure.document, "corpus": figure.corpus}
    there = find(**corpus, measure="training documents")
    rows = STATED[STATED["document"] == figure.document.split()[0]]
    rows = rows[rows["corpus"] == figure.corpus]
    for _, run in tables.RUNS.loc[text.partition("@")[0]].iterrows():
        of_it = rows[rows["models"].str.contains(rf"\*|\b{run['model']}\b")]
        said = dict(zip(of_it["setting"], of_it["stated"]))
        for name, unit in (("size", ""), ("topics", " topics")):
            mine, theirs = run[name], vars(figure)[name]
            how = f"{mine} for {theirs}{unit}" if mine else "its topics alone"
            less += [how] if theirs and mine != theirs else []
        share = run["data.splits.train.documents"] / there.number if there else 1
        less += [f"{share:.0%} of the documents"] if share < 1 - SAME else []
        planned = said.get("epochs", recipe.settings.get("epochs", 0) if recipe else 0)
        done = len(run["curve.epoch"])
        if done - run["best epoch"] >= run["training.patience"]:  # it ended by itself
            done = int(run["training.epochs"])
        less += [f"{done} of {planned} epochs"] * (done < int(planned))
        ours = {**run["run"]["training"], **run["run"]["settings"]}
        plain = {k: layered(ours[k]).replace("-", ",") for k in ours.keys() - SHAPE}
        other += [f"`{n}`" for n in sorted(said) if plain.get(n, said[n]) != said[n]]
    return [*dict.fromkeys(less)], [*dict.fromkeys(other)]


# --- Claims --------------------------------------------------------------------------


class Claim:
    """A row of claims.csv: two published figures, runs, and a verdict."""

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
        self.lacks = self._lacks()
        self.verdict = self._verdict(1 if row["measure"] in HIGHER else -1)

    def _lacks(self) -> list[str]:
        seeds, figures_of = len(self.logs), zip(self.runs, (self.top, self.base))
        if not seeds:
            return ["not run"]
        less = (differences(text, figure)[0] for text, figure in figures_of if figure)
        few = [f"{seeds} seed{'s' * (seeds > 1)}"] * (seeds < SEEDS)
        return few + next(filter(None, less), [])

    def _verdict(self, better: int) -> str:
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
        ours = f"{np.exp(self.logs.mean()):.3f}"
        ours += " [{:.3f}, {:.3f}]".format(*np.exp(self.interval)) * (
            len(self.logs) > 1
        )
        lacks, note = self.lacks * (self.verdict == "open"), self.row["note"]
        said = self.verdict if lacks else f"**{self.verdict}**"
        said = ": ".join(filter(None, (said, ", ".join(filter(None, [*lacks, note])))))
        ours = f"{ours}, {len(self.logs)}" if len(self.logs) else MISSING
        return [self.row["claim"], short(self.top), theirs, ours, said] + sources(
            self.runs
        )


@cache
def claims() -> list[Claim]:
    """Return all claims, in their order."""
    return [Claim(row) for _, row in CLAIMS.iterrows()]


def claims_table() -> str:
    """Return a row for every claim."""
    titles = "claim | printed in | theirs | ours [95 %], seeds | verdict"
    return markdown(f"{titles} | {OF_RUNS}", (claim.cells for claim in claims()))


# --- Levels --------------------------------------------------------------------------


@cache
def levels() -> list[tuple[Published, str, str, bool]]:
    """Return figures, a recipe beside each, a note, and whether it is the paper's."""
    found = []
    for figure in (f for f in OWN if f.measure in PLACES):
        name = getattr(literal(figure), "name", "")
        rows = fitting(ANSWERS, figure, CELL).itertuples()
        texts = [(f"{r.recipe}@{r.place}".strip("@"), r.note) for r in rows]
        for text, note in [(name, ""), *texts]:
            if len(measured(text, figure.measure)):
                papers = text == name and not differences(text, figure)[0]
                found.append((figure, text, note, papers))
    return found


def level_verdict(figure: Published, values: pd.Series) -> str:
    """Return reproduced (within 2 % or half a claimed effect), better or worse."""
    apart, spread = figure.difference(values.mean()), values.std() / values.mean()
    beside = [c.theirs for c in claims() if figure in (c.top, c.base)]
    bounds = [WITHIN + np.nan_to_num(spread), *(abs(ratio - 1) / 2 for ratio in beside)]
    if abs(apart) <= np.nanmin(bounds):
        return "reproduced"
    return "better" if (apart > 0) == (figure.measure in HIGHER) else "worse"


def levels_table() -> str:
    """Return a row for a figure beside a run, one for test and validation."""
    rows = []
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
        value = figure.value + r"\*" * bool(figure.copied)
        shown = [f"({text})" if n else text for n, text in enumerate(apart)]
        row = [f"{short(figure)}, {cell_of(figure)}", value, ours, " ".join(shown)]
        row += [verdict, note or ", ".join(sum(differs, [])) or MISSING]
        rows.append(row + sources([text]))
    titles = (
        "figure | published | ours (seeds) | apart (validation) | verdict | differs in"
    )
    return markdown(f"{titles} | {OF_RUNS}", rows)


def cell_of(figure: Published) -> str:
    """Return what a figure is of, in words."""
    topics = f"{figure.topics} topics" if figure.topics else ""
    measure = figure.measure.removesuffix(".published").replace("_", " ")
    parts = figure.model, figure.corpus, figure.size, topics, measure
    return ", ".join(filter(None, parts))


def missing_table() -> str:
    """Return why figures have neither run nor count; IndexError without a reason."""
    left = [f for f in OWN if f not in {f for f, *_ in (*levels(), *counts())}]
    names, rows = [*REASONS.columns[:-1]], []
    reasons = [fitting(REASONS, f, names)["why"].iloc[0] for f in left]
    for why, found in pd.Series(left).groupby(pd.Series(reasons), sort=False):
        places = "; ".join(dict.fromkeys(map(short, found)))
        rows.append(
            [why, f"{len(found)}", f"{sum(bool(f.copied) for f in found)}", places]
        )
    return markdown("why | figures | of these copied there | in", rows)


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
            ours = tables.values(recipe, place).iloc[0]
            found.append((figure, ours, row.how, recipe))
    return found


def count_verdict(figure: Published, ours: float, how: str) -> str:
    """Return consistent, not, or misprint there."""
    if abs(ours - figure.number) <= 0.5 * figure.scale / 10**figure.decimals:
        return "consistent" + " with the rounding" * (figure.scale > 1)
    if how.startswith("misprint"):
        return "**misprint there**"
    apart = figure.difference(ours)
    return f"{'consistent' if abs(apart) <= SAME else '**not**'} ({apart:+.1%})"


def counts_table() -> str:
    """Return a row for a count of a corpus, one for the weights of a model."""
    rows = []
    for figure, ours, how, recipe in counts():
        name = cell_of(figure) if recipe else cell_of(figure).rpartition(", ")[0]
        told = figure.value, f"{ours:,.0f}", count_verdict(figure, ours, how)
        key = name, how or MISSING, recipe, *(told if recipe else ())
        rows.append((key, short(figure), *told))
    groups = pd.DataFrame(rows).groupby(0, sort=False)
    joined = groups.agg(lambda column: ", ".join(dict.fromkeys(column)))
    cells = []
    for (name, how, recipe, *_), *told in joined.itertuples():
        cells.append([name, how, *told, *sources([recipe] * bool(recipe))[::2]])
    titles = "count | how | printed in | printed | ours | verdict | run | record"
    return markdown(titles, cells)


def glance_table() -> str:
    """Return what was judged, on which machines, in how many hours."""
    said = [c.verdict for c in claims() if c.row["claim"][:8] != "the same"]
    exact = {f: (t, f.measure) for f, t, _, papers in levels() if papers}
    judged = [level_verdict(f, measured(*place)) for f, place in exact.items()]
    tuned = {figure for figure, *_ in levels()} - {*exact}
    judged += ["not judged (other settings)"] * len(tuned)
    counted = [count_verdict(*row[:3]).replace("*", "").split()[0] for row in counts()]
    boards = {
        "claims: one model beats another": said,
        "levels: single figures": judged,
        "counts: sizes of corpora and models": counted,
    }
    rows = []
    for board, verdicts in boards.items():
        tally = ", ".join(f"{n} {name}" for name, n in Counter(verdicts).most_common())
        rows.append([board, f"{len(verdicts)}", tally])
    hours = tables.RUNS.groupby("machine")["hours"].sum()
    spent = "; ".join(f"{h:.0f} on {machine}" for machine, h in hours.items())
    rows.append(["hours of training", f"{hours.round().sum():.0f}", spent])
    return markdown("what was judged | number | verdicts", rows)
