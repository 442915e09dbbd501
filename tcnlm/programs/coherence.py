"""Topic coherence, NPMI and others, of topics from any program, over a reference."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from tcnlm.coherence import NEVER, TOPS, WINDOW, measure, protocol, save_counts
from tcnlm.coherence.definitions import COHERENCES, DIVERSITY_WORDS, kinds
from tcnlm.coherence.reference import Reference
from tcnlm.coherence.summary import describe, scored_words, table
from tcnlm.coherence.topic_lists import TopicList, read_topics
from tcnlm.coherence.windows import Windows
from tcnlm.common.errors import InputError, add_debug
from tcnlm.common.files import check_writable, write_json, writing
from tcnlm.common.outputs import check_outputs
from tcnlm.common.process import add_runner, cores, on_runner
from tcnlm.common.settings import LARGEST, whole_number
from tcnlm.preprocessing.data_folder import open_data
from tcnlm.preprocessing.languages import ENGLISH, languages
from tcnlm.preprocessing.phrases import Sentences
from tcnlm.preprocessing.text import in_language
from tcnlm.preprocessing.vocabulary import Vocabulary


def main(arguments: Sequence[str]) -> None:
    """Score the topics and print, as the arguments say."""
    options = parser().parse_args(arguments)
    _check_together(options)
    known = {}
    if options.vocabulary:
        known[options.vocabulary] = open_data(options.vocabulary)[1]
    split, field = _sentences(options, known), options.field or "text"
    given = tuple(options.reference), field, cores(), options.counts
    runner = None if options.runner is None else on_runner(options.runner)
    reference = Reference(*given, runner=runner, sentences=split)
    lists = [_topics(path, max(options.top)) for path in options.topics]
    words = scored_words(lists, options.top)
    for vocabulary in known.values():
        words += vocabulary.topic_words
    names = list(dict.fromkeys(options.also))
    if names:
        every = [Windows(options.window), *(COHERENCES[n].windows for n in names)]
        counts, *others = reference.kinds_counted(words, every)
    else:
        counts, others = reference.window_counts(words, options.window), ()
    if options.save_counts:
        save_counts(options.save_counts, counts)
    others, stated = dict(zip(names, others)), (counts, options.top, options.zero)
    figures = [measure(listed, *stated, others) for listed in lists]
    described = {**protocol(*stated), "others": kinds(others)}
    if options.json:
        with writing(options.json):
            write_json(options.json, {"protocol": described, "results": figures})
    tables = [table(one, options.top) for one in figures]
    print("\n\n".join([*tables, describe(described)]))
    if options.json:
        print(f"written to {options.json}")


def _sentences(
    options: argparse.Namespace, known: Mapping[Path, Vocabulary]
) -> Sentences:
    """Return what splits the reference: what split the texts of DATA and of RUNs."""
    known = dict(known)
    for path in filter(Path.is_dir, options.topics if options.reference else ()):
        # Here, since topics in a text file need no TensorFlow.
        from tcnlm.runs.run_folder import RunFolder

        known[path] = RunFolder(path).vocabulary
    if not known:
        return in_language(options.language or ENGLISH)
    (path, first), *others = known.items()
    if options.language not in (None, first.language):
        said = f"--language {options.language}: the texts of {path} are"
        raise InputError(f"{said} {first.language}; leave it out")
    for other, vocabulary in others:
        if not vocabulary.reads_as(first):
            said = f"{other}: its language or phrases are not those of {path}"
            raise InputError(f"{said}; score them one at a time")
    return first.reading()


def _topics(path: Path, number: int) -> TopicList:
    if not path.is_dir():
        return read_topics(path)
    # Here, since topics in a text file need no TensorFlow.
    from tcnlm.metrics.features import infer_documents
    from tcnlm.models.topics import PROBABILITY, top_words
    from tcnlm.runs.run_folder import RunFolder

    run = RunFolder(path)
    model = run.load()
    if not model.offers("topics"):
        raise InputError(f"{path}: {run.model_name} has no topics")
    topics = top_words(model, max(number, DIVERSITY_WORDS), weight=PROBABILITY)
    try:
        split = run.data().split("test")
    except InputError:
        return TopicList(str(path), topics)
    return TopicList(str(path), topics, infer_documents(model, split).in_use)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser("python -m tcnlm coherence", description=__doc__)
    add = parsed.add_argument
    topics = "a RUN folder, or a text file with one topic's words a line, best first"
    add("topics", metavar="TOPICS", nargs="+", type=Path, help=topics)
    source = parsed.add_mutually_exclusive_group(required=True)
    text = "a document a line, .jsonl, .csv or .tsv; plain, .gz or .xz"
    source.add_argument(
        "--reference", metavar="FILE", nargs="+", type=Path, default=[], help=text
    )
    counted = "window counts made with --save-counts"
    source.add_argument("--counts", metavar="FILE", type=Path, help=counted)
    add("--field", help="of .jsonl, .csv: the field with the text (default: text)")
    spoken = {"choices": languages(), "metavar": "CODE"}
    language = "of the reference (default: a RUN's or the --vocabulary's, else en)"
    add("--language", help=language, **spoken)
    window = f"tokens; 0: a whole document (default: {WINDOW})"
    size, words = whole_number(0, LARGEST), whole_number(2, LARGEST)
    add("--window", metavar="N", type=size, default=WINDOW, help=window)
    zero = "score of a pair that shares no window (default: zero)"
    add("--zero", choices=tuple(NEVER), default="zero", help=zero)
    top = f"numbers of words to take of a topic (default: {' '.join(map(str, TOPS))})"
    add("--top", metavar="N", nargs="+", type=words, default=list(TOPS), help=top)
    also = "coherences of other definitions, gensim's, beside NPMI"
    add("--also", choices=tuple(COHERENCES), nargs="+", default=[], help=also)
    add("--save-counts", metavar="FILE", type=Path, help="keep the window counts")
    vocabulary = "with --save-counts: count the topic words of this DATA folder too"
    add("--vocabulary", metavar="DATA", type=Path, help=vocabulary)
    add("--json", metavar="FILE", type=Path, help="write all figures here")
    add_runner(parsed)
    add_debug(parsed)
    return parsed


def _check_together(options: argparse.Namespace) -> None:
    of_text = {"also", "save_counts", "field", "language"}
    given = sorted(name for name in of_text if getattr(options, name))
    if options.counts and given:
        named = f"--{given[0].replace('_', '-')}"
        raise InputError(f"{named} needs a text: give --reference")
    if options.runner is not None and (options.counts or options.also):
        raise InputError("--runner counts the --reference, but not for --also")
    if options.vocabulary and not options.save_counts:
        raise InputError(
            "--vocabulary says which counts to save: give --save-counts too"
        )
    for path in filter(None, (options.save_counts, options.json)):
        check_writable(path)
    check_outputs(options, "save_counts", "json")
