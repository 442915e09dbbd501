"""Several runs side by side: a row for each group of seeds, the best in bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from tcnlm.drawing import figures as draw
from tcnlm.drawing.markup import Best, filled
from tcnlm.metrics.base import (
    Contract,
    Figure,
    any_model,
    both,
    documental,
    language,
    predicting,
    topical,
)
from tcnlm.metrics.registry import METRICS, figure, figures
from tcnlm.models import model_class
from tcnlm.report.measured import (
    RESAMPLES,
    Group,
    Measured,
    best,
    groups_of,
    is_fit,
    ratios,
)
from tcnlm.report.published import layered, size
from tcnlm.report.stability import side_by_side, stability
from tcnlm.runs.folders import is_seed_folder

OTHER_DATA = " ≠"  # marks a published figure
RATIO = "ratio to the first"
OTHER_SEEDS = "The interval does not tell how other seeds would come out."
ALIKE = "same corpus (--corpus), model, size and number of topics"
IN_LINES = ("run", "seeds", "perplexity", RATIO)
TEMPLATE = """<div class="compared">{% for part in parts %}
<h2>{{ part.title }}</h2>
{{ table(part.titles, part.kinds, part.rows) }}
{% endfor %}
<div class="plots">{% for svg in curves %}
{{ picture(svg, "validation perplexity by epoch") }}{% endfor %}</div></div>
{% for svg, text in pictures %}{{ picture(svg, text) }}{% endfor %}
{{ together }}
{{ stable }}
{% for text in notes %}{{ note(text) }}{% endfor %}
<h2>Each run</h2>"""


class Column(NamedTuple):
    """A column of the comparison: its title and a cell for every group."""

    title: str
    cells: list[str]


DESCRIPTIONS: dict[str, Callable[[Measured], object]] = {
    "layers x units": lambda run: size(run.config["settings"]),
    "topics": lambda run: layered(run.config["settings"].get("num_topics", "")),
    "epochs": lambda run: ""
    if is_fit(run.history)
    else "".join(f"{e:g}" for e in run.history.get("epoch", ())[-1:]),
    "parameters": lambda run: figure("parameters").text(run.evaluation),
}


def run_name(run: Measured) -> str:
    """Return a run's folder, by which it is told from others; of seeds two."""
    path = Path(run.evaluation["run"]).absolute()
    return str(Path(*path.parts[-2:])) if is_seed_folder(path) else path.name


def label(run: Measured) -> str:
    """Return a run's folder, and what it is a run of."""
    return f"{run_name(run)}: {run.name}"


def group_name(group: Group) -> str:
    """Return the runs' folders, or the one that holds the seeds."""
    paths = [Path(run.evaluation["run"]) for run in group.runs]
    if len(paths) > 1 and all(map(is_seed_folder, paths)):
        paths = [path.parent for path in paths]
        return ", ".join(dict.fromkeys(path.name for path in paths))
    return ", ".join(map(run_name, group.runs))


def group_label(group: Group) -> str:
    """Return the runs' folders, and what they are runs of."""
    return f"{group_name(group)}: {group.first.name}"


def compared_figures() -> list[Figure]:
    """Return the figures by which runs are compared."""
    return [figure for figure in figures() if figure.headline and figure.better]


ABOUT = {  # what figures are about, by the models that have them
    any_model: "vectors",
    **dict.fromkeys((predicting, language, documental), "words"),
    **dict.fromkeys((topical, both), "topics"),
}


