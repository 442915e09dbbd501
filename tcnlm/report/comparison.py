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
    Metric,
    any_model,
    both,
    documental,
    language,
    predicting,
    topical,
)
from tcnlm.metrics.registry import METRICS, figure, figures
from tcnlm.models import model_class
from tcnlm.report.groups import RESAMPLES, Group, Ratio, best, groups_of, ratios
from tcnlm.report.measured import Measured
from tcnlm.report.published import layered, size
from tcnlm.report.stability import stability
from tcnlm.runs.seeds import is_seed_folder

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
    "epochs": lambda run: _epochs(run),
    "parameters": lambda run: figure("parameters").text(run.evaluation),
}


def _epochs(run: Measured) -> str | None:
    values = run.history.get("epoch", ())
    return f"{values[-1]:g}" if len(values) else None


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


class Part(NamedTuple):
    """A table of the comparison: of which models, what about, and how described.

    What one kind of model predicts is not what another does: no column holds both.
    """

    title: str
    whose: Contract
    about: str  # see `_about`
    described: tuple[str, ...] = ()  # by DESCRIPTIONS

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups that it says something of."""
        measured = (any(mean_text(g, each) for each in self.figures()) for g in groups)
        kinds = (model_class(group.first.evaluation["model"]) for group in groups)
        return [g for g, k, m in zip(groups, kinds, measured) if m and self.whose(k)]

    def figures(self) -> list[Figure]:
        """Return the figures that it is about."""
        measures = (m for m in METRICS if _about(m) == self.about)
        known = [figure for measure in measures for figure in measure.figures]
        return [figure for figure in compared_figures() if figure in known]

    def columns(self, groups: Sequence[Group]) -> list[Column]:
        """Return the columns that say something of any of its groups.

        The first names it. None where there are no groups.
        """
        if not groups:
            return []
        found = [c for each in self.figures() for c in _filled(_measured(groups, each))]
        said = (
            Column(title, [_said(group, DESCRIPTIONS[title]) for group in groups])
            for title in self.described
        )
        return [*_named(groups), *found, *_filled(said)]


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


def _about(measure: Metric) -> str:
    """Tell what a measure's figures are about, by the models that have them."""
    if measure.applies is any_model:
        return "vectors"
    if measure.applies in (predicting, language, documental):
        return "words"
    return "topics" if measure.applies in (topical, both) else "objective"


def _filled(found: Iterable[Column]) -> list[Column]:
    return [column for column in found if any(column.cells)]


def _named(groups: Sequence[Group]) -> Iterator[Column]:
    yield Column("run", list(map(group_label, groups)))
    seeds = [str(len(group.runs)) for group in groups]
    if set(seeds) != {"1"}:
        yield Column("seeds", seeds)


def comparison(runs: Sequence[Measured]) -> Markup:
    """Return the part of a page that sets runs side by side."""
    groups = groups_of(runs)
    numbers = {id(run): number for number, run in enumerate(runs, 1)}
    return filled(
        TEMPLATE,
        parts=list(_parts(groups, numbers)),
        curves=list(map(draw.svg, shown_curves(groups))),
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
    groups = groups_of(runs)
    tables = (part.columns(part.groups(groups)) for part in OF_WORDS)
    return "\n".join(line for table in tables if table for line in _lines(table))


def _lines(columns: Iterable[Column]) -> Iterator[str]:
    chosen = [column for column in columns if column.title in IN_LINES]
    rows = list(zip(*((c.title, *c.cells) for c in chosen)))
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths))
        yield "  ".join(padded).rstrip()


def _said(group: Group, text: Callable[[Measured], object]) -> str:
    said = (str(text(run) or "") for run in group.runs)
    return ", ".join(dict.fromkeys(filter(None, said)))


def _measured(groups: Sequence[Group], measure: Figure) -> Iterator[Column]:
    """Yield a measure, what is published of it, and perplexity's ratio."""
    texts = [mean_text(group, measure) for group in groups]
    marked = zip(texts, best(groups, measure))
    yield Column(measure.title, [Best(t) if is_best else t for t, is_best in marked])
    yield Column("published", [_published(group.first, measure) for group in groups])
    if measure.key == "perplexity":
        yield Column(RATIO, list(map(_against, ratios(groups))))


def _published(run: Measured, measure: Figure) -> str:
    figure = run.published(measure.key)
    if not figure:
        return ""
    return f"{figure.value}{OTHER_DATA if run.other_data else ''} ({figure.table})"


def mean_text(group: Group, measure: Figure) -> str:
    """Return mean and deviation over the seeds, or the one seed's figure."""
    mean, deviation = group.mean(measure), group.deviation(measure)
    if mean is None:
        return ""
    if len(group.runs) == 1:
        return measure.text(group.first.evaluation) or ""
    form = "{:.1f}" if measure.form == "{}" else measure.form  # of whole numbers
    return " ± ".join(form.format(x) for x in (mean, deviation) if x is not None)


def _against(ratio: Ratio | None) -> str:
    if ratio is None:
        return ""
    text = f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
    return f"{text} level" if ratio.level else text


def _notes(groups: Sequence[Group]) -> Iterator[str]:
    yield from _of_words([part.groups(groups) for part in OF_WORDS])
    if any(len(group.runs) > 1 for group in groups):
        yield "Of several seeds: mean ± standard deviation (n - 1)."
    if len({group.data for group in groups}) > 1:
        yield (
            "These runs are of different DATA: their perplexities are not set against "
            "each other. Bold: the best of its DATA."
        )
    if any(run.evaluation.get("samples") for group in groups for run in group.runs):
        yield "Perplexities are of draws of the topics, ratios at their mean."
    rules = {run.evaluation.get("context") for group in groups for run in group.runs}
    if len(rules - {None}) > 1:
        names = ", ".join(sorted(rules - {None}))
        yield f"Contexts go by different rules ({names}): not all see the same words."
    for group in groups:
        if told := group.first.evaluation.get("leak"):
            yield f"{group_label(group)}: {told}."
    yield "Perplexities compare within one DATA only, NPMI within one reference."
    yield from _of_published([group.first for group in groups])


def _of_words(kinds: Sequence[Sequence[Group]]) -> Iterator[str]:
    """Explain the ratios of each kind of model, and which systems have none."""
    if all(kinds):
        yield (
            "Language models and document models do not predict the same words: each "
            "kind has its own table and curves."
        )
    compared = [own for own in kinds if own and any(ratios(own))]
    for own in compared[:1]:
        yield f"{of_ratios(own)}; level: the interval holds 1. {OTHER_SEEDS}"
    if any(map(_other_words, kinds)):
        yield "Systems that do not predict the same words have no ratio to each other."


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


def _of_published(runs: Sequence[Measured]) -> Iterator[str]:
    """Explain the published figures and their mark, where there are any."""
    if any(map(has_published, runs)):
        said = differing(runs)
        mark = f";{OTHER_DATA} on other data: {said}" if said else ""
        yield f"Published: {ALIKE}{mark}."


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
    known = [found for found in by_data.values() if any(map(_goes_on, found))]
    return [draw.compared_curves(histories, **looks) for histories in known]


def _goes_on(named: tuple[str, draw.History]) -> bool:
    return len(named[1].get("valid_perplexity", ())) > 1
