"""Serving, beside the Python model: python -m benchmarks.serving RUN.

Every signature is asked for 1 and for 64 rows three ways, by turns: the RUN from
Python (tcnlm.load_run), its SavedModel in this process, and `python -m tcnlm serve` in
another, over HTTP. Then the server gets garbage, and its memory is watched over many
requests of texts of all lengths.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
from tqdm import tqdm

from benchmarks.usage import megabytes
from tcnlm.models.topics import top_words
from tcnlm.run import Run
from tcnlm.serving.model import Served, find
from tcnlm.serving.tensors import tensors_of

SIZES, SEED = (1, 64), 1  # rows of a request
LENGTH, LONGEST = 20, 60  # words of a text: where time is taken, where memory is
LOOKS = 5  # at the memory
MESSAGE = 60  # characters of an error that are printed


@dataclass(frozen=True)
class Request:
    """One signature's, and the call of the Python model that answers the same."""

    signature: str
    size: int
    inputs: dict[str, Any]
    python: Callable[[], Any]

    @property
    def body(self) -> bytes:
        """The request of :predict."""
        request = {"signature_name": self.signature, "inputs": self.inputs}
        return json.dumps(request).encode()


class RandomTexts:
    """Texts of the model's words at random."""

    def __init__(self, words: Sequence[str]):
        self.words, self.rng = list(words), np.random.default_rng(SEED)

    def __call__(self, number: int, length: int) -> list[str]:
        """Return so many texts of so many words."""
        chosen = self.rng.choice(self.words, [number, length])
        return [" ".join(row) for row in chosen.tolist()]