class Part(NamedTuple):
    """A table of the comparison: of which models, what about, and how described.

    What one kind of model predicts is not what another does: no column holds both.
    """

    title: str
    whose: Contract
    about: str  # of `ABOUT`, or objective
    described: tuple[str, ...] = ()  # by DESCRIPTIONS

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups that it says something of."""
        measured = (any(mean_text(g, each) for each in self.figures()) for g in groups)
        kinds = (model_class(group.first.evaluation["model"]) for group in groups)
        return [g for g, k, m in zip(groups, kinds, measured) if m and self.whose(k)]

    def figures(self) -> list[Figure]:
        """Return the figures that it is about."""
        measures = (
            m for m in METRICS if ABOUT.get(m.applies, "objective") == self.about
        )
        known = [figure for measure in measures for figure in measure.figures]
        return [figure for figure in compared_figures() if figure in known]

    def columns(self, groups: Sequence[Group]) -> list[Column]:
        """Return the columns that say something of any of its groups.

        The first names it. None where there are no groups.
        """
        if not groups:
            return []
        named = [Column("run", list(map(group_label, groups)))]
        seeds = [str(len(group.runs)) for group in groups]
        if set(seeds) != {"1"}:
            named.append(Column("seeds", seeds))
        told = [c for each in self.figures() for c in _measured(groups, each)]
        for title in self.described:
            texts = (map(DESCRIPTIONS[title], group.runs) for group in groups)
            cells = (dict.fromkeys(filter(None, each)) for each in texts)
            told.append(Column(title, list(map(", ".join, cells))))
        return [*named, *(column for column in told if any(column.cells))]


SIZE = ("layers x units", "epochs", "parameters")
OF_WORDS = (
    Part("Language models: the next word", language, "words", SIZE),
    Part("Document models: words in any order", documental, "words", SIZE),
)
PARTS = (
    *OF_WORDS,
    Part("Topic models: words of documents", topical, "objective", SIZE),
    Part("Topics", topical, "topics", ("topics",)),
    Part("Vectors of documents", any_model, "vectors"),
)


def comparison(runs: Sequence[Measured]) -> Markup:
    """Return the part of a page that sets runs side by side."""
    groups = groups_of(runs)
    numbers = {id(run): number for number, run in enumerate(runs, 1)}
    return filled(
        TEMPLATE,
        parts=list(_parts(groups, numbers)),
        curves=list(map(draw.svg, shown_curves(groups))),
        together=side_by_side(groups, list(map(group_name, groups))),
        stable=stability(groups, list(map(group_name, groups))),
        notes=list(_notes(groups)),
        pictures=list(_pictures(runs)),
    )


def _parts(
    groups: Sequence[Group], numbers: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    """Yield what each part's table is made of; numbers: of runs on the page, by id."""
    for part in PARTS:
        own = part.groups(groups)
        if not own:
            continue
        titles, (names, *cells) = zip(*part.columns(own))
        links = (
            Markup('<a href="#run-{}">{}</a>').format(*each)
            for each in zip((numbers[id(group.first)] for group in own), names)
        )
        yield {
            "title": part.title,
            "titles": titles,
            "kinds": ["", *["number"] * len(cells)],
            "rows": list(zip(links, *cells)),
        }


def shown_curves(groups: Sequence[Group]) -> Iterator[draw.Figure]:
    """Yield the curves of each kind of model, by DATA."""
    for part in OF_WORDS:
        runs = [run for group in part.groups(groups) for run in group.runs]
        title = f"{part.title.split(':')[0]}, validation perplexity"
        for unit in ("epoch", "minutes of training"):
            yield from curves(runs, title=title, size=draw.PANEL, units=[unit])


def _pictures(runs: Sequence[Measured]) -> Iterator[tuple[bytes, str]]:
    """Yield the drawings that measures make of all runs, with a text for each."""
    evaluations = {label(run): run.evaluation for run in runs}
    for measure in METRICS:
        for drawn in measure.draw_compared(evaluations):
            yield draw.svg(drawn), f"{measure.key} of all runs"


def compared(runs: Sequence[Measured]) -> str:
    """Return the perplexities of several runs and their ratios as lines of text."""
    groups, lines = groups_of(runs), []
    for part in OF_WORDS:
        columns = part.columns(part.groups(groups))
        chosen = [(c.title, *c.cells) for c in columns if c.title in IN_LINES]
        widths = [max(map(len, cells)) for cells in chosen]
        for row in zip(*chosen):
            lines.append("  ".join(map(str.ljust, row, widths)).rstrip())
    return "\n".join(lines)


def _measured(groups: Sequence[Group], measure: Figure) -> Iterator[Column]:
    """Yield a measure, what is published of it, and perplexity's ratio."""
    texts = [mean_text(group, measure) for group in groups]
    marked = zip(texts, best(groups, measure))
    yield Column(measure.title, [Best(t) if is_best else t for t, is_best in marked])
    known = [(group.first.published(measure.key), group.first) for group in groups]
    yield Column(
        "published",
        [
            f"{f.value}{OTHER_DATA if run.other_data else ''} ({f.table})" if f else ""
            for f, run in known
        ],
    )
    if measure.key == "perplexity":
        level = {True: " level", False: ""}
        yield Column(
            RATIO,
            [
                f"{r.value:.3f} [{r.low:.3f}, {r.high:.3f}]{level[r.level]}"
                if r
                else ""
                for r in ratios(groups)
            ],
        )


