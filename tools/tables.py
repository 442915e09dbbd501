"""The tables of the README and of results/: recorded runs to rows of Markdown."""

import json
from collections.abc import Callable, Sequence
from math import exp, log
from pathlib import Path

from tcnlm.measures.table import figure
from tcnlm.report.published import figures, layered

RESULTS = Path(__file__).parents[1] / "results"
MISSING = "–"
BASELINE = "lstm"
TITLES = {  # of results/FILE.json, where the file's name would not do
    "imdb-decay/lstm": "LSTM",
    "imdb-decay/lstm-8-epochs": "LSTM",
    "imdb-decay/tcnlm": "TCNLM from vectors",
    "imdb-decay/lstm-multiplied-out": "LSTM with TCNLM's start and half rate",
    "imdb-decay/lstm-multiplied-out-8-epochs": "LSTM with TCNLM's start and half rate",
    "imdb-decay/tcnlm-8-epochs": "TCNLM from vectors",
    "imdb-decay/topic-lstm": "its topics beside that LSTM's output (`topic_lstm`)",
    "imdb-fifth-decay/lstm": "LSTM, rate .002",
    "imdb-fifth-decay/lstm-4e-3": "LSTM, .004",
    "imdb-fifth-decay/lstm-multiplied-out": "LSTM, TCNLM's start and half of the rate",
    "imdb-fifth-decay/lda-lstm-multiplied-out": "the same, TCNLM's start, half rate",
    "imdb-fifth-decay/topic-lstm": "TCNLM's topics beside the output (`topic_lstm`)",
    "imdb-fifth-decay/bag-lstm": "LSTM fed a learned bag (`bag_lstm`)",
    "imdb-fifth-decay/lstm-carried": "LSTM, state carried",
    "imdb-fifth-decay/lstm-carried-multiplied-out": "carried, TCNLM's start, half rate",
    "imdb-fifth-decay/tcnlm-half": "TCNLM, factors at half of the rate",
    "imdb-fifth-decay/tcnlm-vectors": "the same, topics from vectors, pushed apart",
    "imdb-fifth-decay/tcnlm-frozen": "the same, topics of the head start",
    "imdb-fifth-decay/tcnlm-language-mean": "the same, the LSTM's topics not drawn",
    "imdb-fifth-decay/tcnlm-preceding": "the same, seeing only the sentences before",
    "imdb-fifth-decay/tcnlm-whole": "TCNLM, factors at the whole rate",
    "imdb-fifth-decay/tcnlm-one-topic": "TCNLM with one topic, factors at half",
    "imdb-fifth-decay/tcnlm-quarter": "TCNLM, factors at a quarter",
    "imdb-fifth-decay/tcnlm-weight-three-tenths": "the same, .3 of the topics' loss",
    "imdb-fifth-decay/tcnlm-weight-tenth": "the same, .1 of the topics' loss",
    "imdb-fifth-decay/lda-lstm": "LDA+LSTM",
    "imdb-fifth-decay/tdlm": "TDLM",
    "imdb-fifth-decay/tdlm-one-topic": "TDLM with one topic",
    "imdb-fifth-decay/lclm": "LCLM",
    "imdb-fifth-decay/topic-rnn": "TopicRNN, full softmax",
    "imdb-fifth-decay/lstm-2-layers": "LSTM, two layers, rate .002",
    "imdb-fifth-decay/lstm-2-layers-4e-3": "LSTM, two layers, .004",
    "imdb-fifth-decay/lstm-2-layers-carried": "LSTM, two layers, .002, state carried",
    "imdb-fifth-decay/lstm-2-layers-carried-4e-3": "LSTM, two layers, .004, carried",
    "imdb-fifth-decay/lstm-200": "LSTM, 200 units, .002",
    "imdb-fifth-decay/gbn-chain": "GBN-RNN",
    "imdb-fifth-decay/gbn-chain-2": "GBN-RNN, two layers",
    "imdb-fifth-decay/rgbn": "rGBN-RNN, the paper's constants",
    "imdb-fifth-decay/rgbn-chain": "rGBN-RNN",
    "imdb-fifth-decay/rgbn-chain-others": "rGBN-RNN, trained with `others`",
    "imdb-fifth-decay/rgbn-chain-2": "rGBN-RNN, two layers",
    "imdb-fifth-decay/rgbn-chain-2-seed-2": "the same, seed 2",
    "imdb-600/lstm": "LSTM, rate .004",
    "imdb-600/lstm-dropout-2e-1": "the same, dropout of .2",
    "imdb-600/lstm-multiplied-out": "LSTM, TCNLM's start and half rate, .004",
    "imdb-600/lstm-multiplied-out-dropout-2e-1": "the same, dropout of .2",
    "imdb-600/topic-lstm": "TCNLM's topics beside the output (`topic_lstm`), .004",
    "imdb-600/tcnlm": "TCNLM, factors at half of the rate, .004",
    "imdb-600/tcnlm-2e-3": "TCNLM, .002",
    "imdb-50/tcnlm": "TCNLM, two epochs",
    "imdb-50/tcnlm-held": "TCNLM, spread of μ held, one epoch",
    "imdb-50/neural-topics": "its topic model alone, falling rates",
    "imdb-50/neural-topics-vectors": "the same from vectors, pushed apart",
    "imdb-50/neural-topics-vectors-256": "the same, four epochs of batches of 256",
    "imdb-50/lda": "LDA (gensim)",
    "imdb-50/lda-gibbs": "LDA, `fit=gibbs`",
    "imdb-sentiment/topic-gru": "TopicRNN, GRU, the whole KL, 4,578 words",
    "imdb-sentiment/neural-topics-5000": "TCNLM's topic model alone",
    "imdb-sentiment/tcnlm-5000": "TCNLM, trained jointly",
    "imdb-sentiment/lda-5000": "LDA",
    "imdb-sentiment/docnade-5000": "DocNADE",
    "imdb-sentiment/docnade-all": "DocNADE, stop words too",
    "imdb-sentiment/docnade-500-sampled": "DocNADE, 500 units, sampled softmax",
    "imdb-sentiment/topic-gru-5000": "TopicRNN, GRU, a tenth of the KL",
    "imdb-sentiment/topic-gru-all-hundredth": "TopicRNN, a hundredth, stop words too",
    "imdb-sentiment/topic-gru-all-thousandth": "TopicRNN, a thousandth, stop words too",
    "imdb-sentiment/neural-topics-all": "TCNLM's alone, a hundredth, stop words too",
    "imdb-sentiment/docnade-500-all": "DocNADE, 500 units, stop words too",
    "ptb/rnn-100": "without topics",
    "ptb/rnn-100-4e-3": "without topics, rate .004",
    "ptb/rnn-100-never": "without topics, state never reset",
    "ptb/topic-rnn-100": "topics of the document's words before the window (`read`)",
    "ptb/topic-rnn-100-4e-3": "the same, rate .004",
    "ptb/topic-rnn-100-never": "the same, state never reset",
    "ptb/topic-rnn-100-no-switch": "the same, stop words lean to topics too",
    "ptb/topic-rnn-100-tenth-kl": "the same, a tenth of the KL",
    "ptb/topic-rnn-100-thrice-kl": "the same, three times the KL",
    "ptb/topic-rnn-100-narrow": "the same, encoder of 30 units, 20 topics",
    "ptb/topic-rnn-100-others": "of the sentences outside it, later too (`others`)",
    "ptb/topic-rnn-100-all": "of the whole document, the window too (`all`)",
}


