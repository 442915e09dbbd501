"""The scoreboard: every published figure, what this project has for it, and a verdict.

results/answers.csv says which recipe answers which figures: the first row of it whose
first seven cells fit (`*`: any) is a figure's. `literal` names the recipe with all
settings as the paper has them, `tuned` the best found, `figure` the place in their
records (see tools/tables.py); without both the row says in `why` what is missing, and
stands for all of its figures. The verdict is of the literal recipe, if there is one.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import pandas as pd

from tcnlm.report.published import NEAR, OFF, REPRODUCED, Published, figures
from tools.tables import MISSING, RESULTS, RUNS, at, markdown

NOT_RUN = "not run"
STAR = r"\*"  # of what the document has copied
VERDICTS = (REPRODUCED, NEAR, OFF, NOT_RUN)
CELL = ("document", "table", "model", "corpus", "size", "topics", "measure")
BEYOND = "Dieng et al. 2017"  # is none of the five documents
OF_MODELS = ("perplexity", "validation perplexity", "npmi")
OF_MODELS += ("error rate", "document_perplexity.published")
TITLES = "document, table, cell", "published", "ours, literal (seeds)"
TITLES += "ours, tuned (seeds)", "same data / size / epochs", "verdict"
DOCUMENTS = {figure.document for figure in figures()}
Answer = pd.Series


@cache
def answers() -> pd.DataFrame:
    """Return the rows of answers.csv, an empty cell as an empty text."""
    return pd.read_csv(RESULTS / "answers.csv", dtype=str, keep_default_na=False)


def answered() -> list[tuple[Published, Answer]]:
    """Return the figures with the row that answers each; of copied ones the first."""
    own = [figure for figure in figures() if figure.copied not in DOCUMENTS]
    return [(figure, answer_of(figure)) for figure in own]


def answer_of(figure: Published) -> Answer:
    """Return the first row that fits a figure. Raises LookupError without one."""
    for _, row in answers().iterrows():
        if all(row[name] in ("*", getattr(figure, name)) for name in CELL):
            return row
    raise LookupError(f"results/answers.csv has no row for {figure}")


def measured(answer: Answer, kind: str) -> pd.Series:
    """Return the figures that answer, by seed; kind: literal or tuned."""
    runs = RUNS[answer[kind]] if answer[kind] else {}
    return pd.Series({s: at(run, answer["figure"]) for s, run in runs.items()}, None)


def verdict(figure: Published, answer: Answer) -> str:
    """Return one of VERDICTS: of the mean over seeds, of the literal ones first."""
    for kind in ("literal", "tuned"):
        if answer[kind]:
            return figure.verdict(measured(answer, kind).mean())
    return NOT_RUN


def counted() -> str:
    """Return how many figures are reproduced, near, off and not run, in sentences."""
    pairs = answered()
    models = [pair for pair in pairs if pair[0].measure in OF_MODELS]
    figures = f"**Of {len(pairs)} published figures {_numbers(pairs)}.**"
    return f"{figures} Of the {len(models)} results of models {_numbers(models)}."


def _numbers(pairs: Iterable[tuple[Published, Answer]]) -> str:
    said = [verdict(*pair) for pair in pairs]
    first, *others = (f"{said.count(name)} are {name}" for name in VERDICTS)
    rest = [text.replace(" are", "") for text in others]
    return f"{first}, {', '.join(rest[:-1])} and {rest[-1]}"


def table(measures: Sequence[str] = ()) -> str:
    """Return the scoreboard; measures: only what was run of these five documents' own.

    Without any: everything.
    """
    rows: dict[tuple, list[Published]] = {}
    for figure, answer in answered():
        ran = verdict(figure, answer) != NOT_RUN
        if ran or not measures:
            key = (answer.name, *vars(figure).values()) if ran else (answer.name,)
            rows.setdefault(key, []).append(figure)
    kept = [found for found in rows.values() if _is_one_of(found[0], measures)]
    return markdown([TITLES, *map(_row, kept)])


def _is_one_of(figure: Published, measures: Sequence[str]) -> bool:
    measure = figure.measure.replace(" ", "-")
    return not measures or (measure in measures and figure.document != BEYOND)


def _row(found: Sequence[Published]) -> tuple[str, ...]:
    first, answer = found[0], answer_of(found[0])
    said = verdict(first, answer)
    if said == NOT_RUN:
        missing = MISSING, MISSING, answer["same"] or MISSING
        return group(found), _range(found), *missing, f"not run: {answer['why']}"
    ours = [_ours(first, measured(answer, kind)) for kind in ("literal", "tuned")]
    value = first.value + STAR * bool(first.copied)
    return cell(first), value, *ours, answer["same"], _told(first, answer, said)


def _told(figure: Published, answer: Answer, said: str) -> str:
    ours = measured(answer, "literal" if answer["literal"] else "tuned").mean()
    text = f"**{said}** ({figure.difference(ours):+.1%})".replace("%", " %")
    return f"{text}: {answer['why']}" if answer["why"] else text


def _ours(figure: Published, values: pd.Series) -> str:
    values = values.dropna().astype(float)
    if values.empty:
        return MISSING
    texts = [figure.printed_like(values.mean())]
    texts += [figure.printed_like(values.std())] if len(values) > 1 else []
    return f"{' ± '.join(texts)} ({len(values)})"


def cell(figure: Published) -> str:
    """Return where a figure stands, in words."""
    topics = f"{figure.topics} topics" if figure.topics else ""
    parts = figure.model, figure.corpus, figure.size, topics, figure.measure
    return ", ".join(filter(None, (figure.place, *parts)))


def group(found: Sequence[Published]) -> str:
    """Return what figures have in common, and how many they are."""
    same = {name: _only(getattr(f, name) for f in found) for name in CELL}
    if len(found) == 1:
        return cell(found[0])
    names = ("document", "table", "model", "corpus", "size", "measure")
    said = [same[name] for name in names if same[name]]
    return ", ".join([*said, f"{len(found)} figures"])


def _only(values: Iterable[str]) -> str:
    first, *others = dict.fromkeys(values)
    return "" if others else first


def _range(found: Sequence[Published]) -> str:
    if len({figure.measure for figure in found}) > 1:
        return MISSING
    ordered = sorted(found, key=lambda figure: figure.number)
    return " to ".join(dict.fromkeys((ordered[0].value, ordered[-1].value)))
