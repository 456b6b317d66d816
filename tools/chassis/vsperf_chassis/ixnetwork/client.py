"""Calls to an IxNetwork API server; whatever goes wrong with one is a `ComponentError`.

It is spoken to in plain HTTP: the vendor's library is 250 MB of names, of which a score is needed.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from vsperf.errors import ComponentError
from vsperf.trust.answers import body_of
from vsperf.waits import aside, sleep

VERIFIED, UNVERIFIED, PLAIN = "https://", "https-unverified://", "http://"
"""What an address begins with."""
ANSWER_S = 60.0
"""Patience with the whole of an answer: applying traffic takes an API server many seconds."""
OPERATION_S = 120.0
"""Patience with what it does in the background, such as starting a session."""
POLL_S = 0.2
IN_PROGRESS, SUCCESS = "IN_PROGRESS", ("SUCCESS", "COMPLETED")
SHOWN = 300


class Client:
    """An API server, and the key to it."""

    def __init__(self, address: str, key: str | None) -> None:
        scheme, _, rest = address.partition("://")
        self._scheme = f"{scheme}://"
        self._host, _, port = rest.partition(":")
        self._port = int(port) if port else None
        self.address = rest
        self._headers = {"Content-Type": "application/json"} | ({"X-Api-Key": key} if key else {})

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def attributes(self, path: str) -> dict[str, Any]:
        found = self.get(path)
        if not isinstance(found, dict):
            raise self._other_version(f"GET {path}", found)
        return found

    def objects(self, path: str) -> list[dict[str, Any]]:
        """Return a list of objects; a long one comes as a page."""
        found = self.get(path)
        if isinstance(found, dict):
            found = found.get("data")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self._other_version(f"GET {path}", found)
        return found

    def create(self, path: str, attributes: Mapping[str, object]) -> str:
        """Make an object; return its path."""
        made = self._ask("POST", path, attributes)
        try:
            return _path(str(made["links"][0]["href"]))
        except (KeyError, IndexError, TypeError) as error:
            raise self._other_version(f"POST {path}", made) from error

    def change(self, path: str, attributes: Mapping[str, object]) -> None:
        self._ask("PATCH", path, attributes)

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        found = self._ask("POST", path, body)
        return found if isinstance(found, dict) else {}

    def operate(self, path: str, *arguments: object) -> Any:
        """Have an operation carried out, wait for its end, and return its result."""
        numbered = {f"arg{number}": one for number, one in enumerate(arguments, start=1)}
        return self.run(path, numbered)

    def run(self, path: str, body: Mapping[str, object]) -> Any:
        """Have an operation carried out that takes arguments by name."""
        answer, deadline = self.post(path, body), time.monotonic() + OPERATION_S
        while answer.get("state") == IN_PROGRESS:
            if time.monotonic() > deadline:
                raise self._failed(path, f"it has taken more than {OPERATION_S:g} s")
            sleep(POLL_S)
            answer = self.attributes(_path(str(answer.get("url", ""))))
        state = answer.get("state", SUCCESS[0])
        if state not in SUCCESS:
            said = " ".join(str(answer[one]) for one in ("message", "result") if answer.get(one))
            raise self._failed(path, said or f"it ended as {state}")
        return answer.get("result")

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        try:
            status, text = aside(lambda: self._exchanged(method, path, content), ANSWER_S)
        except (OSError, HTTPException) as error:
            raise self._failed(f"{method} {path}", str(error) or type(error).__name__) from error
        if status >= 300:  # a redirection would carry the key to somebody else
            raise self._failed(f"{method} {path}", f"{status}: {_reason(text)}")
        try:
            return json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise self._other_version(f"{method} {path}", text[:SHOWN]) from error

    def _exchanged(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        with closing(self._connection()) as connection:
            connection.request(method, path, content, self._headers)
            with connection.getresponse() as answer:
                return answer.status, body_of(answer)

    def _connection(self) -> HTTPConnection:
        if self._scheme == PLAIN:
            return HTTPConnection(self._host, self._port, timeout=ANSWER_S)
        context = ssl.create_default_context()
        if self._scheme == UNVERIFIED:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return HTTPSConnection(self._host, self._port, timeout=ANSWER_S, context=context)

    def _failed(self, what: str, why: str) -> ComponentError:
        fix = "generator.password_file has the API key" if why.startswith(("401", "403")) else None
        if "CERTIFICATE_VERIFY_FAILED" in why:
            fix = "let SSL_CERT_FILE name its certificate, or --set generator.tls=unverified"
        return ComponentError(f"IxNetwork at {self.address} does not do {what}", why=why, fix=fix)

    def _other_version(self, what: str, answer: object) -> ComponentError:
        return ComponentError(
            f"IxNetwork at {self.address} answers {what} with {str(answer)[:SHOWN]!r}",
            why="it speaks another version of the interface, or is no IxNetwork",
        )


def _path(link: str) -> str:
    """Return the path of a link, which may name a host: nobody but the server is asked."""
    found = urlsplit(link)
    return f"{found.path}?{found.query}" if found.query else found.path


def _reason(text: bytes) -> str:
    try:
        return "; ".join(str(one["detail"]) for one in json.loads(text)["errors"])[:SHOWN]
    except (ValueError, RecursionError, KeyError, TypeError):
        return text.decode(errors="replace")[:SHOWN]
