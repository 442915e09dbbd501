"""Several runs side by side: a row for each group of seeds, the best in bold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from tcnlm.drawing import figures as draw
from tcnlm.drawing.markup import Best, filled
from tcnlm.metrics import base
from tcnlm.metrics.base import Figure
from tcnlm.metrics.registry import figure, figures, owner
from tcnlm.models import model_class
from tcnlm.report.measured import RESAMPLES, Group, Measured, best, groups_of, ratios
from tcnlm.report.published import layered, size
from tcnlm.report.stability import side_by_side, stability
from tcnlm.runs.folders import is_seed_folder

OTHER_DATA = " ≠"  # marks a published figure
RATIO = "ratio to the first"
IN_LINES = {"run", "seeds", "perplexity", RATIO}
TEMPLATE = """<div class="compared">{% for part in parts %}
<h2>{{ part.title }}</h2>
{{ table(part.titles, ("",), part.rows) }}
{% endfor %}
<div class="plots">{% for svg in curves %}
{{ picture(svg, "validation perplexity by epoch") }}{% endfor %}</div></div>
{{ together }}
{{ stable }}
{% for text in notes %}{{ note(text) }}{% endfor %}
<h2>Each run</h2>"""
DESCRIPTIONS: dict[str, Callable[[Measured], str | None]] = {
    "layers x units": lambda run: size(run.config["settings"]),
    "topics": lambda run: layered(run.config["settings"].get("num_topics", "")),
    "epochs": lambda run: "".join(f"{e:g}" for e in run.epochs[-1:]),
    "parameters": lambda run: figure("parameters").text(run.evaluation),
}
ABOUT = {  # what figures are about, by the models that have them
    base.any_model: "vectors",
    **dict.fromkeys((base.predicting, base.language, base.documental), "words"),
    **dict.fromkeys((base.topical, base.both), "topics"),
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
    paths, names = [Path(run.evaluation["run"]) for run in group.runs], []
    if len(paths) > 1 and all(map(is_seed_folder, paths)):
        names = dict.fromkeys(path.parent.name for path in paths)
    return ", ".join(names or map(run_name, group.runs))


def compared_figures() -> list[Figure]:
    """Return the figures by which runs are compared."""
    return [figure for figure in figures() if figure.headline and figure.better]


class Part(NamedTuple):
    """A table of the comparison; no column holds what different kinds predict."""

    title: str
    whose: base.Contract
    about: str  # of `ABOUT`, or objective
    described: tuple[str, ...] = ()  # by `DESCRIPTIONS`

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups that it says something of."""
        measured = (any(mean_text(g, each) for each in self.figures()) for g in groups)
        kinds = (model_class(group.first.evaluation["model"]) for group in groups)
        return [g for g, k, m in zip(groups, kinds, measured) if m and self.whose(k)]

    def figures(self) -> list[Figure]:
        """Return the figures that it is about."""
        return [
            figure
            for figure in compared_figures()
            if ABOUT.get(owner(figure.key).applies, "objective") == self.about
        ]

    def columns(self, groups: Sequence[Group]) -> dict[str, list[str]]:
        """Return cells by title, a cell a group; of its groups, by what tells them."""
        found = {"run": [f"{group_name(g)}: {g.first.name}" for g in groups]}
        if any(len(group.runs) > 1 for group in groups):
            found["seeds"] = [str(len(group.runs)) for group in groups]
        for each in self.figures():
            found |= _measured(groups, each)
        for title in self.described:
            texts = (filter(None, map(DESCRIPTIONS[title], g.runs)) for g in groups)
            found[title] = [", ".join(dict.fromkeys(each)) for each in texts]
        return {title: cells for title, cells in found.items() if any(cells)}


SIZE = ("layers x units", "epochs", "parameters")
OF_WORDS = (
    Part("Language models: the next word", base.language, "words", SIZE),
    Part("Document models: words in any order", base.documental, "words", SIZE),
)
PARTS = (
    *OF_WORDS,
    Part("Topic models: words of documents", base.topical, "objective", SIZE),
    Part("Topics", base.topical, "topics", ("topics",)),
    Part("Vectors of documents", base.any_model, "vectors"),
)


