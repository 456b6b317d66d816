"""An IxNetwork API server in memory, as its REST interface is published: honest, or a liar."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from serving import Addressed, answering

KEY = "made-up-key"
FAULTS = (
    *("over-count", "one-percent-more", "hang-up", "reset", "never-clears", "slow"),
    *("no-table", "words-for-numbers", "empty-cells", "loses-a-port", "never-rests", "lossy"),
    *("fewer-applied", "over-subscribed", "operation-fails", "another-version", "never-ready"),
)
"""Of these each has to be noticed."""
TEMPLATES = ("ethernet", "vlan", "ipv4", "udp")
FIELDS = {
    "ethernet": ("destinationAddress", "sourceAddress", "etherType"),
    "vlan": ("vlanTag.vlanID",),
    "ipv4": ("ttl", "srcIp", "dstIp"),
    "udp": ("srcPort", "dstPort"),
}
SELF = re.compile(r"/api/v1/sessions/(\d+)/ixnetwork/(.*)")
Objects = dict[str, dict[str, Any]]


class Refused(Exception):
    """What is answered with an error."""


class IxnetworkServer(ThreadingHTTPServer, Addressed):
    """Sessions with objects by path, and ports that have owners."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fault = ""
        self.owners: dict[str, str] = {}
        """By place of a port, the number of its session, or who else has it."""
        self.sessions: dict[str, tuple[dict[str, Any], Objects]] = {}
        self.heard: list[str] = []
        self.started: float | None = None
        self.reads = 0
        self.made = 0
        self.lock = threading.Lock()

    def begin(self, name: str = "") -> str:
        """Begin a session; return its number."""
        self.made += 1
        number = str(self.made)
        self.sessions[number] = ({"id": int(number), "sessionName": name}, {})
        return number


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: IxnetworkServer

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def _do(self) -> None:
        method = self.command
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.heard.append(" ".join(filter(None, (method, self.path, content))))
        path = urlsplit(self.path).path
        if self.server.fault == "hang-up" and path.endswith("startstatelesstrafficblocking"):
            return
        with self.server.lock:
            status, answer = self._status(method, path, json.loads(content or "null"))
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = _do

    def _status(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.headers.get("X-Api-Key") != KEY:
            return 401, {"errors": [{"detail": "not authorized"}]}
        try:
            return 200, self._answer(method, path, body)
        except (Refused, KeyError) as error:
            return 400, {"errors": [{"detail": str(error)}]}

    def _answer(self, method: str, path: str, body: Any) -> Any:
        server = self.server
        if found := SELF.fullmatch(path):
            session, rest = found.groups()
            return self._inside(method, session, rest, body)
        match method, path.strip("/").split("/"):
            case "GET", ["api", "v1", "sessions"]:
                return [about for about, _ in server.sessions.values()]
            case "POST", ["api", "v1", "sessions"]:
                return {"id": int(server.begin())}
            case "PATCH", ["ixnetworkweb", "api", "v1", "sessions", number]:
                server.sessions[number][0].update(body)
                return {}
            case "POST", ["api", "v1", "sessions", number, "operations", "start"]:
                return {"state": "IN_PROGRESS", "url": f"/done/{number}"}
            case "POST", ["api", "v1", "sessions", number, "operations", "stop"]:
                assert self.path.endswith("?deleteAfterStop=true")
                del server.sessions[number]
                held = server.owners.items()
                server.owners = {place: who for place, who in held if who != number}
                return {"state": "SUCCESS"}
            case "GET", ["done", _]:
                return {"state": "SUCCESS", "result": "kVoid"}
        raise Refused(f"no such thing: {method} {path}")

    def _inside(self, method: str, session: str, rest: str, body: Any) -> Any:
        _, objects = self.server.sessions[session]
        root = f"/api/v1/sessions/{session}/ixnetwork"
        where, _, operation = rest.partition("operations/")
        if operation:
            return self._operate(session, where.strip("/"), operation, body)
        if method == "PATCH":
            objects.setdefault(rest, {}).update(body)
            return {}
        if method == "POST":
            number = 1 + sum(re.fullmatch(rf"{rest}/\d+", one) is not None for one in objects)
            objects[f"{rest}/{number}"] = {**body, "id": number}
            return {"links": [{"rel": "self", "href": f"{root}/{rest}/{number}"}]}
        return self._get(session, objects, rest)

    def _get(self, session: str, objects: Objects, rest: str) -> Any:
        match rest.split("/"):
            case ["traffic"]:
                return {"state": self._state(objects)}
            case ["globals"]:
                return {"buildNumber": "10.00.made.up"}
            case ["availableHardware", "chassis", _]:
                return {"state": "ready"}
            case ["vport"]:
                ports = [path for path in objects if re.fullmatch(r"vport/\d+", path)]
                return [self._port(session, objects[path]) for path in ports]
            case ["vport", _]:
                return self._port(session, objects[rest])
            case ["traffic", "protocolTemplate"]:
                named = [{"id": one, "stackTypeId": kind} for one, kind in enumerate(TEMPLATES)]
                return {"data": named}
            case ["traffic", "trafficItem", number, "highLevelStream"]:
                return [self._applied(objects, number)]
            case [*_, "stack", _, "field"]:
                stack = rest.removesuffix("/field")
                kind = objects.get(stack, {}).get("kind", "ethernet")
                named_fields = enumerate(FIELDS[kind], start=1)
                return [
                    {"id": one, "fieldTypeId": f"{kind}.header.{name}"}
                    for one, name in named_fields
                ]
            case ["statistics", "view"]:
                if self.server.fault == "another-version":
                    return "no list"
                stays = self.server.fault in ("never-clears", "never-ready")
                there = self.server.started is not None or stays
                caption = "Traffic Item Statistics" if there else "Port Statistics"
                hidden = self.server.fault == "no-table"
                return [{"id": 7, "caption": "Port Statistics" if hidden else caption}]
            case ["statistics", "view", "7", "data"]:
                return self._table(objects)
        raise Refused(f"no such thing: {rest}")

    def _port(self, session: str, port: dict[str, Any]) -> dict[str, Any]:
        who = self.server.owners.get(port["name"])
        if who == session:
            link = "connectedLinkDown" if self.server.fault == "no-link" else "connectedLinkUp"
            return {**port, "connectionState": link, "connectionStatus": ""}
        state = "unassigned" if who is None else "assignedInUseByOther"
        return {**port, "connectionState": state, "connectionStatus": f"owned by {who}"}

    def _applied(self, objects: Objects, number: str) -> dict[str, Any]:
        frames = self._shot(objects, number)[0]
        less = 1 if self.server.fault == "fewer-applied" else 0
        over = self.server.fault == "over-subscribed"
        return {"appliedPacketCount": frames - less, "overSubscribed": over}

    def _shot(self, objects: Objects, number: str) -> tuple[int, int]:
        element = f"traffic/trafficItem/{number}/configElement/1"
        control, rate = objects[f"{element}/transmissionControl"], objects[f"{element}/frameRate"]
        assert (control["type"], rate["type"]) == ("fixedFrameCount", "framesPerSecond")
        return control["frameCount"], rate["rate"]

    def _sent(self, objects: Objects, number: str) -> int:
        frames, rate = self._shot(objects, number)
        if self.server.started is None:
            return 0
        if self.server.fault == "one-percent-more":
            frames += frames // 100
        return min(frames, int((time.monotonic() - self.server.started) * rate))

    def _items(self, objects: Objects) -> dict[str, str]:
        """Return the names of traffic items by number."""
        found = (re.fullmatch(r"traffic/trafficItem/(\d+)", path) for path in objects)
        return {one[1]: objects[one[0]]["name"] for one in found if one}

    def _state(self, objects: Objects) -> str:
        if self.server.started is None:
            return "stopped"
        done = all(
            self._sent(objects, one) >= self._shot(objects, one)[0] for one in self._items(objects)
        )
        return "stopped" if done and self.server.fault != "slow" else "started"

    def _table(self, objects: Objects) -> dict[str, Any]:
        server = self.server
        server.reads += 1
        if server.fault == "loses-a-port":
            server.owners = dict.fromkeys(server.owners, "mallory")
        rows = [self._row(objects, *one) for one in self._items(objects).items()]
        captions = ["Traffic Item", "Tx Frames", "Rx Frames", "Frames Delta"]
        ready = server.fault != "never-ready"
        return {"isReady": ready, "columnCaptions": captions, "pageValues": [[row] for row in rows]}

    def _row(self, objects: Objects, number: str, name: str) -> list[str]:
        server, sent = self.server, self._sent(objects, number)
        if server.fault == "reset" and sent > 60:
            sent -= 60
        lost = sent // 10 if server.fault == "lossy" else 0
        more = {"over-count": 7, "never-rests": server.reads}.get(server.fault, 0)
        received = str(sent - lost + more)
        received = {"words-for-numbers": "many", "empty-cells": ""}.get(server.fault, received)
        return [name, str(sent), received, "0"]

    def _operate(self, session: str, where: str, operation: str, body: dict[str, Any]) -> Any:
        server, (_, objects) = self.server, self.server.sessions[session]
        result: Any = "kVoid"
        match where, operation:
            case "", "assignports":
                places = [one.replace(";", "/") for one in body["arg1"]]
                assert body["arg3"] is False
                for place in places:
                    server.owners.setdefault(place, session)
            case "vport", "releaseport":
                ports = [objects[SELF.fullmatch(one)[2]] for one in body["arg1"]]  # type: ignore[index]
                for port in ports:
                    assert server.owners.pop(port["name"]) == session
            case stack, "appendprotocol":
                kind = TEMPLATES[int(body["arg2"].rpartition("/")[2])]
                head, _, number = stack.rpartition("/")
                after = f"{head}/{int(number) + 1}"
                objects[after] = {"kind": kind}
                result = f"/api/v1/sessions/{session}/ixnetwork/{after}"
            case "", "clearportsandtrafficstats":
                if server.fault != "never-clears":
                    server.started = None
            case "traffic", "startstatelesstrafficblocking":
                if server.fault == "operation-fails":
                    return {"state": "EXCEPTION", "message": "no licence for this"}
                server.started = time.monotonic()
            case (
                ("traffic/trafficItem" | "traffic"),
                ("generate" | "apply" | "stopstatelesstrafficblocking"),
            ):
                pass
            case _:
                raise Refused(f"no such operation: {where} {operation}")
        return {"state": "SUCCESS", "result": result}


@contextmanager
def ixnetwork_server() -> Iterator[IxnetworkServer]:
    """Serve until the context is left."""
    with IxnetworkServer() as server, answering(server):
        yield server