def named(files: Sequence[str]) -> list[tuple[str, dict]]:
    """Return the runs in results/FILE.json with their titles."""
    return [(title_of(file), record_of(file)) for file in files]


def title_of(file: str) -> str:
    """Return what the run in results/FILE.json is called."""
    return TITLES.get(file, Path(file).name)


def record_of(file: str) -> dict:
    """Return what is kept in results/FILE.json."""
    return json.loads((RESULTS / f"{file}.json").read_text())


def recorded(file: str) -> bool:
    """Tell whether there is a results/FILE.json."""
    return (RESULTS / f"{file}.json").exists()


def measured(key: str, title: str = "") -> tuple[str, str, Callable]:
    """Return the column of a measure; none of an older record that lacks it."""
    row = figure(key)
    return title or row.title, row.form, lambda r: row.value(r["evaluation"])


def number_of_topics(settings: dict) -> str | None:
    """Return it, of every layer; None without topics."""
    return layered(settings.get("num_topics", "")) or None


def best(record: dict) -> dict:
    """Return the epoch with the best perplexity; nothing where topics are all."""
    scored = [row for row in record["history"] if "valid_perplexity" in row]
    return min(scored, key=lambda row: row["valid_perplexity"], default={})


def named_table(chosen: list[tuple[str, dict]], columns: Sequence[tuple]) -> str:
    """Return a row for every recorded run, by the name that it is given.

    columns: title, form and value of a record of each.
    """
    rows = [["model", *(title for title, *_ in columns)]]
    for name, record in chosen:
        values = [(form, value(record)) for _, form, value in columns]
        cells = [MISSING if v is None else form.format(v) for form, v in values]
        rows.append([name, *cells])
    return markdown(rows)


