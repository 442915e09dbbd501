"""Who trains together, as TF_CONFIG says it, and how they wait for each other.

TensorFlow's runtime holds Python's lock while it waits, so that no signal gets through:
all first meet in plain sockets at the chief's address.
"""

from __future__ import annotations

import hashlib
import json
import re
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from tcnlm.common.errors import InputError

WAIT = 600  # seconds for the others to be there
CLUSTER = "TF_CONFIG"
KINDS = ("chief", "worker")  # in the order in which TensorFlow counts them
RIGHT = (
    '{"cluster": {"worker": ["HOST:PORT", "HOST:PORT"]}, '
    '"task": {"type": "worker", "index": 0}}'
)
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([\w.-]+)):([0-9]{1,5})", re.ASCII)
FIRST_LINE, NEXT_LINE = 2, 30  # seconds until it is said who is missing, and again
PAUSE, ANSWER, LONGEST = 0.1, 5.0, 200  # seconds, seconds, bytes
GO, OTHER = b"go\n", b"another cluster\n"

Wait = Callable[[int, object], None]  # of a worker's index and why it is missing


@dataclass(frozen=True)
class Cluster:
    """All workers, the chief first, and which of them this process is."""

    jobs: dict[str, int]  # how many of each kind
    addresses: tuple[tuple[str, int], ...]  # (host, port) of each
    index: int

    def name(self, index: int) -> str:
        """Return how messages call a worker."""
        host, port = self.addresses[index]
        return f"worker {index} at {f'[{host}]' if ':' in host else host}:{port}"

    def hello(self, index: int) -> bytes:
        """Return the line by which a worker of this cluster is known."""
        text = repr((self.jobs, self.addresses))
        return f"tcnlm {hashlib.sha256(text.encode()).hexdigest()} {index}\n".encode()


def parse_cluster(text: str) -> Cluster | None:
    """Return the cluster of TF_CONFIG's JSON; raise InputError that says what is right.

    None where it names no others: platforms set it for one machine, too.
    """
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster") or {}, config.get("task") or {}
        if not all(isinstance(listed, list) for listed in cluster.values()):
            raise ValueError("each kind of worker needs a list of addresses")
        if len(sum(cluster.values(), [])) == len(cluster) <= 1:
            return None
        if not set(cluster) <= set(KINDS) or len(cluster.get("chief", [])) > 1:
            raise ValueError("only workers train here, with one chief at most")
        sizes = {kind: len(cluster[kind]) for kind in KINDS if kind in cluster}
        addresses = [_address(each) for kind in sizes for each in cluster[kind]]
        kind, index = task["type"], int(str(task["index"]))
        if not 0 <= index < sizes[kind] or len(set(addresses)) < len(addresses):
            raise ValueError(
                "every address must occur once, and the task must be one of them"
            )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{CLUSTER}: {error!r:.99} is wrong; it must be like {RIGHT}"
        ) from None
    before = sizes.get("chief", 0) if kind == "worker" else 0
    return Cluster(sizes, tuple(addresses), before + index)


def _address(text: str) -> tuple[str, int]:
    parts = _ADDRESS.fullmatch(text)
    if not parts or not 1 <= int(parts[3]) <= 65535:
        raise ValueError(f"{text!r:.60} is not an address HOST:PORT")
    return (parts[1] or parts[2]).lower(), int(parts[3])


def meet(cluster: Cluster, seconds: float) -> None:
    """Return once all workers are there, and their ports are free.

    Raises InputError where one is not there in time, or was given another cluster.
    """
    both = {"family": socket.AF_INET6, "dualstack_ipv6": True}
    options = both if socket.has_dualstack_ipv6() else {}
    try:
        port = cluster.addresses[cluster.index][1]
        server = socket.create_server(("", port), **options)
    except OSError as error:
        raise InputError(
            f"{CLUSTER}: cannot listen as {cluster.name(cluster.index)} "
            f"({error.strerror}); stop what uses the port, or choose another"
        ) from None
    wait = _patience(cluster, seconds)
    with server:
        if cluster.index == 0:
            return _gather(cluster, server, wait)
    return _report(cluster, wait)


def _patience(cluster: Cluster, seconds: float) -> Wait:
    """Return what says now and then who is missing, and raises when time is up."""
    end, next_line = time.monotonic() + seconds, time.monotonic() + FIRST_LINE

    def wait(index: int, reason: object) -> None:
        nonlocal next_line
        now, name = time.monotonic(), cluster.name(index)
        if now > end:
            raise InputError(
                f"{name} was not there within {seconds:g} seconds ({reason}); "
                f"start all workers that {CLUSTER} names; --wait gives them longer"
            )
        if now >= next_line:
            print(f"waiting for {name} ({reason})", file=sys.stderr, flush=True)
            next_line = now + NEXT_LINE

    return wait


def _gather(cluster: Cluster, server: socket.socket, wait: Wait) -> None:
    others, here = range(1, len(cluster.addresses)), {}
    server.settimeout(PAUSE)
    with ExitStack() as connections:
        while missing := [index for index in others if index not in here]:
            wait(missing[0], "it has not called")
            try:
                caller = connections.enter_context(server.accept()[0])
                caller.settimeout(ANSWER)
                line = caller.makefile("rb").readline(LONGEST)
                here |= {i: caller for i in others if line == cluster.hello(i)}
                if line.startswith(b"tcnlm ") and caller not in here.values():
                    caller.sendall(OTHER)
            except OSError:  # nobody called, or one that is gone
                pass
            # One that waits says no more: what can be read of it is its end.
            ended, _, _ = select.select(list(here.values()), [], [], 0)
            here = {index: each for index, each in here.items() if each not in ended}
        for caller in here.values():
            caller.sendall(GO)


def _report(cluster: Cluster, wait: Wait) -> None:
    reason: object = "it has not answered"
    while True:
        wait(0, reason)
        try:
            with socket.create_connection(cluster.addresses[0], ANSWER) as chief:
                chief.sendall(cluster.hello(cluster.index))
                while not select.select([chief], [], [], PAUSE)[0]:
                    wait(0, "it waits for the others")
                answer = chief.recv(LONGEST)
        except (OSError, UnicodeError) as error:
            reason = error
        else:
            if answer == GO:
                return
            if answer == OTHER:
                raise InputError(
                    f"{CLUSTER}: {cluster.name(0)} has another cluster or index; "
                    "all need the same cluster, each its own index"
                )
            reason = "another program answers there, or it is ending"
        time.sleep(PAUSE)
