"""A Lab Server of TestCenter in memory, as its REST interface is published: honest, or a liar."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from serving import Addressed, answering

FAULTS = (
    *("over-count", "one-percent-more", "hang-up", "reset", "never-clears", "slow"),
    *("no-results", "words-for-numbers", "loses-a-port", "never-rests", "lossy"),
)
"""Of these each has to be noticed; a server without sequence numbers (`unordered`) is honest."""


class SpirentServer(ThreadingHTTPServer, Addressed):
    """Sessions with objects, and ports that have owners."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fault = ""
        self.owners: dict[str, str] = {}
        """By location of a port."""
        self.sessions: dict[str, dict[str, dict[str, str]]] = {}
        """By session, its objects with their attributes, by handle."""
        self.started: dict[str, float] = {}
        self.subscribed: list[str] = []
        self.heard: list[str] = []
        self.reads = 0

    def end(self, session: str) -> None:
        """End a session, with all that it has."""
        self.sessions.pop(session, None)
        self.owners = {place: who for place, who in self.owners.items() if who != session}


class Refused(Exception):
    """What is answered with an error."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: SpirentServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer on a connection that is kept takes 40 ms

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def _do(self) -> None:
        method = self.command
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        given = dict(parse_qsl(self.rfile.read(length).decode(), keep_blank_values=True))
        said = " ".join(f"{name}={value}" for name, value in given.items())
        self.server.heard.append(" ".join(filter(None, (method, unquote(self.path), said))))
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        assert parts[0] == "stcapi", self.path
        if self.server.fault == "hang-up" and given.get("command") == "GeneratorStart":
            self.close_connection = True
            return
        try:
            status, answer = 200, self._answer(method, parts[1:], url.query, given)
        except (Refused, KeyError) as error:
            status, answer = 409, {"message": str(error)}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = _do

    @property
    def _session(self) -> str:
        return self.headers["X-STC-API-Session"]

    @property
    def _objects(self) -> dict[str, dict[str, str]]:
        return self.server.sessions[self._session]

    def _answer(self, method: str, parts: list[str], query: str, given: dict[str, str]) -> Any:
        match method, parts:
            case "GET", ["sessions"]:
                return list(self.server.sessions)
            case "POST", ["sessions"]:
                name = f"{given['sessionname']} - {given['userid']}"
                self.server.sessions[name] = {"project1": {}}
                return {"session_id": name}
            case "DELETE", ["sessions", name]:
                self.server.end(name)
                return {}
            case "GET", ["objects", "system1"]:
                return {"version": "5.16.made.up", "name": "system1"}
            case "POST", ["objects"]:
                return {"handle": self._create(given)}
            case "PUT", ["objects", handle]:
                self._objects[handle] |= given
                return {}
            case "GET", ["objects", handle]:
                return self._get(handle, query)
            case "POST", ["perform"]:
                command = given.pop("command")
                self._perform(command, given)
                return {}
            case "PUT", ["apply"]:
                return {}
        raise Refused(f"no such thing: {method} {parts}")

    def _create(self, given: dict[str, str]) -> str:
        kind, parent = given.pop("object_type"), given.pop("under")
        assert parent in self._objects, parent
        handle = f"{kind.lower()}{len(self._objects)}"
        self._objects[handle] = {**given, "under": parent}
        if kind == "port":
            for child in ("generator", "analyzer"):
                self._objects[f"{child}-{handle}"] = {"port": handle, "state": "STOPPED"}
            self._objects[f"config-generator-{handle}"] = {}
        return handle

    def _get(self, handle: str, query: str) -> str:
        objects = self._objects
        match query.lower().partition("children-"):
            case _, "children-", "port":
                return " ".join(name for name in objects if name.startswith("port"))
            case _, "children-", ("generator" | "analyzer") as child:
                return f"{child}-{handle}"
            case _, "children-", "generatorconfig":
                return f"config-{handle}"
            case _, "children-", kind:
                here = kind in self.server.subscribed and self.server.fault != "no-results"
                return f"{kind}-{handle}" if here else ""
        if query == "state":
            return self._state(handle)
        if query == "location":
            return objects[handle]["location"]
        if query == "online":
            place = objects[handle]["location"]
            return "true" if self.server.owners.get(place) == self._session else "false"
        kind, _, block = handle.partition("-")
        return self._count(kind, block, query)

    def _settings(self, port: str) -> tuple[int, int]:
        found = self._objects[f"config-generator-{port}"]
        assert (found["durationMode"], found["burstSize"]) == ("BURSTS", "1")
        assert found["loadUnit"] == "FRAMES_PER_SECOND"
        frames = int(found["duration"])
        more = frames // 100 if self.server.fault == "one-percent-more" else 0
        return frames + more, int(found["fixedLoad"])

    def _sent(self, port: str) -> int:
        if port not in self.server.started:
            return 0
        frames, rate = self._settings(port)
        return min(frames, int((time.monotonic() - self.server.started[port]) * rate))

    def _state(self, handle: str) -> str:
        port = self._objects[handle]["port"]
        if port not in self.server.started:
            return "STOPPED"
        slow = self.server.fault == "slow"
        done = self._sent(port) >= self._settings(port)[0]
        return "STOPPED" if done and not slow else "RUNNING"

    def _count(self, kind: str, block: str, query: str) -> str:
        server, port = self.server, self._objects[block]["under"]
        server.reads += 1
        if query not in ("FrameCount", "InOrderFrameCount"):
            return "0"
        if query == "InOrderFrameCount" and server.fault == "unordered":
            return "0"
        if server.fault == "words-for-numbers":
            return "many"
        if server.fault == "loses-a-port":
            server.owners = dict.fromkeys(server.owners, "mallory")
        count = self._sent(port)
        if server.fault == "reset" and count > 60:
            count -= 60
        if kind == "rxstreamsummaryresults" and count:
            lost = count // 10 if server.fault == "lossy" else 0
            more = {"over-count": 7, "never-rests": server.reads}.get(server.fault, 0)
            count += more - lost
        return str(count)

    def _perform(self, command: str, given: dict[str, str]) -> None:
        server = self.server
        match command:
            case "AttachPorts":
                assert given["revokeOwner"] == "FALSE"
                for handle in given["portList"].split():
                    place = self._objects[handle]["location"]
                    who = server.owners.setdefault(place, self._session)
                    if who != self._session:
                        raise Refused(f"port {place} is reserved by {who}")
            case "ReleasePort":
                for place in given["location"].split():
                    if server.owners.get(place) == self._session:
                        del server.owners[place]
            case "ResultsSubscribe":
                server.subscribed.append(given["resultType"].lower())
            case "ResultsClearAll" if server.fault != "never-clears":
                for handle in given["portList"].split():
                    server.started.pop(handle, None)
            case "GeneratorStart":
                for handle in given["generatorList"].split():
                    server.started[self._objects[handle]["port"]] = time.monotonic()


@contextmanager
def spirent_server() -> Iterator[SpirentServer]:
    """Serve until the context is left."""
    with SpirentServer() as server, answering(server):
        yield server
