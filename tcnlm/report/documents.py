"""The sections of a report that tell of documents: their words, vectors and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tcnlm.drawing.markup import image, note, table


def document_sections(
    evaluation: Mapping[str, Any], figures: Mapping[str, bytes]
) -> str:
    """Return all that is said of documents as such; nothing where there is nothing."""
    parts = (
        _perplexity(evaluation),
        _retrieval(evaluation, figures),
        _classification(evaluation, figures),
        _units(evaluation),
    )
    return "\n".join(filter(None, parts))


def _perplexity(evaluation: Mapping[str, Any]) -> str:
    found = evaluation.get("document_perplexity")
    if not found:
        return ""
    rows = [
        ("mean over documents (as published)", "published", "unigram"),
        ("over all words", "corpus", "unigram_corpus"),
    ]
    cells = [
        (
            title,
            f"{found[own]:.1f}",
            f"{found[f'{own}_deviation']:.1f}",
            f"{found[unigram]:.1f}",
            f"{found[own] / found[unigram]:.3f}",
        )
        for title, own, unigram in rows
    ]
    titles = ("perplexity", "model", "deviation", "unigram model", "ratio")
    text = f"Over {found['orders']} orders of the words of {found['documents']:,} "
    text += f"documents; {found['without_words']} without a word are left out."
    return (
        "<h2>Documents</h2>" + table(titles, ("", *["number"] * 4), cells) + note(text)
    )


def _retrieval(evaluation: Mapping[str, Any], figures: Mapping[str, bytes]) -> str:
    found = evaluation.get("retrieval")
    if not found:
        return ""
    rows = []
    for query in found["queries"]:
        rows.append((query["label"] or "", "query", query["words"]))
        for near in query["nearest"]:
            rows.append((near["label"] or "", f"{near['cosine']:.3f}", near["words"]))
    text = "Every document of the split is a query against all training documents; "
    text += f"documents drawn at random have a precision of {found['chance']:.3f}."
    return (
        "<h2>Retrieval</h2>"
        + image(figures.get("retrieval"), "precision by the share retrieved")
        + note(text)
        + table(("label", "cosine", "its first topic words"), ("", "number", ""), rows)
    )


def _classification(evaluation: Mapping[str, Any], figures: Mapping[str, bytes]) -> str:
    found = evaluation.get("classification")
    if not found:
        return ""
    titles = ("from", "logistic regression", "50 sigmoid units")
    rows = [
        (name, *(_percent(row.get(kind)) for kind in ("logistic", "network")))
        for name, row in found["rows"].items()
    ]
    text = "Documents of the split that get another label than theirs, by classifiers "
    text += "fitted to all other labelled documents. Bag of words: log counts."
    return (
        "<h2>Classification</h2>"
        + table(titles, ("", "number", "number"), rows)
        + note(text)
        + image(figures.get("vectors"), "documents by their vectors, coloured by label")
    )


def _percent(found: Mapping[str, float] | None) -> str:
    return f"{found['error_rate']:.2%}" if found else "–"


def _units(evaluation: Mapping[str, Any]) -> str:
    units = evaluation.get("units")
    if not units:
        return ""
    rows = [(i, " ".join(words)) for i, words in enumerate(units)]
    return "<h2>Units</h2>" + table(
        ("unit", "words of largest weight"), ("number", ""), rows
    )
