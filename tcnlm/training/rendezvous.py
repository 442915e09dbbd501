"""Workers meet in plain sockets before TensorFlow's runtime waits for them.

That holds Python's lock while it waits, so that neither a signal nor a time limit gets
through. Here each worker listens at its address and calls all the others; who has
reached all tells the chief; when all have told it, the chief lets all go at once, and
they leave their ports to TensorFlow.
"""

from __future__ import annotations

import hashlib
import select
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tcnlm.common.errors import InputError
from tcnlm.training.cluster import CLUSTER, Cluster

FIRST_LINE, NEXT_LINE = 2, 30  # seconds until it is said who is missing, and again
PAUSE, ANSWER, LONGEST = 0.1, 5.0, 200  # seconds, seconds, bytes
READY, GO = b"ready\n", b"go\n"


def meet(cluster: Cluster, seconds: float) -> None:
    """Return once all workers have reached each other, and their ports are free.

    Raises InputError where one is not there in time, or was given another cluster.
    """
    with _listening(cluster) as server:
        meeting = _Meeting(cluster, server, time.monotonic() + seconds, seconds)
        for index in range(len(cluster.addresses)):
            if index != cluster.index:
                meeting.reach(index)
        if cluster.index:
            meeting.report()
        else:
            meeting.gather()


class _Server(socketserver.ThreadingTCPServer):
    """Answers who calls; keeps the connections of those that have reached all."""

    allow_reuse_address = daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.ready: dict[int, socket.socket] = {}
        self.over = threading.Event()
        super().__init__(("", cluster.addresses[cluster.index][1]), _Answer)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave a caller that is gone."""


class _Answer(socketserver.StreamRequestHandler):
    timeout = ANSWER

    def handle(self) -> None:
        cluster = self.server.cluster
        caller = self.rfile.readline(LONGEST)
        self.wfile.write(_hello(cluster, cluster.index))
        if self.rfile.readline(LONGEST) == READY:
            for index in range(len(cluster.addresses)):
                if caller == _hello(cluster, index):
                    self.server.ready[index] = self.request
                    self.server.over.wait()


class _Meeting:
    def __init__(self, cluster: Cluster, server: _Server, end: float, seconds: float):
        self.cluster, self.server = cluster, server
        self.end, self.seconds = end, seconds
        self.next_line = time.monotonic() + FIRST_LINE

    def reach(self, index: int) -> None:
        """Call a worker until it answers."""
        while True:
            try:
                with self._call(index):
                    return
            except (OSError, UnicodeError) as error:
                self._wait(index, error)

    def report(self) -> None:
        """Tell the chief that all were reached; wait until it lets all go."""
        while True:
            try:
                with self._call(0) as chief:
                    chief.sendall(READY)
                    self._await_go(chief)
                    return
            except OSError as error:
                self._wait(0, error)

    def _await_go(self, chief: socket.socket) -> None:
        while not select.select([chief], [], [], PAUSE)[0]:
            self._wait(0, "it waits for the others")
        if chief.recv(len(GO)) != GO:
            raise ConnectionError("it has ended")

    def gather(self) -> None:
        """Wait, as the chief, until all have reached all; let them go."""
        others, ready = range(1, len(self.cluster.addresses)), self.server.ready
        while True:
            missing = [i for i in others if i not in ready or _has_ended(ready[i])]
            if not missing:
                break
            self._wait(missing[0], "it has not reached all others")
        for index in others:
            ready[index].sendall(GO)

    def _call(self, index: int) -> socket.socket:
        """Return a connection to a worker that has said who it is."""
        called = socket.create_connection(self.cluster.addresses[index], ANSWER)
        try:
            called.sendall(_hello(self.cluster, self.cluster.index))
            self._check(index, _line(called))
        except BaseException:
            called.close()
            raise
        return called

    def _check(self, index: int, answer: bytes) -> None:
        if answer == _hello(self.cluster, index):
            return
        if answer.startswith(b"tcnlm "):
            raise InputError(
                f"{CLUSTER}: {self.cluster.name(index)} was told another cluster or "
                "index; all need the same cluster, each its own index"
            )
        raise ConnectionError("another program answers there, or it is ending")

    def _wait(self, index: int, reason: object) -> None:
        """Pause; say from time to time who is missing, and raise when time is up."""
        now, name = time.monotonic(), self.cluster.name(index)
        if now > self.end:
            raise InputError(
                f"{name} was not there within {self.seconds:g} seconds ({reason}); "
                f"start all workers that {CLUSTER} names; --wait gives them longer"
            )
        if now >= self.next_line:
            print(f"waiting for {name} ({reason})", file=sys.stderr, flush=True)
            self.next_line = now + NEXT_LINE
        time.sleep(PAUSE)


@contextmanager
def _listening(cluster: Cluster) -> Iterator[_Server]:
    """Give what answers other workers at this worker's port, until the end."""
    try:
        server = _Server(cluster)
    except OSError as error:
        raise InputError(
            f"{CLUSTER}: cannot listen as {cluster.name(cluster.index)} "
            f"({error.strerror}); end what uses the port, or name another"
        ) from None
    thread = threading.Thread(target=server.serve_forever, args=(PAUSE,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


def _hello(cluster: Cluster, index: int) -> bytes:
    """Return what a worker of this cluster says of itself."""
    text = repr((cluster.jobs, cluster.addresses))
    return f"tcnlm {hashlib.sha256(text.encode()).hexdigest()} {index}\n".encode()


def _line(connection: socket.socket) -> bytes:
    """Return what comes up to the end of a line; no more, since more may follow."""
    found = b""
    while len(found) < LONGEST and not found.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            break
        found += byte
    return found


def _has_ended(connection: socket.socket) -> bool:
    """Whether the other side of a connection, which sends no more, has closed it."""
    return bool(select.select([connection], [], [], 0)[0])
