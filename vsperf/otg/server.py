"""The HTTP side: who may ask, what comes in, what goes out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, ClassVar, NoReturn
from urllib.parse import urlsplit

from vsperf.errors import ComponentError, NotReadyError, VsperfError
from vsperf.otg.answers import HANDLERS
from vsperf.otg.document import RefusedError
from vsperf.otg.generator import Generator
from vsperf.otg.password import knows
from vsperf.waits import wait_for

LOOK_S = 0.5
"""Between two looks at tgen, whose events would fill its socket otherwise."""
SLOW_S = 30.0
"""Patience with a client that does not finish its sentence."""
MOST_BYTES = 16 << 20
JSON = "application/json"


class OtgServer(ThreadingHTTPServer):
    """Answers one request at a time, and looks after tgen in between."""

    daemon_threads = True
    timeout = 0
    """Who is heard of and has hung up since is not waited for."""
    block_on_close = False

    def __init__(
        self, address: tuple[str, int], generator: Generator, password: str | None = None
    ) -> None:
        self.generator = generator
        self.password = password
        self.turn = threading.Lock()
        self.local = ip_address(address[0]).is_loopback
        self.failure: VsperfError | None = None
        super().__init__(address, Handler)

    @property
    def url(self) -> str:
        """What clients are told."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def serve(self) -> NoReturn:
        """Answer requests until somebody asks vsperf to stop, or tgen has died."""
        while True:
            if wait_for((self.fileno(),), LOOK_S):
                self.handle_request()
            self.service_actions()

    def service_actions(self) -> None:
        if self.failure is None and self.turn.acquire(blocking=False):
            try:
                self.look()
            except RefusedError:
                pass  # the next who asks is told
            except VsperfError as error:
                self.failure = error
            finally:
                self.turn.release()
        if self.failure is not None:
            raise self.failure

    def look(self) -> None:
        """Hear what tgen has to say; raises `ComponentError` when it has died."""
        if not self.generator.tgen.alive():
            raise self.generator.tgen.obituary("while it served")
        self.generator.counts()

    def answer(self, method: str, path: str, content: object) -> tuple[int, dict[str, Any]]:
        """Return status and body for a request."""
        handler = HANDLERS.get((method, path))
        if handler is None:
            known = ", ".join(f"{verb} {where}" for verb, where in HANDLERS)
            return _failed(404, [f"there is no {method} {path}, only {known}"])
        with self.turn:
            try:
                return 200, handler(self.generator, content)
            except RefusedError as error:
                return _failed(error.code, error.messages)
            except VsperfError as error:
                if isinstance(error, ComponentError) and not self.generator.tgen.alive():
                    self.failure = error
                return _failed(500, [error.with_why])


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: OtgServer
    server_version = "vsperf"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = SLOW_S
    disable_nagle_algorithm = True
    wbufsize: ClassVar[int] = -1

    def do_GET(self) -> None:
        """Answer a question."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Carry something out."""
        self._answer("POST")

    def do_PATCH(self) -> None:
        """Change something."""
        self._answer("PATCH")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is refused is told to the client."""

    def _answer(self, method: str) -> None:
        try:
            self._known_client()
            content = self._content() if method != "GET" else None
        except RefusedError as error:
            self.close_connection = True
            self._send(*_failed(error.code, error.messages))
            return
        self._send(*self.server.answer(method, urlsplit(self.path).path, content))

    def _known_client(self) -> None:
        """Refuse who does not bring the password, before anything else is looked at."""
        if not knows(self.server.password, self.headers.get("Authorization", "")):
            raise RefusedError(["this server asks for a password, and it is another one"], 401)

    def _content(self) -> object:
        """Return what came with the request."""
        self._known_host()
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind != JSON:
            # No page that a browser shows can send this type to another host unasked.
            raise RefusedError([f"the body must be {JSON}, not {kind or 'of no type'}"], 415)
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise RefusedError(["Content-Length is needed"], 411)
        if int(length) > MOST_BYTES:
            raise RefusedError([f"{length} bytes are too many, there can be {MOST_BYTES}"], 413)
        try:
            return json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise RefusedError([f"the body is no JSON: {error}"]) from error

    def _known_host(self) -> None:
        """Refuse names that a page in a browser could have led here."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if self.server.local and host != "localhost" and not _is_address(host):
            raise RefusedError([f"this server is not called {host!r}"], 421)

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", str(len(content)))
        if status == HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="vsperf"')
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def listening(
    address: tuple[str, int], generator: Generator, password: str | None = None
) -> Iterator[OtgServer]:
    """Listen for requests until the context is left; `serve` answers them."""
    try:
        server = OtgServer(address, generator, password)
    except OSError as error:
        raise NotReadyError(
            f"cannot listen on {address[0]}:{address[1]}",
            why=error.strerror or str(error),
            fix="choose another --listen ADDRESS:PORT; port 0 takes a free one",
        ) from error
    with server:
        yield server


def _failed(code: int, messages: Any) -> tuple[int, dict[str, Any]]:
    kind = "validation" if code < 500 else "internal"
    return code, {"code": code, "kind": kind, "errors": list(messages)}


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
