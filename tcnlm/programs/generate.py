"""Write sentences with the model of a RUN: from topics, a document, or a beginning."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tcnlm.common.errors import InputError, add_debug
from tcnlm.common.process import keep_memory
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.generation.methods import METHODS, TEMPERATURE

MOST_SENTENCES, MOST_WORDS, MOST_BEAMS = 10**6, 10**5, 1000  # all fit into memory


def main(arguments: Sequence[str]) -> None:
    """Write sentences as the options say and print them."""
    options = parser().parse_args(arguments)
    # Here: to say how it is used takes no TensorFlow.
    from tcnlm.generation import paragraphs
    from tcnlm.generation import requests as generation
    from tcnlm.generation.decoding import SentenceDecoder
    from tcnlm.runs.run_folder import RunFolder

    keep_memory()
    if options.json and options.paragraph is not None:
        raise InputError("--json is for sentences: leave out --paragraph")
    decoding = generation.decoding_options(vars(options))
    run = RunFolder(options.run)
    size = run.preprocessing["context_words"]
    model = run.load()
    document = None
    if options.document is not None:
        reading = model.vocabulary.reading()
        document = generation.read_document(options.document, reading)
    if options.paragraph is not None:
        asked = options.paragraph, options.number, options.method, document
        paragraphs.check(model, *asked)
    names = run.names(model)
    topics = generation.requested_topics(model, options.topic, document, size, names)
    seed = generation.new_seed() if options.seed is None else options.seed
    asked = options.number, options.prompt, seed
    write = SentenceDecoder(model, decoding)
    if options.paragraph is None:
        before = generation.document_before(model, document, size)
        written = generation.write_sentences(write, topics, *asked, before)
    else:
        start = paragraphs.starts(model, topics, document, run.preprocessing)
        written = paragraphs.write_paragraphs(write, start, options.paragraph, *asked)
    unknown = generation.unknown_words(model, options.prompt)
    if unknown:  # beside the sentences, which may go to a file
        words = " ".join(unknown)
        print(f"not in the vocabulary, read as <unk>: {words}", file=sys.stderr)
    if options.method == "sample":
        print(f"sampled with --seed {seed}", file=sys.stderr)
    for row in zip(generation.largest_topics(model, topics, names), written):
        if options.paragraph is not None:
            print(paragraphs.as_paragraphs(*row))
        else:
            show = generation.as_json if options.json else generation.as_text
            print(show(*row))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; what is not given is left out."""
    topic = (
        "topic to write from, by its number or label; several are mixed (default: each "
        "in turn); of topics in layers LAYER:K[:WEIGHT], layer 1 the lowest: 2:17 or "
        "2:17:0.5"
    )
    document = (
        "write from the topics inferred from this text or, with bag_lstm, from its bag "
        "of words, or, with a model that reads the sentences before (lclm), go on with "
        "it; - is standard input"
    )
    paragraph = (
        "write paragraphs of N sentences, topics moving on from one to the next "
        "(rgbn_rnn); with --document as its own do, by default as many"
    )
    temperature = (
        f"of sampling (default: {TEMPERATURE}, nearest to real sentences by another "
        "model's perplexity; 1: as the model has it)"
    )
    top_p = "sample from the fewest words that have this probability together"
    unset = {"default": argparse.SUPPRESS}
    parsed = argparse.ArgumentParser(description=__doc__)
    add = parsed.add_argument
    add("run", metavar="RUN", help="folder written by train.py")
    source = parsed.add_mutually_exclusive_group().add_argument
    source(
        "--topic", metavar="[LAYER:]K[:WEIGHT]", action="append", default=[], help=topic
    )
    source("--document", metavar="FILE", help=document)
    many = whole_number(1, MOST_WORDS)
    add("--paragraph", metavar="N", nargs="?", const=0, type=many, help=paragraph)
    add("--prompt", metavar="TEXT", default="", help="beginning of the sentence")
    add("--method", choices=METHODS, default="sample", help="default: sample")
    add("--temperature", type=float, **unset, help=temperature)
    kept, width = whole_number(1, LARGEST), whole_number(1, MOST_BEAMS)
    add("--top-k", type=kept, **unset, help="sample from the K likeliest words")
    add("--top-p", type=float, **unset, help=top_p)
    add("--beam-width", type=width, **unset, help="default: 10")
    number = whole_number(1, MOST_SENTENCES)
    add("--number", type=number, default=1, help="sentences of each topic (default: 1)")
    length = whole_number(1, MOST_WORDS)
    add("--max-length", type=length, **unset, help="words to write (default: 40)")
    seed = whole_number(-(2**63), 2**63 - 1)
    add("--seed", type=seed, help="of sampling (default: another each time)")
    unknown = {"dest": "allow_unknown", "action": "store_true"}
    add("--unk", **unknown, help="let it write <unk>, as in the paper's tables")
    add("--json", action="store_true", help="print a JSON object a line")
    add_debug(parsed)
    return parsed
