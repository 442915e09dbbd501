"""Several runs side by side: a row for each group of seeds, the best in bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from tcnlm.drawing import figures as draw
from tcnlm.drawing.markup import Best, filled
from tcnlm.measures.contract import Figure
from tcnlm.measures.table import MEASURES, figure, figures
from tcnlm.report.groups import RESAMPLES, Group, Ratio, best, groups_of, ratios
from tcnlm.report.measured import Measured
from tcnlm.report.published import layered, size
from tcnlm.training.seeds import is_seed_folder

OTHER_DATA = " ≠"  # marks a published figure
RATIO = "ratio to the first"
OTHER_SEEDS = "The interval does not tell how other seeds would come out."
ALIKE = "same corpus (--corpus), model, size and number of topics"
IN_LINES = ("run", "seeds", "perplexity", RATIO)
TEMPLATE = """{{ table(titles, kinds, rows) }}
{% for text in notes %}{{ note(text) }}{% endfor %}
{% for png, text in pictures %}{{ picture(png, text) }}{% endfor %}"""


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


def comparison(runs: Sequence[Measured]) -> Markup:
    """Return the part of a page that sets runs side by side."""
    groups = groups_of(runs)
    titles, cells = zip(*columns(groups))
    return filled(
        TEMPLATE,
        titles=titles,
        kinds=["", *["number"] * (len(titles) - 1)],
        rows=list(zip(*cells)),
        notes=list(_notes(groups)),
        pictures=list(_pictures(runs)),
    )


def _pictures(runs: Sequence[Measured]) -> Iterator[tuple[bytes, str]]:
    """Yield the drawings of all runs with a text for each."""
    for drawn in curves(runs).values():
        yield draw.png(drawn), "validation perplexity of all runs of one DATA"
    evaluations = {label(run): run.evaluation for run in runs}
    for measure in MEASURES:
        for drawn in measure.draw_compared(evaluations):
            yield draw.png(drawn), f"{measure.key} of all runs"


def compared(runs: Sequence[Measured]) -> str:
    """Return the perplexities of several runs and their ratios as lines of text."""
    chosen = [c for c in columns(groups_of(runs)) if c.title in IN_LINES]
    rows = list(zip(*((c.title, *c.cells) for c in chosen)))
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    padded = ([cell.ljust(n) for cell, n in zip(row, widths)] for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in padded)


def columns(groups: Sequence[Group]) -> list[Column]:
    """Return the columns that say something of any group; the first names it."""
    seeds = [str(len(group.runs)) for group in groups]
    found = [Column("seeds", seeds)] if set(seeds) != {"1"} else []
    for title, text in DESCRIPTIONS.items():
        found.append(Column(title, [_said(group, text) for group in groups]))
    for each in compared_figures():
        found += _measured(groups, each)
    names = Column("run", list(map(group_label, groups)))
    return [names, *(column for column in found if any(column.cells))]


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
    if any(ratios(groups)):
        yield f"{of_ratios(groups)}; level: the interval holds 1. {OTHER_SEEDS}"
    if any(len(group.runs) > 1 for group in groups):
        yield "Of several seeds: mean ± standard deviation (n - 1)."
    if len({group.data for group in groups}) > 1:
        yield (
            "These runs are of different DATA: their perplexities are not set against "
            "each other. Bold: the best of its DATA."
        )
    scored = [group for group in groups if group.nats]
    words = {(group.data, group.nats.targets.tobytes()) for group in scored}
    if len(words) > len({group.data for group in scored}):
        yield "Systems that do not predict the same words have no ratio to each other."
    if any(run.evaluation.get("samples") for group in groups for run in group.runs):
        yield "Perplexities are of draws of the topics, ratios at their mean."
    rules = {run.evaluation.get("context") for group in groups for run in group.runs}
    if len(rules - {None}) > 1:
        names = ", ".join(sorted(rules - {None}))
        yield f"Contexts go by different rules ({names}): not all see the same words."
    yield "Perplexities compare within one DATA only, NPMI within one reference."
    yield from _of_published([group.first for group in groups])


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


def curves(runs: Sequence[Measured]) -> dict[str, draw.Figure]:
    """Return the curves of the runs of each DATA, by a name for its file."""
    by_data: dict[str | None, list[tuple[str, draw.History]]] = {}
    for run in runs:
        histories = by_data.setdefault(Group((run,)).data, [])
        histories.append((label(run), run.history))
    names = ["validation", *(f"validation_{i}" for i in range(2, len(by_data) + 1))]
    return dict(zip(names, map(draw.compared_curves, by_data.values())))
