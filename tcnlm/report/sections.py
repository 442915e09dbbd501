"""The sections of a report that tell of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tcnlm.coherence.table import shown
from tcnlm.drawing.figures import History
from tcnlm.drawing.markup import image, local, note, table
from tcnlm.measures.nats import DocumentNats
from tcnlm.measures.table import MEASURES, missing
from tcnlm.report import explore
from tcnlm.report.bleu import bleu_section
from tcnlm.report.documents import document_sections
from tcnlm.report.hierarchy import hierarchy_section
from tcnlm.report.progress import stated
from tcnlm.report.published import beside, other_data, own_size, sizes


@dataclass(frozen=True)
class Measured:
    """A run and what was measured of it."""

    evaluation: Mapping[str, Any]  # the contents of evaluation.json
    config: Mapping[str, Any]  # of config.json
    history: History  # of history.csv
    figures: Mapping[str, bytes]  # PNG files by name; those of `figures.all_figures`
    drawn: Mapping[str, Figure] = field(default_factory=dict)  # the same, to be saved
    nats: DocumentNats | None = None  # of a model that predicts words
    exploration: Mapping[str, Any] | None = None  # of its topics; see `explore`

    @property
    def name(self) -> str:
        """What the run is called on the page."""
        return f"{self.evaluation['model']} on {corpus(self.config)}"

    def published(self, measure: str) -> Any:
        """Return the published figure for the same corpus, size and topics, or None."""
        model, settings = self.evaluation["model"], self.config.get("settings", {})
        return beside(self.evaluation.get("corpus"), model, settings, measure)

    @property
    def other_data(self) -> str:
        """How its data differs from that of the published figures; "" if not."""
        return other_data(self.evaluation.get("corpus"), self.config.get("data", {}))


def sections(run: Measured, prefix: str = "") -> str:
    """Return all that is said of one run; what does not apply is left out.

    prefix: of the names by which its parts are linked to.
    """
    evaluation, config, figures = run.evaluation, run.config, run.figures
    parts = [
        _subtitle(evaluation, config),
        _tiles(evaluation),
        _beside(run),
        _worth(evaluation),
        bleu_section(evaluation, figures),
        document_sections(evaluation, figures),
        _learning(figures),
        _topics(run, prefix),
        hierarchy_section(evaluation, figures),
        _continuations(evaluation),
        _documents(evaluation, figures),
        _settings(config),
        _footer(evaluation),
    ]
    return "\n".join(filter(None, parts))


def corpus(config: Mapping[str, Any]) -> str:
    """Return the name of the DATA folder."""
    return Path(str(config.get("data", {}).get("path", "unknown data"))).name


def _subtitle(evaluation: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    source = config.get("data", {}).get("source")
    text = (
        f"Run {local(evaluation['run'])}, measured on the {evaluation['split']} split"
    )
    trained = stated(evaluation)
    text += f", {trained}" if trained else ""
    return note(text + (f". Corpus: {local(source)}." if source else "."))


def _tiles(evaluation: Mapping[str, Any]) -> str:
    """Return the headline figures that apply to this model."""
    shown = {m.title: m.text(evaluation) for m in MEASURES if m.headline}
    tiles = "".join(
        f'<div class="tile"><b>{text}</b>{escape(title)}</div>'
        for title, text in shown.items()
        if text
    )
    return f'<div class="tiles">{tiles}</div>{_how_scored(evaluation)}'


def _how_scored(evaluation: Mapping[str, Any]) -> str:
    if evaluation["perplexity"] is None or evaluation.get("document_perplexity"):
        return ""
    given = f"{evaluation['targets']:,} targets, <eos> and <unk> counted, no KL"
    if evaluation["samples"]:
        given += f"; likelihood averaged over {evaluation['samples']} draws of t"
    elif evaluation["topics"]:
        given += "; topics at their posterior mean"
    if evaluation.get("context"):
        given += f"; contexts by the rule {evaluation['context']}"
    return note(f"Perplexity over {given}.")


def _beside(run: Measured) -> str:
    """Say what is published for the same corpus, size and number of topics."""
    corpus = run.evaluation.get("corpus")
    found = filter(None, map(run.published, ("perplexity", "npmi")))
    figures = [f"{f.measure} {f.value} ({f.source})" for f in found]
    if figures:
        text = f"Published for {corpus} at this size: {'; '.join(figures)}."
        differs = f" Not of the same data: {run.other_data}." if run.other_data else ""
        return note(text + differs)
    return note(_nothing_beside(run)) if corpus else ""


def _nothing_beside(run: Measured) -> str:
    """Say that nothing is published at a run's size, and at which sizes there is."""
    corpus, model = (run.evaluation[name] for name in ("corpus", "model"))
    settings = run.config.get("settings", {})
    there = sizes(corpus, model, settings)
    if not there:
        return f"No figure of {model} is published for {corpus}."
    own = own_size(settings)
    return f"No figure of {model} is published for {corpus} at {own}, only at {there}."


def _learning(figures: Mapping[str, bytes]) -> str:
    curves = image(figures.get("learning_curves"), "learning curves")
    return curves and f"<h2>Learning curves</h2>{curves}"