def paper(table: str, size: str, topics: str) -> Callable[[dict], str | None]:
    """Return what a table of the paper has for a recorded run's model on IMDB."""
    found = {
        figure.model: figure.value
        for figure in figures()
        if (figure.table, figure.corpus) == (table, "imdb")
        and figure.size in ("", size)
        and figure.topics in ("", topics)
    }
    return lambda record: found.get(record["run"]["model"])


def ratios_table(chosen: list[tuple[str, dict]]) -> str:
    """Return test perplexities and their ratios to the first run's, beside Table 6.

    The paper's figure stands beside the first run of each method.
    """
    of_paper, base = paper("Table 6", "1x100", "30"), chosen[0][1]
    rows, known = (
        [["test perplexity", "paper", "its ratio", "ours", "our ratio"]],
        set(),
    )
    for title, record in chosen:
        model, ours = record["run"]["model"], record["evaluation"]["perplexity"]
        theirs = None if model in known else of_paper(record)
        known.add(model)
        ratio = f"{float(theirs) / float(of_paper(base)):.3f}" if theirs else MISSING
        cells = [title, theirs or MISSING, ratio, f"{ours:.2f}"]
        rows.append([*cells, f"{ours / base['evaluation']['perplexity']:.3f}"])
    return markdown(rows)


def effective(use: Sequence[float]) -> float:
    """Return the effective number of topics, exp(entropy of their shares)."""
    total = sum(use)
    return exp(-sum(u / total * log(u / total) for u in use if u))


def epochs(record: dict) -> list[dict]:
    """Return the evaluations after whole epochs; there may be others in between."""
    return [row for row in record["history"] if float(row["epoch"]).is_integer()]


def written_table(file: str, number: int = 2) -> str:
    """Return what topics write: words of each, and sampled sentences."""
    found = record_of(file)
    rows = [["topic", "ten most probable words", "sampled"]]
    for one in found["sentences"]:
        if len(one["topics"]) == 1:
            words = " ".join(found["words"][str(one["topics"][0])])
            rows.append([one["name"], words, "<br>".join(one["sampled"][:number])])
    return markdown(rows)


TABLES: dict[str, Callable[[str], str]] = {
    "ratios": lambda files: ratios_table(named(files.split())),
    "written": lambda file: written_table(file),
}


def markdown(rows: list[list[str]]) -> str:
    """Return a table, the first row its titles."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
