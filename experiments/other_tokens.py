"""A corpus in the tokens of another tokenizer, to see what hangs on ours.

Sentences are split as `preprocessing` splits them; their tokens are those of NLTK's
wordpunct, runs of letters and digits and runs of all else ("don't" is "don ' t"). The
documents keep their order, so that `python -m preprocessing --format tdlm` picks the
same ones for its splits as from the raw text.

    python -m experiments.other_tokens train.jsonl.xz --out train.txt
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nltk.tokenize import wordpunct_tokenize
from tqdm import tqdm

from preprocessing.errors import errors_reported
from preprocessing.markup import strip_markup
from preprocessing.sources import read_jsonl
from preprocessing.text import split_sentences
from tcnlm.files import replacing


def retokenized(text: str) -> str:
    """Return a raw document as a line of the format tdlm."""
    sentences = split_sentences(strip_markup(text))
    return "\t".join(
        filter(None, map(" ".join, map(wordpunct_tokenize, map(str.lower, sentences))))
    )


def main(options: argparse.Namespace) -> None:
    """Write the documents of a file, a line each."""
    documents = tqdm(read_jsonl(options.input, options.field), "documents", None)
    with replacing(options.out) as aside, aside.open("w", encoding="utf-8") as file:
        file.writelines(f"{retokenized(document)}\n" for document in documents)
    print(f"written to {options.out}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m experiments.other_tokens")
    parsed.description = __doc__.split("\n\n")[0]
    add = parsed.add_argument
    add("input", metavar="FILE", type=Path, help=".jsonl; plain, .gz or .xz")
    add("--field", default="text", help="that holds the document (default: text)")
    add("--out", metavar="FILE", type=Path, required=True, help="to write")
    return parsed


if __name__ == "__main__":
    with errors_reported():
        main(parser().parse_args())