class Client:
    """A connection to the server that is kept."""

    def __init__(self, address: str, name: str):
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc)
        self.path = f"/v1/models/{quote(name)}:predict"

    def __call__(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer."""
        self.connection.request("POST", self.path, body)
        reply = self.connection.getresponse()
        return reply.status, json.loads(reply.read())


def requests_of(
    run: Run, texts: RandomTexts, size: int, length: int = LENGTH
) -> list[Request]:
    """Return a request of `size` rows for every signature of a TCNLM."""
    documents, model = texts(size, length), run.model
    topics = np.eye(len(model.topics()))[np.zeros(size, int)].tolist()
    drawn = {"seed": SEED, "temperature": 1.0}
    beams = {"method": "beam", "beam_width": size}
    none = {"contexts": [""] * size}
    return [
        Request(
            "infer_topics",
            size,
            {"documents": documents},
            lambda: run.proportions(documents),
        ),
        Request(
            "score",
            size,
            {"sentences": documents, **none},
            lambda: run.perplexity(documents, none["contexts"]),
        ),
        Request(
            "generate",
            size,
            {"topics": topics, **drawn},
            lambda: run.generate(topic=0, number=size, allow_unknown=True, **drawn),
        ),
        Request(
            "beam_search",
            size,
            {"topics": topics[:1], "width": size},
            lambda: [run.generate(topic=0, number=size, allow_unknown=True, **beams)],
        ),
        Request("topic_words", size, {"number": size}, lambda: top_words(model, size)),
    ]


def measure(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, np.ndarray]:
    """Return the milliseconds of every call, after a first one that does not count."""
    for way in ways.values():
        way()
    found = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            found[name].append(1000 * (time.perf_counter() - start))
    return {name: np.array(values) for name, values in found.items()}


def compare(
    run: Run, served: Served, ask: Client, texts: RandomTexts, rounds: int
) -> None:
    """Print the latencies and rates of every signature, a line each."""
    ways = "Python | SavedModel | REST | SavedModel, rows/s | Python / SavedModel"
    print(f"| ms: p50, p99 | rows | {ways} |\n|---|---|---|---|---|---|---|")
    for request in (r for size in SIZES for r in requests_of(run, texts, size)):
        call = served.loaded.signatures[request.signature]
        specs = call.structured_input_signature[1]
        given, body = tensors_of(request.inputs, specs), request.body
        ways = {
            "Python": request.python,
            "SavedModel": lambda call=call, given=given: call(**given),
            "REST": lambda body=body: answered(ask, body),
        }
        found = measure(ways, rounds)
        cells = [
            "{:.1f}, {:.1f}".format(*np.percentile(v, [50, 99])) for v in found.values()
        ]
        rate = 1000 * request.size / np.mean(found["SavedModel"])
        ratio = np.median(found["Python"]) / np.median(found["SavedModel"])
        row = [request.signature, request.size, *cells, f"{rate:,.0f}", f"{ratio:.1f}"]
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def answered(ask: Client, body: bytes) -> dict[str, Any]:
    """Ask for what must be answered."""
    status, answer = ask(body)
    assert status == 200, answer
    return answer


def garbage(good: Request) -> dict[str, bytes]:
    """Return requests that make no sense."""

    def infer(documents: Any) -> bytes:
        inputs = {"documents": documents}
        request = {"signature_name": "infer_topics", "inputs": inputs}
        return json.dumps(request).encode()

    return {
        "nothing": b"",
        "no JSON": b"the bank",
        "broken UTF-8": infer(["x"]).replace(b"x", b"\xff\xfe"),
        "broken UTF-8 in base64": infer([{"b64": "/w=="}]),
        "unknown signature": good.body.replace(good.signature.encode(), b"predict"),
        "input missing": good.body.replace(b"sentences", b"sentence"),
        "wrong shape": infer("the bank"),
        "100,000 words": infer(["bank " * 100_000]),
        "2 MiB": infer(["x" * 2**21]),
    }


def refuse(address: str, name: str, good: Request) -> None:
    """Print the answer to every piece of garbage, and to a good request after it."""
    print("| garbage | status | error | next |\n|---|---|---|---|")
    for kind, body in garbage(good).items():
        ask = Client(address, name)
        status, answer = ask(body)
        error = answer["error"][:MESSAGE]
        print(
            f"| {kind} | {status} | {error} | {Client(address, name)(good.body)[0]} |"
        )


def watch(
    process: int, ask: Client, run: Run, texts: RandomTexts, number: int
) -> Iterator[tuple[int, float]]:
    """Ask so many requests; yield now and then how many, and the server's megabytes."""
    for request in requests_of(run, texts, 1):
        answered(ask, request.body)
    yield 0, megabytes("VmRSS", process)
    for done in tqdm(range(1, number + 1), "requests", disable=None):
        every = requests_of(run, texts, 1, length=int(texts.rng.integers(1, LONGEST)))
        answered(ask, every[done % len(every)].body)
        if done % (number // LOOKS) == 0:
            yield done, megabytes("VmRSS", process)


@contextmanager
def serving(run: Path) -> Iterator[tuple[int, str]]:
    """Start the server; give its process and address."""
    command = [sys.executable, "-m", "tcnlm", "serve", str(run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.pid, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.terminate()


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(
        "python -m benchmarks.serving", description=__doc__
    )
    add = parsed.add_argument
    add("run", metavar="RUN", type=Path, help="of tcnlm, with its saved_model")
    add("--rounds", type=int, default=200, help="of each call (default: 200)")
    many = "over which memory is watched (default: 10000)"
    add("--requests", type=int, default=10_000, help=many)
    return parsed


def main() -> None:
    """Measure and print as the command line says."""
    options = parser().parse_args()
    run, served = Run(options.run), Served(find(options.run))
    texts = RandomTexts(run.model.vocabulary.topic_words)
    with serving(options.run) as (process, address):
        ask = Client(address, served.name)
        compare(run, served, ask, texts, options.rounds)
        refuse(address, served.name, requests_of(run, texts, 1)[1])
        for done, size in watch(process, ask, run, texts, options.requests):
            print(f"{done:>7,} requests: {size:,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
