"""Table 1 of the TCNLM paper, for a DATA directory."""

from __future__ import annotations

from preprocessing.splits import SPLITS

_COLUMNS = ("documents", "sentences", "tokens", "targets", "sequences", "unknown")


def table(meta: dict) -> str:
    """Vocabulary sizes, the size of every split, documents without a topic word."""
    header = f"{'':7}" + "".join(f"{name:>13}" for name in _COLUMNS)
    return "\n".join(
        [
            f"vocabulary: LM {meta['vocabulary_size']:,}, "
            f"TM {meta['topic_vocabulary_size']:,}",
            header,
            *(_row(name, meta["splits"][name]) for name in SPLITS),
            _without_topic_words(meta["splits"]),
        ]
    )


def _row(name: str, counts: dict[str, int]) -> str:
    share = counts["unknown"] / max(counts["tokens"], 1)
    cells = [f"{counts[column]:>13,}" for column in _COLUMNS[:-1]]
    return f"{name:7}" + "".join(cells) + f"{share:>13.2%}"


def _without_topic_words(splits: dict[str, dict[str, int]]) -> str:
    numbers = (f"{name} {splits[name]['without_topic_words']:,}" for name in SPLITS)
    return f"documents without a topic word: {', '.join(numbers)}"