def mean_text(group: Group, measure: Figure) -> str:
    """Return mean and deviation over the seeds, or the one seed's figure."""
    mean, deviation = group.mean(measure), group.deviation(measure)
    if mean is None:
        return ""
    if len(group.runs) == 1:
        return measure.text(group.first.evaluation) or ""
    form = "{:.1f}" if measure.form == "{}" else measure.form  # of whole numbers
    return " ± ".join(form.format(x) for x in (mean, deviation) if x is not None)


def _notes(groups: Sequence[Group]) -> Iterator[str]:
    kinds = [part.groups(groups) for part in OF_WORDS]
    if all(kinds):
        yield (
            "Language models and document models do not predict the same words: each "
            "kind has its own table and curves."
        )
    for kind in [kind for kind in kinds if kind and any(ratios(kind))][:1]:
        yield f"{of_ratios(kind)}; level: the interval holds 1. {OTHER_SEEDS}"
    if any(map(_other_words, kinds)):
        yield "Systems that do not predict the same words have no ratio to each other."
    if any(len(group.runs) > 1 for group in groups):
        yield "Of several seeds: mean ± standard deviation (n - 1)."
    if len({group.data for group in groups}) > 1:
        yield (
            "These runs are of different DATA: their perplexities are not set against "
            "each other. Bold: the best of its DATA."
        )
    runs = [run for group in groups for run in group.runs]
    if any(run.evaluation.get("samples") for run in runs):
        yield "Perplexities are of draws of the topics, ratios at their mean."
    rules = {run.evaluation.get("context") for run in runs} - {None}
    if len(rules) > 1:
        names = ", ".join(sorted(rules))
        yield f"Contexts go by different rules ({names}): not all see the same words."
    for group in groups:
        if leak := group.first.evaluation.get("leak"):
            yield f"{group_label(group)}: {leak}."
    yield "Perplexities compare within one DATA only, NPMI within one reference."
    first = [group.first for group in groups]
    if any(map(has_published, first)):
        differ = differing(first)
        mark = f";{OTHER_DATA} on other data: {differ}" if differ else ""
        yield f"Published: {ALIKE}{mark}."


def _other_words(groups: Sequence[Group]) -> bool:
    """Tell whether systems on one DATA predict other words."""
    scored = [group for group in groups if group.nats]
    words = {(group.data, group.nats.targets.tobytes()) for group in scored}
    return len(words) > len({group.data for group in scored})


def of_ratios(groups: Sequence[Group]) -> str:
    """Say what the ratios are of, and over how many documents their intervals."""
    return (
        "Ratio: perplexity divided by that of the first run, with its 95 % interval "
        f"over {RESAMPLES:,} draws of the {documents(groups):,} documents"
    )


def documents(groups: Sequence[Group]) -> int:
    """Return how many documents the intervals come of; the first has their nats."""
    return len(groups[0].nats.targets)


def has_published(run: Measured) -> bool:
    """Tell whether something that is compared is published for a run's size."""
    return any(run.published(measure.key) for measure in compared_figures())


def differing(runs: Iterable[Measured]) -> str:
    """Say how the data of runs differs from that of the figures beside them."""
    said = (run.other_data for run in runs if has_published(run))
    return "; ".join(dict.fromkeys(filter(None, said)))


def curves(runs: Sequence[Measured], **looks: Any) -> list[draw.Figure]:
    """Return the curves of the runs of each DATA, where one has several epochs.

    looks: see `compared_curves`.
    """
    by_data: dict[str | None, list[tuple[str, draw.History]]] = {}
    for run in runs:
        histories = by_data.setdefault(Group((run,)).data, [])
        histories.append((label(run), run.history))
    return [
        draw.compared_curves(histories, **looks)
        for histories in by_data.values()
        if any(len(h.get("valid_perplexity", ())) > 1 for _, h in histories)
    ]
