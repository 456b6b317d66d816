"""The HTTP side: who may ask, what comes in, what goes out."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from socket import SHUT_WR, gethostname, socket
from typing import Any, BinaryIO, ClassVar, NoReturn
from urllib.parse import urlsplit

from vsperf.errors import ComponentError, NotReadyError, VsperfError
from vsperf.otg.answers import HANDLERS
from vsperf.otg.document import RefusedError, json_of
from vsperf.otg.generator import Generator
from vsperf.otg.password import knows
from vsperf.otg.reading import CHUNK, SLOW_S, Reader, Room, read_json
from vsperf.waits import wait_for

LOOK_S = 0.5
"""Between two looks at tgen, whose events would fill its socket otherwise."""
MOST_BYTES = 8 << 20
"""Of a body: a list of values for 65,536 frames in each of several fields."""
SMALL_BYTES = 64 << 10
"""Of a body that waits for nobody and takes nothing of the room: so questions are answered whatever
others send."""
MOST_CONNECTIONS = 64
MOST_DIGITS = 12
LOCALHOST = "localhost"
JSON = "application/json"
FILE = "application/octet-stream"


class OtgServer(ThreadingHTTPServer):
    """Answers each request in a thread of its own, and looks after tgen in between."""

    daemon_threads = True
    timeout = 0
    """Who is heard of and has hung up since is not waited for."""
    block_on_close = False

    def __init__(
        self, address: tuple[str, int], generator: Generator, password: str | None = None
    ) -> None:
        self.generator = generator
        self.password = password
        self.failure: VsperfError | None = None
        self.connections = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.room = Room(2 * MOST_BYTES)
        self.parsing = threading.Lock()
        """Who has it makes objects of a large body, which take more memory than the body."""
        super().__init__(address, Handler)
        self.names = _names(address[0], self.server_name)
        """By which it is called, beside addresses."""

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

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take a connection while there is room for one; others are hung up on."""
        return self.connections.acquire(blocking=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread for a connection; where there can be none, it takes no room either."""
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # this user may have no more threads at the moment
            self.connections.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that is gone; all else is a mistake of ours, and seen."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def service_actions(self) -> None:
        if self.failure is None and self.generator.turn.acquire(blocking=False):
            try:
                self.look()
            except RefusedError:
                pass  # the next who asks is told
            except VsperfError as error:
                self.failure = error
            finally:
                self.generator.turn.release()
        if self.failure is not None:
            raise self.failure

    def look(self) -> None:
        """Hear what tgen has to say; raises `ComponentError` when it has died."""
        if not self.generator.tgen.alive():
            raise self.generator.tgen.obituary("while it served")
        self.generator.counts()

    def answer(
        self, method: str, path: str, content: object
    ) -> tuple[int, dict[str, Any] | bytes | BinaryIO]:
        """Return status and body for a request."""
        handler = HANDLERS.get((method, path))
        if handler is None:
            known = ", ".join(f"{verb} {where}" for verb, where in HANDLERS)
            raise RefusedError([f"there is no {method} {path}, only {known}"], HTTPStatus.NOT_FOUND)
        try:
            return HTTPStatus.OK, handler(self.generator, content)
        except RefusedError:
            raise
        except VsperfError as error:
            if isinstance(error, ComponentError) and not self.generator.tgen.alive():
                self.failure = error
            return _failed(HTTPStatus.INTERNAL_SERVER_ERROR, [error.with_why])


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: OtgServer
    server_version = "vsperf"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = SLOW_S
    disable_nagle_algorithm = True
    wbufsize: ClassVar[int] = -1
    default_request_version = "HTTP/1.0"
    """Of who says none: an answer has a status in any case."""
    connection: socket

    def setup(self) -> None:
        """Read by a reader that has a deadline for a whole request."""
        super().setup()
        self.reader = Reader(self.connection)
        self.rfile.close()
        self.rfile = self.reader.buffered()

    def handle_one_request(self) -> None:
        """Answer the next request, if it comes whole and in time."""
        self.reader.begin()
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True

    def finish(self) -> None:
        """Hang up once the client has heard why: what it still sends would take the answer away."""
        super().finish()
        with suppress(OSError):
            self.connection.shutdown(SHUT_WR)
            self.reader.drain()

    def do_GET(self) -> None:
        self._answer(self.command)

    do_POST = do_PATCH = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is refused is told to the client."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request that anybody here understands."""
        self.close_connection = True
        self._send(*_failed(code, [message or HTTPStatus(code).phrase]))

    def _answer(self, method: str) -> None:
        status, body = self._answered(method)
        if isinstance(body, dict | bytes):
            self._send(status, body)
        else:
            with body:
                self._send_file(body)

    def _answered(self, method: str) -> tuple[int, dict[str, Any] | bytes | BinaryIO]:
        """Return status and body; what came has its room until it was looked at."""
        with ExitStack() as room:
            try:
                self._known_client()
                self._known_host()
                content = None
                if method == "GET":
                    self._require_nothing()
                else:
                    content = self._content(room)
            except RefusedError as error:
                self.close_connection = True
                return _failed(error.code, error.messages)
            try:
                return self.server.answer(method, self._path(), content)
            except RefusedError as error:
                return _failed(error.code, error.messages)
            finally:
                del content

    def _known_client(self) -> None:
        """Refuse who does not bring the password, before anything else is looked at."""
        if not knows(self.server.password, self.headers.get("Authorization", "")):
            raise RefusedError(
                ["this server asks for a password, and it is another one"], HTTPStatus.UNAUTHORIZED
            )

    def _known_host(self) -> None:
        """Refuse names that a page in a browser could have led here; it has no password."""
        try:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        except ValueError as error:
            raise RefusedError(["Host is the name of no host"]) from error
        known = host in self.server.names or _is_address(host)
        if self.server.password is None and not known:
            raise RefusedError(
                [f"this server is not called {host!r}: ask by its address, or with a password"],
                HTTPStatus.MISDIRECTED_REQUEST,
            )

    def _path(self) -> str:
        try:
            return urlsplit(self.path).path
        except ValueError as error:
            raise RefusedError(["this is no address of anything"]) from error

    def _require_nothing(self) -> None:
        """See that nothing came with a question, which would be taken for the next request."""
        said = self.headers.get_all("Content-Length", [])
        if any(one.strip() != "0" for one in said) or self._is_chunked():
            raise RefusedError(["a GET has no body here"])

    def _is_chunked(self) -> bool:
        return self.headers.get("Transfer-Encoding") is not None

    def _content(self, room: ExitStack) -> object:
        """Return what came with the request; a large one takes room."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind != JSON:
            # No page that a browser shows can send this type to another host unasked.
            raise RefusedError(
                [f"the body must be {JSON}, not {kind or 'of no type'}"],
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        length = self._length()
        large = length > SMALL_BYTES
        if large:
            room.enter_context(self.server.room.taken(length))
        self.reader.expect(length)
        body = self.rfile.read(length)
        if len(body) < length:
            raise RefusedError(["the body is shorter than Content-Length says"])
        with self.server.parsing if large else nullcontext():
            return read_json(body)

    def _length(self) -> int:
        if self._is_chunked():
            raise RefusedError(["Content-Length is needed, not pieces"], HTTPStatus.LENGTH_REQUIRED)
        said = self.headers.get_all("Content-Length", [])
        if not said:
            raise RefusedError(["Content-Length is needed"], HTTPStatus.LENGTH_REQUIRED)
        text = said[0].strip()
        if len(said) > 1 or not (text.isascii() and text.isdigit()):
            raise RefusedError(["Content-Length is no number"])
        if len(text) > MOST_DIGITS or int(text) > MOST_BYTES:
            raise RefusedError(
                [f"there can be {MOST_BYTES} bytes at most"], HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            )
        return int(text)

    def _send_file(self, file: BinaryIO) -> None:
        """Send a file piece by piece; who does not take it in time does not get it."""
        deadline = time.monotonic() + SLOW_S
        left = os.fstat(file.fileno()).st_size
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", FILE)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        self.wfile.flush()
        while left and (content := file.read(min(CHUNK, left))):
            self.connection.settimeout(max(0.001, deadline - time.monotonic()))
            self.connection.sendall(content)
            left -= len(content)

    def _send(self, status: int, body: dict[str, Any] | bytes) -> None:
        content = body if isinstance(body, bytes) else json_of(body)
        self.connection.settimeout(SLOW_S)  # for all of it
        self.send_response(status)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", str(len(content)))
        if status == HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="vsperf"')
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def listening(
    address: tuple[str, int], generator: Generator, password: str | None = None
) -> Iterator[OtgServer]:
    """Listen for requests until the context is left; `serve` answers them."""
    with NotReadyError.if_refused(
        f"cannot listen on {address[0]}:{address[1]}",
        fix="choose another --listen ADDRESS:PORT; port 0 takes a free one",
    ):
        server = OtgServer(address, generator, password)
    with server:
        yield server


def _failed(code: int, messages: Any) -> tuple[int, dict[str, Any]]:
    kind = "validation" if code < HTTPStatus.INTERNAL_SERVER_ERROR else "internal"
    return code, {"code": int(code), "kind": kind, "errors": list(messages)}


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _names(listens: str, found: str) -> frozenset[str]:
    """Return the names of a server that listens there, and that is `found` under its address.

    Whoever is led here by another one was led by a page of that name, wherever it is from.
    """
    own = gethostname()
    names = (LOCALHOST, listens, found, own, own.partition(".")[0])
    return frozenset(name.lower() for name in names)