def _topics(run: Measured, prefix: str) -> str:
    if run.evaluation["topics"] is None:
        return ""
    found = run.exploration
    if not found:
        return _topic_table(run.evaluation, run.figures, prefix)
    parts = explore.topic_map(found, prefix), explore.documents(found, prefix)
    told = _topic_table(run.evaluation, run.figures, prefix)
    return f'<div class="explored">{parts[0]}{told}{parts[1]}</div>'


def _topic_table(
    evaluation: Mapping[str, Any], figures: Mapping[str, bytes], prefix: str
) -> str:
    topics = evaluation["topics"]
    order = sorted(topics, key=lambda topic: -(topic["proportion"] or 0))
    return (
        "<h2>Topics</h2>"
        + note(_protocol(evaluation["coherence"]))
        + explore.topic_rows(list(map(_topic_row, order)), TOPIC_COLUMNS, prefix)
        + note(
            f"{len(topics)} topics, the most used first. Documents: those in which it "
            "is the largest topic."
        )
        + "".join(note(f"Not measured: {text}.") for text in missing(evaluation))
        + "<h2>Use and shape of the topics</h2>"
        + image(figures.get("topic_use"), "use of the topics")
        + image(figures.get("topic_shape"), "coherence and angles of the topics")
    )


def _protocol(coherence: Mapping[str, Any]) -> str:
    size = f"{coherence['documents']:,} documents, {coherence['tokens']:,} tokens"
    tops = "/".join(map(str, coherence["tops"]))
    window = f"windows of {coherence['window']} tokens"
    return (
        f"NPMI counted on {local(str(coherence['reference']))} ({size}), "
        f"{window if coherence['window'] else 'whole documents as windows'}, "
        f"{coherence['zero']}, mean over the first {tops} words. "
        f"Topic words absent from the reference: {len(coherence['absent_words'])}. "
        "The published figures were counted on English Wikipedia: only figures "
        "from the same reference can be compared."
    )


TOPIC_COLUMNS = (
    ("topic", "number"),
    ("ten most probable words", ""),
    ("NPMI", "number"),
    ("documents", "number"),
    ("mean share", "number"),
    ("a sentence written from it", "sentence"),
)


def _topic_row(topic: Mapping[str, Any]) -> tuple:
    return (
        topic["topic"],
        " ".join(topic["words"][:10]),
        shown(topic["npmi"], ".3f"),
        f"{topic['documents']:,}",
        shown(topic["proportion"], ".3f"),
        topic["sentence"] or "",
    )


def _worth(evaluation: Mapping[str, Any]) -> str:
    """Say what a document's own topics gain, and which topics are found again."""
    worth, recovery = (evaluation.get(f"topic_{n}") for n in ("worth", "recovery"))
    said = []
    if worth:
        own, mean, other = (worth[name] for name in ("own", "mean", "other"))
        said.append(
            f"Perplexity {own:.2f} with the topics of each sequence's own document; "
            f"{mean:.2f} with the training documents' mean topics for all (own / mean "
            f"{own / mean:.3f}); {other:.2f} with another document's (own / other "
            f"{own / other:.3f})."
        )
    if recovery:
        found, count = recovery["recovered"], recovery["topics"]
        said.append(
            f"{found} of {count} topics are inferred again from "
            f"{recovery['sentences']} sentences written from each; at random it would "
            f"be one in {count}."
        )
    title = "<h2>What the topics are worth</h2>" if said else ""
    return title + "".join(map(note, said))


def _continuations(evaluation: Mapping[str, Any]) -> str:
    """Show how one beginning goes on under different topics."""
    shown = evaluation.get("continuations")
    if not shown:
        return ""
    rows = [(row["topic"], row["words"], row["sentence"]) for row in shown["rows"]]
    titles = ("topic", "its words", "the sentence")
    text = f"“{shown['prefix']} …” continued greedily under the most used topics: only "
    return (
        "<h2>One beginning, different topics</h2>"
        + note(text + "the topic differs from row to row.")
        + table(titles, ("number", "", "sentence"), rows)
    )


def _documents(evaluation: Mapping[str, Any], figures: Mapping[str, bytes]) -> str:
    if not evaluation["documents"]:
        return ""
    parts = [
        f'<div class="document"><b>Document {document["document"]}</b>'
        f"<blockquote>{escape(document['text'])}</blockquote>"
        + image(figures.get(f"document_{i}"), "topic proportions of the document")
        + "</div>"
        for i, document in enumerate(evaluation["documents"])
    ]
    text = f"The first documents of the {evaluation['split']} split"
    text += " (paper, Figures 2 and 3)."
    return "<h2>Topics of documents</h2>" + note(text) + "".join(parts)


def _settings(config: Mapping[str, Any]) -> str:
    names = {"seed": config.get("seed")}
    entries = {**config.get("settings", {}), **config.get("training", {}), **names}
    rows = "".join(
        f"<div><span>{escape(name)}</span><span>{escape(_short(value))}</span></div>"
        for name, value in entries.items()
    )
    return f'<h2>Settings</h2><div class="settings">{rows}</div>'


def _short(value: Any) -> str:
    many = isinstance(value, (list, tuple))
    return ", ".join(map(str, value)) if many else local(str(value))


def _footer(evaluation: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in evaluation.get("versions", {}).items())
    return (
        f"<footer>Made by <code>{escape(local(evaluation['command']))}</code> in "
        f"{evaluation['seconds']:.0f} s, with {escape(versions)}.</footer>"
    )