def comparison(runs: Sequence[Measured]) -> Markup:
    """Return the part of a page that sets runs side by side."""
    groups, parts = groups_of(runs), []
    names = list(map(group_name, groups))
    numbers = {id(run): number for number, run in enumerate(runs, 1)}
    for part in PARTS:
        own = part.groups(groups)
        if not own:
            continue
        columns = part.columns(own)
        columns["run"] = [
            Markup('<a href="#run-{}">{}</a>').format(numbers[id(group.first)], name)
            for group, name in zip(own, columns["run"])
        ]
        rows = list(zip(*columns.values()))
        parts.append({"title": part.title, "titles": list(columns), "rows": rows})
    return filled(
        TEMPLATE,
        parts=parts,
        curves=list(map(draw.svg, shown_curves(groups))),
        together=side_by_side(groups, names),
        stable=stability(groups, names),
        notes=list(_notes(groups)),
    )


def shown_curves(groups: Sequence[Group]) -> Iterator[draw.Figure]:
    """Yield the curves of each kind of model and DATA, where a run has some epochs."""
    for part in OF_WORDS:
        by_data: dict[str | None, list[tuple[str, draw.History]]] = {}
        for group in part.groups(groups):
            histories = [(label(run), run.history) for run in group.runs]
            by_data.setdefault(group.data, []).extend(histories)
        title = f"{part.title.split(':')[0]}, validation perplexity"
        for unit in ("epoch", "minutes of training"):
            for histories in by_data.values():
                if any(len(h.get("valid_perplexity", ())) > 1 for _, h in histories):
                    yield draw.compared_curves(histories, title, unit)


def compared(runs: Sequence[Measured]) -> str:
    """Return the perplexities of several runs and their ratios as lines of text."""
    groups, lines = groups_of(runs), []
    for part in filter(lambda part: part.groups(groups), OF_WORDS):
        columns = part.columns(part.groups(groups)).items()
        chosen = [(title, *cells) for title, cells in columns if title in IN_LINES]
        widths = [max(map(len, cells)) for cells in chosen]
        for row in zip(*chosen):
            lines.append("  ".join(map(str.ljust, row, widths)).rstrip())
    return "\n".join(lines)


def _measured(groups: Sequence[Group], measure: Figure) -> dict[str, list[str]]:
    """Return a measure's column, what is published of it, and perplexity's ratio."""
    texts, published = [mean_text(group, measure) for group in groups], []
    marked = zip(texts, best(groups, measure))
    found = {measure.title: [Best(t) if is_best else t for t, is_best in marked]}
    for run in (group.first for group in groups):
        known, mark = run.published(measure.key), OTHER_DATA * bool(run.other_data)
        published.append(f"{known.value}{mark} ({known.table})" if known else "")
    if any(published):
        found["published"] = published
    if measure.key == "perplexity":
        told = ratios(groups)
        found[RATIO] = [f"{x}{' level' * x.level}" if x else "" for x in told]
    return found


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
    kinds = [kind for part in OF_WORDS if (kind := part.groups(groups))]
    for kind in [kind for kind in kinds if any(ratios(kind))][:1]:
        yield (
            "Ratio: perplexity divided by that of the first run, with its 95 % "
            f"interval over {RESAMPLES:,} draws of the {len(kind[0].nats.targets):,} "
            "documents; level: the interval holds 1. It does not tell how other seeds "
            "would come out."
        )
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
            yield f"{group_name(group)}: {leak}."
    yield "Perplexities compare within one DATA only, NPMI within one reference."
    first = [g.first for g in groups]
    known = [r for r in first if any(r.published(f.key) for f in compared_figures())]
    if known:
        other = "; ".join(dict.fromkeys(r.other_data for r in known if r.other_data))
        mark = f";{OTHER_DATA} on other data: {other}" if other else ""
        yield f"Published: same corpus, model, size and number of topics{mark}."


def _other_words(groups: Sequence[Group]) -> bool:
    scored = [group for group in groups if group.nats]
    words = {(group.data, group.nats.targets.tobytes()) for group in scored}
    return len(words) > len({group.data for group in scored})
