"""Our OTG server with a real tgen, and a plain client that knows no library."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from cable import PACKET_SOCKETS, apart
from conftest import Require
from loopbacks import OPTIONS
from serving import answering

from vsperf.otg.generator import say_nothing
from vsperf.otg.serve import Location, Serving, serving
from vsperf.otg.server import OtgServer

RINGS = ("p1=net_ring0", "p2=net_ring1")
"""Each gives back what it gets."""
CABLE = tuple(f"p{n}={device}" for n, device in enumerate(PACKET_SOCKETS, start=1))
"""The ends of one cable, for a tgen that is `apart`."""
PATIENCE_S = 20.0


@contextmanager
def otg_server(
    ports: Sequence[str] = RINGS,
    say: Callable[[str], None] = say_nothing,
    *,
    whole: bool = True,
    queues: int = 1,
) -> Iterator[OtgServer]:
    """Serve on a port of its own."""
    locations = [Location.of(text) for text in ports]
    where = ("127.0.0.1", 0)
    served = Serving(burst=8, whole_payload=whole, say=say)
    options = replace(OPTIONS, queues=queues)
    with serving(locations, options, where, served) as server, answering(server):
        yield server


def ask(
    url: str, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Return status and body of an answer."""
    content = None if body is None else json.dumps(body).encode()
    said = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url + path, content, said, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def transmit(url: str, state: str, *names: str) -> tuple[int, dict[str, Any]]:
    """Start or stop flows."""
    said: dict[str, Any] = {"state": state, "flow_names": list(names)}
    body = {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": said}}
    return ask(url, "POST", "/control/state", body)


def flow_metrics(url: str, *names: str) -> list[dict[str, Any]]:
    """Return the counters of flows."""
    body = {"choice": "flow", "flow": {"flow_names": list(names)}}
    status, answer = ask(url, "POST", "/monitor/metrics", body)
    assert status == 200, answer
    found: list[dict[str, Any]] = answer["flow_metrics"]
    return found


def port_metrics(url: str) -> dict[str, dict[str, Any]]:
    """Return the counters of ports, by name."""
    status, answer = ask(url, "POST", "/monitor/metrics", {"choice": "port"})
    assert status == 200, answer
    return {one["name"]: one for one in answer["port_metrics"]}


def sent(url: str, *names: str) -> list[dict[str, Any]]:
    """Start flows, and return their counters when they have stopped."""
    assert transmit(url, "start", *names)[0] == 200
    return stopped(url, *names)


def stopped(url: str, *names: str) -> list[dict[str, Any]]:
    """Wait until flows have stopped, and return their counters."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = flow_metrics(url, *names)
        if all(one["transmit"] == "stopped" for one in found):
            return found
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(name="server", scope="module")
def fixture_server(
    tmp_path_factory: pytest.TempPathFactory, require: Require
) -> Iterator[OtgServer]:
    """One server on both ends of a cable; each test configures it anew."""
    for part in ("tgen", "root", "namespaces"):
        require(part)
    with apart(tmp_path_factory.mktemp("apart")), otg_server(CABLE) as server:
        yield server
