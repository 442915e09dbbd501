"""TensorFlow Serving's REST paths, and a page at /, over the standard library.

    GET  /v1/models/NAME            the state of the model
    GET  /v1/models/NAME/metadata   its signatures
    POST /v1/models/NAME:predict    an answer; errors are {"error": "..."}

NAME may be followed by /versions/N. Whoever asks by another name of this machine, or
from another's page, is refused: no web page may read the model through a browser.
"""

from __future__ import annotations

import html
import io
import json
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from ipaddress import ip_address
from socketserver import TCPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from tcnlm.common.errors import InputError
from tcnlm.serving.model import Refused, Served

MOST_BYTES = 2**20  # of a request that is answered
MOST_READ = 2**26  # of one that is too large, so that its sender hears of it
MOST_CONNECTIONS = 128  # a thread each
PATH = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+))?(/metadata|:\w+)?")
POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)


class Server(ThreadingHTTPServer):
    """Listens at once; answers when it has a model and `serve_forever` runs."""

    served: Served
    request_queue_size = 128

    def __init__(self, host: str, port: int):
        self.host = host
        self.places = threading.Semaphore(MOST_CONNECTIONS)
        try:
            super().__init__((host, port), Handler)
        except (OSError, UnicodeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            problem = f"{host[:99]!r}, port {port}: cannot be served at: {reason}"
            raise InputError(problem) from None
        page = files("tcnlm.serving") / "page.html"
        self.template = page.read_text(encoding="utf-8")

    def server_bind(self) -> None:
        """Bind, without asking the network for the name of this machine."""
        TCPServer.server_bind(self)

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        host, port = self.server_address[:2]
        return f"http://{host}:{port}/"

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection, or say that there are too many."""
        if not self.places.acquire(blocking=False):
            TurnedAway(request, client_address, self)
            return
        try:
            super().finish_request(request, client_address)
        finally:
            self.places.release()

    def is_known_as(self, name: str | None) -> bool:
        """Whether a host is ours by name; listening elsewhere, by any address too."""
        if name in ("localhost", self.host.lower()):
            return True
        try:
            loopback = ip_address(name or "").is_loopback
        except ValueError:
            return False
        return loopback or not ip_address(self.server_address[0]).is_loopback

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, socket.timeout)):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection, in a thread of its own."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds for a whole request, however its bytes arrive
    # An answer in two packets would wait 40 ms for the first one's acknowledgement.
    wbufsize = 2**16
    disable_nagle_algorithm = True
    server: Server

    def setup(self) -> None:
        """Read no longer than a request may take."""
        super().setup()
        self.rfile = io.BufferedReader(UntilDue(self))

    def handle_one_request(self) -> None:
        """Answer a request, or close the connection of one that takes too long."""
        self.due = time.monotonic() + self.timeout
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer with the page, the state or the signatures."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer a :predict."""
        self._answer(self._post)

    def check(self) -> None:
        """Raise Refused for who may not ask."""
        origin, host = self.headers.get("Origin"), self.headers.get("Host", "")
        try:
            known = self.server.is_known_as(urlsplit(f"//{host}").hostname)
        except ValueError:
            known = False
        if not known:
            raise Refused(f"{host[:99]!r}: is no host that is served here", 403)
        if origin not in (None, f"http://{host}"):
            raise Refused(f"{origin[:99]!r}: other pages may not ask", 403)

    def log_message(self, *_: Any) -> None:
        """Keep no log."""

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer what is no HTTP that is known here."""
        self.close_connection = True
        self._send(code, {"error": message or "not understood"})

    def _answer(self, work: Any) -> None:
        try:
            self.content = self._body()
            self.check()
            status, content = 200, work()
        except Refused as refused:
            status, content = refused.status, {"error": str(refused)}
        except (ConnectionError, socket.timeout):
            raise
        except Exception as error:  # whatever it is, the server goes on
            status, content = 500, {"error": f"{type(error).__name__}: {error}"}
        self._send(status, content)

    def _get(self) -> Any:
        served = self.server.served
        if self.path.partition("?")[0] == "/":  # it asks for all else by REST
            return self.server.template.replace("MODEL_NAME", html.escape(served.name))
        answers = {None: served.status, "/metadata": served.metadata}
        action = self._action()
        if action not in answers:
            raise Refused(f"{action}: is asked by POST", 405)
        return answers[action]()

    def _post(self) -> Any:
        if self._action() != ":predict":
            raise Refused("POST answers :predict alone", 405)
        try:
            request = json.loads(self.content.decode("utf-8"))
        except UnicodeDecodeError:
            raise Refused("the request is no UTF-8") from None
        except (ValueError, RecursionError) as error:
            raise Refused(f"the request is no JSON: {error}") from None
        return self.server.served.predict(request)

    def _action(self) -> str | None:
        found, served = PATH.fullmatch(self.path), self.server.served
        if not found:
            raise Refused("no such path; models are at /v1/models/NAME", 404)
        name, version, action = found.groups()
        if unquote(name) != served.name or version not in (None, served.version):
            known = f"{served.name}, version {served.version}"
            raise Refused(f"no such model; there is {known}", 404)
        return action

    def _body(self) -> bytes:
        unsaid = "0" if self.command == "GET" else ""
        length = ",".join(self.headers.get_all("Content-Length", [unsaid]))
        unknown = not re.fullmatch("[0-9]{1,18}", length)
        if unknown or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refused("Content-Length: must say how long the request is", 411)
        if int(length) > MOST_BYTES:
            self.close_connection = True
            left = min(int(length), MOST_READ)  # so that its sender hears of it
            while left > 0 and (read := len(self.rfile.read(min(left, 2**16)))):
                left -= read
            size = f"{int(length):,} bytes; give at most {MOST_BYTES:,}"
            raise Refused(f"the request has {size}", 413)
        content = self.rfile.read(int(length))
        if len(content) < int(length):
            raise ConnectionAbortedError
        return content

    def _send(self, status: int, content: Any) -> None:
        kind = "text/html" if isinstance(content, str) else "application/json"
        text = content if isinstance(content, str) else json.dumps(content)
        body = text.encode("utf-8")
        self.connection.settimeout(self.timeout)
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


class TurnedAway(Handler):
    """Tells a connection beyond the most that there are too many."""

    timeout = 2  # seconds: its thread may not wait as long as those of the others

    def check(self) -> None:
        """Raise Refused for anyone."""
        self.close_connection = True
        raise Refused(f"{MOST_CONNECTIONS} connections are open; try again later", 503)


class UntilDue(io.RawIOBase):
    """The bytes of a handler's connection, until its request is due."""

    def __init__(self, handler: Handler):
        self.handler = handler

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come; raise socket.timeout when the request is due."""
        left = self.handler.due - time.monotonic()
        self.handler.connection.settimeout(max(left, 1e-3))
        return self.handler.connection.recv_into(buffer)
