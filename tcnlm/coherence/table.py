"""Figures of topics as lines to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tcnlm.coherence.others import COHERENCES

WORDS = 8  # of a topic, in its line
ABSENT = 20  # words named at most


def table(figures: Mapping[str, Any], tops: Sequence[int]) -> str:
    """A line for every topic, then what holds for all of them."""
    topics = figures["topics"]
    names = [*(f"N={top}" for top in tops), "mean", *_others(figures)]
    lines = [figures["source"], line("topic", names, "words")]
    for topic in topics:
        words = " ".join(topic["words"][:WORDS])
        lines.append(line(topic["topic"], _cells(topic), words))
    median = f"median {shown(figures['npmi_median'], '.4f')}"
    lines.append(line("mean", _cells(figures), median))
    return "\n".join([*lines, *_remarks(figures, max(tops))])


def describe(protocol: Mapping[str, Any]) -> str:
    """The protocol in words."""
    window = f"windows of {protocol['window']} tokens, partial ones at both ends too"
    tops = "/".join(map(str, protocol["tops"]))
    others = [f"{name}: {kind}" for name, kind in protocol["others"].items()]
    words = f"the first {max(protocol['tops'])} words"
    return "\n".join(
        [
            f"protocol: {window if protocol['window'] else 'a document is a window'}; "
            f"{protocol['zero']};",
            f"  mean over the pairs of the first N words, mean over N = {tops}, "
            "mean over topics",
            *(f"  {other}, {words}" for other in others),
            f"reference: {protocol['reference']}: {protocol['documents']:,} documents, "
            f"{protocol['tokens']:,} tokens, {protocol['windows']:,} windows",
        ]
    )


def _others(figures: Mapping[str, Any]) -> list[str]:
    """The names of the coherences beside NPMI that there are."""
    return [name for name in COHERENCES if name in figures]


def _cells(figures: Mapping[str, Any]) -> list[str]:
    scores = [*figures["npmi_by_top"].values(), figures["npmi"]]
    scores += [figures[name] for name in _others(figures)]
    return [shown(score, ".4f") for score in scores]


def shown(figure: float | None, form: str) -> str:
    """A figure in its format; a dash where there is none."""
    return "-" if figure is None else format(figure, form)


def line(label: Any, cells: Sequence[str], rest: str) -> str:
    """A topic's line: its number or a title, its figures, its words."""
    return f"{label:>5} " + "".join(f"{cell:>9}" for cell in cells) + f"  {rest}"


def _remarks(figures: Mapping[str, Any], top: int) -> list[str]:
    topics, used = figures["topics"], figures["topics_in_use"]
    absent, short = figures["absent_words"], _number_short(topics, top)
    remarks = [
        f"diversity {figures['diversity']:.4f}: share of different words among the "
        f"first {figures['diversity_words']} of all topics"
    ]
    if figures["irbo"] is not None:
        remarks.append(f"IRBO {figures['irbo']:.4f}: 1 - overlap of two topics' ranks")
    if used is not None:
        remarks.append(
            f"topics in use: {used} of {len(topics)} are a test document's largest"
        )
    if short:
        remarks.append(f"fewer than {top} words in {short} topics: all are taken there")
    named = ", ".join(absent[:ABSENT]) + (", ..." if absent[ABSENT:] else "")
    remarks.append(f"absent from the reference ({len(absent)}): {named or 'none'}")
    others = _others(figures)
    if others and absent:
        remarks.append(f"without these words: {', '.join(others)}")
    none = sum(any(topic[name] is None for name in others) for topic in topics)
    if none:
        remarks.append(f"fewer than two other words in {none} topics: no such score")
    return remarks


def _number_short(topics: Sequence[Mapping[str, Any]], top: int) -> int:
    return sum(len(topic["words"]) < top for topic in topics)
